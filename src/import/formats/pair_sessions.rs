//! Trajectories of PAIR's evaluation runs: steps and compaction events of one task in time order.

use super::{Sink, file_stem};
use crate::import::pair::{is_code, step_of};
use crate::import::session::{Actions, Builder, Compaction, Session};
use crate::import::source::{FileError, LeftOut, Limits, read_document};
use serde_json::Value;
use std::path::Path;

/// Reads one trajectory file.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let document: Value = read_document(path, limits)?;
    let Some(events) = document["events"].as_array() else {
        return Err(FileError::OtherKind("no events".to_owned()));
    };
    // files of several runs lie in folders of their own: run/trajectories/task.json
    let run = path.parent().and_then(Path::parent).map(file_stem).unwrap_or_default();
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
        match step_of(event) {
            Some(step) => builder.step(step),
            None => left_out.add("event that is no step", 1, None),
        }
    }
    builder.finish()
}
