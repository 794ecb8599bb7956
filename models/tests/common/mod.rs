//! Hand-made policies for the tests of the frozen policy.

use foldline_features::extract::Extractor;
use foldline_features::{Profile, Representation, Row, Vocabulary};
use foldline_models::Model;
use foldline_models::policy::{Guards, Parts, Policy, Threshold};
use serde_json::json;

/// A stump on H's `n_exact`: 1/10 up to 4.5, 7/10 above.
pub fn stump() -> Model {
    serde_json::from_value(json!({
        "kind": "tree",
        "root": {"n": 20, "positives": 8, "split": {
            "column": 3, "threshold": 4.5,
            "left": {"n": 10, "positives": 1}, "right": {"n": 10, "positives": 7}}}
    }))
    .expect("a stump")
}

/// What a policy of that stump is made of.
pub fn parts(threshold: Threshold) -> Parts {
    let extractor = Extractor {
        representation: Representation::H,
        profile: Profile::appworld(),
        vocabulary: Vocabulary::default(),
    };
    let rows = (0..8).map(|index| Row { dense: vec![f64::from(index); 17], ones: Vec::new() }).collect();
    Parts {
        name: "stump on H".to_owned(),
        created_by: "a test".to_owned(),
        extractor,
        learner: "stump".to_owned(),
        model: stump(),
        threshold,
        guards: Guards::default(),
        evidence: None,
        rows,
    }
}

/// A policy that blocks from five distinct exact calls on.
pub fn policy() -> Policy {
    Policy::freeze(parts(Threshold::AtLeast(0.5))).expect("the parts fit")
}
