//! Histories as files: steps, one a line, or whatever an importer reads.

use super::Failure;
use crate::input::read_text;
use foldline_pruner::history::Step;
use serde_json::Value;
#[cfg(feature = "import")]
use std::io::BufReader;
use std::io::Read;
use std::path::Path;

/// Bytes of a history that is read from a pipe, and of its first line.
const LONGEST: u64 = 1 << 30;

/// Reads a history: JSON lines of `{action, observation}`, or, from a file, any format of `foldline import`.
///
/// Lines that have an action or an observation are steps, whatever an importer would make of them. A log in which an
/// importer finds no step is refused: what it holds would count as no source at all.
///
/// # Errors
/// `Failure::Data` naming the file and the line.
pub fn read_steps(path: &Path) -> Result<Vec<Step>, Failure> {
    #[cfg(feature = "import")]
    if (path.is_dir() || path.is_file() && !begins_with_a_step(path))
        && let Some(steps) = imported(path)?
    {
        return Ok(steps);
    }
    let text = if path.is_file() { read_text(path)? } else { read_once(path)? };
    parse_steps(&text).map_err(|problem| {
        let path = path.display();
        Failure::Data(format!(
            "{path}: {problem}; give JSON lines of {{action, observation}}, or a harness's log as a file"
        ))
    })
}

/// Whether the first value of a file is an object with an action or an observation.
#[cfg(feature = "import")]
fn begins_with_a_step(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    let mut values = serde_json::Deserializer::from_reader(BufReader::new(file).take(LONGEST)).into_iter::<Value>();
    matches!(values.next(), Some(Ok(Value::Object(first))) if first.contains_key("action") || first.contains_key("observation"))
}

/// The text of a pipe, or of standard input where the path is `-`; it can be read but once.
fn read_once(path: &Path) -> Result<String, Failure> {
    let cannot = |problem: String| Failure::Data(format!("{}: cannot be read: {problem}", path.display()));
    let mut input: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| cannot(error.to_string()))?)
    };
    let mut text = String::new();
    input.by_ref().take(LONGEST + 1).read_to_string(&mut text).map_err(|error| cannot(error.to_string()))?;
    if text.len() as u64 > LONGEST {
        Err(cannot("it is longer than 1 GiB; give it as a file".to_owned()))
    } else {
        Ok(text)
    }
}

/// Steps of JSON lines.
///
/// # Errors
/// Names the line and what was expected.
pub fn parse_steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let lines = text.trim_start_matches('\u{feff}').lines();
    for (at, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
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

/// Names under which an output is sometimes recorded: a step that has one of them and no `observation` is misspelt.
const OTHER_NAMES: [&str; 9] =
    ["observations", "output", "outputs", "result", "results", "response", "tool_result", "stdout", "content"];

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
    if observation.is_none()
        && let Some(other) = OTHER_NAMES.iter().find(|name| !value[**name].is_null())
    {
        return Err(format!("a step has `{other}` and no `observation`, which would read as no output; rename it"));
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
    if steps.is_empty() {
        return Err(Failure::Data(format!(
            "{}: read as a log of {format}, and no step was found in it; give JSON lines of {{action, observation}}, or \
             another log",
            path.display()
        )));
    }
    Ok(Some(steps))
}
