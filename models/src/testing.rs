//! What unit tests share.

use foldline_features::{Row, Table};
use serde_json::Value;

/// A table of dense columns.
pub(crate) fn dense(rows: &[Vec<f64>]) -> Table {
    let columns = rows.first().map_or(0, Vec::len);
    let names = (0..columns).map(|column| format!("x{column}")).collect();
    let rows = rows.iter().map(|row| Row { dense: row.clone(), ones: Vec::new() }).collect();
    Table::new(names, columns, rows).unwrap()
}

/// One of the cases made from public bug reports, in `../shared/data/cases.jsonl`.
pub(crate) fn case(id: &str) -> Option<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/cases.jsonl");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: no {path}");
        return None;
    };
    let case = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|case| case["id"] == id);
    Some(case.unwrap())
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

pub(crate) fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

pub(crate) fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= tolerance, "{got} is not {expected}");
    }
}
