//! Policies of earlier versions give the answers they gave then.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use foldline::policy::{Mode, Policy, Request};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/policies"))
}

fn lines(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_recorded_answer_is_given_again() {
    let requests = lines("requests.ndjson");
    let mut policies: BTreeMap<String, Policy> = BTreeMap::new();
    for file in std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "json") {
            let policy = Policy::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            policies.insert(file.file_name().unwrap().to_str().unwrap().to_owned(), policy);
        }
    }
    let mut seen = 0;
    for record in lines("answers.ndjson") {
        let policy = &policies[record["policy"].as_str().unwrap()];
        let request = requests[record["request"].as_u64().unwrap() as usize].to_string();
        let request = Request::parse(request.as_bytes(), &policy.extractor().profile);
        let answer = serde_json::to_value(policy.decide(&request, Mode::Enforce).answer).unwrap();
        for (field, recorded) in record["answer"].as_object().unwrap() {
            assert_eq!(&answer[field], recorded, "{} of request {} to {}", field, record["request"], record["policy"]);
        }
        seen += 1;
    }
    assert_eq!(seen, requests.len() * policies.len());
}

#[test]
fn what_is_read_is_written_again_byte_for_byte() {
    for name in ["boosted-r3.json", "depth2-ht.json"] {
        let text = std::fs::read_to_string(folder().join(name)).unwrap();
        assert_eq!(Policy::parse(text.as_bytes()).unwrap().to_json(), text, "{name}");
    }
}

#[test]
fn hashed_columns_cost_nothing_in_the_file() {
    let policy = Policy::read(&folder().join("boosted-r3.json")).unwrap();
    assert!(policy.extractor().n_columns() > 8192);
    assert!(std::fs::metadata(folder().join("boosted-r3.json")).unwrap().len() < 400_000);
}
