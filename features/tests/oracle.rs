//! Deltas and features of the reference cohort against values of an independent implementation, and real AppWorld
//! boundaries whose derived sets must agree with the stated ones.

#![cfg(test)]

use foldline_features::corpus::{Corpus, Options, Reader, read_corpus};
use foldline_features::{Burden, Extractor, Profile, Representation, Target};
use serde_json::Value;
use std::path::PathBuf;

/// Sums of logarithms in another order: a few ulps of the total, as the reference's README allows.
const TOLERANCE: f64 = 1e-9;

fn data(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(path);
    if path.exists() {
        Some(path)
    } else {
        println!("skipped: {} is not there", path.display());
        None
    }
}

fn load(path: PathBuf, profile: Profile) -> Corpus {
    read_corpus(Reader::open(&path, Options::new(profile)).expect("opens")).expect("reads")
}

fn oracle() -> Option<(Corpus, Value)> {
    let mut profile = Profile::appworld();
    let methods = std::fs::read_to_string(data("oracle/functions.csv")?).expect("functions");
    profile.add_methods(&methods).expect("a method map");
    let expected = std::fs::read_to_string(data("oracle/expected.json")?).expect("expected");
    Some((load(data("oracle/cohort-1.jsonl.gz")?, profile), serde_json::from_str(&expected).expect("JSON")))
}

#[test]
fn deltas_of_the_reference_cohort() {
    let Some((corpus, expected)) = oracle() else { return };
    for (name, values) in expected["deltas"]["values"].as_object().expect("values") {
        let target: Target = name.parse().expect("a target");
        for (index, boundary) in corpus.boundaries.iter().enumerate() {
            let delta = Burden::of(boundary).delta(target).expect("both arms");
            assert_eq!(delta.numerator, expected["deltas"]["numerator"][name][index].as_i64().expect("integer"));
            assert_eq!(delta.denominator, expected["deltas"]["denominator"][index].as_i64().expect("integer"));
            // equal rationals are equal floats: to the bit
            assert_eq!(
                Some(delta.value().to_bits()),
                values[index].as_f64().map(f64::to_bits),
                "{name} of {}",
                boundary.boundary_id
            );
        }
    }
    assert!(corpus.unmapped().is_empty());
    assert_eq!(corpus.notes.contradictions, 0);
}

#[test]
fn features_of_the_reference_cohort() {
    let Some((corpus, expected)) = oracle() else { return };
    for (representation, name) in Representation::ALL {
        let Some(expected) = expected["features"].get(name).filter(|entry| entry.get("columns").is_some()) else {
            continue;
        };
        let prefixes = || corpus.boundaries.iter().map(|boundary| &boundary.prefix);
        let extractor = Extractor::for_cohort(representation, corpus.profile.clone(), prefixes());
        let table = extractor.table(prefixes()).expect("a table");
        assert_eq!(table.n_columns() as u64, expected["columns"].as_u64().expect("columns"), "{name}");
        if let Some(names) = expected.get("names").and_then(Value::as_array) {
            let names = names
                .iter()
                .map(|name| name.as_str().expect("name").trim_start_matches("app:").trim_start_matches("app="));
            let ours = table.columns().iter().map(|name| name.trim_start_matches("app:"));
            assert!(ours.eq(names), "{name}");
        }
        let sum = |column: usize| -> f64 {
            if column < table.n_dense() {
                table.dense_column(column).iter().sum()
            } else {
                table.ones_of(column).len() as f64
            }
        };
        let total: f64 = (0..table.n_columns()).map(sum).sum();
        assert!((total - expected["total"].as_f64().expect("total")).abs() < 1e-6, "{name}: {total}");
        if let Some(sums) = expected.get("column_sums").and_then(Value::as_array) {
            for (column, value) in sums.iter().enumerate() {
                let value = value.as_f64().expect("sum");
                assert!((sum(column) - value).abs() <= TOLERANCE * value.abs().max(1.0), "{name} column {column}");
            }
        }
        if let Some(sums) = expected.get("column_sums_nonzero").and_then(Value::as_object) {
            for column in 144..table.n_columns() {
                let value = sums.get(&column.to_string()).and_then(Value::as_f64).unwrap_or(0.0);
                assert!((sum(column) - value).abs() < 0.5, "{name} column {column}: counts differ");
            }
        }
        for (id, row) in expected.get("rows").and_then(Value::as_object).into_iter().flatten() {
            let at = corpus.boundaries.iter().position(|boundary| boundary.boundary_id == *id).expect("boundary");
            let row = row.as_object().expect("row");
            for column in 0..table.n_columns() {
                let value = row.get(&column.to_string()).and_then(Value::as_f64).unwrap_or(0.0);
                assert!((table.rows()[at].value(column) - value).abs() <= TOLERANCE, "{name} {id} column {column}");
            }
        }
    }
}

#[test]
fn real_boundaries_agree_with_their_ordered_steps() {
    // reading refuses a stated set that differs from what the ordered prefix gives
    for (path, boundaries) in [
        ("appworld/boundaries.jsonl", 88),
        ("appworld/boundaries_under_compaction.jsonl", 22),
        ("appworld/real_compactions.jsonl", 32),
        ("appworld/boundaries_dense.jsonl.gz", 936),
    ] {
        let Some(path) = data(path) else { return };
        let corpus = load(path, Profile::appworld());
        assert_eq!(corpus.boundaries.len(), boundaries);
    }
}
