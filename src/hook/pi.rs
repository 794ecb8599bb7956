//! pi: the extension passes on what `session_before_compact` gives it and obeys `cancel`.
//!
//! The whole branch comes with every question, so only the blocks stand in the side-car file. Checked against 0.73.1 and
//! 1.6.0.

use super::gate::Gate;
use super::{cut, text_of};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Answers one line of the extension; the text is one line of JSON.
///
/// # Errors
/// A sentence for stderr when the line is no JSON object; the extension then allows.
pub fn handle(gate: &Gate, payload: &[u8]) -> Result<String, String> {
    let payload: Value =
        serde_json::from_slice(payload).map_err(|error| format!("the payload is not JSON: {error}"))?;
    if !payload.is_object() {
        return Err("the payload is no JSON object".to_owned());
    }
    if payload["event"] != "session_before_compact" {
        // compactions are seen in the branch itself
        return Ok(json!({"noted": true}).to_string());
    }
    let none = Vec::new();
    let branch = Branch::of(payload["branchEntries"].as_array().unwrap_or(&none));
    // the first entry of a branch is the session's own; with neither, two sessions would share one count of blocks
    let named = [payload["session_id"].as_str(), Some(&branch.first_id)];
    let session = named.into_iter().flatten().find(|id| !id.is_empty());
    let decided = gate.ask(session, |_| (branch.last_id.clone(), request(&payload, &branch)));
    let mut answer = serde_json::to_value(&decided.answer).unwrap_or_else(|_| json!({}));
    answer["cancel"] = json!(decided.answer.is_veto());
    Ok(answer.to_string())
}

fn request(payload: &Value, branch: &Branch) -> Map<String, Value> {
    let tokens = [&payload["usage"]["tokens"], &payload["preparation"]["tokensBefore"]];
    let tokens = tokens.into_iter().find(|tokens| !tokens.is_null()).cloned().unwrap_or_default();
    let last = match &branch.last_compaction {
        None => Value::Null,
        Some((before, after)) => json!({"tokens_before": before, "tokens_after": after}),
    };
    let request = json!({
        "call_site": "session_before_compact",
        "trigger": trigger(payload, branch, &tokens),
        "compaction_index": branch.compactions + 1,
        "prefix": branch.steps,
        "ctx_tokens": tokens,
        "window_tokens": payload["contextWindow"],
        "tokens_source": "provider",
        // the event comes when all results of a batch have landed
        "tool_in_flight": false,
        "last_compaction": last,
    });
    let Value::Object(mut map) = request else { return Map::new() };
    if !payload["branchEntries"].is_array() {
        // no branch is no empty branch: the policy then misses its features and allows
        map.remove("prefix");
    }
    map
}

/// Why pi compacts. Before 0.79.10 it does not say; a failed last message then means overflow, and a context below pi's
/// own threshold, or instructions, a person.
fn trigger(payload: &Value, branch: &Branch, tokens: &Value) -> String {
    match payload["reason"].as_str() {
        Some("threshold") => return "auto".to_owned(),
        // manual, overflow, or a reason of a later version, which is refused aloud and allowed
        Some(other) => return other.to_owned(),
        None => {}
    }
    if branch.failed_last {
        return "overflow".to_owned();
    }
    let reserve = payload["preparation"]["settings"]["reserveTokens"].as_u64();
    let below = match (tokens.as_u64(), payload["contextWindow"].as_u64(), reserve) {
        (Some(tokens), Some(window), Some(reserve)) => tokens <= window.saturating_sub(reserve),
        _ => false,
    };
    let asked = payload["customInstructions"].as_str().is_some_and(|text| !text.is_empty());
    if below || asked { "manual".to_owned() } else { "auto".to_owned() }
}

/// What the entries of a branch say, oldest first.
#[derive(Debug, Default)]
struct Branch {
    first_id: String,
    last_id: String,
    steps: Vec<Value>,
    compactions: u64,
    last_compaction: Option<(Option<u64>, Option<u64>)>,
    failed_last: bool,
}

impl Branch {
    fn of(entries: &[Value]) -> Branch {
        let mut branch = Branch::default();
        let mut calls: BTreeMap<&str, Value> = BTreeMap::new();
        for entry in entries {
            if let Some(id) = entry["id"].as_str() {
                if branch.first_id.is_empty() {
                    branch.first_id = format!("branch-{id}");
                }
                branch.last_id = id.to_owned();
            }
            if entry["type"] == "compaction" {
                branch.compactions += 1;
                branch.last_compaction = Some((entry["tokensBefore"].as_u64(), None));
            }
            let message = &entry["message"];
            match message["role"].as_str() {
                Some("assistant") => {
                    branch.failed_last = message["stopReason"] == "error";
                    branch.note_usage(&message["usage"]);
                    for block in message["content"].as_array().into_iter().flatten() {
                        if let (true, Some(id)) = (block["type"] == "toolCall", block["id"].as_str()) {
                            calls.insert(id, json!({"name": block["name"], "arguments": block["arguments"]}));
                        }
                    }
                }
                Some("toolResult") => {
                    let id = message["toolCallId"].as_str().unwrap_or("");
                    let call = calls.get(id).cloned();
                    let call = call.unwrap_or_else(|| json!({"name": message["toolName"], "arguments": {}}));
                    branch.steps.push(json!({
                        "action": call.to_string(),
                        "observation": cut(text_of(&message["content"])),
                        "is_error": message["isError"].as_bool().unwrap_or(false),
                    }));
                }
                _ => {}
            }
        }
        branch
    }

    /// The first request after a compaction tells what it left.
    fn note_usage(&mut self, usage: &Value) {
        let parts = ["input", "cacheRead", "cacheWrite"].iter().filter_map(|part| usage[*part].as_u64());
        let tokens = parts.fold(0, u64::saturating_add);
        if let (Some((_, after @ None)), true) = (&mut self.last_compaction, tokens > 0) {
            *after = Some(tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_by_hand() {
        let entries: Vec<Value> = [
            r#"{"type":"session","id":"s"}"#,
            r#"{"type":"message","id":"a1","message":{"role":"assistant","stopReason":"toolUse","usage":{"input":900,"cacheRead":100},"content":[{"type":"text","text":"x"},{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make"}}]}}"#,
            r#"{"type":"message","id":"a2","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","isError":true,"content":[{"type":"text","text":"1 test failed"}]}}"#,
            r#"{"type":"compaction","id":"a3","tokensBefore":5000}"#,
            r#"{"type":"message","id":"a4","message":{"role":"assistant","stopReason":"error","usage":{"input":0},"content":[]}}"#,
        ]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
        let branch = Branch::of(&entries);
        assert_eq!(
            branch.steps,
            [json!({
                "action": r#"{"arguments":{"command":"make"},"name":"bash"}"#,
                "observation": "1 test failed",
                "is_error": true
            })]
        );
        assert_eq!((branch.first_id.as_str(), branch.last_id.as_str(), branch.compactions), ("branch-s", "a4", 1));
        assert_eq!(branch.last_compaction, Some((Some(5000), None)), "a failed request has no usage");
        assert!(branch.failed_last);
    }

    #[test]
    fn the_reason_is_inferred_where_pi_does_not_say() {
        let of = |payload: Value, failed: bool| {
            let branch = Branch { failed_last: failed, ..Branch::default() };
            trigger(&payload, &branch, &json!(4233))
        };
        let payload = |reason: Value, reserve: u64| json!({"reason": reason, "contextWindow": 12000, "preparation": {"settings": {"reserveTokens": reserve}}});
        assert_eq!(of(payload(json!("threshold"), 0), true), "auto");
        assert_eq!(of(payload(json!("overflow"), 8000), false), "overflow");
        assert_eq!(of(payload(Value::Null, 8000), true), "overflow");
        assert_eq!(of(payload(Value::Null, 8000), false), "auto", "4233 > 4000");
        assert_eq!(of(payload(Value::Null, 7000), false), "manual", "4233 <= 5000: pi itself would not ask");
    }
}
