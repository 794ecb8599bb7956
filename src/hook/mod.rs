//! Adapters: a harness's own payload in, its own kind of answer out.
//!
//! A hook never fails towards its harness: whatever goes wrong, compaction is allowed, the exit code is 0, and the reason
//! is on stderr. What a decision needs beyond the payload (the steps so far, blocks in a row) stands in one side-car file
//! per session, see [`state`].

pub mod claude_code;
pub mod gate;
pub mod harnesses;
pub mod pi;
pub mod state;

/// Largest payload that is read, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 64 << 20;
/// Longest observation that is kept, in characters; a longer one is cut.
pub const MAX_OBSERVATION_CHARS: usize = 262_144;

/// A text cut to [`MAX_OBSERVATION_CHARS`].
fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_OBSERVATION_CHARS) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// The text of a result that is a string, a list of blocks with `text`, or something else.
fn text_of(content: &serde_json::Value) -> String {
    use serde_json::Value;
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
