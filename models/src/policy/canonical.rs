//! Canonical JSON, so that a hash does not depend on how a file was laid out.
//!
//! Keys sorted by code point, no white space, strings as `serde_json` escapes them; a number that is an integer below
//! 2^53 in magnitude is written as one, any other in its shortest form that reads back to the same double. A policy may
//! therefore be re-indented or re-ordered without changing its hash.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// SHA-256, in lower-case hexadecimal, of the canonical form of a JSON object without its key `except`.
pub fn sha256_without(value: &Value, except: &str) -> String {
    let mut text = String::new();
    write(value, Some(except), &mut text);
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn write(value: &Value, except: Option<&str>, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(key, _)| Some(key.as_str()) != except).collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, None, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, None, out);
            }
            out.push(']');
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => {
                let _ = write!(out, "{}", float as i64);
            }
            _ => {
                let _ = write!(out, "{number}");
            }
        },
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> String {
        sha256_without(&serde_json::from_str(text).expect("JSON"), "sha256")
    }

    #[test]
    fn layout_and_order_do_not_matter_and_values_do() {
        let one = hash(r#"{"b": [1.0, 0.1, -0.0], "a": {"y": null, "x": "\u00e9"}, "sha256": "x"}"#);
        assert_eq!(one, hash(r#"{"a":{"x":"é","y":null},"b":[1,0.1,0]}"#));
        assert_ne!(one, hash(r#"{"a":{"x":"é","y":null},"b":[1,0.10000000000000002,0]}"#));
        assert_ne!(one, hash(r#"{"a":{"x":"é","y":null,"sha256":"x"},"b":[1,0.1,0]}"#), "only the outermost key");
        // printf '{"a":1}' | sha256sum
        assert_eq!(hash(r#"{"a":1}"#), "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
    }
}
