//! Where the fields of a release stand, and what is said when one is not there.

use crate::import::session::text_of;
use crate::import::source::FileError;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The mapping that is used unless another is given.
pub const DEFAULT_MAPPING: &str = include_str!("default.toml");

/// Fields of the release by our names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    pub(super) files: Fields,
    pub(super) boundary: Fields,
    pub(super) rollout: Fields,
    pub(super) step: Fields,
    pub(super) values: Values,
    #[serde(default)]
    pub(super) deltas: Fields,
}

/// Paths by field, tried in order.
pub(super) type Fields = BTreeMap<String, Paths>;

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Paths {
    One(String),
    Several(Vec<String>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Values {
    pub(super) index_base: u64,
    pub(super) pre: Vec<String>,
    pub(super) post: Vec<String>,
}

impl Paths {
    pub(super) fn list(&self) -> &[String] {
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
pub(super) struct Record<'a> {
    pub(super) value: &'a Value,
    pub(super) file: &'a str,
    pub(super) number: u64,
    pub(super) section: &'static str,
    pub(super) fields: &'a Fields,
}

impl Record<'_> {
    pub(super) fn paths(&self, field: &str) -> &[String] {
        self.fields.get(field).map_or(&[], Paths::list)
    }

    /// A field that may be missing; null counts as missing.
    pub(super) fn optional(&self, field: &str) -> Option<&Value> {
        self.paths(field).iter().find_map(|path| at_path(self.value, path)).filter(|value| !value.is_null())
    }

    pub(super) fn required(&self, field: &'static str) -> Result<&Value, TraceError> {
        self.optional(field).ok_or_else(|| TraceError::NoField {
            file: self.file.to_owned(),
            record: self.number,
            section: self.section,
            field,
            tried: quoted(self.paths(field)),
            found: keys_of(self.value),
        })
    }

    pub(super) fn bad(&self, field: &'static str, value: &Value, expected: &str) -> TraceError {
        TraceError::BadValue {
            file: self.file.to_owned(),
            record: self.number,
            section: self.section,
            field,
            value: value.to_string().chars().take(80).collect(),
            expected: expected.to_owned(),
        }
    }

    pub(super) fn text(&self, field: &'static str) -> Result<String, TraceError> {
        Ok(match self.required(field)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    pub(super) fn count(&self, field: &'static str) -> Result<u64, TraceError> {
        let value = self.required(field)?;
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        number.ok_or_else(|| self.bad(field, value, "an integer >= 0"))
    }

    pub(super) fn flag(&self, field: &'static str) -> Result<Option<bool>, TraceError> {
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

    pub(super) fn texts(&self, field: &'static str) -> Result<Vec<String>, TraceError> {
        let value = self.required(field)?;
        let expected = "a list of strings";
        let list = value.as_array().ok_or_else(|| self.bad(field, value, expected))?;
        Ok(list.iter().map(text_of).collect())
    }
}

pub(super) fn quoted(names: &[String]) -> String {
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
pub(super) fn at_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
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
