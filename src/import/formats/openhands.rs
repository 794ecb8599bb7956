//! OpenHands SDK: a folder with one JSON event a file and `base_state.json` beside them, or the events as JSON lines.

use super::{Sink, fallback_id, note_unknown};
use crate::import::session::{Builder, Compaction, arguments_of, text_of, unrecorded_arguments};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits, has_extension, read_document};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Reads one conversation.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let mut reader = Reader {
        builder: Builder::new("openhands", fallback_id(path)),
        usage: BTreeMap::new(),
        counted: BTreeSet::new(),
        asked: false,
    };
    if path.is_dir() {
        read_folder(path, limits, &mut reader, left_out)?;
    } else {
        let mut lines = JsonLines::open(path, limits)?;
        let mut any = false;
        while let Some((_, event)) = lines.next::<Value>(left_out) {
            any |= event["kind"].is_string();
            reader.event(&event, left_out);
        }
        if !any {
            return Err(FileError::OtherKind("no event with a kind".to_owned()));
        }
    }
    sink(reader.builder.finish());
    Ok(())
}

fn read_folder(path: &Path, limits: Limits, reader: &mut Reader, left_out: &mut LeftOut) -> Result<(), FileError> {
    match read_document::<Value>(&path.join("base_state.json"), limits) {
        Ok(state) => reader.base_state(&state),
        Err(error) => {
            left_out.add("base_state.json (no token counts)", 1, Some(format!("{}: {error}", path.display())))
        }
    }
    let entries = std::fs::read_dir(path.join("events")).map_err(FileError::Unreadable)?;
    // event-NNNNN-<uuid>.json: the order of names is the order of events
    let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        let is_plain = std::fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file());
        if !is_plain || !has_extension(&file, &["json"]) {
            left_out.add("file that is no event", 1, Some(file.display().to_string()));
            continue;
        }
        match read_document::<Value>(&file, limits) {
            Ok(event) => reader.event(&event, left_out),
            Err(FileError::OtherKind(_)) => {
                left_out.add("half-written or damaged event", 1, Some(file.display().to_string()));
            }
            Err(error) => left_out.add(error.to_string(), 1, Some(file.display().to_string())),
        }
    }
    Ok(())
}

struct Reader {
    builder: Builder,
    /// Prompt and output tokens by response id.
    usage: BTreeMap<String, (u64, u64)>,
    counted: BTreeSet<String>,
    /// A compaction was asked for and has not happened yet.
    asked: bool,
}

impl Reader {
    fn base_state(&mut self, state: &Value) {
        if let Some(id) = state["id"].as_str() {
            id.clone_into(&mut self.builder.session().id);
        }
        self.builder.session().model = state["agent"]["llm"]["model"].as_str().map(str::to_owned);
        self.builder.session().cwd = state["workspace"]["working_dir"].as_str().map(str::to_owned);
        let Some(metrics) = state["stats"]["usage_to_metrics"].as_object() else { return };
        for usage in metrics.values().filter_map(|metric| metric["token_usages"].as_array()).flatten() {
            if let (Some(id), Some(prompt)) = (usage["response_id"].as_str(), usage["prompt_tokens"].as_u64()) {
                self.usage.insert(id.to_owned(), (prompt, usage["completion_tokens"].as_u64().unwrap_or(0)));
            }
        }
    }

    fn event(&mut self, event: &Value, left_out: &mut LeftOut) {
        let text = |name: &str| event[name].as_str().unwrap_or("");
        match text("kind") {
            "ActionEvent" => {
                self.request(text("llm_response_id"));
                let call = &event["tool_call"];
                let arguments = match call.get("arguments") {
                    Some(arguments) => arguments_of(Some(arguments)),
                    None => event["action"].clone(),
                };
                self.builder.call(text("tool_call_id"), text("tool_name"), &arguments);
            }
            "ObservationEvent" => {
                let observation = &event["observation"];
                let is_error = observation["is_error"].as_bool();
                self.builder.result(text("tool_call_id"), text_of(&observation["content"]), is_error);
            }
            "AgentErrorEvent" => {
                let id = text("tool_call_id");
                if !self.builder.is_open(id) {
                    // a call that could not be read has no action of its own
                    self.builder.call(id, text("tool_name"), &unrecorded_arguments(id));
                }
                self.builder.result(id, text("error").to_owned(), Some(true));
            }
            "UserRejectObservation" => {
                self.builder.result(text("tool_call_id"), text("rejection_reason").to_owned(), Some(true));
            }
            "CondensationRequest" => self.asked = true,
            "Condensation" => {
                let trigger = std::mem::take(&mut self.asked).then(|| "request".to_owned());
                let summary = event["summary"].as_str().map(str::to_owned);
                self.builder.compaction(Compaction { trigger, summary, ..Compaction::default() });
            }
            "MessageEvent" => self.request(text("llm_response_id")),
            "SystemPromptEvent"
            | "PauseEvent"
            | "ConversationStateUpdateEvent"
            | "TokenEvent"
            | "ConversationErrorEvent"
            | "CondensationSummaryEvent"
            | "LLMCompletionLogEvent"
            | "HookExecutionEvent" => {}
            other => note_unknown(other, left_out),
        }
    }

    /// Counts a response once, whatever number of calls it made.
    fn request(&mut self, response: &str) {
        if let Some(&(prompt, output)) = self.usage.get(response)
            && self.counted.insert(response.to_owned())
        {
            self.builder.request(prompt, output);
        }
    }
}
