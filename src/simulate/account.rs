//! What a simulated cohort was meant to be, and what it became.

use super::{Cell, Config, Simulated};
use foldline_features::{Arm, Burden, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Running counts over the boundaries of a cohort; holds sets of names, never a boundary.
#[derive(Clone, Debug, Default)]
pub struct Account {
    boundaries: usize,
    first: usize,
    trajectories: usize,
    last_trajectory: String,
    tasks: BTreeSet<String>,
    stems: BTreeSet<String>,
    functions: BTreeSet<String>,
    rollouts: BTreeMap<(bool, usize), usize>,
    longest: usize,
    cells: BTreeMap<Cell, (usize, f64, u64, u64)>,
    capped: usize,
    short: usize,
    positive: usize,
    sum: f64,
    pre: f64,
    post: f64,
}

impl Account {
    /// Counts one boundary.
    pub fn add(&mut self, simulated: &Simulated) {
        let boundary = &simulated.boundary;
        let prefix = &boundary.prefix;
        self.boundaries += 1;
        self.first += usize::from(prefix.compaction_index == 1);
        if boundary.trajectory_id != self.last_trajectory {
            self.trajectories += 1;
            self.last_trajectory.clone_from(&boundary.trajectory_id);
        }
        for (set, name) in [(&mut self.tasks, &boundary.task_id), (&mut self.stems, &boundary.stem)] {
            if !set.contains(name) {
                set.insert(name.clone());
            }
        }
        for name in &prefix.historical_functions {
            if !self.functions.contains(name) {
                self.functions.insert(name.clone());
            }
        }
        let arm = boundary.rollouts.iter().filter(|rollout| rollout.arm == Arm::Pre).count();
        *self.rollouts.entry((prefix.compaction_index == 1, arm)).or_default() += 1;
        self.longest = boundary.rollouts.iter().map(|rollout| rollout.steps.len()).max().unwrap_or(0).max(self.longest);
        let last = prefix.tail.last().map_or(0, |text| text.chars().count());
        self.capped += usize::from(last == super::text::CAP);
        self.short += usize::from(last <= 60);

        let burden = Burden::of(boundary);
        let value = |target| burden.delta(target).map_or(0.0, |delta| delta.value());
        let delta = value(Target::PRIMARY);
        self.positive += usize::from(delta > 0.0);
        self.sum += delta;
        self.pre += value(Target::Arm(Arm::Pre, Target::PRIMARY.channel(), Target::PRIMARY.horizon()));
        self.post += value(Target::Arm(Arm::Post, Target::PRIMARY.channel(), Target::PRIMARY.horizon()));
        let cell = self.cells.entry(simulated.cell).or_default();
        *cell = (cell.0 + 1, cell.1 + delta, cell.2 + prefix.prefix_steps, cell.3 + prefix.compaction_index);
    }

    /// Rows of (what, planned, achieved).
    pub fn rows(&self, config: &Config) -> Vec<[String; 3]> {
        let published = |count: usize, of: usize, to: usize| format!("{}", (to * count) as f64 / of as f64).split('.').next().unwrap_or_default().to_owned();
        let n = self.boundaries.max(1) as f64;
        let later = config.boundaries - config.trajectories;
        let count = |what: &str, planned: usize, achieved: usize| [what.to_owned(), planned.to_string(), achieved.to_string()];
        let mut rows = vec![
            count("boundaries", config.boundaries, self.boundaries),
            count("first compactions", config.trajectories, self.first),
            count("later compactions", later, self.boundaries - self.first),
            count("trajectories", config.trajectories, self.trajectories),
            count("tasks", config.tasks, self.tasks.len()),
            count("stems", config.stems, self.stems.len()),
            count("functions", 119, self.functions.len()),
        ];
        let apps: BTreeSet<&str> = self.functions.iter().filter_map(|name| Some(name.split_once('.')?.0)).collect();
        rows.push(count("apps", 8, apps.len()));
        let arms = |first: bool| {
            let sizes = self.rollouts.keys().filter(|(of_first, _)| *of_first == first);
            sizes.map(|(_, size)| size.to_string()).collect::<Vec<_>>().join(", ")
        };
        rows.push(["rollouts an arm, first".into(), config.rollouts_first.to_string(), arms(true)]);
        rows.push(["rollouts an arm, later".into(), config.rollouts_later.to_string(), arms(false)]);
        rows.push(["steps of a rollout, most".into(), "5".into(), self.longest.to_string()]);
        let cell = |cell: Cell| self.cells.get(&cell).copied().unwrap_or_default();
        for (name, of, which) in [("no write", 96, Cell::NoWrite), ("login only", 368, Cell::LoginOnly), ("substantive write", 126, Cell::Substantive)] {
            let (size, sum, steps, index) = cell(which);
            rows.push([format!("boundaries, {name}"), published(of, 590, config.boundaries), size.to_string()]);
            let size = size.max(1) as f64;
            rows.push([
                format!("  mean prefix steps, compaction index, dU@3"),
                match which {
                    Cell::NoWrite => "7.9, 1.22, 0.398",
                    Cell::LoginOnly => "15.1, 1.89, 0.391",
                    Cell::Substantive => "22.1, 3.14, 0.172",
                }
                .into(),
                format!("{:.1}, {:.2}, {:.3}", steps as f64 / size, index as f64 / size, sum / size),
            ]);
        }
        rows.push(["last observations at 200 characters".into(), published(464, 590, config.boundaries), self.capped.to_string()]);
        rows.push(["last observations of at most 60".into(), published(74, 590, config.boundaries), self.short.to_string()]);
        rows.push(["share dU@3 > 0".into(), "0.583".into(), format!("{:.3}", self.positive as f64 / n)]);
        rows.push(["mean dU@3".into(), "0.346".into(), format!("{:.3}", self.sum / n)]);
        rows.push(["mean union burden at 3, PRE".into(), "above 0".into(), format!("{:.3}", self.pre / n)]);
        rows.push(["mean union burden at 3, POST".into(), "above PRE".into(), format!("{:.3}", self.post / n)]);
        rows
    }
}
