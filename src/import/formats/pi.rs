//! pi: one JSON entry a line, a tree by `id` and `parentId` in version 3, linear in version 1.

use super::{Sink, fallback_id, note_unknown};
use crate::import::session::{Builder, Compaction, text_of};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// An entry of the tree, reduced to what is used.
struct Node {
    /// Whether it has an id, so that others can hang below it.
    linked: bool,
    parent: Option<String>,
    items: Vec<Item>,
}

enum Item {
    Model(String),
    Request { prompt: u64, output: u64 },
    Call { id: String, name: String, arguments: Value },
    Result { id: String, text: String, is_error: Option<bool> },
    Compaction(Compaction),
    UserShell,
}

/// Reads one session: the path from the last entry back to the root; entries on other branches are left out and counted.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let mut lines = JsonLines::open(path, limits)?;
    let mut builder = Builder::new("pi", fallback_id(path));
    let mut nodes: Vec<Node> = Vec::new();
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    let mut has_header = false;
    let mut unlinked = 0u64;
    while let Some((_, entry)) = lines.next::<Value>(left_out) {
        let kind = entry["type"].as_str().unwrap_or("");
        if kind == "session" {
            has_header = true;
            if let Some(id) = entry["id"].as_str() {
                id.clone_into(&mut builder.session().id);
            }
            builder.session().cwd = entry["cwd"].as_str().map(str::to_owned);
            continue;
        }
        let items = items(kind, &entry, left_out);
        let parent = entry["parentId"].as_str().map(str::to_owned);
        match entry["id"].as_str() {
            Some(id) => {
                by_id.insert(id.to_owned(), nodes.len());
            }
            // version 1 has no ids: every entry follows the one before it
            None => unlinked += 1,
        }
        nodes.push(Node { linked: entry["id"].is_string(), parent, items });
    }
    if !has_header {
        return Err(FileError::OtherKind("no line of type session".to_owned()));
    }
    let is_linear = unlinked * 2 > nodes.len() as u64;
    let mut on_path = vec![is_linear; nodes.len()];
    // an entry without an id, of a type to come perhaps, is no leaf of the tree
    let mut at = if is_linear { None } else { nodes.iter().rposition(|node| node.linked) };
    while let Some(index) = at {
        if std::mem::replace(&mut on_path[index], true) {
            left_out.add("entry whose parents form a circle", 1, Some(path.display().to_string()));
            break;
        }
        at = match &nodes[index].parent {
            Some(parent) => match by_id.get(parent) {
                Some(&parent) => Some(parent),
                None => {
                    // a line was lost: what stands before it is the best guess for where it hung
                    left_out.add("entry whose parent is missing", 1, Some(path.display().to_string()));
                    index.checked_sub(1)
                }
            },
            None => None,
        };
    }
    for (node, _) in nodes.into_iter().zip(&on_path).filter(|(_, on_path)| **on_path) {
        for item in node.items {
            apply(item, &mut builder);
        }
    }
    let abandoned = on_path.iter().filter(|on_path| !**on_path).count() as u64;
    if abandoned > 0 {
        left_out.add("entry on an abandoned branch", abandoned, None);
    }
    sink(builder.finish());
    Ok(())
}

fn items(kind: &str, entry: &Value, left_out: &mut LeftOut) -> Vec<Item> {
    match kind {
        "message" => message_items(&entry["message"], left_out),
        "model_change" => entry["modelId"].as_str().map(|model| Item::Model(model.to_owned())).into_iter().collect(),
        "compaction" => vec![Item::Compaction(Compaction {
            tokens_before: entry["tokensBefore"].as_u64(),
            summary: entry["summary"].as_str().map(str::to_owned),
            trigger: entry["reason"].as_str().map(str::to_owned),
            ..Compaction::default()
        })],
        "branch_summary"
        | "context_edit"
        | "thinking_level_change"
        | "usage"
        | "custom"
        | "custom_message"
        | "label"
        | "session_info" => Vec::new(),
        other => {
            note_unknown(other, left_out);
            Vec::new()
        }
    }
}

fn message_items(message: &Value, left_out: &mut LeftOut) -> Vec<Item> {
    match message["role"].as_str().unwrap_or("") {
        "assistant" => {
            let mut items = Vec::new();
            if let Some(model) = message["model"].as_str() {
                items.push(Item::Model(model.to_owned()));
            }
            let usage = &message["usage"];
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            let prompt = count("input") + count("cacheRead") + count("cacheWrite");
            if prompt > 0 {
                items.push(Item::Request { prompt, output: count("output") });
            }
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            items.extend(blocks.iter().filter(|block| block["type"] == "toolCall").map(|block| Item::Call {
                id: block["id"].as_str().unwrap_or("").to_owned(),
                name: block["name"].as_str().unwrap_or("").to_owned(),
                arguments: block["arguments"].clone(),
            }));
            items
        }
        "toolResult" => vec![Item::Result {
            id: message["toolCallId"].as_str().unwrap_or("").to_owned(),
            text: text_of(&message["content"]),
            is_error: message["isError"].as_bool(),
        }],
        "bashExecution" => vec![Item::UserShell],
        "user" | "system" | "custom" | "branchSummary" | "compactionSummary" | "hookMessage" => Vec::new(),
        other => {
            note_unknown(&format!("message of role {other}"), left_out);
            Vec::new()
        }
    }
}

fn apply(item: Item, builder: &mut Builder) {
    match item {
        Item::Model(model) => builder.session().model = Some(model),
        Item::Request { prompt, output } => builder.request(prompt, output),
        Item::Call { id, name, arguments } => builder.call(&id, &name, &arguments),
        Item::Result { id, text, is_error } => builder.result(&id, text, is_error),
        Item::Compaction(compaction) => builder.compaction(compaction),
        Item::UserShell => builder.leave_out("shell command of the user"),
    }
}
