//! Writing boundaries in the native format.

use super::line::FORMAT;
use crate::boundary::{Boundary, PrefixStep, Rollout};
use serde_json::{Map, Value, json};

/// One boundary as one line of NDJSON, without the line's end. Keys stand in the order of protocol section 1 where the
/// JSON library keeps order, and sorted otherwise; readers must not care.
pub fn boundary_line(boundary: &Boundary) -> String {
    let mut line = Map::new();
    let mut put = |name: &str, value: Value| {
        line.insert(name.to_owned(), value);
    };
    let prefix = &boundary.prefix;
    put("format", FORMAT.into());
    put("boundary_id", boundary.boundary_id.as_str().into());
    put("task_id", boundary.task_id.as_str().into());
    put("stem", boundary.stem.as_str().into());
    put("trajectory_id", boundary.trajectory_id.as_str().into());
    put("difficulty", prefix.difficulty.into());
    put("compaction_index", prefix.compaction_index.into());
    put("prefix_steps", prefix.prefix_steps.into());
    put("historical_exact", prefix.historical_exact.iter().map(String::as_str).collect());
    put("historical_functions", prefix.historical_functions.iter().map(String::as_str).collect());
    put("tail", prefix.tail.iter().map(String::as_str).collect());
    if !prefix.tail_errors.is_empty() {
        put("tail_errors", prefix.tail_errors.iter().copied().map(Value::from).collect());
    }
    if let Some(support) = prefix.summary_support {
        put("summary_entries", support.entries.into());
        put("summary_unsupported", support.unsupported.into());
    }
    let context = &boundary.context;
    if let Some(steps) = &context.steps {
        put("prefix", steps.iter().map(step).collect());
    }
    for (name, tokens) in [("tokens_before", context.tokens_before), ("tokens_after", context.tokens_after)] {
        if let Some(tokens) = tokens {
            put(name, tokens.into());
        }
    }
    if let Some(summary) = &context.summary {
        put("summary", summary.as_str().into());
    }
    put("rollouts", boundary.rollouts.iter().map(rollout).collect());
    if !boundary.deltas.is_empty() {
        put("deltas", boundary.deltas.iter().map(|(name, value)| (name.clone(), Value::from(*value))).collect());
    }
    Value::Object(line).to_string()
}

fn step(step: &PrefixStep) -> Value {
    let mut value = json!({"action": step.action, "observation": step.observation});
    if let Some(tokens) = step.tokens {
        value["tokens"] = tokens.into();
    }
    if let Some(is_error) = step.is_error {
        value["is_error"] = is_error.into();
    }
    value
}

fn rollout(rollout: &Rollout) -> Value {
    let steps: Vec<Value> = rollout
        .steps
        .iter()
        .map(|step| json!({"exact": step.exact, "function": step.function, "blocked": step.blocked, "refetch": step.refetch}))
        .collect();
    json!({"arm": rollout.arm.name(), "sample": rollout.sample, "steps": steps, "completed": rollout.completed})
}
