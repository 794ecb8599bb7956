//! One compaction opportunity: the prefix a trigger may see, and the rollouts that tell what compaction did.

use std::collections::{BTreeMap, BTreeSet};

/// Which context a rollout started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// The full context, as if compaction had been blocked.
    Pre,
    /// The summary, as if compaction had been allowed.
    Post,
}

impl Arm {
    /// The word used in files: `pre` or `post`.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Pre => "pre",
            Arm::Post => "post",
        }
    }
}

/// One step of a prefix: what the agent did and what the environment answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixStep {
    /// The action as text (code, or a tool call in the profile's syntax).
    pub action: String,
    /// The environment's answer, possibly capped by whoever recorded it.
    pub observation: String,
    /// Tokens of action and observation, where recorded.
    pub tokens: Option<u64>,
    /// The environment's error flag, where the format has one.
    pub is_error: Option<bool>,
}

/// What is known at a boundary before anything is decided: all that a trigger may see (protocol section 1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prefix {
    /// 1, 2 or 3 where the task's difficulty is recorded.
    pub difficulty: Option<u8>,
    /// 1 for the first compaction of the trajectory.
    pub compaction_index: u64,
    /// Steps executed before the boundary.
    pub prefix_steps: u64,
    /// Distinct exact call signatures before the boundary.
    pub historical_exact: BTreeSet<String>,
    /// Distinct functions (`app.api`, or a tool's name) before the boundary.
    pub historical_functions: BTreeSet<String>,
    /// The last observations before the boundary, at most three, oldest first.
    pub tail: Vec<String>,
    /// Error flags of the tail observations where the environment gives them; empty or parallel to `tail`.
    pub tail_errors: Vec<Option<bool>>,
    /// What a source judge said of the summary; exists only after summarising, and only H+S uses it.
    pub summary_support: Option<SummarySupport>,
}

/// How many entries of a summary had no source (the pruning paper's account of one boundary).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SummarySupport {
    /// Entries judged.
    pub entries: u64,
    /// Entries without a source.
    pub unsupported: u64,
}

impl SummarySupport {
    /// Share of entries without a source, 0 for a summary without entries.
    pub fn share(self) -> f64 {
        if self.entries == 0 { 0.0 } else { self.unsupported as f64 / self.entries as f64 }
    }
}

/// What else is recorded at a boundary and no representation of the paper uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Context size in tokens just before compaction.
    pub tokens_before: Option<u64>,
    /// Context size in tokens just after compaction.
    pub tokens_after: Option<u64>,
    /// The summary that replaced the history.
    pub summary: Option<String>,
    /// The ordered steps, where the corpus has them.
    pub steps: Option<Vec<PrefixStep>>,
}

/// One executed step of a rollout, reduced to what burden needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutStep {
    /// Exact signature of the step's primary call; empty when the step has no call.
    pub exact: String,
    /// Function of the primary call; empty when the step has no call.
    pub function: String,
    /// The environment returned an error.
    pub blocked: bool,
    /// The call repeats one of the prefix or of this rollout.
    pub refetch: bool,
}

/// One replay from a boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Which context it started from.
    pub arm: Arm,
    /// Its number within the arm, as recorded.
    pub sample: u64,
    /// Its executed steps, in order.
    pub steps: Vec<RolloutStep>,
    /// The environment reported the task complete.
    pub completed: bool,
}

/// One compaction opportunity with its replays (protocol section 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    /// Unique within the corpus.
    pub boundary_id: String,
    /// The task the trajectory worked on.
    pub task_id: String,
    /// The scenario a task shares with its variants.
    pub stem: String,
    /// Boundaries of one trajectory share it.
    pub trajectory_id: String,
    /// What a trigger may see.
    pub prefix: Prefix,
    /// Token counts, summary and ordered steps, where recorded.
    pub context: Context,
    /// The replays, in file order.
    pub rollouts: Vec<Rollout>,
    /// Released deltas by name (`dU@3`), already checked against the rollouts.
    pub deltas: BTreeMap<String, f64>,
}

/// The scenario of a task id: what stands before its last `_`, or the whole id (protocol section 1).
pub fn stem_of(task_id: &str) -> &str {
    task_id.rsplit_once('_').map_or(task_id, |(stem, _)| stem)
}
