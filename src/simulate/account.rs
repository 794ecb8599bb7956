//! What a simulated cohort was meant to be, and what it became.

use super::{Cell, Cohort, Config, Planned, Simulated, text};
use foldline_features::extract::{Extractor, Representation};
use foldline_features::profile::Profile;
use foldline_features::{Arm, Burden, Row, Table, Target};
use foldline_frontiers::cross_fit::cross_fit;
use foldline_frontiers::ranking::average_scores;
use foldline_frontiers::splits::SplitHalves;
use foldline_frontiers::{Folds, Streams, auroc};
use foldline_models::Learner;
use serde::Serialize;
use std::collections::BTreeSet;

/// Cohorts up to this size are also cross-fitted for the account; larger ones are not held.
const JUDGED: usize = 6_000;
/// Repetitions of the stem-grouped folds, and split halves, of that judgement.
const REPETITIONS: usize = 5;
const SPLITS: u32 = 50;

/// One line of the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The figure.
    pub what: String,
    /// What was planned: a count of the plan, or the published figure (arXiv 2610.08722) that the law aims at.
    pub planned: String,
    /// What the cohort has.
    pub achieved: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct CellSums {
    boundaries: usize,
    delta: f64,
    steps: u64,
    index: u64,
}

/// Running counts over the boundaries of a cohort. It holds sets of names and, up to 6,000 boundaries, their features
/// and burden counts; never a boundary.
#[derive(Clone, Debug)]
pub struct Account {
    config: Config,
    planned: Planned,
    extractor: Extractor,
    boundaries: usize,
    first: usize,
    trajectories: usize,
    last_trajectory: String,
    tasks: BTreeSet<String>,
    stems: BTreeSet<String>,
    functions: BTreeSet<String>,
    arms: BTreeSet<(bool, usize)>,
    longest: usize,
    cells: [CellSums; 3],
    capped: usize,
    short: usize,
    positive: usize,
    sum: f64,
    burden: [f64; 2],
    rows: Vec<(Row, Burden, String)>,
}

impl Account {
    /// An account of a cohort about to be made.
    pub fn of(cohort: &Cohort) -> Account {
        Account {
            config: cohort.config.clone(),
            planned: cohort.planned(),
            extractor: Extractor::for_cohort(Representation::H, Profile::appworld(), []),
            boundaries: 0,
            first: 0,
            trajectories: 0,
            last_trajectory: String::new(),
            tasks: BTreeSet::new(),
            stems: BTreeSet::new(),
            functions: BTreeSet::new(),
            arms: BTreeSet::new(),
            longest: 0,
            cells: [CellSums::default(); 3],
            capped: 0,
            short: 0,
            positive: 0,
            sum: 0.0,
            burden: [0.0; 2],
            rows: Vec::new(),
        }
    }

    /// Counts one boundary.
    pub fn add(&mut self, simulated: &Simulated) {
        let boundary = &simulated.boundary;
        let prefix = &boundary.prefix;
        let first = prefix.compaction_index == 1;
        self.boundaries += 1;
        self.first += usize::from(first);
        if boundary.trajectory_id != self.last_trajectory {
            self.trajectories += 1;
            self.last_trajectory.clone_from(&boundary.trajectory_id);
            insert(&mut self.tasks, &boundary.task_id);
            insert(&mut self.stems, &boundary.stem);
        }
        prefix.historical_functions.iter().for_each(|name| insert(&mut self.functions, name));
        for arm in [Arm::Pre, Arm::Post] {
            self.arms.insert((first, boundary.rollouts.iter().filter(|rollout| rollout.arm == arm).count()));
        }
        let longest = boundary.rollouts.iter().map(|rollout| rollout.steps.len()).max();
        self.longest = self.longest.max(longest.unwrap_or(0));
        let last = prefix.tail.last().map_or(0, |text| text.chars().count());
        self.capped += usize::from(last == text::CAP);
        self.short += usize::from(last <= 60);

        let burden = Burden::of(boundary);
        let value = |target| burden.delta(target).map_or(0.0, |delta| delta.value());
        let delta = value(Target::PRIMARY);
        self.positive += usize::from(delta > 0.0);
        self.sum += delta;
        for (sum, arm) in self.burden.iter_mut().zip([Arm::Pre, Arm::Post]) {
            *sum += value(Target::Arm(arm, Target::PRIMARY.channel(), Target::PRIMARY.horizon()));
        }
        let cell = &mut self.cells[simulated.cell as usize];
        cell.boundaries += 1;
        cell.delta += delta;
        cell.steps += prefix.prefix_steps;
        cell.index += prefix.compaction_index;
        if self.config.boundaries <= JUDGED {
            self.rows.push((self.extractor.row(prefix), burden, boundary.stem.clone()));
        }
    }

    /// All lines, in reading order.
    pub fn lines(&self) -> Vec<Line> {
        let config = &self.config;
        let n = self.boundaries.max(1) as f64;
        let later = config.boundaries - config.trajectories;
        let apps: BTreeSet<&str> = self.functions.iter().filter_map(|name| Some(name.split_once('.')?.0)).collect();
        let arms = |first| {
            let sizes = self.arms.iter().filter(|(of_first, _)| *of_first == first);
            sizes.map(|(_, size)| size.to_string()).collect::<Vec<_>>().join(", ")
        };
        let mut lines = vec![
            count("boundaries", config.boundaries, self.boundaries),
            count("first compactions", config.trajectories, self.first),
            count("later compactions", later, self.boundaries - self.first),
            count("trajectories", config.trajectories, self.trajectories),
            count("tasks", config.tasks, self.tasks.len()),
            count("stems", config.stems, self.stems.len()),
            count("functions in prefixes", self.planned.functions, self.functions.len()),
            count("apps in prefixes", 8, apps.len()),
            line("rollouts an arm, first compactions", config.rollouts_first.to_string(), arms(true)),
            line("rollouts an arm, later compactions", config.rollouts_later.to_string(), arms(false)),
            count("steps of the longest rollout", 5, self.longest),
            count("last observations of 200 characters", self.planned.capped, self.capped),
            count("last observations of 60 or fewer", self.planned.short, self.short),
        ];
        // Table 1 of arXiv 2610.08722
        let published = [
            ("no write", "7.9", "1.22", "0.398"),
            ("login only", "15.1", "1.89", "0.391"),
            ("substantive write", "22.1", "3.14", "0.172"),
        ];
        for (cell, (name, steps, index, delta)) in Cell::ALL.into_iter().zip(published) {
            let sums = self.cells[cell as usize];
            let size = sums.boundaries.max(1) as f64;
            lines.push(count(&format!("boundaries, {name}"), self.planned.cells[cell as usize], sums.boundaries));
            lines.push(line("  mean prefix steps", steps.to_owned(), format!("{:.1}", sums.steps as f64 / size)));
            lines.push(line("  mean compaction index", index.to_owned(), format!("{:.2}", sums.index as f64 / size)));
            lines.push(line("  mean dU@3", delta.to_owned(), format!("{:.3}", sums.delta / size)));
        }
        lines.push(line("share dU@3 > 0", "0.583".to_owned(), format!("{:.3}", self.positive as f64 / n)));
        lines.push(line("mean dU@3", "0.346".to_owned(), format!("{:.3}", self.sum / n)));
        lines.push(line("mean PRE burden at 3", "above 0".to_owned(), format!("{:.3}", self.burden[0] / n)));
        lines.push(line("mean POST burden at 3", "above PRE".to_owned(), format!("{:.3}", self.burden[1] / n)));
        let (boosted, replicate) = self.judge();
        lines.push(line("AUROC, boosted/H, stem-grouped folds", "0.62 to 0.70".to_owned(), boosted));
        lines.push(line("AUROC, replicate (split halves)", "0.72".to_owned(), replicate));
        lines
    }

    /// AUROC of boosted/H (scores averaged over five repetitions) and mean replicate AUROC over 50 splits, as text.
    fn judge(&self) -> (String, String) {
        if self.rows.is_empty() {
            let reason = format!("not measured above {JUDGED} boundaries");
            return (reason.clone(), reason);
        }
        let text = |value: Result<f64, String>| value.map_or_else(|reason| reason, |value| format!("{value:.3}"));
        (text(self.boosted_auroc()), text(self.replicate_auroc()))
    }

    fn boosted_auroc(&self) -> Result<f64, String> {
        let labels: Vec<bool> = self
            .rows
            .iter()
            .map(|(_, burden, _)| burden.delta(Target::PRIMARY).is_some_and(|d| d.is_positive()))
            .collect();
        let y: Vec<f64> = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
        let rows = self.rows.iter().map(|(row, ..)| row.clone()).collect();
        let table = Table::new(self.extractor.columns(), self.extractor.n_dense(), rows)?;
        let stems: Vec<&str> = self.rows.iter().map(|(_, _, stem)| stem.as_str()).collect();
        let streams = Streams::new(self.config.seed);
        let folds = Folds::grouped(&stems, "stem", 5, REPETITIONS, &streams).map_err(|_| "too few stems".to_owned())?;
        let fitted = cross_fit(Learner::Boosted, &table, &folds, &y, || ()).map_err(|error| error.to_string())?;
        let scores = average_scores(&fitted.scores).map_err(|error| error.to_string())?;
        let value = auroc(&scores, &labels).map_err(|error| error.to_string())?;
        value.defined().ok_or_else(|| "one class only".to_owned())
    }

    fn replicate_auroc(&self) -> Result<f64, String> {
        let burdens: Vec<Burden> = self.rows.iter().map(|(_, burden, _)| burden.clone()).collect();
        let splits = SplitHalves::random(&burdens, Target::PRIMARY, &Streams::new(self.config.seed), SPLITS)
            .map_err(|error| error.to_string())?;
        let mut values = Vec::new();
        for halves in splits.halves() {
            let labels: Vec<bool> = halves.d_a.iter().map(|&d| d > 0.0).collect();
            values.extend(auroc(&halves.d_b, &labels).map_err(|error| error.to_string())?.defined());
        }
        if values.is_empty() {
            return Err("too few rollouts".to_owned());
        }
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    }
}

fn insert(set: &mut BTreeSet<String>, name: &str) {
    if !set.contains(name) {
        set.insert(name.to_owned());
    }
}

fn line(what: &str, planned: String, achieved: String) -> Line {
    Line { what: what.to_owned(), planned, achieved }
}

fn count(what: &str, planned: usize, achieved: usize) -> Line {
    line(what, planned.to_string(), achieved.to_string())
}
