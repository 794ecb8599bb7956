//! One line of a corpus: from JSON to a [`Boundary`], every field checked.

use super::json::Json;
use crate::boundary::{Arm, Boundary, Context, Prefix, PrefixStep, Rollout, RolloutStep, SummarySupport, stem_of};
use crate::burden::{Burden, Target};
use crate::profile::{Profile, Syntax};
use std::collections::{BTreeMap, BTreeSet};

/// The format this reader knows.
pub(super) const FORMAT: &str = "foldline.corpus/1";

/// A field that is not as it should be: its path, and what is wrong.
#[derive(Debug)]
pub(super) struct FieldError {
    pub(super) field: Option<String>,
    pub(super) problem: String,
}

fn wrong<T>(field: impl Into<String>, problem: impl Into<String>) -> Result<T, FieldError> {
    Err(FieldError { field: Some(field.into()), problem: problem.into() })
}

/// What was noticed in a line and is no error.
#[derive(Debug, Default)]
pub(super) struct LineNotes {
    pub(super) unknown_fields: BTreeSet<String>,
    /// Steps whose stated flags contradict the signatures or observations.
    pub(super) contradictions: u64,
    /// Fields of the deltas map that name no delta.
    pub(super) unchecked_deltas: BTreeSet<String>,
}

/// An object whose fields are taken out one by one; what is left over is unknown.
struct Fields {
    path: String,
    entries: BTreeMap<String, Json>,
}

impl Fields {
    fn of(json: Json, path: &str) -> Result<Fields, FieldError> {
        match json {
            Json::Object(entries) => Ok(Fields { path: path.to_owned(), entries: entries.into_iter().collect() }),
            other => wrong(
                if path.is_empty() { "(line)" } else { path },
                format!("expected an object, found {}", other.kind()),
            ),
        }
    }

    fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A field that may be absent; null counts as absent.
    fn take(&mut self, name: &str) -> Option<Json> {
        self.entries.remove(name).filter(|value| *value != Json::Null)
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, FieldError> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(other) => wrong(self.at(name), format!("expected a string, found {}", other.kind())),
        }
    }

    fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, FieldError> {
        match value {
            Some(value) => Ok(value),
            None => wrong(self.at(name), "is missing"),
        }
    }

    fn non_empty_text(&mut self, name: &str) -> Result<String, FieldError> {
        let value = self.text(name)?;
        let text = self.required(name, value)?;
        if text.is_empty() { wrong(self.at(name), "is empty; expected an identifier") } else { Ok(text) }
    }

    fn count(&mut self, name: &str) -> Result<Option<u64>, FieldError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let found = match (value.whole().map(u64::try_from), value) {
            (Some(Ok(count)), _) => return Ok(Some(count)),
            (_, Json::Integer(value)) => value.to_string(),
            (_, Json::Number(value)) => value.to_string(),
            (_, other) => other.kind().to_owned(),
        };
        wrong(self.at(name), format!("expected an integer >= 0, found {found}"))
    }

    fn boolean(&mut self, name: &str) -> Result<Option<bool>, FieldError> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Bool(value)) => Ok(Some(value)),
            Some(other) => wrong(self.at(name), format!("expected true or false, found {}", other.kind())),
        }
    }

    fn list(&mut self, name: &str) -> Result<Option<Vec<Json>>, FieldError> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::List(items)) => Ok(Some(items)),
            Some(other) => wrong(self.at(name), format!("expected a list, found {}", other.kind())),
        }
    }

    fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, FieldError> {
        let Some(items) = self.list(name)? else { return Ok(None) };
        let texts = items.into_iter().enumerate().map(|(index, item)| match item {
            Json::Text(text) => Ok(text),
            other => wrong(self.at(&format!("{name}[{index}]")), format!("expected a string, found {}", other.kind())),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }
}

/// Reads one line.
pub(super) fn parse(
    text: &str,
    profile: &Profile,
    keep_steps: bool,
) -> (Result<Boundary, FieldError>, Option<String>, LineNotes) {
    let mut notes = LineNotes::default();
    let json: Json = match serde_json::from_str(text) {
        Ok(json) => json,
        Err(error) => {
            let problem =
                format!("not a JSON object: {error}; NaN and infinities are no JSON numbers, and a line must be whole");
            return (Err(FieldError { field: None, problem }), None, notes);
        }
    };
    let id = match &json {
        Json::Object(entries) => entries.iter().find_map(|(key, value)| match value {
            Json::Text(text) if key == "boundary_id" => Some(text.clone()),
            _ => None,
        }),
        _ => None,
    };
    (boundary(json, profile, keep_steps, &mut notes), id, notes)
}

/// The fields of a boundary that are known. Of a table only these columns are read, since others may be of types that no
/// line can hold.
pub const FIELDS: [&str; 21] = [
    "format",
    "boundary_id",
    "task_id",
    "stem",
    "trajectory_id",
    "difficulty",
    "compaction_index",
    "prefix_steps",
    "historical_exact",
    "historical_functions",
    "tail",
    "tail_errors",
    "prefix",
    "tokens_before",
    "tokens_after",
    "summary",
    "summary_entries",
    "summary_unsupported",
    "rollouts",
    "deltas",
    "import",
];

fn boundary(json: Json, profile: &Profile, keep_steps: bool, notes: &mut LineNotes) -> Result<Boundary, FieldError> {
    let mut fields = Fields::of(json, "")?;
    if let Some(format) = fields.text("format")?.filter(|format| format != FORMAT) {
        return wrong(
            "format",
            format!("{format:?} is unknown; this version reads {FORMAT:?}: convert the corpus or update foldline"),
        );
    }
    let boundary_id = fields.non_empty_text("boundary_id")?;
    let task_id = fields.non_empty_text("task_id")?;
    let stem = fields.text("stem")?.unwrap_or_else(|| stem_of(&task_id).to_owned());
    let trajectory_id = fields.non_empty_text("trajectory_id")?;
    let (prefix, steps) = prefix(&mut fields, profile)?;
    let context = Context {
        tokens_before: fields.count("tokens_before")?,
        tokens_after: fields.count("tokens_after")?,
        summary: fields.text("summary")?,
        steps: steps.filter(|_| keep_steps),
    };
    let stated = fields.list("rollouts")?;
    let rollouts = fields.required("rollouts", stated)?;
    let mut samples = BTreeMap::new();
    let rollouts = rollouts
        .into_iter()
        .enumerate()
        .map(|(index, rollout)| self::rollout(rollout, index, &prefix, profile, &mut samples, notes))
        .collect::<Result<Vec<_>, _>>()?;
    let stated_deltas = fields.take("deltas");
    let mut boundary =
        Boundary { boundary_id, task_id, stem, trajectory_id, prefix, context, rollouts, deltas: BTreeMap::new() };
    if let Some(stated) = stated_deltas {
        boundary.deltas = deltas(stated, &boundary, notes)?;
    }
    // where a boundary comes from, as the importers say it
    fields.take("import");
    notes.unknown_fields.extend(fields.entries.into_keys());
    Ok(boundary)
}

/// The prefix of a live boundary: the native format's fields without identifiers and rollouts. What else the object
/// holds is left alone.
pub(super) fn live_prefix(text: &str, profile: &Profile) -> Result<Prefix, FieldError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| FieldError { field: None, problem: format!("not a JSON object: {error}") })?;
    Ok(prefix(&mut Fields::of(json, "")?, profile)?.0)
}

fn prefix(fields: &mut Fields, profile: &Profile) -> Result<(Prefix, Option<Vec<PrefixStep>>), FieldError> {
    let difficulty = match fields.take("difficulty").map(|value| (value.whole(), value)) {
        None => None,
        Some((Some(level @ 1..=3), _)) => Some(level as u8),
        Some((_, Json::Text(word))) if word == "easy" => Some(1),
        Some((_, Json::Text(word))) if word == "medium" => Some(2),
        Some((_, Json::Text(word))) if word == "hard" => Some(3),
        Some((_, other)) => {
            return wrong("difficulty", format!("expected 1, 2, 3, easy, medium, hard or null, found {other:?}"));
        }
    };
    let stated = fields.count("compaction_index")?;
    let compaction_index = fields.required("compaction_index", stated)?;
    if compaction_index == 0 {
        return wrong("compaction_index", "expected an integer >= 1 (1 = first compaction of the trajectory), found 0");
    }
    let stated_steps = fields.count("prefix_steps")?;
    let exact = fields.texts("historical_exact")?.map(|list| list.into_iter().collect::<BTreeSet<_>>());
    let functions = fields.texts("historical_functions")?.map(|list| list.into_iter().collect::<BTreeSet<_>>());
    let tail = fields.texts("tail")?;
    if let Some(length) = tail.as_ref().map(Vec::len).filter(|&length| length > 3) {
        return wrong("tail", format!("expected the last 0 to 3 observations, found {length}"));
    }
    let tail_errors = tail_errors(fields)?;
    let summary_support = match (fields.count("summary_entries")?, fields.count("summary_unsupported")?) {
        (Some(entries), Some(unsupported)) if unsupported <= entries => Some(SummarySupport { entries, unsupported }),
        (None, None) => None,
        _ => {
            return wrong(
                "summary_unsupported",
                "expected both summary_entries and a summary_unsupported that is not larger",
            );
        }
    };
    let steps = fields.list("prefix")?;
    let base = Prefix { difficulty, compaction_index, summary_support, ..Prefix::default() };
    let Some(steps) = steps else {
        let prefix = Prefix {
            prefix_steps: fields.required("prefix_steps", stated_steps)?,
            historical_exact: fields.required("historical_exact", exact)?,
            historical_functions: fields.required("historical_functions", functions)?,
            tail: fields.required("tail", tail)?,
            tail_errors,
            ..base
        };
        if !prefix.tail_errors.is_empty() && prefix.tail_errors.len() != prefix.tail.len() {
            return wrong("tail_errors", "expected one flag (true, false or null) for each tail observation");
        }
        return Ok((prefix, None));
    };
    let steps = steps
        .into_iter()
        .enumerate()
        .map(|(index, step)| prefix_step(step, &format!("prefix[{index}]")))
        .collect::<Result<Vec<_>, _>>()?;
    let derived = derive_prefix(base, &steps, profile);
    let differs = |name: &str, what: String| -> Result<(), FieldError> {
        wrong(name, format!("differs from what the prefix steps give: {what}; drop the field or mend the prefix"))
    };
    if let Some(stated) = stated_steps.filter(|&stated| stated != derived.prefix_steps) {
        differs("prefix_steps", format!("stated {stated}, derived {}", derived.prefix_steps))?;
    }
    if let Some(stated) = exact.filter(|stated| *stated != derived.historical_exact) {
        differs("historical_exact", set_difference(&stated, &derived.historical_exact))?;
    }
    if let Some(stated) = functions.filter(|stated| *stated != derived.historical_functions) {
        differs("historical_functions", set_difference(&stated, &derived.historical_functions))?;
    }
    if tail.is_some_and(|stated| stated != derived.tail) {
        differs(
            "tail",
            "it must hold the last up to three observations, oldest first, as they stand in the steps".to_owned(),
        )?;
    }
    Ok((derived, Some(steps)))
}

/// What the steps of a prefix say: the number of steps, the sets of **all** calls of all steps, and the tail.
pub fn derive_prefix(base: Prefix, steps: &[PrefixStep], profile: &Profile) -> Prefix {
    let last = &steps[steps.len().saturating_sub(3)..];
    let mut prefix = Prefix {
        prefix_steps: steps.len() as u64,
        tail: last.iter().map(|step| step.observation.clone()).collect(),
        tail_errors: if profile.failure.error_flag {
            last.iter().map(|step| step.is_error).collect()
        } else {
            Vec::new()
        },
        ..base
    };
    for call in steps.iter().flat_map(|step| profile.calls(&step.action)) {
        prefix.historical_exact.insert(call.exact);
        prefix.historical_functions.insert(call.function);
    }
    prefix
}

fn set_difference(stated: &BTreeSet<String>, derived: &BTreeSet<String>) -> String {
    let first = |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).next().cloned();
    match (first(stated, derived), first(derived, stated)) {
        (Some(extra), _) => format!("{extra:?} is stated and not derived"),
        (None, missing) => format!("{:?} is derived and not stated", missing.unwrap_or_default()),
    }
}

fn tail_errors(fields: &mut Fields) -> Result<Vec<Option<bool>>, FieldError> {
    let flags = fields.list("tail_errors")?.unwrap_or_default();
    let flags = flags.into_iter().map(|flag| match flag {
        Json::Bool(flag) => Ok(Some(flag)),
        Json::Null => Ok(None),
        other => wrong("tail_errors", format!("expected true, false or null, found {}", other.kind())),
    });
    flags.collect()
}

/// An action is text, or for tool calls an object or list that is kept as JSON text.
fn action(fields: &mut Fields) -> Result<Option<String>, FieldError> {
    Ok(match fields.take("action") {
        None => None,
        Some(Json::Text(text)) => Some(text),
        Some(json @ (Json::Object(_) | Json::List(_))) => Some(serde_json::Value::from(json).to_string()),
        Some(other) => {
            return wrong(fields.at("action"), format!("expected a string or a tool call, found {}", other.kind()));
        }
    })
}

fn prefix_step(json: Json, path: &str) -> Result<PrefixStep, FieldError> {
    let mut fields = Fields::of(json, path)?;
    let stated = action(&mut fields)?;
    Ok(PrefixStep {
        action: fields.required("action", stated)?,
        observation: {
            let stated = fields.text("observation")?;
            fields.required("observation", stated)?
        },
        tokens: fields.count("tokens")?,
        is_error: fields.boolean("is_error")?,
    })
}

fn rollout(
    json: Json,
    index: usize,
    prefix: &Prefix,
    profile: &Profile,
    samples: &mut BTreeMap<(Arm, u64), usize>,
    notes: &mut LineNotes,
) -> Result<Rollout, FieldError> {
    let path = format!("rollouts[{index}]");
    let mut fields = Fields::of(json, &path)?;
    let stated = fields.text("arm")?;
    let arm = match fields.required("arm", stated)?.as_str() {
        "pre" => Arm::Pre,
        "post" => Arm::Post,
        other => return wrong(fields.at("arm"), format!("expected \"pre\" or \"post\", found {other:?}")),
    };
    let stated = fields.count("sample")?;
    if let Some(first) = stated.and_then(|sample| samples.insert((arm, sample), index)) {
        // a copy would count twice in every mean and stand on both sides of the split-half yardstick
        return wrong(
            fields.at("sample"),
            format!(
                "arm {} has this sample already, at rollouts[{first}]; drop the copy, or number the rollouts of an arm apart",
                arm.name()
            ),
        );
    }
    let sample = stated.unwrap_or(index as u64);
    // the importers' mark of a rollout that was drawn after its boundary was selected
    fields.take("selected");
    let completed = fields.boolean("completed")?.unwrap_or(false);
    let stated = fields.list("steps")?;
    let mut seen = BTreeSet::new();
    let steps = fields
        .required("steps", stated)?
        .into_iter()
        .enumerate()
        .map(|(at, step)| rollout_step(step, &format!("{path}.steps[{at}]"), prefix, &mut seen, profile, notes))
        .collect::<Result<Vec<_>, _>>()?;
    notes.unknown_fields.extend(fields.entries.into_keys().map(|name| format!("rollouts[].{name}")));
    Ok(Rollout { arm, sample, steps, completed })
}

/// A step as stated, or derived from its raw action and observation. A stated flag stands; where it contradicts the
/// signatures (refetch) or the observation (blocked) that is counted.
fn rollout_step(
    json: Json,
    path: &str,
    prefix: &Prefix,
    seen: &mut BTreeSet<String>,
    profile: &Profile,
    notes: &mut LineNotes,
) -> Result<RolloutStep, FieldError> {
    let mut fields = Fields::of(json, path)?;
    let (stated_exact, stated_function) = (fields.text("exact")?, fields.text("function")?);
    let (stated_blocked, stated_refetch) = (fields.boolean("blocked")?, fields.boolean("refetch")?);
    let (action, observation) = (action(&mut fields)?, fields.text("observation")?);
    let is_error = fields.boolean("is_error")?;
    let primary = action.as_deref().map(|action| profile.calls(action).into_iter().next());
    let (exact, function) = match (stated_exact, stated_function, primary) {
        (Some(exact), Some(function), _) => (exact, function),
        (_, _, Some(Some(call))) => (call.exact, call.function),
        (_, _, Some(None)) => (String::new(), String::new()),
        (exact, _, None) => {
            let missing = if exact.is_none() { "exact" } else { "function" };
            return wrong(
                fields.at(missing),
                "is missing; expected exact, function, blocked and refetch, or action and observation",
            );
        }
    };
    let derived_blocked = match (&observation, profile.syntax) {
        (Some(observation), _) => Some(profile.failure.is_failure(observation, is_error)),
        (None, Syntax::Tool) => is_error,
        (None, Syntax::Appworld) => None,
    };
    let derived_refetch = !exact.is_empty() && (prefix.historical_exact.contains(&exact) || seen.contains(&exact));
    let Some(blocked) = stated_blocked.or(derived_blocked) else {
        return wrong(fields.at("blocked"), "is missing; expected true or false, or the step's observation");
    };
    let refetch = stated_refetch.unwrap_or(derived_refetch);
    if refetch != derived_refetch || derived_blocked.is_some_and(|derived| derived != blocked) {
        notes.contradictions += 1;
    }
    if !exact.is_empty() {
        seen.insert(exact.clone());
    }
    notes.unknown_fields.extend(fields.entries.into_keys().map(|name| format!("rollouts[].steps[].{name}")));
    Ok(RolloutStep { exact, function, blocked, refetch })
}

/// How far a released delta may be from the recomputed one (protocol section 1).
const DELTA_TOLERANCE: f64 = 1e-9;

fn deltas(json: Json, boundary: &Boundary, notes: &mut LineNotes) -> Result<BTreeMap<String, f64>, FieldError> {
    let Json::Object(entries) = json else {
        return wrong("deltas", format!("expected an object such as {{\"dU@3\": 1.8}}, found {}", json.kind()));
    };
    let burden = Burden::of(boundary);
    let mut deltas = BTreeMap::new();
    for (name, value) in entries {
        let field = format!("deltas.{name}");
        let value = match value {
            Json::Null => continue,
            Json::Integer(value) => value as f64,
            Json::Number(value) => value,
            other => return wrong(field, format!("expected a number, found {}", other.kind())),
        };
        let Some(target) = name.parse::<Target>().ok().filter(|target| target.is_paired()) else {
            notes.unchecked_deltas.insert(name);
            continue;
        };
        match burden.delta(target).map(|delta| delta.value()) {
            Some(counted) if (counted - value).abs() <= DELTA_TOLERANCE => {
                deltas.insert(name, value);
            }
            Some(counted) => {
                return wrong(
                    field,
                    format!(
                        "released {value}, but the rollouts give {counted}: the steps or the released value are not of this corpus"
                    ),
                );
            }
            None => return wrong(field, format!("released {value}, but one arm has no rollout to reproduce it from")),
        }
    }
    Ok(deltas)
}
