//! Histories as files: steps, one a line, or whatever an importer reads.

use super::Failure;
use crate::input::read_text;
use foldline_pruner::history::Step;
use serde_json::Value;
use std::path::Path;

/// Reads a history: JSON lines of `{action, observation}`, or any format of `foldline import`.
///
/// # Errors
/// `Failure::Data` naming the file and the line.
pub fn read_steps(path: &Path) -> Result<Vec<Step>, Failure> {
    #[cfg(feature = "import")]
    if let Some(steps) = imported(path)? {
        return Ok(steps);
    }
    parse_steps(&read_text(path)?).map_err(|problem| Failure::Data(format!("{}: {problem}", path.display())))
}

/// Steps of JSON lines.
///
/// # Errors
/// Names the line and what was expected.
pub fn parse_steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = |problem: &str| format!("line {}: {problem}", at + 1);
        let value: Value = serde_json::from_str(line).map_err(|error| place(&format!("not JSON: {error}")))?;
        match &value["steps"] {
            // one trajectory a line
            Value::Array(list) => {
                for step in list {
                    steps.push(step_of(step).map_err(|problem| place(&problem))?);
                }
            }
            _ => steps.push(step_of(&value).map_err(|problem| place(&problem))?),
        }
    }
    Ok(steps)
}

/// A step of a JSON object with `action` and `observation`; a value that is no text is taken as JSON text.
///
/// # Errors
/// When neither field is there.
pub fn step_of(value: &Value) -> Result<Step, String> {
    let text = |key: &str| match &value[key] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let (action, observation) = (text("action"), text("observation"));
    if action.is_none() && observation.is_none() {
        return Err("expected an object with `action` and `observation`".to_owned());
    }
    Ok(Step { action: action.unwrap_or_default(), observation: observation.unwrap_or_default() })
}

/// What an importer makes of the file, if one claims it.
#[cfg(feature = "import")]
fn imported(path: &Path) -> Result<Option<Vec<Step>>, Failure> {
    use crate::import::formats::{Format, detect};
    use crate::import::source::{LeftOut, Limits};
    let Some(format) = detect(path).filter(|format| *format != Format::Appworld) else {
        return Ok(None);
    };
    let mut steps = Vec::new();
    let mut left_out = LeftOut::default();
    let read = format.read(path, Limits::default(), &mut left_out, &mut |session| {
        steps.extend(session.steps.into_iter().map(|step| Step { action: step.action, observation: step.observation }));
    });
    read.map_err(|error| Failure::Data(format!("{}: as {format}: {error}", path.display())))?;
    Ok(Some(steps))
}
