//! ATIF: one trajectory a document, calls and their results within one step.

use super::{Sink, fallback_id};
use crate::import::session::{Builder, Compaction, text_of};
use crate::import::source::{FileError, LeftOut, Limits, read_document};
use serde_json::Value;
use std::path::Path;

/// Reads one document with its embedded subagents.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let document: Value = read_document(path, limits)?;
    if !document["schema_version"].as_str().is_some_and(|version| version.starts_with("ATIF-v1")) {
        return Err(FileError::OtherKind("no schema_version ATIF-v1.x".to_owned()));
    }
    trajectory(&document, &fallback_id(path), 0, left_out, sink);
    Ok(())
}

fn trajectory(document: &Value, fallback: &str, depth: usize, left_out: &mut LeftOut, sink: Sink<'_>) {
    let text = |name: &str| document[name].as_str();
    // a run's trajectories may share its session_id
    let id = match (text("trajectory_id"), text("session_id"), depth) {
        (Some(id), _, _) | (None, Some(id), 0) => id.to_owned(),
        (None, _, _) => fallback.to_owned(),
    };
    let mut builder = Builder::new("atif", id.clone());
    let agent = &document["agent"];
    builder.session().model = agent["model_name"].as_str().map(str::to_owned);
    if text("continued_trajectory_ref").is_some() {
        left_out.add("trajectory that goes on in another file (both are sessions of their own)", 1, None);
    }
    for step in document["steps"].as_array().map_or(&[][..], Vec::as_slice) {
        if step["is_copied_context"] == true {
            left_out.add("step copied from an earlier trajectory", 1, None);
            continue;
        }
        self::step(step, &mut builder, left_out);
    }
    sink(builder.finish());
    let subagents = document["subagent_trajectories"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, subagent) in subagents.iter().enumerate() {
        if depth > 8 {
            left_out.add("subagent nested too deeply", 1, None);
        } else {
            trajectory(subagent, &format!("{id}/{index}"), depth + 1, left_out, sink);
        }
    }
}

fn step(step: &Value, builder: &mut Builder, left_out: &mut LeftOut) {
    let management = &step["extra"]["context_management"];
    if management["type"] == "compaction" {
        let count = |name: &str| management[name].as_u64();
        builder.compaction(Compaction {
            tokens_before: count("tokens_before"),
            tokens_after: count("tokens_after"),
            summary: management["summary"].as_str().map(str::to_owned),
            ..Compaction::default()
        });
        return;
    }
    if step["source"] != "agent" {
        return;
    }
    if let Some(model) = step["model_name"].as_str() {
        builder.session().model = Some(model.to_owned());
    }
    let metrics = &step["metrics"];
    let is_one_request = step["llm_call_count"].as_u64().is_none_or(|count| count <= 1);
    match metrics["prompt_tokens"].as_u64() {
        Some(prompt) if is_one_request => builder.request(prompt, metrics["completion_tokens"].as_u64().unwrap_or(0)),
        Some(_) => left_out.add("token count over several requests", 1, None),
        None => {}
    }
    let calls = step["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    for call in calls {
        let text = |name: &str| call[name].as_str().unwrap_or("");
        builder.call(text("tool_call_id"), text("function_name"), &call["arguments"]);
    }
    let step_flag = error_flag(&step["extra"]);
    for result in step["observation"]["results"].as_array().map_or(&[][..], Vec::as_slice) {
        // a result without an id belongs to the step's only call
        let id = match (result["source_call_id"].as_str(), calls) {
            (Some(id), _) => id,
            (None, [only]) => only["tool_call_id"].as_str().unwrap_or(""),
            _ => {
                left_out.add("observation of no tool call", 1, None);
                continue;
            }
        };
        let flag = error_flag(&result["extra"]).or(step_flag);
        builder.result(id, text_of(&result["content"]), flag);
    }
}

/// There is no standard field; these are the two that Harbor's own adapters write, on the result or on the step.
fn error_flag(extra: &Value) -> Option<bool> {
    ["is_error", "tool_result_is_error"].iter().find_map(|name| extra[*name].as_bool())
}
