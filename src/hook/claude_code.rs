//! Claude Code: one command for the hooks `PostToolUse`, `PostToolUseFailure`, `PreCompact`, `PostCompact` and
//! `SessionStart`.
//!
//! Its transcript lags behind (a step may be missing when `PreCompact` runs), so steps come from the side-car file that
//! the tool hooks write; the transcript gives token counts, and tells an overflow from an ordinary question: the client
//! calls both `auto`, and blocking an overflow ends the session. Checked against version 2.1.332.

use super::gate::{Gate, prefix_of};
use super::state::{Event, State};
use super::{cut, text_of};
use crate::cmd::say;
use foldline_models::policy::Decided;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// Bytes at the end of a transcript that are searched for token counts.
const TRANSCRIPT_TAIL: u64 = 64 << 20;
/// How often, and how long each time, the sign of an overflow is waited for.
const OVERFLOW_ATTEMPTS: u32 = 10;
const OVERFLOW_WAIT: Duration = Duration::from_millis(50);

/// The model's window as the hook is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The window in tokens, where known.
    pub tokens: Option<u64>,
    /// Tokens below it that the client never uses: it was seen to stop 19,000 to 23,000 short of a window of 200,000.
    pub reserve: u64,
}

/// Handles one payload; the text is what goes to stdout, nothing to allow.
///
/// # Errors
/// A sentence for stderr; the harness then does what it would have done without the hook.
pub fn handle(gate: &Gate, window: Window, payload: &[u8]) -> Result<Option<String>, String> {
    let payload: Value =
        serde_json::from_slice(payload).map_err(|error| format!("the payload is not JSON: {error}"))?;
    let text = |field: &str| payload.get(field).and_then(Value::as_str);
    let session = text("session_id").filter(|id| !id.is_empty()).ok_or("the payload has no session_id")?;
    let event = text("hook_event_name").ok_or("the payload has no hook_event_name")?;
    let note = |event: &Event| gate.note(session, event).map_err(|error| format!("the state cannot be kept: {error}"));
    match event {
        "PostToolUse" => note(&step(&payload, observation(&payload["tool_response"]), false)).map(|()| None),
        "PostToolUseFailure" => note(&step(&payload, text_of(&payload["error"]), true)).map(|()| None),
        // one compaction is told twice where both hooks are set; the state counts it once
        "PostCompact" => note(&Event::Compacted { tokens_before: None, tokens_after: None }).map(|()| None),
        "SessionStart" if text("source") == Some("compact") => {
            note(&Event::Compacted { tokens_before: None, tokens_after: None }).map(|()| None)
        }
        "PreCompact" => Ok(pre_compact(gate, window, session, &payload)),
        _ => Ok(None),
    }
}

fn step(payload: &Value, observation: String, failed: bool) -> Event {
    let call = json!({"name": payload["tool_name"], "arguments": payload["tool_input"]});
    Event::Step {
        id: payload.get("tool_use_id").and_then(Value::as_str).map(str::to_owned),
        action: call.to_string(),
        observation: cut(observation),
        is_error: Some(failed),
    }
}

/// The text of a tool's response, as near as the hook's payload allows to what the model reads: the streams of a shell,
/// the content of a file, the text of blocks.
fn observation(response: &Value) -> String {
    if let (Some(out), err) = (response.get("stdout").and_then(Value::as_str), response.get("stderr")) {
        let err = err.and_then(Value::as_str).unwrap_or("");
        return [out, err].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    }
    let content = response.get("file").and_then(|file| file.get("content")).or_else(|| response.get("content"));
    text_of(content.unwrap_or(response))
}

fn pre_compact(gate: &Gate, window: Window, session: &str, payload: &Value) -> Option<String> {
    let prompt = payload.get("prompt_id").and_then(Value::as_str).unwrap_or("");
    let decided = gate.ask(Some(session), |state| {
        // not keyed on the transcript: two steps can see the same stale one
        let boundary = format!("{}:{}:{prompt}", state.steps.len(), state.last_id.as_deref().unwrap_or(""));
        let (transcript, overflow) = read_transcript(payload, state, &boundary);
        let request = request(window, payload, &transcript, state, overflow);
        (boundary, request)
    });
    block(&decided)
}

/// The transcript, and whether the provider has refused the request at this boundary.
///
/// A request that was sent and not answered is the sign. It may appear late, so after an obeyed block (the client then
/// sends the request, and asks again only when it is refused) it is waited for. A client that records no requests leaves
/// nothing to tell the two apart, and a second question after an obeyed block then counts as an overflow.
fn read_transcript(payload: &Value, state: &State, boundary: &str) -> (Transcript, bool) {
    let Some(path) = payload.get("transcript_path").and_then(Value::as_str) else {
        return (Transcript::default(), false);
    };
    let read = || Transcript::read(Path::new(path), state.last_id.as_deref());
    let mut transcript = match read() {
        Ok(transcript) => transcript,
        Err(problem) => {
            say(&format!("foldline: {path}: {problem}"));
            return (Transcript::default(), false);
        }
    };
    if !transcript.unanswered && state.blocked_at(boundary) {
        if !transcript.records_requests {
            return (transcript, true);
        }
        for _ in 0..OVERFLOW_ATTEMPTS {
            std::thread::sleep(OVERFLOW_WAIT);
            match read() {
                Ok(newer) if newer.unanswered => {
                    transcript = newer;
                    break;
                }
                _ => {}
            }
        }
    }
    let overflow = transcript.unanswered;
    (transcript, overflow)
}

fn request(
    window: Window,
    payload: &Value,
    transcript: &Transcript,
    state: &State,
    overflow: bool,
) -> Map<String, Value> {
    let compactions = state.compactions.max(transcript.compactions);
    let last = match (transcript.last_compaction, state.last_compaction, compactions) {
        (Some((before, after)), ..) | (None, Some((before, after)), _) => {
            json!({"tokens_before": before, "tokens_after": after})
        }
        (None, None, 0) => Value::Null,
        (None, None, _) => json!({}),
    };
    let trigger =
        if overflow && payload["trigger"] != "manual" { json!("overflow") } else { payload["trigger"].clone() };
    let request = json!({
        "call_site": "PreCompact",
        "trigger": trigger,
        "compaction_index": compactions + 1,
        "prefix": prefix_of(state),
        "ctx_tokens": transcript.ctx_tokens,
        "window_tokens": window.tokens.map(|tokens| tokens.saturating_sub(window.reserve)),
        "tokens_source": "provider",
        "tool_in_flight": false,
        "last_compaction": last,
    });
    match request {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What goes to stdout: nothing, unless the host must not compact.
fn block(decided: &Decided) -> Option<String> {
    let answer = &decided.answer;
    let reason = || match answer.score {
        Some(score) => format!("foldline: deferred by {} (score {score:.3})", answer.decided_by.name()),
        None => format!("foldline: deferred by {}", answer.decided_by.name()),
    };
    answer.is_veto().then(|| json!({"decision": "block", "reason": reason()}).to_string())
}

/// What a transcript says.
#[derive(Debug, Default)]
struct Transcript {
    ctx_tokens: Option<u64>,
    compactions: u64,
    last_compaction: Option<(Option<u64>, Option<u64>)>,
    /// Its last turn is a request, and the last step is in it: the request was refused.
    unanswered: bool,
    /// The client writes its requests down.
    records_requests: bool,
}

impl Transcript {
    fn read(path: &Path, last_id: Option<&str>) -> Result<Transcript, String> {
        if !path.is_absolute() || path.extension().is_none_or(|extension| extension != "jsonl") {
            return Err("the transcript's path is not absolute or does not end in .jsonl".to_owned());
        }
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(TRANSCRIPT_TAIL)))?;
            let mut bytes = Vec::new();
            file.take(TRANSCRIPT_TAIL).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|error| format!("the transcript cannot be read: {error}"))?;
        Ok(Transcript::of(&String::from_utf8_lossy(&bytes), last_id))
    }

    /// Reads backwards: the newest usage counts if no compaction came after it.
    fn of(text: &str, last_id: Option<&str>) -> Transcript {
        let mut found = Transcript::default();
        let mut last_turn: Option<bool> = None;
        for line in text.lines().rev() {
            let requested = line.contains(r#""type":"api-request""#);
            found.records_requests |= requested;
            let usage = found.ctx_tokens.is_none() && found.compactions == 0 && line.contains("\"usage\"");
            if !usage && last_turn.is_some() && !line.contains("compact_boundary") {
                continue;
            }
            let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
            let kind = entry["type"].as_str().unwrap_or("");
            let main = entry["isSidechain"] != true;
            if last_turn.is_none() && main && matches!(kind, "assistant" | "user" | "api-request") {
                last_turn = Some(kind == "api-request");
            }
            if entry["subtype"] == "compact_boundary" {
                let tokens = |field: &str| entry["compactMetadata"][field].as_u64();
                if found.compactions == 0 {
                    found.last_compaction = Some((tokens("preTokens"), tokens("postTokens")));
                    found.ctx_tokens = found.ctx_tokens.or(tokens("postTokens"));
                }
                found.compactions += 1;
            } else if usage && kind == "assistant" && main {
                let usage = &entry["message"]["usage"];
                let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
                let tokens = parts.iter().filter_map(|part| usage[*part].as_u64());
                found.ctx_tokens = usage["input_tokens"].as_u64().map(|_| tokens.fold(0, u64::saturating_add));
            }
        }
        // a transcript that lacks the last step is merely late
        found.unanswered = last_turn == Some(true) && last_id.is_none_or(|id| text.contains(id));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_a_transcript() {
        let usage = |tokens: u64| {
            format!(
                r#"{{"type":"assistant","isSidechain":false,"message":{{"usage":{{"input_tokens":{tokens},"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":5}}}}}}"#
            )
        };
        let boundary =
            r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"preTokens":900,"postTokens":70}}"#;
        let read = |lines: &[&str]| Transcript::of(&lines.join("\n"), None);
        let found = read(&[&usage(1), boundary, &usage(20), &usage(30), "{\"half"]);
        assert_eq!(found.ctx_tokens, Some(145), "30 + 10 + 100 + 5");
        assert_eq!((found.compactions, found.last_compaction), (1, Some((Some(900), Some(70)))));
        assert_eq!(read(&[&usage(1), boundary]).ctx_tokens, Some(70), "nothing was asked since");
        let side = usage(7).replace("\"isSidechain\":false", "\"isSidechain\":true");
        assert_eq!(read(&[&usage(1), &side]).ctx_tokens, Some(116), "a sub-agent's usage is not the session's");
        assert_eq!(read(&[]).ctx_tokens, None);
    }

    #[test]
    fn a_request_without_an_answer_is_an_overflow() {
        let call =
            r#"{"type":"assistant","isSidechain":false,"message":{"content":[{"type":"tool_use","id":"toolu_1"}]}}"#;
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1"}]}}"#;
        let (sent, blob) = (r#"{"type":"api-request","id":"x"}"#, r#"{"type":"api-request-blob"}"#);
        let other = r#"{"type":"last-prompt"}"#;
        let read = |lines: &[&str], id: &str| Transcript::of(&lines.join("\n"), Some(id));
        assert!(read(&[sent, call, result, blob, sent, other], "toolu_1").unanswered);
        assert!(!read(&[sent, call, result, other], "toolu_1").unanswered, "asked before the request is sent");
        assert!(!read(&[sent, call, result, sent], "toolu_2").unanswered, "the transcript is a step behind");
        let side = r#"{"type":"assistant","isSidechain":true,"message":{}}"#;
        assert!(read(&[sent, call, result, sent, side], "toolu_1").unanswered, "a sub-agent's line is no answer");
        assert!(read(&[sent, call], "toolu_1").records_requests && !read(&[call, blob], "toolu_1").records_requests);
    }

    #[test]
    fn observations() {
        assert_eq!(observation(&json!({"stdout": "a", "stderr": "b", "interrupted": false})), "a\nb");
        assert_eq!(observation(&json!({"type": "text", "file": {"content": "text"}})), "text");
        assert_eq!(observation(&json!([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}])), "x\ny");
        assert_eq!(observation(&json!("plain")), "plain");
        assert_eq!(observation(&json!({"filenames": ["a"]})), r#"{"filenames":["a"]}"#);
    }
}
