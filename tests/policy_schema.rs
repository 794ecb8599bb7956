//! The published JSON Schema is the one of the structs that read a policy; wordings may differ, shapes may not.

#![cfg(test)]

use serde_json::Value;

/// A schema without its descriptions, which are doc comments.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, value)| *key != "description" || !value.is_string());
            kept.map(|(key, value)| (key.clone(), shape(value))).collect()
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_published_schema_is_true() {
    let schema = serde_json::to_value(schemars::schema_for!(foldline::policy::PolicyFile)).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/policy.schema.json");
    if std::env::var_os("FOLDLINE_WRITE_SCHEMA").is_some() {
        std::fs::write(path, format!("{schema:#}\n")).unwrap();
    }
    let published: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(shape(&published), shape(&schema), "write it anew with FOLDLINE_WRITE_SCHEMA=1");
}
