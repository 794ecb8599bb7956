//! Hermes: a SQLite database of sessions and messages, opened read-only; rows of `messages`, or its session export, as
//! JSON lines.

use super::Sink;
use crate::import::session::{Builder, Compaction, arguments_of, text_of};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits, first_bytes};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How a summary's row begins.
const MARKER: &str = "[CONTEXT COMPACTION";

/// Reads a database, or a file of JSON lines.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    if first_bytes(path, 16)?.starts_with(b"SQLite format 3\0") {
        read_database(path, left_out, sink).map_err(|error| FileError::OtherKind(error.to_string()))
    } else {
        read_lines(path, limits, left_out, sink)
    }
}

/// What is known of a session beside its messages.
#[derive(Default)]
struct Meta {
    model: Option<String>,
    cwd: Option<String>,
    parent: Option<String>,
    end_reason: Option<String>,
}

fn read_database(path: &Path, left_out: &mut LeftOut, sink: Sink<'_>) -> rusqlite::Result<()> {
    // read-only: a running Hermes keeps its database, and its write-ahead log is read where there is one
    let database =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let mut metas: BTreeMap<String, Meta> = BTreeMap::new();
    let mut statement = database.prepare("SELECT * FROM sessions ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let row = object(row)?;
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
        let Some(id) = text("id") else { continue };
        let meta = Meta {
            model: text("model"),
            cwd: text("cwd"),
            parent: text("parent_session_id"),
            end_reason: text("end_reason"),
        };
        metas.insert(id, meta);
    }
    // a version that starts a new session at a compaction: the child goes on where the parent ended
    let continues = |meta: &Meta| -> Option<String> {
        let parent = meta.parent.clone()?;
        let reason = metas.get(&parent)?.end_reason.as_deref()?;
        reason.contains("compress").then_some(parent)
    };
    let mut next: BTreeMap<String, String> = BTreeMap::new();
    let mut continued: BTreeSet<&str> = BTreeSet::new();
    for (id, meta) in &metas {
        if let Some(parent) = continues(meta)
            && !next.contains_key(&parent)
        {
            next.insert(parent, id.clone());
            continued.insert(id);
        }
    }
    let mut statement = database.prepare("SELECT * FROM messages WHERE session_id = ?1 ORDER BY id")?;
    for (id, meta) in &metas {
        if continued.contains(id.as_str()) {
            continue;
        }
        let mut history = History::new(id.clone(), meta);
        let mut at = id;
        let mut visited = BTreeSet::new();
        while visited.insert(at.clone()) {
            let mut rows = statement.query([at])?;
            while let Some(row) = rows.next()? {
                history.message(&Value::Object(object(row)?));
            }
            let Some(child) = next.get(at) else { break };
            history.builder.compaction(Compaction { trigger: Some("auto".to_owned()), ..Compaction::default() });
            at = child;
        }
        sink(history.finish(left_out));
    }
    Ok(())
}

/// A row as a JSON object; blobs are left out.
fn object(row: &Row<'_>) -> rusqlite::Result<Map<String, Value>> {
    let names = row.as_ref().column_names();
    let mut object = Map::new();
    for (index, name) in names.iter().enumerate() {
        let value = match row.get_ref(index)? {
            ValueRef::Integer(value) => value.into(),
            ValueRef::Real(value) => value.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        };
        object.insert((*name).to_owned(), value);
    }
    Ok(object)
}

fn read_lines(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let mut lines = JsonLines::open(path, limits)?;
    let mut histories: BTreeMap<String, History> = BTreeMap::new();
    let mut any = false;
    while let Some((_, line)) = lines.next::<Value>(left_out) {
        if let (Some(messages), Some(id)) = (line["messages"].as_array(), line["id"].as_str()) {
            any = true;
            let text = |name: &str| line[name].as_str().map(str::to_owned);
            let meta = Meta { model: text("model"), cwd: text("cwd"), ..Meta::default() };
            let mut history = History::new(id.to_owned(), &meta);
            messages.iter().for_each(|message| history.message(message));
            sink(history.finish(left_out));
        } else if let (Some(id), true) = (line["session_id"].as_str(), line["role"].is_string()) {
            any = true;
            let history =
                histories.entry(id.to_owned()).or_insert_with(|| History::new(id.to_owned(), &Meta::default()));
            history.message(&line);
        } else {
            left_out.add("line of an unknown shape", 1, Some(path.display().to_string()));
        }
    }
    if !any {
        return Err(FileError::OtherKind("no row of messages and no exported session".to_owned()));
    }
    for (_, history) in histories {
        sink(history.finish(left_out));
    }
    Ok(())
}

/// One session's rows in order of their ids.
///
/// At a compaction Hermes marks the old rows and writes the kept ones again with new ids, so a call that was seen before
/// is the same call and not a new one.
struct History {
    builder: Builder,
    seen: BTreeSet<String>,
    answered: BTreeSet<String>,
    rewritten: u64,
}

impl History {
    fn new(id: String, meta: &Meta) -> History {
        let mut builder = Builder::new("hermes", id);
        builder.session().model.clone_from(&meta.model);
        builder.session().cwd.clone_from(&meta.cwd);
        History { builder, seen: BTreeSet::new(), answered: BTreeSet::new(), rewritten: 0 }
    }

    fn message(&mut self, row: &Value) {
        match row["role"].as_str().unwrap_or("") {
            "user" => {
                let text = text_of(&row["content"]);
                if text.trim_start().starts_with(MARKER) {
                    match self.builder.last_compaction() {
                        // the row that a session split left without its summary
                        Some(last) if last.summary.is_none() && last.trigger.is_some() => last.summary = Some(text),
                        _ => self.builder.compaction(Compaction { summary: Some(text), ..Compaction::default() }),
                    }
                }
            }
            "assistant" => {
                let calls = arguments_of(row.get("tool_calls"));
                for call in calls.as_array().map_or(&[][..], Vec::as_slice) {
                    let id = call["id"].as_str().or(call["call_id"].as_str()).unwrap_or("");
                    if !self.seen.insert(id.to_owned()) {
                        self.rewritten += 1;
                        continue;
                    }
                    let function = &call["function"];
                    let name = function["name"].as_str().unwrap_or("");
                    self.builder.call_before_its_request(id, name, &arguments_of(function.get("arguments")));
                }
            }
            "tool" => {
                let id = row["tool_call_id"].as_str().unwrap_or("");
                if !self.answered.insert(id.to_owned()) {
                    return;
                }
                let text = text_of(&row["content"]);
                let is_error = is_error(&text);
                self.builder.result(id, text, is_error);
            }
            _ => {}
        }
    }

    fn finish(self, left_out: &mut LeftOut) -> crate::import::session::Session {
        if self.rewritten > 0 {
            left_out.add("call written again at a compaction", self.rewritten, None);
        }
        self.builder.finish()
    }
}

/// There is no error column: a result says itself whether it failed, by `exit_code`, `error` or `success`.
fn is_error(content: &str) -> Option<bool> {
    let result: Map<String, Value> = serde_json::from_str(content).ok()?;
    let code = result.get("exit_code").and_then(Value::as_i64);
    let error = result.get("error").is_some_and(|error| !error.is_null() && error != "" && error != false);
    let unsuccessful = result.get("success").and_then(Value::as_bool) == Some(false);
    Some(code.is_some_and(|code| code != 0) || error || unsuccessful)
}
