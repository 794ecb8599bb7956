//! Codex: one JSON entry a line, linear; usage follows the calls it belongs to.

use super::{Sink, fallback_id, note_unknown};
use crate::import::session::{Builder, Compaction, arguments_of, text_of};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits};
use serde_json::{Value, json};
use std::path::Path;

/// Reads one rollout file.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let mut lines = JsonLines::open(path, limits)?;
    let mut builder = Builder::new("codex", fallback_id(path));
    let mut last_total = Value::Null;
    let mut has_meta = false;
    while let Some((_, entry)) = lines.next::<Value>(left_out) {
        let payload = &entry["payload"];
        match entry["type"].as_str().unwrap_or("") {
            // a resumed session holds the metadata of what it was resumed from behind its own
            "session_meta" if !has_meta => {
                has_meta = true;
                if let Some(id) = payload["id"].as_str().or(payload["session_id"].as_str()) {
                    id.clone_into(&mut builder.session().id);
                }
                builder.session().cwd = payload["cwd"].as_str().map(str::to_owned);
            }
            "turn_context" => {
                if let Some(model) = payload["model"].as_str() {
                    builder.session().model = Some(model.to_owned());
                }
            }
            "response_item" => response_item(payload, &mut builder, left_out),
            "event_msg" => event(payload, &mut builder, &mut last_total),
            "compacted" => builder.compaction(Compaction {
                summary: payload["message"].as_str().filter(|text| !text.is_empty()).map(str::to_owned),
                ..Compaction::default()
            }),
            "session_meta" | "world_state" | "token_usage_record" => {}
            other => note_unknown(other, left_out),
        }
    }
    if !has_meta {
        return Err(FileError::OtherKind("no line of type session_meta".to_owned()));
    }
    sink(builder.finish());
    Ok(())
}

fn response_item(payload: &Value, builder: &mut Builder, left_out: &mut LeftOut) {
    let text = |name: &str| payload[name].as_str().unwrap_or("");
    match text("type") {
        "function_call" => {
            builder.call_before_its_request(text("call_id"), text("name"), &arguments_of(payload.get("arguments")));
        }
        "custom_tool_call" => {
            builder.call_before_its_request(text("call_id"), text("name"), &json!({"input": payload["input"]}));
        }
        "local_shell_call" => {
            let id = payload["call_id"].as_str().unwrap_or_else(|| text("id"));
            builder.call_before_its_request(id, "local_shell_call", &payload["action"]);
        }
        "function_call_output" | "custom_tool_call_output" => {
            let (observation, is_error) = output(&payload["output"]);
            builder.result(text("call_id"), observation, is_error);
        }
        "web_search_call" | "image_generation_call" | "tool_search_call" => {
            builder.leave_out("call that the provider runs (its result is not recorded)");
        }
        "message" | "reasoning" | "compaction" | "compaction_summary" | "ghost_snapshot" | "other"
        | "tool_search_output" => {}
        other => note_unknown(&format!("response_item of type {other}"), left_out),
    }
}

/// The text of an output, and whether it failed by what the text says: older builds give no other sign.
fn output(value: &Value) -> (String, Option<bool>) {
    let mut text = match value {
        Value::Object(map) => text_of(map.get("content").or(map.get("output")).unwrap_or(&Value::Null)),
        other => text_of(other),
    };
    let mut is_error = value.get("success").and_then(Value::as_bool).map(|success| !success);
    // `{"output": "...", "metadata": {"exit_code": 1}}` as text
    if let Ok(inner) = serde_json::from_str::<Value>(&text)
        && let (Some(output), Some(code)) = (inner["output"].as_str(), inner["metadata"]["exit_code"].as_i64())
    {
        is_error = is_error.or(Some(code != 0));
        text = output.to_owned();
    }
    const EXIT: &str = "Process exited with code ";
    let stated = text.lines().take(8).find_map(|line| line.strip_prefix(EXIT)?.trim().parse::<i64>().ok());
    (text, is_error.or(stated.map(|code| code != 0)))
}

fn event(payload: &Value, builder: &mut Builder, last_total: &mut Value) {
    match payload["type"].as_str().unwrap_or("") {
        "item_completed" => {
            let item = &payload["item"];
            let failed = match (item["status"].as_str(), item["exit_code"].as_i64()) {
                (Some("failed" | "declined"), _) => Some(true),
                (Some("completed"), _) => Some(false),
                (_, code) => code.map(|code| code != 0),
            };
            if let (Some(id), Some(failed)) = (item["id"].as_str(), failed) {
                builder.flag(id, failed);
            }
        }
        "exec_command_end" | "patch_apply_end" => {
            let failed = payload["exit_code"].as_i64().map(|code| code != 0);
            let failed = failed.or(payload["success"].as_bool().map(|success| !success));
            if let (Some(id), Some(failed)) = (payload["call_id"].as_str(), failed) {
                builder.flag(id, failed);
            }
        }
        "token_count" => {
            let info = &payload["info"];
            // the same counts are repeated when only rate limits have changed
            if info.is_null() || *last_total == info["total_token_usage"] {
                return;
            }
            last_total.clone_from(&info["total_token_usage"]);
            let last = &info["last_token_usage"];
            if let Some(prompt) = last["input_tokens"].as_u64().filter(|&prompt| prompt > 0) {
                builder.request_of_past_calls(prompt, last["output_tokens"].as_u64().unwrap_or(0));
            }
        }
        _ => {}
    }
}
