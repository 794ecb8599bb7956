//! Anthropic message lists, in the same layouts as OpenAI's.

use super::Sink;
use super::openai::{marker, messages, read_conversations, start};
use crate::import::session::{Session, text_of};
use crate::import::source::{FileError, LeftOut, Limits};
use serde_json::Value;
use std::path::Path;

/// Reads the conversations of a file.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    read_conversations(path, limits, left_out, &mut |conversation, id, _| {
        if let Some(session) = session(conversation, id) {
            sink(session);
        }
    })
}

fn session(conversation: &Value, id: String) -> Option<Session> {
    let messages = messages(conversation)?;
    let mut builder = start("anthropic", conversation, id);
    for message in messages {
        if let Some(compaction) = marker(message) {
            builder.compaction(compaction);
            continue;
        }
        let usage = &message["usage"];
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let prompt = count("input_tokens") + count("cache_creation_input_tokens") + count("cache_read_input_tokens");
        if prompt > 0 {
            builder.request(prompt, count("output_tokens"));
        }
        for block in message["content"].as_array().map_or(&[][..], Vec::as_slice) {
            let text = |name: &str| block[name].as_str().unwrap_or("");
            match text("type") {
                "tool_use" => builder.call(text("id"), text("name"), &block["input"]),
                "tool_result" => {
                    // a missing flag is no error in this format
                    let is_error = block["is_error"].as_bool().unwrap_or(false);
                    builder.result(text("tool_use_id"), text_of(&block["content"]), Some(is_error));
                }
                "server_tool_use" => builder.leave_out("call that the provider runs"),
                _ => {}
            }
        }
    }
    Some(builder.finish())
}
