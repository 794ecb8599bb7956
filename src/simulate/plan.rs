//! The plan of a cohort: every count that must be met exactly is dealt out before the first boundary is made.
//!
//! The published counts are quotas that scale with the cohort: boundaries a trajectory, cells of first and later
//! compactions, lengths of last observations, difficulties and apps of scenarios. Each quota becomes a deck of cards,
//! shuffled by a stream of its own. A plan holds a few bytes a boundary; boundaries are made from it one trajectory
//! at a time.

use super::catalogue::{Kind, TASK_APPS, functions};
use super::config::{Config, SimulateError};
use super::text::Length;
use foldline_frontiers::Streams;
use std::collections::BTreeMap;

/// What a prefix has written (arXiv 2610.08722, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// No write.
    NoWrite,
    /// Writes to session endpoints only.
    LoginOnly,
    /// A write to application data.
    Substantive,
}

impl Cell {
    /// All cells, in the paper's order.
    pub const ALL: [Cell; 3] = [Cell::NoWrite, Cell::LoginOnly, Cell::Substantive];
}

/// First compactions by cell, of 275 (arXiv 2610.08722, Appendix D).
const FIRST_CELLS: [usize; 3] = [78, 179, 18];
/// Later compactions by cell, of 315: the rest of 96 / 368 / 126.
const LATER_CELLS: [usize; 3] = [18, 189, 108];
/// Last observations at the cap, between, and of at most 60 characters, at first and at later compactions: together
/// 464 / 52 / 74 (Appendix E; the short ones are mostly first compactions).
const FIRST_LENGTHS: [usize; 3] = [205, 18, 52];
const LATER_LENGTHS: [usize; 3] = [259, 34, 22];
/// Scenarios by difficulty.
const DIFFICULTIES: [usize; 3] = [17, 18, 13];
/// Scenarios by main app, in the order of [`TASK_APPS`]; gmail is a second app only.
const MAIN_APPS: [usize; 6] = [18, 9, 9, 7, 5, 0];
/// Scenarios by second app; the last card is none.
const SECOND_APPS: [usize; 7] = [3, 5, 6, 4, 3, 1, 26];
/// Most boundaries a trajectory has in the published shape.
const LONGEST: usize = 6;

/// Counts that a plan deals out exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Boundaries by cell, in the order of [`Cell::ALL`].
    pub cells: [usize; 3],
    /// Last observations of 200 characters.
    pub capped: usize,
    /// Last observations of at most 60 characters.
    pub short: usize,
    /// Functions that some trajectory must call.
    pub functions: usize,
}

/// A scenario that tasks share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    /// 1, 2 or 3.
    pub(super) difficulty: u8,
    /// Index into [`TASK_APPS`].
    pub(super) main_app: u8,
    /// Index into [`TASK_APPS`], where it uses a second app.
    pub(super) second_app: Option<u8>,
}

/// A trajectory before it is played.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrajectoryPlan {
    /// Its task.
    pub(super) task: u32,
    /// Its number within the task, from 1.
    pub(super) run: u32,
    /// Its number of boundaries.
    pub(super) boundaries: u32,
    /// Index of the first boundary with a write before it; `boundaries` = never.
    pub(super) write_at: u32,
    /// Index of the first boundary with a substantive write before it, at or after `write_at`.
    pub(super) substantive_at: u32,
    /// Index of its first boundary in the cohort.
    offset: usize,
}

impl TrajectoryPlan {
    /// The cell of its boundary `index`.
    pub(super) fn cell(&self, index: u32) -> Cell {
        if index >= self.substantive_at {
            Cell::Substantive
        } else if index >= self.write_at {
            Cell::LoginOnly
        } else {
            Cell::NoWrite
        }
    }
}

/// A cohort's plan.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    tasks: usize,
    scenarios: Vec<Scenario>,
    trajectories: Vec<TrajectoryPlan>,
    lengths: Vec<u8>,
    homes: BTreeMap<usize, Vec<usize>>,
}

impl Plan {
    /// Deals out all quotas of a configuration.
    ///
    /// # Errors
    /// Sizes that do not fit together.
    pub(super) fn new(config: &Config) -> Result<Plan, SimulateError> {
        config.validate()?;
        let streams = Streams::new(config.seed);
        let shuffled = |what: &str, mut deck: Vec<u8>| {
            streams.stream(&format!("simulate/plan/{what}"), 0).shuffle(&mut deck);
            deck
        };
        let first = config.trajectories;
        let later = config.boundaries - first;

        let difficulties = shuffled("difficulties", deck(&DIFFICULTIES, config.stems));
        let main_apps = shuffled("main-apps", deck(&MAIN_APPS, config.stems));
        let second_apps = shuffled("second-apps", deck(&SECOND_APPS, config.stems));
        let scenarios = (0..config.stems)
            .map(|stem| Scenario {
                difficulty: difficulties[stem] + 1,
                main_app: main_apps[stem],
                second_app: Some(second_apps[stem])
                    .filter(|&app| usize::from(app) < TASK_APPS.len() && app != main_apps[stem]),
            })
            .collect();

        let mut counts = boundaries_of(config.boundaries, first);
        streams.stream("simulate/plan/boundaries", 0).shuffle(&mut counts);
        let first_cells = shuffled("first-cells", deck(&FIRST_CELLS, first));
        let mut trajectories = Vec::with_capacity(first);
        let (mut offset, mut run) = (0, 0);
        for (index, boundaries) in counts.into_iter().enumerate() {
            let task = (index * config.tasks / first) as u32;
            run = if trajectories.last().is_some_and(|last: &TrajectoryPlan| last.task == task) { run + 1 } else { 1 };
            let never = boundaries;
            let (write_at, substantive_at) = match first_cells[index] {
                0 => (never, never),
                1 => (0, never),
                _ => (0, 0),
            };
            trajectories.push(TrajectoryPlan { task, run, boundaries, write_at, substantive_at, offset });
            offset += boundaries as usize;
        }
        deal_later_cells(&mut trajectories, quota(&LATER_CELLS, later), &streams);

        let mut first_lengths = shuffled("first-lengths", deck(&FIRST_LENGTHS, first)).into_iter();
        let mut later_lengths = shuffled("later-lengths", deck(&LATER_LENGTHS, later)).into_iter();
        let mut lengths = Vec::with_capacity(config.boundaries);
        for trajectory in &trajectories {
            lengths.extend(first_lengths.next());
            lengths.extend(later_lengths.by_ref().take(trajectory.boundaries as usize - 1));
        }
        let mut plan = Plan { tasks: config.tasks, scenarios, trajectories, lengths, homes: BTreeMap::new() };
        plan.house_functions(&streams);
        Ok(plan)
    }

    /// All trajectories, in corpus order.
    pub(super) fn trajectories(&self) -> &[TrajectoryPlan] {
        &self.trajectories
    }

    /// The counts dealt out.
    pub(super) fn planned(&self) -> Planned {
        let mut cells = [0; 3];
        for trajectory in &self.trajectories {
            (0..trajectory.boundaries).for_each(|index| cells[trajectory.cell(index) as usize] += 1);
        }
        let of_length = |wanted| self.lengths.iter().filter(|&&length| length == wanted).count();
        Planned { cells, capped: of_length(0), short: of_length(2), functions: self.homes.values().map(Vec::len).sum() }
    }

    /// The stem of a task.
    pub(super) fn stem_of(&self, task: u32) -> usize {
        task as usize * self.scenarios.len() / self.tasks
    }

    /// The number of a task within its stem, from 1.
    pub(super) fn variant_of(&self, task: u32) -> u32 {
        let stem = self.stem_of(task);
        let first = (stem * self.tasks).div_ceil(self.scenarios.len()) as u32;
        task - first + 1
    }

    /// The scenario of a task.
    pub(super) fn scenario(&self, task: u32) -> Scenario {
        self.scenarios[self.stem_of(task)]
    }

    /// How long the last observation before boundary `index` of a trajectory is.
    pub(super) fn length(&self, trajectory: &TrajectoryPlan, index: u32) -> Length {
        match self.lengths[trajectory.offset + index as usize] {
            0 => Length::Capped,
            1 => Length::Middle,
            _ => Length::Short,
        }
    }

    /// Functions (indices into the catalogue) that trajectory `index` must call, so that each occurs in the cohort.
    pub(super) fn homes(&self, index: usize) -> &[usize] {
        self.homes.get(&index).map_or(&[], Vec::as_slice)
    }

    /// Gives every function a trajectory that calls it: one that may write so, and uses the app where one does.
    fn house_functions(&mut self, streams: &Streams) {
        let mut order: Vec<usize> = (0..self.trajectories.len()).collect();
        streams.stream("simulate/plan/homes", 0).shuffle(&mut order);
        for (function, definition) in functions().iter().enumerate() {
            let may_call = |index: &&usize| {
                let trajectory = &self.trajectories[**index];
                match definition.kind() {
                    Kind::Read => true,
                    Kind::Session => trajectory.write_at < trajectory.boundaries,
                    Kind::Substantive => trajectory.substantive_at < trajectory.boundaries,
                }
            };
            let uses_app = |index: &&usize| {
                let scenario = self.scenario(self.trajectories[**index].task);
                let app = TASK_APPS.iter().position(|&app| app == definition.app).map(|app| app as u8);
                app.is_none() || app == Some(scenario.main_app) || app == scenario.second_app
            };
            let home = order.iter().filter(may_call).find(uses_app).or_else(|| order.iter().find(may_call)).copied();
            if let Some(home) = home {
                self.homes.entry(home).or_default().push(function);
                // the next function looks for a home elsewhere first
                order.retain(|&index| index != home);
                order.push(home);
            }
        }
    }
}

/// Shares out `total` in the proportions of `weights` by largest remainders (ties: earlier first).
fn quota(weights: &[usize], total: usize) -> Vec<usize> {
    let sum: usize = weights.iter().sum();
    let mut shares: Vec<usize> = weights.iter().map(|weight| weight * total / sum).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(weights[index] * total % sum));
    let missing = total - shares.iter().sum::<usize>();
    order.iter().take(missing).for_each(|&index| shares[index] += 1);
    shares
}

/// A deck of `total` cards, numbered by their place in `weights`, in those proportions.
fn deck(weights: &[usize], total: usize) -> Vec<u8> {
    let shares = quota(weights, total);
    shares.iter().enumerate().flat_map(|(card, &share)| std::iter::repeat_n(card as u8, share)).collect()
}

/// Boundaries of each trajectory, longest first, with the exact total: the number of trajectories that reach one more
/// boundary falls geometrically, as near as counts allow.
fn boundaries_of(boundaries: usize, trajectories: usize) -> Vec<u32> {
    let mean = boundaries as f64 / trajectories as f64;
    let longest = if mean > 0.6 * LONGEST as f64 { 2 * mean.ceil() as usize } else { LONGEST };
    let total = |ratio: f64| (0..longest).fold((0.0, 1.0), |(sum, power), _| (sum + power, power * ratio)).0;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if total(middle) < mean { low = middle } else { high = middle }
    }
    // reached[m]: trajectories with more than m boundaries; cumulative rounding keeps the total exact
    let mut reached = Vec::with_capacity(longest);
    let (mut exact, mut power, mut given) = (0.0, trajectories as f64, 0);
    for index in 0..longest {
        exact += power;
        power *= low;
        let upto = if index + 1 == longest { boundaries } else { exact.round() as usize };
        let most = reached.last().copied().unwrap_or(trajectories);
        let here = if index == 0 { trajectories } else { upto.saturating_sub(given).min(most) };
        reached.push(here);
        given += here;
    }
    let mut counts: Vec<u32> =
        (0..trajectories).map(|rank| reached.iter().filter(|&&count| count > rank).count() as u32).collect();
    // rounding in the last step may leave a few over: they lengthen trajectories in turn
    let missing = boundaries.saturating_sub(counts.iter().map(|&count| count as usize).sum());
    (0..missing).for_each(|index| counts[index % trajectories] += 1);
    counts
}

/// Decides when trajectories first write, by chance and then by trading until the later cells meet their quota.
fn deal_later_cells(trajectories: &mut [TrajectoryPlan], quota: Vec<usize>, streams: &Streams) {
    let mut stream = streams.stream("simulate/plan/later-cells", 0);
    for trajectory in trajectories.iter_mut() {
        let n = trajectory.boundaries;
        if trajectory.write_at == n {
            trajectory.write_at = (1..n).find(|_| stream.unit() < 0.78).unwrap_or(n);
        }
        if trajectory.substantive_at == n {
            let from = trajectory.write_at.max(1);
            trajectory.substantive_at = (from..n).find(|_| stream.unit() < 0.3).unwrap_or(n);
        }
    }
    let mut counts = [0usize; 3];
    for trajectory in trajectories.iter() {
        (1..trajectory.boundaries).for_each(|index| counts[trajectory.cell(index) as usize] += 1);
    }
    let mut order: Vec<usize> = (0..trajectories.len()).collect();
    stream.shuffle(&mut order);
    let mut traded = true;
    while traded {
        traded = false;
        for &index in &order {
            let t = &mut trajectories[index];
            let n = t.boundaries;
            // boundary 0 keeps its cell: it is a first compaction
            if counts[0] > quota[0] && t.write_at > 1 {
                t.write_at -= 1;
                (counts[0], counts[1], traded) = (counts[0] - 1, counts[1] + 1, true);
            } else if counts[0] < quota[0] && t.write_at >= 1 && t.write_at < t.substantive_at {
                t.write_at += 1;
                (counts[0], counts[1], traded) = (counts[0] + 1, counts[1] - 1, true);
            }
            if counts[2] > quota[2] && t.substantive_at >= 1 && t.substantive_at < n {
                t.substantive_at += 1;
                (counts[2], counts[1], traded) = (counts[2] - 1, counts[1] + 1, true);
            } else if counts[2] < quota[2] && t.substantive_at > t.write_at.max(1) {
                t.substantive_at -= 1;
                (counts[2], counts[1], traded) = (counts[2] + 1, counts[1] - 1, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(plan: &Plan) -> [[usize; 3]; 2] {
        let mut counts = [[0; 3]; 2];
        for trajectory in plan.trajectories() {
            for index in 0..trajectory.boundaries {
                counts[usize::from(index > 0)][trajectory.cell(index) as usize] += 1;
            }
        }
        counts
    }

    /// Counts of arXiv 2610.08722, Table 1 and Appendix D.
    #[test]
    fn the_default_plan_meets_the_published_counts() {
        let plan = Plan::new(&Config::default()).expect("the default fits");
        assert_eq!(cells(&plan), [FIRST_CELLS, LATER_CELLS]);
        assert_eq!(plan.trajectories().len(), 275);
        assert_eq!(plan.planned(), Planned { cells: [96, 368, 126], capped: 464, short: 74, functions: 119 });
    }

    #[test]
    fn every_size_is_met() {
        for boundaries in [1usize, 2, 3, 7, 48, 590, 1_001, 5_900] {
            for (trajectories, tasks) in
                [(boundaries, boundaries), (boundaries.div_ceil(2), 1), (boundaries.div_ceil(30), 1)]
            {
                let config = Config { boundaries, trajectories, tasks, stems: tasks.div_ceil(3), ..Config::default() };
                let plan = Plan::new(&config).expect("sizes nest");
                let total: u32 = plan.trajectories().iter().map(|t| t.boundaries).sum();
                assert_eq!((total as usize, plan.trajectories().len()), (boundaries, trajectories));
                let last = plan.trajectories().last().expect("at least one");
                assert_eq!(last.task as usize + 1, tasks);
                assert_eq!(plan.stem_of(last.task) + 1, config.stems);
                assert!(plan.trajectories().iter().all(|t| t.boundaries > 0 && plan.variant_of(t.task) >= 1));
            }
        }
    }
}
