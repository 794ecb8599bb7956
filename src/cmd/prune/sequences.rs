//! Summaries in the order they were written: trajectories of PAIR's evaluation runs, with their compaction events.

use super::Failure;
use crate::input::read_text;
use foldline_pruner::history::Step;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One compaction of a run.
pub struct Compaction {
    /// The run: the file's path within the folder that was given.
    pub run: String,
    /// 1 for the first.
    pub boundary: u32,
    /// The task's instruction.
    pub task: Option<String>,
    /// The summary.
    pub summary: String,
    /// The summary before it.
    pub previous: Option<String>,
    /// Steps since the compaction before, the one kept verbatim included.
    pub steps: Vec<Step>,
}

/// Reads every `*.json` of a folder, and of the folders in it.
///
/// # Errors
/// `Failure::Data` naming the file that cannot be read.
pub fn read(folder: &Path) -> Result<Vec<Compaction>, Failure> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort_unstable();
    let mut compactions = Vec::new();
    for file in files {
        let text = read_text(&file)?;
        let document: Value = serde_json::from_str(&text)
            .map_err(|error| Failure::Data(format!("{}: not JSON: {error}", file.display())))?;
        let run = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        compactions.extend(of_document(&document, &run));
    }
    Ok(compactions)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let cannot = |error| Failure::Data(format!("{}: cannot be read: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        // a link may lead in a circle
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// The compactions of one trajectory; an event with an error, or without a summary, is none.
fn of_document(document: &Value, run: &str) -> Vec<Compaction> {
    let mut compactions: Vec<Compaction> = Vec::new();
    let mut steps = Vec::new();
    for event in document["events"].as_array().into_iter().flatten() {
        if event["compression_before_step"].is_null() {
            let action = ["code", "executed_action", "action"].iter().find_map(|key| text(&event[*key]));
            let observation = text(&event["observation"]).unwrap_or_default();
            steps.push(Step { action: action.unwrap_or_default(), observation });
            continue;
        }
        let Some(summary) = event["summary"].as_str().filter(|_| event["error"].is_null()) else { continue };
        compactions.push(Compaction {
            run: run.to_owned(),
            boundary: compactions.len() as u32 + 1,
            task: document["instruction"].as_str().map(str::to_owned),
            summary: summary.to_owned(),
            previous: compactions.last().map(|last| last.summary.clone()),
            steps: std::mem::take(&mut steps),
        });
    }
    compactions
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
