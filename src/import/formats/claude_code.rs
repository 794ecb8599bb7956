//! Claude Code: one JSON entry a line, a tree by `uuid` and `parentUuid`, one line per content block.

use super::{Sink, fallback_id, file_stem, note_unknown};
use crate::import::session::{Builder, Compaction, text_of};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    uuid: Option<String>,
    #[serde(default)]
    parent_uuid: Option<String>,
    #[serde(default)]
    logical_parent_uuid: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_compact_summary: bool,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    compact_metadata: Option<CompactMetadata>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactMetadata {
    #[serde(default)]
    trigger: Option<String>,
    #[serde(default)]
    pre_tokens: Option<u64>,
    #[serde(default)]
    post_tokens: Option<u64>,
}

/// Bookkeeping lines that say nothing about the conversation.
const BOOKKEEPING: [&str; 17] = [
    "last-prompt",
    "queue-operation",
    "cost-state",
    "tools-used",
    "api-request",
    "api-request-start",
    "api-request-end",
    "file-history-snapshot",
    "summary",
    "progress",
    "attachment",
    "custom-title",
    "agent-name",
    "permission-mode",
    "atis-latch",
    "mode",
    "ai-title",
];

/// Reads one transcript. The path from the last entry to the root counts, over `logicalParentUuid` at a compaction;
/// lines of the same message and results of its calls that hang beside the path (parallel calls) belong to it. Subagent
/// lines in a main transcript are left out and counted; a file of subagent lines is a session of its own.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let mut lines = JsonLines::open(path, limits)?;
    let mut entries: Vec<Line> = Vec::new();
    let mut side = 0u64;
    let mut is_claude = false;
    while let Some((_, line)) = lines.next::<Line>(left_out) {
        if line.uuid.is_none() {
            match line.kind.as_str() {
                known if BOOKKEEPING.contains(&known) || known.starts_with("api-request") => is_claude = true,
                other => note_unknown(other, left_out),
            }
            continue;
        }
        is_claude = true;
        side += u64::from(line.is_sidechain);
        entries.push(line);
    }
    if !is_claude {
        return Err(FileError::OtherKind("no line with a uuid".to_owned()));
    }
    let is_subagent = side == entries.len() as u64;
    if !is_subagent && side > 0 {
        entries.retain(|line| !line.is_sidechain);
        left_out.add("line of a subagent within a main transcript", side, Some(path.display().to_string()));
    }
    let kept = kept(&entries, path, left_out);
    let session = entries.iter().find_map(|line| line.session_id.clone());
    let id = match (session, file_stem(path)) {
        (Some(session), stem) if is_subagent && !stem.is_empty() => format!("{session}/{stem}"),
        (Some(session), _) => session,
        (None, _) => fallback_id(path),
    };
    let mut builder = Builder::new("claude-code", id);
    builder.session().cwd = entries.iter().find_map(|line| line.cwd.clone());
    let mut counted: BTreeSet<String> = BTreeSet::new();
    for (line, _) in entries.into_iter().zip(kept).filter(|(_, kept)| *kept) {
        apply(line, &mut builder, &mut counted, left_out);
    }
    sink(builder.finish());
    Ok(())
}

/// Which entries belong to the conversation as it stands.
fn kept(entries: &[Line], path: &Path, left_out: &mut LeftOut) -> Vec<bool> {
    let by_id: BTreeMap<&str, usize> =
        entries.iter().enumerate().filter_map(|(index, line)| Some((line.uuid.as_deref()?, index))).collect();
    let mut kept = vec![false; entries.len()];
    let place = || Some(path.display().to_string());
    // a line that hangs below nothing, of a type to come perhaps, does not end the conversation
    let hangs = |line: &Line| line.parent_uuid.is_some() || line.logical_parent_uuid.is_some();
    let mut at = entries.iter().rposition(hangs).or(entries.len().checked_sub(1));
    while let Some(index) = at {
        if std::mem::replace(&mut kept[index], true) {
            left_out.add("entry whose parents form a circle", 1, place());
            break;
        }
        let line = &entries[index];
        at = match line.parent_uuid.as_deref().or(line.logical_parent_uuid.as_deref()) {
            Some(parent) => by_id.get(parent).copied().or_else(|| {
                left_out.add("entry whose parent is missing", 1, place());
                index.checked_sub(1)
            }),
            None => None,
        };
    }
    let messages: BTreeSet<&str> = entries
        .iter()
        .zip(&kept)
        .filter(|(_, kept)| **kept)
        .filter_map(|(line, _)| line.message.as_ref()?.id.as_deref())
        .collect();
    let mut calls: BTreeSet<&str> = BTreeSet::new();
    for (index, line) in entries.iter().enumerate() {
        let Some(message) = &line.message else { continue };
        kept[index] |= message.id.as_deref().is_some_and(|id| messages.contains(id));
        for block in blocks(&message.content) {
            if kept[index] && block["type"] == "tool_use" {
                calls.extend(block["id"].as_str());
            }
            kept[index] |= block["tool_use_id"].as_str().is_some_and(|id| calls.contains(id));
        }
    }
    let abandoned = kept.iter().filter(|kept| !**kept).count() as u64;
    if abandoned > 0 {
        left_out.add("entry on an abandoned branch", abandoned, None);
    }
    kept
}

fn blocks(content: &Value) -> &[Value] {
    content.as_array().map_or(&[], Vec::as_slice)
}

fn apply(line: Line, builder: &mut Builder, counted: &mut BTreeSet<String>, left_out: &mut LeftOut) {
    match line.kind.as_str() {
        "assistant" => {
            let Some(message) = line.message else { return };
            if let Some(model) = message.model.filter(|model| !model.starts_with('<')) {
                builder.session().model = Some(model);
            }
            // usage is repeated on every line of a message
            let is_new = message.id.is_none_or(|id| counted.insert(id));
            if let Some(usage) = message.usage.filter(|_| is_new) {
                let prompt = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
                let prompt: u64 = prompt.into_iter().flatten().sum();
                if prompt > 0 {
                    builder.request(prompt, usage.output_tokens.unwrap_or(0));
                }
            }
            for block in blocks(&message.content).iter().filter(|block| block["type"] == "tool_use") {
                let text = |name: &str| block[name].as_str().unwrap_or("");
                builder.call(text("id"), text("name"), &block["input"]);
            }
        }
        "user" => {
            let Some(message) = line.message else { return };
            if line.is_compact_summary {
                let summary = text_of(&message.content);
                if let Some(compaction) = builder.last_compaction() {
                    compaction.summary = Some(summary);
                }
                return;
            }
            for block in blocks(&message.content).iter().filter(|block| block["type"] == "tool_result") {
                let id = block["tool_use_id"].as_str().unwrap_or("");
                // a missing flag is no error in this format
                let is_error = block["is_error"].as_bool().unwrap_or(false);
                builder.result(id, text_of(&block["content"]), Some(is_error));
            }
        }
        "system" => match line.subtype.as_deref() {
            Some("compact_boundary") => {
                let metadata = line.compact_metadata.unwrap_or(CompactMetadata {
                    trigger: None,
                    pre_tokens: None,
                    post_tokens: None,
                });
                builder.compaction(Compaction {
                    tokens_before: metadata.pre_tokens,
                    tokens_after: metadata.post_tokens,
                    trigger: metadata.trigger,
                    ..Compaction::default()
                });
            }
            Some("microcompact_boundary") => builder.leave_out("pruning of single results (no compaction)"),
            _ => {}
        },
        known if BOOKKEEPING.contains(&known) => {}
        other => note_unknown(other, left_out),
    }
}
