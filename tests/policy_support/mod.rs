//! A hand-made policy in a file, and the program that is asked about it.

use foldline::policy::{Guards, Parts, Policy, Threshold};
use foldline_features::extract::Extractor;
use foldline_features::{Profile, Representation, Row, Vocabulary};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A stump on H's `n_exact` for tool calls: 1/10 up to 4.5 distinct calls, 7/10 above; blocks from 0.5 on.
pub fn stump() -> Policy {
    let model = json!({
        "kind": "tree",
        "root": {"n": 20, "positives": 8, "split": {
            "column": 3, "threshold": 4.5,
            "left": {"n": 10, "positives": 1}, "right": {"n": 10, "positives": 7}}}
    });
    let parts = Parts {
        name: "stump on H".to_owned(),
        created_by: "a test".to_owned(),
        extractor: Extractor {
            representation: Representation::H,
            profile: Profile::coding_agent(),
            vocabulary: Vocabulary::default(),
        },
        learner: "stump".to_owned(),
        model: serde_json::from_value(model).expect("a stump"),
        threshold: Threshold::AtLeast(0.5),
        guards: Guards::default(),
        evidence: None,
        rows: (0..8).map(|index| Row { dense: vec![f64::from(index); 17], ones: Vec::new() }).collect(),
    };
    Policy::freeze(parts).expect("the parts fit")
}

/// The stump in a file.
pub fn stump_in(folder: &Path) -> PathBuf {
    let path = folder.join("policy.json");
    std::fs::write(&path, stump().to_json()).expect("a writable folder");
    path
}

/// The program with a text on stdin.
pub fn run(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_foldline"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let text = stdin.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&text).unwrap_or_default());
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer ends");
    output
}

/// Lines of JSON.
pub fn lines(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}
