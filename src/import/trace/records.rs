//! Files of a clone and the records in them: NDJSON, a JSON list, or CSV.

use super::mapping::{Fields, Paths, TraceError, quoted};
use crate::import::source::{FileError, JsonLines, LeftOut, Limits, has_extension, read_document};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(super) fn find(folder: &Path, files: &Fields, field: &str) -> Result<Option<PathBuf>, TraceError> {
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
pub(super) fn each_record(
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
