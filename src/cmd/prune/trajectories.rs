//! Trajectories as analyses need them: steps by trajectory, with task and instruction.

use super::Failure;
use super::steps::step_of;
use crate::input::read_text;
use foldline_pruner::history::Step;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// One trajectory.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// The task it worked on; the trajectory's id before `~` where it is not recorded.
    #[cfg(feature = "study")]
    pub task_id: String,
    /// The instruction, where recorded.
    pub instruction: Option<String>,
    /// Its steps in order.
    pub steps: Vec<Step>,
}

impl Trajectory {
    /// The first `shown` steps (all, if `None`), each observation cut at `cut` characters (0: whole).
    pub fn shown(&self, shown: Option<usize>, cut: usize) -> Vec<Step> {
        let steps = self.steps.iter().take(shown.unwrap_or(usize::MAX));
        steps
            .map(|step| Step {
                action: step.action.clone(),
                observation: first_chars(&step.observation, cut).to_owned(),
            })
            .collect()
    }
}

/// The first characters of a text; 0 is all of them.
fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) if count > 0 => &text[..end],
        _ => text,
    }
}

/// Reads trajectories, one a line: `trajectory_id`, `steps`, and where recorded `task_id` and `instruction`.
///
/// # Errors
/// `Failure::Data` naming file, line and field.
pub fn read(path: &Path) -> Result<BTreeMap<String, Trajectory>, Failure> {
    let mut trajectories = BTreeMap::new();
    for (number, value) in json_lines(path)? {
        let place = |problem: String| Failure::Data(format!("{}:{number}: {problem}", path.display()));
        let id = value["trajectory_id"].as_str().ok_or_else(|| place("no `trajectory_id`".to_owned()))?;
        let steps = value["steps"].as_array().ok_or_else(|| place(format!("{id}: no `steps`")))?;
        let steps = steps.iter().map(step_of).collect::<Result<Vec<Step>, _>>();
        let trajectory = Trajectory {
            #[cfg(feature = "study")]
            task_id: value["task_id"].as_str().unwrap_or_else(|| task_of(id)).to_owned(),
            instruction: value["instruction"].as_str().map(str::to_owned),
            steps: steps.map_err(|problem| place(format!("{id}: steps: {problem}")))?,
        };
        trajectories.insert(id.to_owned(), trajectory);
    }
    Ok(trajectories)
}

/// The task of a trajectory's id: what stands before `~`.
#[cfg(feature = "study")]
pub fn task_of(trajectory_id: &str) -> &str {
    trajectory_id.split_once('~').map_or(trajectory_id, |(task, _)| task)
}

/// The scenario of a task: what stands before its last `_` (the whole id if there is none).
#[cfg(feature = "study")]
pub fn scenario_of(task_id: &str) -> &str {
    task_id.rsplit_once('_').map_or(task_id, |(stem, _)| stem)
}

/// The values of a JSON lines file, with their line numbers.
///
/// # Errors
/// `Failure::Data` naming file and line.
pub fn json_lines(path: &Path) -> Result<Vec<(usize, Value)>, Failure> {
    let text = read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let value = |(at, line): (usize, &str)| {
        let place = |error| Failure::Data(format!("{}:{}: not JSON: {error}", path.display(), at + 1));
        Ok((at + 1, serde_json::from_str(line).map_err(place)?))
    };
    lines.map(value).collect()
}
