//! AppWorld trajectories, one a line: `steps` of action and observation, with `step_tokens` as recorded counts.

use super::Sink;
use crate::import::session::{Actions, Builder, Step, TokenSource};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    trajectory_id: String,
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    difficulty: Option<u8>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    text_cap: Option<u64>,
    #[serde(default)]
    compacted: bool,
    #[serde(default)]
    step_tokens: Vec<u64>,
    steps: Vec<LineStep>,
}

#[derive(Deserialize)]
struct LineStep {
    action: String,
    observation: String,
}

/// Reads every trajectory. Runs whose texts are cut, and runs whose agent worked under a compaction that is not recorded as
/// an event, give no boundary.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let mut lines = JsonLines::open(path, limits)?;
    let mut any = false;
    while let Some((number, line)) = lines.next::<Line>(left_out) {
        any = true;
        let mut builder = Builder::new("appworld", line.trajectory_id);
        let session = builder.session();
        session.actions = Actions::Code;
        session.task = line.task_id;
        session.difficulty = line.difficulty;
        session.model = line.model;
        session.no_boundaries = match (line.text_cap, line.compacted) {
            (Some(_), _) => Some("texts are cut"),
            (None, true) => Some("the agent worked under a compaction that is no event of the log"),
            (None, false) => None,
        };
        if !line.step_tokens.is_empty() && line.step_tokens.len() != line.steps.len() {
            let place = format!("{}:{number}", path.display());
            left_out.add("step_tokens of another length than steps (not used)", 1, Some(place));
        }
        let is_counted = line.step_tokens.len() == line.steps.len();
        for (index, step) in line.steps.into_iter().enumerate() {
            builder.step(Step {
                tool: String::new(),
                action: step.action,
                observation: step.observation,
                is_error: None,
                tokens: is_counted.then(|| (line.step_tokens[index], TokenSource::Recorded)),
                request: None,
            });
        }
        sink(builder.finish());
    }
    if any { Ok(()) } else { Err(FileError::OtherKind("no line with trajectory_id and steps".to_owned())) }
}
