//! A JSON value that keeps its keys in order and refuses a key given twice.
//!
//! serde_json's own value lets the last of two equal keys win, which would hide one of two contradicting statements
//! about a boundary.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    /// Fractional, or an integer beyond i64.
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A whole number, however it is written: JSON has one kind of number, and a table with gaps in a column of integers
    /// comes out as `3.0`. Beyond 2^53 a float no longer says which integer was meant.
    pub(crate) fn whole(&self) -> Option<i64> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        match self {
            Json::Integer(value) => Some(*value),
            Json::Number(value) if value.fract() == 0.0 && value.abs() <= EXACT => Some(*value as i64),
            _ => None,
        }
    }

    /// The kind of value in words, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "true or false",
            Json::Integer(_) => "an integer",
            Json::Number(_) => "a number",
            Json::Text(_) => "a string",
            Json::List(_) => "a list",
            Json::Object(_) => "an object",
        }
    }
}

impl From<Json> for serde_json::Value {
    fn from(json: Json) -> serde_json::Value {
        match json {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => value.into(),
            Json::Integer(value) => value.into(),
            Json::Number(value) => value.into(),
            Json::Text(value) => value.into(),
            Json::List(items) => items.into_iter().map(serde_json::Value::from).collect(),
            Json::Object(entries) => {
                serde_json::Value::Object(entries.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(i64::try_from(value).map_or(Json::Number(value as f64), Json::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object: Vec<(String, Json)> = Vec::new();
        // objects of a corpus are small; an attacker's wide one must not cost quadratic time
        let mut seen = std::collections::BTreeSet::new();
        while let Some((key, value)) = entries.next_entry::<String, Json>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("key {key:?} is given twice in one object")));
            }
            object.push((key, value));
        }
        Ok(Json::Object(object))
    }
}
