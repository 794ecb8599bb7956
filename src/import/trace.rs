//! TRACE: a local clone of the release, read through a mapping of its fields to ours.
//!
//! The release's exact layout was not at hand when this was written, so the mapping is a file that a user can edit, and every
//! error says which field was looked for, where, what the record holds instead, and how to map it.

use super::account::Account;
use super::line::{Draft, DraftRollout, History};
use super::session::text_of;
use super::source::{FileError, JsonLines, LeftOut, Limits, has_extension, read_document};
use foldline_features::profile::Profile;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The mapping that is used unless another is given.
pub const DEFAULT_MAPPING: &str = include_str!("trace.toml");

/// Fields of the release by our names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    files: Fields,
    boundary: Fields,
    rollout: Fields,
    step: Fields,
    values: Values,
    #[serde(default)]
    deltas: Fields,
}

/// Paths by field, tried in order.
type Fields = BTreeMap<String, Paths>;

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Several(Vec<String>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    index_base: u64,
    pre: Vec<String>,
    post: Vec<String>,
}

impl Paths {
    fn list(&self) -> &[String] {
        match self {
            Paths::One(path) => std::slice::from_ref(path),
            Paths::Several(paths) => paths,
        }
    }
}

/// Why a clone cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The mapping is no mapping.
    #[error("the mapping cannot be read: {0}")]
    Mapping(String),
    /// None of the files is there.
    #[error(
        "none of the files {tried} is in {folder}, which holds: {found}; write the right one as `{field} = \"...\"` under \
         [files] of a mapping file (`foldline import trace --print-mapping` prints one to start from)"
    )]
    NoFile {
        /// The mapping's name of the file.
        field: String,
        /// Names tried.
        tried: String,
        /// The clone.
        folder: String,
        /// What is in it.
        found: String,
    },
    /// A required field is in none of its places.
    #[error(
        "{file}, record {record}: no {section}.{field}: looked for {tried}; the record holds: {found}; write its place as \
         `{field} = \"...\"` under [{section}] of a mapping file (`foldline import trace --print-mapping` prints one to start \
         from)"
    )]
    NoField {
        /// The file.
        file: String,
        /// Number of the record, from 1.
        record: u64,
        /// Section of the mapping.
        section: &'static str,
        /// Field of the mapping.
        field: &'static str,
        /// Paths tried.
        tried: String,
        /// Keys of the record.
        found: String,
    },
    /// A field holds what cannot be understood.
    #[error("{file}, record {record}: {section}.{field} is {value}; expected {expected}")]
    BadValue {
        /// The file.
        file: String,
        /// Number of the record, from 1.
        record: u64,
        /// Section of the mapping.
        section: &'static str,
        /// Field of the mapping.
        field: &'static str,
        /// What was found.
        value: String,
        /// What was expected.
        expected: String,
    },
    /// A file cannot be read.
    #[error("{0}: {1}")]
    File(String, FileError),
}

impl Mapping {
    /// Reads a mapping file's text. Fields that it leaves out keep their default places.
    ///
    /// # Errors
    /// When it is no TOML of this layout.
    pub fn parse(text: &str) -> Result<Mapping, TraceError> {
        let parse = |text: &str| text.parse::<toml::Table>().map_err(|error| TraceError::Mapping(error.to_string()));
        let mut merged = parse(DEFAULT_MAPPING)?;
        for (section, fields) in parse(text)? {
            let toml::Value::Table(fields) = fields else {
                return Err(TraceError::Mapping(format!("{section} must be a section, as in [{section}]")));
            };
            match merged.get_mut(&section).and_then(toml::Value::as_table_mut) {
                Some(known) => {
                    if let Some(unknown) = fields.keys().find(|name| section != "deltas" && !known.contains_key(*name))
                    {
                        let names: Vec<&str> = known.keys().map(String::as_str).collect();
                        return Err(TraceError::Mapping(format!(
                            "[{section}] has no field {unknown}; its fields are {}",
                            names.join(", ")
                        )));
                    }
                    known.extend(fields);
                }
                None => return Err(TraceError::Mapping(format!("there is no section [{section}]"))),
            }
        }
        merged.try_into().map_err(|error: toml::de::Error| TraceError::Mapping(error.to_string()))
    }
}

/// A record with where it stands, for errors.
struct Record<'a> {
    value: &'a Value,
    file: &'a str,
    number: u64,
    section: &'static str,
    fields: &'a Fields,
}

impl Record<'_> {
    fn paths(&self, field: &str) -> &[String] {
        self.fields.get(field).map_or(&[], Paths::list)
    }

    /// A field that may be missing; null counts as missing.
    fn optional(&self, field: &str) -> Option<&Value> {
        self.paths(field).iter().find_map(|path| at_path(self.value, path)).filter(|value| !value.is_null())
    }

    fn required(&self, field: &'static str) -> Result<&Value, TraceError> {
        self.optional(field).ok_or_else(|| TraceError::NoField {
            file: self.file.to_owned(),
            record: self.number,
            section: self.section,
            field,
            tried: quoted(self.paths(field)),
            found: keys_of(self.value),
        })
    }

    fn bad(&self, field: &'static str, value: &Value, expected: &str) -> TraceError {
        TraceError::BadValue {
            file: self.file.to_owned(),
            record: self.number,
            section: self.section,
            field,
            value: value.to_string().chars().take(80).collect(),
            expected: expected.to_owned(),
        }
    }

    fn text(&self, field: &'static str) -> Result<String, TraceError> {
        Ok(match self.required(field)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    fn count(&self, field: &'static str) -> Result<u64, TraceError> {
        let value = self.required(field)?;
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        number.ok_or_else(|| self.bad(field, value, "an integer >= 0"))
    }

    fn flag(&self, field: &'static str) -> Result<Option<bool>, TraceError> {
        let Some(value) = self.optional(field) else { return Ok(None) };
        match (value, value.as_str().map(str::to_ascii_lowercase).as_deref()) {
            (Value::Bool(flag), _) => Ok(Some(*flag)),
            (Value::Number(number), _) if number.as_u64().is_some_and(|n| n < 2) => {
                Ok(Some(number.as_u64() == Some(1)))
            }
            (_, Some("true" | "1")) => Ok(Some(true)),
            (_, Some("false" | "0" | "")) => Ok(Some(false)),
            _ => Err(self.bad(field, value, "true or false")),
        }
    }

    fn texts(&self, field: &'static str) -> Result<Vec<String>, TraceError> {
        let value = self.required(field)?;
        let expected = "a list of strings";
        let list = value.as_array().ok_or_else(|| self.bad(field, value, expected))?;
        Ok(list.iter().map(text_of).collect())
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    if names.is_empty() { "nothing (the mapping names no place)".to_owned() } else { names.join(", ") }
}

fn keys_of(value: &Value) -> String {
    match value {
        Value::Object(map) => map.keys().take(40).cloned().collect::<Vec<_>>().join(", "),
        other => other.to_string().chars().take(80).collect(),
    }
}

/// The value at a path: the whole path as one key first (`dU@3`, keys with dots), then step by step.
fn at_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    let (first, rest) = path.split_once('.')?;
    let inner = match value {
        Value::Array(items) => items.get(first.parse::<usize>().ok()?)?,
        other => other.get(first)?,
    };
    at_path(inner, rest)
}

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

fn find(folder: &Path, files: &Fields, field: &str) -> Result<Option<PathBuf>, TraceError> {
    if folder.is_file() {
        return Ok((field == "boundaries").then(|| folder.to_owned()));
    }
    let names = files.get(field).map_or(&[][..], Paths::list);
    if names.is_empty() {
        return Ok(None);
    }
    if let Some(path) = names.iter().map(|name| folder.join(name)).find(|path| path.is_file()) {
        return Ok(Some(path));
    }
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| entries.filter_map(Result::ok).map(|e| e.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    found.sort();
    found.truncate(20);
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
    Err(TraceError::NoFile {
        field: field.to_owned(),
        tried: quoted(names),
        folder: folder.display().to_string(),
        found,
    })
}

/// Walks over the records of a file until `each` says stop.
fn each_record(
    path: &Path,
    limits: Limits,
    left_out: &mut LeftOut,
    each: &mut dyn FnMut(u64, Value) -> bool,
) -> Result<(), TraceError> {
    let wrong = |error: FileError| TraceError::File(path.display().to_string(), error);
    if has_extension(path, &["csv"]) {
        let bytes = std::fs::read(path).map_err(|error| wrong(FileError::Unreadable(error)))?;
        let rows = csv_rows(&String::from_utf8_lossy(&bytes));
        let mut rows = rows.into_iter();
        let header = rows.next().unwrap_or_default();
        for (index, row) in rows.enumerate() {
            let cells = header.iter().cloned().zip(row.iter().map(|cell| cell_value(cell)));
            if !each(index as u64 + 1, Value::Object(cells.collect())) {
                break;
            }
        }
    } else if has_extension(path, &["json"]) {
        let document: Value = read_document(path, limits).map_err(wrong)?;
        let list = match document {
            Value::Array(list) => list,
            Value::Object(map) => map
                .into_iter()
                .find_map(|(_, value)| match value {
                    Value::Array(list) => Some(list),
                    _ => None,
                })
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        for (index, value) in list.into_iter().enumerate() {
            if !each(index as u64 + 1, value) {
                break;
            }
        }
    } else {
        let mut lines = JsonLines::open(path, limits).map_err(wrong)?;
        while let Some((number, value)) = lines.next::<Value>(left_out) {
            if !each(number, value) {
                break;
            }
        }
    }
    Ok(())
}

/// A cell that is JSON (a list, a number, true) is read as such, an empty one is null.
fn cell_value(cell: &str) -> Value {
    if cell.is_empty() {
        return Value::Null;
    }
    match serde_json::from_str::<Value>(cell) {
        Ok(value @ (Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_))) => value,
        _ => cell.into(),
    }
}

/// Rows of a CSV text with quoted cells.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if quoted || cell.is_empty() => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted && chars.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
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
        let mut add = || -> Result<(), TraceError> {
            let id = record.text("boundary_id")?;
            let of_boundary = rollouts.entry(id).or_default();
            let sample = of_boundary.len() as u64;
            of_boundary.extend(rollout(&record, mapping, sample, account)?);
            Ok(())
        };
        result = add();
        result.is_ok()
    })?;
    account.left_out.merge(left_out);
    result.map(|()| rollouts)
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
