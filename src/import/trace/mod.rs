//! TRACE: a local clone of the release, read through a mapping of its fields to ours.
//!
//! The release's exact layout was not at hand when this was written, so the mapping is a file that a user can edit, and every
//! error says which field was looked for, where, what the record holds instead, and how to map it.

mod mapping;
mod records;

use super::account::Account;
use super::line::{Draft, DraftRollout, History};
use super::session::text_of;
use super::source::{LeftOut, Limits};
use foldline_features::profile::Profile;
pub use mapping::{DEFAULT_MAPPING, Mapping, TraceError};
use mapping::{Record, at_path};
use records::{each_record, find};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a clone.
///
/// # Errors
/// The first file or field that cannot be found or understood.
pub fn read(
    folder: &Path,
    mapping: &Mapping,
    limits: Limits,
    account: &mut Account,
    sink: &mut dyn FnMut(&Draft),
) -> Result<(), TraceError> {
    let file = find(folder, &mapping.files, "boundaries")?
        .ok_or_else(|| TraceError::Mapping("[files] names no boundaries".to_owned()))?;
    let mut rollouts = match find(folder, &mapping.files, "rollouts") {
        Ok(Some(file)) => Some(read_rollouts(&file, mapping, limits, account)?),
        // rollouts may stand within the boundaries: then the missing file is no error
        Ok(None) | Err(_) => None,
    };
    let name = file.display().to_string();
    let mut result = Ok(());
    let mut left_out = LeftOut::default();
    each_record(&file, limits, &mut left_out, &mut |number, value| {
        let record = Record { value: &value, file: &name, number, section: "boundary", fields: &mapping.boundary };
        match draft(&record, mapping, rollouts.as_mut(), account) {
            Ok(draft) => {
                account.paired_boundaries += 1;
                sink(&draft);
                true
            }
            Err(error) => {
                result = Err(error);
                false
            }
        }
    })?;
    account.left_out.merge(left_out);
    if let Some(rest) = rollouts.filter(|rest| !rest.is_empty() && result.is_ok()) {
        account.left_out.add(
            "boundary id of rollouts that no boundary has",
            rest.len() as u64,
            rest.keys().next().cloned(),
        );
    }
    result
}

type Rollouts = BTreeMap<String, Vec<DraftRollout>>;

fn read_rollouts(
    file: &Path,
    mapping: &Mapping,
    limits: Limits,
    account: &mut Account,
) -> Result<Rollouts, TraceError> {
    let name = file.display().to_string();
    let mut rollouts = Rollouts::new();
    let mut result = Ok(());
    let mut left_out = LeftOut::default();
    each_record(file, limits, &mut left_out, &mut |number, value| {
        let record = Record { value: &value, file: &name, number, section: "rollout", fields: &mapping.rollout };
        match rollout_of(&record, mapping, &mut rollouts, account) {
            Ok(()) => true,
            Err(error) => {
                result = Err(error);
                false
            }
        }
    })?;
    account.left_out.merge(left_out);
    result.map(|()| rollouts)
}

/// Adds a rollout that names its boundary.
fn rollout_of(
    record: &Record<'_>,
    mapping: &Mapping,
    rollouts: &mut Rollouts,
    account: &mut Account,
) -> Result<(), TraceError> {
    let of_boundary = rollouts.entry(record.text("boundary_id")?).or_default();
    let sample = of_boundary.len() as u64;
    of_boundary.extend(rollout(record, mapping, sample, account)?);
    Ok(())
}

/// A rollout; `None` when it is one to skip.
fn rollout(
    record: &Record<'_>,
    mapping: &Mapping,
    position: u64,
    account: &mut Account,
) -> Result<Option<DraftRollout>, TraceError> {
    let is_set = |value: &Value| !(value.is_null() || *value == false || *value == "");
    if record.paths("skip_when").iter().filter_map(|path| at_path(record.value, path)).any(is_set) {
        account.left_out.add("rollout with a collection error", 1, None);
        return Ok(None);
    }
    let stated = record.text("arm")?;
    let arm = match (mapping.values.pre.contains(&stated), mapping.values.post.contains(&stated)) {
        (true, _) => "pre",
        (_, true) => "post",
        _ => {
            let expected = format!("one of [values] pre = {:?}, post = {:?}", mapping.values.pre, mapping.values.post);
            return Err(record.bad("arm", &stated.into(), &expected));
        }
    };
    let sample = record.optional("sample").and_then(Value::as_u64).unwrap_or(position);
    let steps = record.required("steps")?;
    let list = steps.as_array().ok_or_else(|| record.bad("steps", steps, "a list of steps"))?;
    let steps = list.iter().map(|step| {
        let step = Record { value: step, section: "step", fields: &mapping.step, ..*record };
        self::step(&step)
    });
    let steps = steps.collect::<Result<Vec<_>, _>>()?;
    let completed = record.flag("completed")?.unwrap_or(false);
    Ok(Some(DraftRollout { arm, sample, steps, completed, selected: None }))
}

fn step(record: &Record<'_>) -> Result<Value, TraceError> {
    let mut step = Map::new();
    for field in ["exact", "function", "action", "observation"] {
        if let Some(value) = record.optional(field) {
            step.insert(field.to_owned(), text_of(value).into());
        }
    }
    for field in ["blocked", "refetch"] {
        if let Some(flag) = record.flag(field)? {
            step.insert(field.to_owned(), flag.into());
        }
    }
    if let (Some(action), false) = (step.get("action").and_then(Value::as_str), step.contains_key("exact")) {
        let calls = Profile::appworld().calls(action);
        let (exact, function) =
            calls.into_iter().next().map_or_else(Default::default, |call| (call.exact, call.function));
        step.insert("exact".to_owned(), exact.into());
        step.insert("function".to_owned(), function.into());
    }
    if !step.contains_key("exact") {
        record.required("exact")?;
    }
    if !step.contains_key("function") {
        let function = foldline_features::signature::function_of(step["exact"].as_str().unwrap_or("")).to_owned();
        step.insert("function".to_owned(), function.into());
    }
    if !step.contains_key("blocked") && !step.contains_key("observation") {
        record.required("blocked")?;
    }
    Ok(Value::Object(step))
}

fn draft(
    record: &Record<'_>,
    mapping: &Mapping,
    rollouts: Option<&mut Rollouts>,
    account: &mut Account,
) -> Result<Draft, TraceError> {
    let boundary_id = record.text("boundary_id")?;
    let task_id = record.text("task_id")?;
    let rollouts = match rollouts {
        Some(rollouts) => rollouts.remove(&boundary_id).unwrap_or_default(),
        None => {
            let stated = record.required("rollouts")?;
            let list = stated.as_array().ok_or_else(|| record.bad("rollouts", stated, "a list of rollouts"))?;
            let mut rollouts = Vec::new();
            for value in list {
                let inner = Record { value, section: "rollout", fields: &mapping.rollout, ..*record };
                rollouts.extend(rollout(&inner, mapping, rollouts.len() as u64, account)?);
            }
            rollouts
        }
    };
    let index = record.count("compaction_index")?;
    let base = mapping.values.index_base;
    let Some(compaction_index) = (index + 1).checked_sub(base).filter(|&index| index > 0) else {
        let expected = format!("at least index_base = {base} of [values]");
        return Err(record.bad("compaction_index", &index.into(), &expected));
    };
    let difficulty = match record.optional("difficulty") {
        None => None,
        Some(value) => match (value.as_u64(), value.as_str()) {
            (Some(level @ 1..=3), _) => Some(level as u8),
            (_, Some("easy")) => Some(1),
            (_, Some("medium")) => Some(2),
            (_, Some("hard")) => Some(3),
            _ => return Err(record.bad("difficulty", value, "1, 2, 3, easy, medium or hard")),
        },
    };
    let deltas = mapping.deltas.iter().filter_map(|(name, paths)| {
        let value = paths.list().iter().find_map(|path| at_path(record.value, path)).filter(|v| v.is_number())?;
        Some((name.clone(), value.clone()))
    });
    let optional_text = |field: &str| record.optional(field).map(text_of);
    Ok(Draft {
        trajectory_id: optional_text("trajectory_id").unwrap_or_else(|| task_id.clone()),
        stem: optional_text("stem"),
        difficulty,
        compaction_index,
        history: History::Derived {
            prefix_steps: record.count("prefix_steps")?,
            exact: record.texts("historical_exact")?.into_iter().collect(),
            functions: record.texts("historical_functions")?.into_iter().collect(),
            tail: record.texts("tail")?,
            tail_errors: Vec::new(),
        },
        tokens_before: record.optional("tokens_before").and_then(Value::as_u64),
        tokens_after: record.optional("tokens_after").and_then(Value::as_u64),
        summary: optional_text("summary"),
        rollouts,
        deltas: deltas.collect(),
        import: json!({"harness": "trace", "origin": "paired"}),
        boundary_id,
        task_id,
    })
}
