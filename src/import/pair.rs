//! PAIR: boundaries, rollouts of both arms, and the trajectories they come from.
//!
//! Successive halving decides which boundaries get further draws: a boundary with several draws was selected on the earlier
//! ones, so that its mean over all draws is biased towards harm. Every draw after round 0 is marked `selected`.

use super::account::Account;
use super::boundaries::{ROLLOUT_STEPS, step_value};
use super::line::{Draft, DraftRollout, History};
use super::session::{Step, text_of};
use super::source::{FileError, JsonLines, Limits, read_document};
use foldline_features::boundary::stem_of;
use foldline_features::profile::Profile;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct BoundaryRecord {
    boundary_id: String,
    #[serde(default)]
    trajectory: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    t: Option<u64>,
    #[serde(default)]
    step: Option<u64>,
}

#[derive(Deserialize)]
struct RolloutRecord {
    boundary_id: String,
    arm: String,
    #[serde(default)]
    draw: u64,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    steps: Vec<Value>,
}

/// A rollout cut to the longest horizon, before its place in the history is known.
struct ShortRollout {
    steps: Vec<(String, bool)>,
}

/// Rollouts of a boundary by arm and draw; the last record of a pair counts.
type Rollouts = BTreeMap<String, BTreeMap<(&'static str, u64), ShortRollout>>;

/// Reads the folder that holds `boundaries.jsonl` and `rollouts.jsonl`.
///
/// # Errors
/// When one of the two files cannot be read at all.
pub fn read_paired(
    folder: &Path,
    limits: Limits,
    tools: &Profile,
    round0_only: bool,
    account: &mut Account,
    sink: &mut dyn FnMut(&Draft),
) -> Result<(), FileError> {
    let mut rollouts = read_rollouts(&folder.join("rollouts.jsonl"), limits, tools, round0_only, account)?;
    let mut lines = JsonLines::open(&folder.join("boundaries.jsonl"), limits)?;
    // boundaries of a trajectory stand together: one trajectory is held at a time
    let mut held: Option<(PathBuf, Vec<Value>)> = None;
    let mut trajectories = BTreeSet::new();
    while let Some((_, record)) = lines.next::<BoundaryRecord>(&mut account.left_out) {
        let place = Some(record.boundary_id.clone());
        let Some(path) = trajectory_path(folder, &record) else {
            account.left_out.add("boundary whose trajectory file is missing", 1, place);
            continue;
        };
        if held.as_ref().is_none_or(|(name, _)| *name != path) {
            let events = read_document::<Value>(&path, limits).ok().and_then(|document| match document {
                Value::Object(mut map) => match map.remove("events") {
                    Some(Value::Array(events)) => Some(events),
                    _ => None,
                },
                _ => None,
            });
            let Some(events) = events else {
                account.left_out.add("boundary whose trajectory cannot be read", 1, place);
                continue;
            };
            if trajectories.insert(path.clone()) {
                account.sessions += 1;
                account.steps +=
                    events.iter().filter(|event| event["compression_before_step"].is_null()).count() as u64;
            }
            held = Some((path.clone(), events));
        }
        let Some((_, events)) = &held else { continue };
        let Some(step) = record.step else {
            account.left_out.add("boundary without a step", 1, place);
            continue;
        };
        let of_boundary = rollouts.remove(&record.boundary_id).unwrap_or_default();
        if of_boundary.is_empty() {
            account.left_out.add("boundary without rollouts", 1, place);
            continue;
        }
        account.paired_boundaries += 1;
        sink(&draft(record, step, events, of_boundary, tools, account));
    }
    if !rollouts.is_empty() {
        account.left_out.add("rollouts of no known boundary", rollouts.len() as u64, rollouts.keys().next().cloned());
    }
    Ok(())
}

fn read_rollouts(
    path: &Path,
    limits: Limits,
    tools: &Profile,
    round0_only: bool,
    account: &mut Account,
) -> Result<Rollouts, FileError> {
    let mut lines = JsonLines::open(path, limits)?;
    let mut rollouts = Rollouts::new();
    while let Some((number, record)) = lines.next::<RolloutRecord>(&mut account.left_out) {
        let arm = match record.arm.to_ascii_lowercase().as_str() {
            "pre" => "pre",
            "post" => "post",
            _ => {
                account.left_out.add("rollout of an unknown arm", 1, Some(format!("{}:{number}", path.display())));
                continue;
            }
        };
        if !record.error.is_null() && record.error != "" {
            account.left_out.add("rollout with a collection error", 1, None);
            continue;
        }
        if round0_only && record.draw > 0 {
            account.left_out.add("rollout drawn after a selection (--round0-only)", 1, None);
            continue;
        }
        let profile = profile_of(is_code(&record.steps), tools);
        let steps = record.steps.iter().filter_map(step_of).take(ROLLOUT_STEPS);
        let steps =
            steps.map(|step| (profile.failure.is_failure(&step.observation, None), step.action)).map(|(f, a)| (a, f));
        let short = ShortRollout { steps: steps.collect() };
        let of_boundary = rollouts.entry(record.boundary_id).or_default();
        if of_boundary.insert((arm, record.draw), short).is_some() {
            account.left_out.add("rollout record replaced by a later one", 1, None);
        }
    }
    Ok(rollouts)
}

fn profile_of(is_code: bool, tools: &Profile) -> Profile {
    if is_code { Profile::appworld() } else { tools.clone() }
}

/// Where a boundary's trajectory lies: as it is named, from the folder or from the one above, else by its task.
fn trajectory_path(folder: &Path, record: &BoundaryRecord) -> Option<PathBuf> {
    let mut candidates = Vec::new();
    if let Some(name) = &record.trajectory {
        for name in [name.clone(), format!("{name}.json")] {
            candidates.push(folder.join(&name));
            candidates.push(folder.join("trajectories").join(&name));
            candidates.extend(folder.parent().map(|above| above.join(&name)));
        }
    }
    if let Some(task) = &record.task_id {
        candidates.push(folder.join("trajectories").join(format!("{task}.json")));
    }
    candidates.into_iter().find(|path| path.is_file())
}

fn draft(
    record: BoundaryRecord,
    step: u64,
    events: &[Value],
    of_boundary: BTreeMap<(&'static str, u64), ShortRollout>,
    tools: &Profile,
    account: &mut Account,
) -> Draft {
    let is_code = is_code(events);
    let profile = profile_of(is_code, tools);
    let steps: Vec<Step> = events
        .iter()
        .filter(|event| event["compression_before_step"].is_null())
        .filter(|event| event["step"].as_u64().is_some_and(|number| number < step))
        .filter_map(step_of)
        .collect();
    account.failed_steps +=
        steps.iter().filter(|step| profile.failure.is_failure(&step.observation, step.is_error)).count() as u64;
    let compaction = events.iter().find(|event| event["compression_before_step"].as_u64() == Some(step));
    let rollouts = of_boundary.into_iter().map(|((arm, draw), short)| {
        account.selected_rollouts += u64::from(draw > 0);
        rollout(arm, draw, short, &profile, is_code)
    });
    let rollouts = rollouts.collect();
    let task_id = record.task_id.unwrap_or_else(|| record.boundary_id.clone());
    Draft {
        stem: Some(stem_of(&task_id).to_owned()),
        trajectory_id: record.trajectory.unwrap_or_else(|| {
            record.boundary_id.rsplit_once('#').map_or_else(|| record.boundary_id.clone(), |(run, _)| run.to_owned())
        }),
        boundary_id: record.boundary_id,
        task_id,
        difficulty: None,
        compaction_index: record.t.unwrap_or(1).max(1),
        history: History::Steps(steps.iter().map(|step| step_value(step, !is_code)).collect()),
        tokens_before: None,
        tokens_after: None,
        summary: compaction.and_then(|event| event["summary"].as_str()).map(str::to_owned),
        rollouts,
        deltas: Map::new(),
        import: json!({"harness": "pair", "origin": "paired"}),
    }
}

/// A rollout ends at its first step without a call (code) and at an unblocked completion.
fn rollout(arm: &'static str, draw: u64, short: ShortRollout, profile: &Profile, is_code: bool) -> DraftRollout {
    let (mut steps, mut completed) = (Vec::new(), false);
    for (action, blocked) in short.steps {
        let Some(primary) = profile.calls(&action).into_iter().next() else { break };
        let mut step = json!({"action": action, "blocked": blocked});
        if is_code {
            // code without its observation would leave the reader nothing to check the flag against
            step = json!({"exact": primary.exact, "function": primary.function, "blocked": blocked});
        }
        steps.push(step);
        if primary.function == profile.completion && !blocked {
            completed = true;
            break;
        }
    }
    DraftRollout { arm, sample: draw, steps, completed, selected: Some(draw > 0) }
}

/// Whether a trajectory's actions are AppWorld code.
pub(super) fn is_code(events: &[Value]) -> bool {
    events.iter().any(|event| event["code"].is_string())
}

/// A step event; `None` for turns of plain text, which are no calls.
pub(super) fn step_of(event: &Value) -> Option<Step> {
    let observation = text_of(&event["observation"]);
    let plain = |tool: String, action: String| Step {
        tool,
        action,
        observation: observation.clone(),
        is_error: None,
        tokens: None,
        request: None,
    };
    if let Some(code) = event["code"].as_str() {
        return Some(plain(String::new(), code.to_owned()));
    }
    if event["action_mode"] == "text" {
        return None;
    }
    let action = if event["executed_action"].is_null() { &event["action"] } else { &event["executed_action"] };
    let (name, arguments) = tool_action(action)?;
    let text = json!({"name": name, "arguments": arguments}).to_string();
    Some(plain(name, text))
}

/// Name and arguments of an action that is an object, JSON text, or `name(...)`.
fn tool_action(action: &Value) -> Option<(String, Value)> {
    if let Value::String(text) = action {
        if let Ok(inner @ Value::Object(_)) = serde_json::from_str(text) {
            return tool_action(&inner);
        }
        let name = text.split('(').next().filter(|name| name.len() < text.len())?.trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
        return is_name.then(|| (name.to_owned(), json!({"call": text})));
    }
    let object = action.as_object()?;
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let (name, used): (String, &[&str]) = match (text("app"), text("action")) {
        (Some(app), Some(action)) => (format!("{app}.{action}"), &["app", "action"]),
        _ => {
            let field =
                ["name", "tool", "tool_name", "function", "action"].into_iter().find(|name| text(name).is_some())?;
            (text(field).unwrap_or("").to_owned(), &["name", "tool", "tool_name", "function", "action"])
        }
    };
    let arguments = ["arguments", "args", "parameters", "kwargs"].iter().find_map(|name| object.get(*name)).cloned();
    let rest = || object.iter().filter(|(key, _)| !used.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone()));
    Some((name, arguments.unwrap_or_else(|| Value::Object(rest().collect()))))
}
