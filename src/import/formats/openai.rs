//! OpenAI chat message lists: a document with one list or one conversation, or one conversation a line.

use super::{Sink, fallback_id};
use crate::import::session::{Builder, Compaction, Session, arguments_of, text_of};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits, has_extension, read_document};
use serde_json::Value;
use std::path::Path;

/// Reads the conversations of a file.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    read_conversations(path, limits, left_out, &mut |conversation, id, left_out| {
        if let Some(session) = session(conversation, id, left_out) {
            sink(session);
        }
    })
}

/// Walks over conversations: a list of messages, or an object with `messages`, as a document or one a line. Also the layout
/// of Anthropic's lists.
pub(super) fn read_conversations(
    path: &Path,
    limits: Limits,
    left_out: &mut LeftOut,
    each: &mut dyn FnMut(&Value, String, &mut LeftOut),
) -> Result<(), FileError> {
    let stem = fallback_id(path);
    if has_extension(path, &["jsonl", "ndjson"]) {
        let mut lines = JsonLines::open(path, limits)?;
        let mut loose: Vec<Value> = Vec::new();
        while let Some((number, line)) = lines.next::<Value>(left_out) {
            if line["role"].is_string() || line["type"] == "compaction" {
                // one message a line: the file is one conversation
                loose.push(line);
            } else if messages(&line).is_some() {
                each(&line, format!("{stem}:{number}"), left_out);
            } else {
                left_out.add("line of an unknown shape", 1, Some(format!("{}:{number}", path.display())));
            }
        }
        if !loose.is_empty() {
            each(&Value::Array(loose), stem, left_out);
        }
        return Ok(());
    }
    let document: Value = read_document(path, limits)?;
    match (&document, messages(&document)) {
        (Value::Array(list), _) if list.iter().any(|one| messages(one).is_some()) => {
            for (index, one) in list.iter().enumerate() {
                each(one, format!("{stem}:{index}"), left_out);
            }
        }
        (_, Some(_)) => each(&document, stem, left_out),
        _ => return Err(FileError::OtherKind("no list of messages".to_owned())),
    }
    Ok(())
}

/// The messages of a conversation.
pub(super) fn messages(conversation: &Value) -> Option<&[Value]> {
    let list = match conversation {
        Value::Array(list) => list,
        other => other["messages"].as_array()?,
    };
    list.first().is_none_or(|message| message["role"].is_string() || message["type"].is_string()).then_some(list)
}

/// A builder with what a conversation says of itself.
pub(super) fn start(harness: &'static str, conversation: &Value, id: String) -> Builder {
    let text = |name: &str| conversation[name].as_str().map(str::to_owned);
    let mut builder = Builder::new(harness, text("id").or_else(|| text("session_id")).unwrap_or(id));
    if conversation.is_object() {
        builder.session().task = text("task_id");
        builder.session().model = text("model");
        builder.session().cwd = text("cwd");
    }
    builder
}

/// These lists know no compaction; an entry `{"type": "compaction", "summary"?, "tokens_before"?, "tokens_after"?}`
/// between the messages marks one for this importer.
pub(super) fn marker(message: &Value) -> Option<Compaction> {
    (message["type"] == "compaction").then(|| Compaction {
        tokens_before: message["tokens_before"].as_u64(),
        tokens_after: message["tokens_after"].as_u64(),
        summary: message["summary"].as_str().map(str::to_owned),
        trigger: message["trigger"].as_str().map(str::to_owned),
        ..Compaction::default()
    })
}

fn session(conversation: &Value, id: String, left_out: &mut LeftOut) -> Option<Session> {
    let messages = messages(conversation)?;
    let mut builder = start("openai", conversation, id);
    for message in messages {
        if let Some(compaction) = marker(message) {
            builder.compaction(compaction);
            continue;
        }
        let text = |name: &str| message[name].as_str().unwrap_or("");
        match text("role") {
            "assistant" => {
                let usage = &message["usage"];
                if let Some(prompt) = usage["prompt_tokens"].as_u64() {
                    builder.request(prompt, usage["completion_tokens"].as_u64().unwrap_or(0));
                }
                for call in message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice) {
                    let id = call["id"].as_str().unwrap_or("");
                    let (function, custom) = (&call["function"], &call["custom"]);
                    match (function["name"].as_str(), custom["name"].as_str()) {
                        (Some(name), _) => builder.call(id, name, &arguments_of(function.get("arguments"))),
                        (None, Some(name)) => builder.call(id, name, &custom["input"]),
                        _ => left_out.add("tool call without a name", 1, None),
                    }
                }
            }
            "tool" => {
                let flag = message["is_error"].as_bool();
                builder.result(text("tool_call_id"), text_of(&message["content"]), flag);
            }
            "function" => left_out.add("result of the old function interface", 1, None),
            _ => {}
        }
    }
    Some(builder.finish())
}
