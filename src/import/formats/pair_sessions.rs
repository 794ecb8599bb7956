//! Trajectories of PAIR's evaluation runs: steps and compaction events of one task in time order.

use super::{Sink, file_stem};
use crate::import::pair::{is_code, step_of};
use crate::import::session::{Actions, Builder, Compaction, Session, Step};
use crate::import::source::{FileError, LeftOut, Limits, read_document};
use serde_json::Value;
use std::path::Path;

/// Reads one trajectory file.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let document: Value = read_document(path, limits)?;
    let Some(events) = document["events"].as_array() else {
        return Err(FileError::OtherKind("no events".to_owned()));
    };
    // runs lie in folders of their own: appworld/history/s1/trajectories/TASK.json
    let mut folders: Vec<String> = path
        .ancestors()
        .skip(1)
        .map(file_stem)
        .filter(|name| !name.is_empty() && name != "trajectories")
        .take(3)
        .collect();
    folders.reverse();
    let run = folders.join("/");
    let task = document["task_id"].as_str().map_or_else(|| file_stem(path), str::to_owned);
    sink(session(&document, events, format!("{run}::{task}"), task, left_out));
    Ok(())
}

/// A session of the events of a trajectory.
fn session(document: &Value, events: &[Value], id: String, task: String, left_out: &mut LeftOut) -> Session {
    let mut builder = Builder::new("pair", id);
    builder.session().model = document["model"].as_str().map(str::to_owned);
    builder.session().task = Some(task);
    builder.session().actions = if is_code(events) { Actions::Code } else { Actions::ToolCalls };
    let is_recorded = events.iter().any(|event| !event["compression_before_step"].is_null());
    if !is_recorded && document["n_compressions"].as_u64().is_some_and(|count| count > 0) {
        // tau2 keeps its compactions in a file of their own, by time
        builder.session().no_boundaries = Some("its compactions are recorded in another file");
    }
    for event in events {
        if !event["compression_before_step"].is_null() {
            if event["error"].is_null() || event["error"] == "" {
                builder.compaction(Compaction {
                    summary: event["summary"].as_str().map(str::to_owned),
                    trigger: event["kind"].as_str().map(str::to_owned),
                    tokens_after: None,
                    ..Compaction::default()
                });
            } else {
                left_out.add("compaction that failed", 1, None);
            }
            continue;
        }
        if let Some(prompt) = event["prompt_tokens"].as_u64().filter(|&prompt| prompt > 0) {
            builder.request(prompt, event["completion_tokens"].as_u64().unwrap_or(0));
        }
        match step_of(event) {
            Some(step) => {
                let request = builder.session().requests.len().checked_sub(1);
                builder.step(Step { request, ..step });
            }
            None => left_out.add("event that is no step", 1, None),
        }
    }
    builder.finish()
}
