//! Sizes and options of a simulated cohort.

use super::harm::HarmModel;
use thiserror::Error;

/// Sizes, seed and options of a cohort. [`Config::default`] has the published shape (arXiv 2610.08722, section 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Boundaries (590).
    pub boundaries: usize,
    /// Trajectories with at least one boundary, thus first compactions (275).
    pub trajectories: usize,
    /// Tasks (140).
    pub tasks: usize,
    /// Stems: scenarios that tasks share (48).
    pub stems: usize,
    /// Rollouts an arm at first compactions (5).
    pub rollouts_first: usize,
    /// Rollouts an arm at later compactions (3).
    pub rollouts_later: usize,
    /// Base seed of all streams.
    pub seed: u64,
    /// Strength of the link between history and harm: 0 none, 1 as calibrated.
    pub signal: f64,
    /// Give the ordered steps before each boundary.
    pub with_prefix: bool,
    /// Give token counts before and after each compaction.
    pub with_tokens: bool,
    /// The law of burden.
    pub harm: HarmModel,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            boundaries: 590,
            trajectories: 275,
            tasks: 140,
            stems: 48,
            rollouts_first: 5,
            rollouts_later: 3,
            seed: 20_260_901,
            signal: 1.0,
            with_prefix: false,
            with_tokens: false,
            harm: HarmModel::default(),
        }
    }
}

impl Config {
    /// A cohort of another size in the published proportions: trajectories, tasks and stems grow with the boundaries.
    pub fn scaled(boundaries: usize) -> Config {
        let base = Config::default();
        let scale = |count: usize, of: usize, to: usize| (to * count + of / 2).checked_div(of).unwrap_or(0).max(1);
        let trajectories = scale(base.trajectories, base.boundaries, boundaries).min(boundaries);
        let tasks = scale(base.tasks, base.boundaries, boundaries).min(trajectories);
        let stems = scale(base.stems, base.tasks, tasks).min(tasks);
        Config { boundaries, trajectories, tasks, stems, ..base }
    }

    /// Checks that the sizes fit together.
    ///
    /// # Errors
    /// The first size that does not fit, and what to do.
    pub fn validate(&self) -> Result<(), SimulateError> {
        let at_least = |what, size: usize, than, least: usize| {
            if size >= least { Ok(()) } else { Err(SimulateError::TooFew { what, size, than, least }) }
        };
        at_least("stems", self.stems, "one", 1)?;
        at_least("tasks", self.tasks, "stems", self.stems)?;
        at_least("trajectories", self.trajectories, "tasks", self.tasks)?;
        at_least("boundaries", self.boundaries, "trajectories", self.trajectories)?;
        at_least("rollouts an arm at first compactions", self.rollouts_first, "one", 1)?;
        at_least("rollouts an arm at later compactions", self.rollouts_later, "one", 1)?;
        for (what, size, most) in [
            ("boundaries", self.boundaries, 100_000_000),
            ("boundaries for each trajectory", self.boundaries / self.trajectories, 1_000),
            ("rollouts an arm", self.rollouts_first.max(self.rollouts_later), 1_000),
        ] {
            if size > most {
                return Err(SimulateError::TooMany { what, size, most });
            }
        }
        if !(0.0..=10.0).contains(&self.signal) {
            return Err(SimulateError::Signal(self.signal));
        }
        Ok(())
    }
}

/// Why a cohort cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimulateError {
    /// Counts must nest: each stem has a task, each task a trajectory, each trajectory a boundary.
    #[error(
        "{size} {what} are too few: at least {least} are needed (as many as {than}); raise them or lower the {than}"
    )]
    TooFew {
        /// What there is too little of.
        what: &'static str,
        /// How many were asked for.
        size: usize,
        /// What they are compared with.
        than: &'static str,
        /// How many are needed.
        least: usize,
    },
    /// Sizes beyond what a plan holds.
    #[error("{size} {what} are too many: at most {most}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many were asked for.
        size: usize,
        /// How many are possible.
        most: usize,
    },
    /// The signal is a factor on the harm score.
    #[error("signal {0} is out of range: give a number from 0 (none) through 1 (as calibrated) to 10")]
    Signal(f64),
}
