//! A boundary on its way into a corpus line (protocol section 1).

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What is known of the steps before a boundary.
#[derive(Clone, Debug)]
pub enum History {
    /// The ordered steps; the reader derives the rest.
    Steps(Vec<Value>),
    /// The four fields that stand for them.
    Derived {
        /// Steps before the boundary.
        prefix_steps: u64,
        /// Distinct exact signatures.
        exact: BTreeSet<String>,
        /// Distinct functions.
        functions: BTreeSet<String>,
        /// The last observations, at most three.
        tail: Vec<String>,
        /// Error flags of the tail; empty for code.
        tail_errors: Vec<Option<bool>>,
    },
}

/// One replay or continuation.
#[derive(Clone, Debug)]
pub struct DraftRollout {
    /// `pre` or `post`.
    pub arm: &'static str,
    /// Number within the arm.
    pub sample: u64,
    /// Steps in the native format.
    pub steps: Vec<Value>,
    /// The environment reported the task complete.
    pub completed: bool,
    /// The boundary was selected on earlier draws before this one was made; `None` where there was no selection.
    pub selected: Option<bool>,
}

/// A boundary before it is written.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Unique id.
    pub boundary_id: String,
    /// Task.
    pub task_id: String,
    /// Scenario; the reader's default where `None`.
    pub stem: Option<String>,
    /// Trajectory.
    pub trajectory_id: String,
    /// 1 to 3.
    pub difficulty: Option<u8>,
    /// From 1.
    pub compaction_index: u64,
    /// The steps before it.
    pub history: History,
    /// Context size before.
    pub tokens_before: Option<u64>,
    /// Context size after.
    pub tokens_after: Option<u64>,
    /// The summary.
    pub summary: Option<String>,
    /// Replays.
    pub rollouts: Vec<DraftRollout>,
    /// Released deltas.
    pub deltas: Map<String, Value>,
    /// Where it comes from; one field of its own, which readers of the format pass over.
    pub import: Value,
}

impl Draft {
    /// The line, without its end.
    pub fn line(&self) -> String {
        let mut line = json!({
            "format": "foldline.corpus/1",
            "boundary_id": self.boundary_id,
            "task_id": self.task_id,
            "trajectory_id": self.trajectory_id,
            "difficulty": self.difficulty,
            "compaction_index": self.compaction_index,
            "rollouts": self.rollouts.iter().map(rollout).collect::<Vec<_>>(),
            "import": self.import,
        });
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                line[name] = value;
            }
        };
        put("stem", self.stem.clone().map(Value::from));
        put("tokens_before", self.tokens_before.map(Value::from));
        put("tokens_after", self.tokens_after.map(Value::from));
        put("summary", self.summary.clone().map(Value::from));
        put("deltas", (!self.deltas.is_empty()).then(|| Value::Object(self.deltas.clone())));
        match &self.history {
            History::Steps(steps) => put("prefix", Some(Value::Array(steps.clone()))),
            History::Derived { prefix_steps, exact, functions, tail, tail_errors } => {
                put("prefix_steps", Some((*prefix_steps).into()));
                put("historical_exact", Some(exact.iter().map(String::as_str).collect()));
                put("historical_functions", Some(functions.iter().map(String::as_str).collect()));
                put("tail", Some(tail.iter().map(String::as_str).collect()));
                let flags = || tail_errors.iter().map(|flag| flag.map_or(Value::Null, Value::from)).collect();
                put("tail_errors", (!tail_errors.is_empty()).then(flags));
            }
        }
        line.to_string()
    }
}

fn rollout(rollout: &DraftRollout) -> Value {
    let mut value = json!({
        "arm": rollout.arm,
        "sample": rollout.sample,
        "steps": rollout.steps,
        "completed": rollout.completed,
    });
    if let Some(selected) = rollout.selected {
        value["selected"] = selected.into();
    }
    value
}
