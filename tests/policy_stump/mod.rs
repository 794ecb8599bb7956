//! A hand-made policy in a file.

use foldline::policy::{Guards, Parts, Policy, Threshold};
use foldline_features::extract::Extractor;
use foldline_features::{Profile, Representation, Row, Vocabulary};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A stump on H's `n_exact` for tool calls: 1/10 up to 4.5 distinct calls, 7/10 above; blocks from 0.5 on.
pub fn stump() -> Policy {
    stump_named("stump on H")
}

/// The same under another name.
pub fn stump_named(name: &str) -> Policy {
    let model = json!({
        "kind": "tree",
        "root": {"n": 20, "positives": 8, "split": {
            "column": 3, "threshold": 4.5,
            "left": {"n": 10, "positives": 1}, "right": {"n": 10, "positives": 7}}}
    });
    let parts = Parts {
        name: name.to_owned(),
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
