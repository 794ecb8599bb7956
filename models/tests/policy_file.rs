//! A policy file is read back bit for bit, or refused with a reason.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{parts, policy};
use foldline_features::extract::Extractor;
use foldline_features::{Profile, Representation, Row, Vocabulary};
use foldline_models::policy::{Policy, PolicyError, Threshold};
use serde_json::{Value, json};

fn edited(edit: impl Fn(&mut Value)) -> Result<Policy, PolicyError> {
    let mut value: Value = serde_json::from_str(&policy().to_json()).unwrap();
    edit(&mut value);
    Policy::parse(value.to_string().as_bytes())
}

/// The same, with a hash that fits the changed content, so that the later checks are reached.
fn forged(edit: impl Fn(&mut Value)) -> Result<Policy, PolicyError> {
    let found = match edited(&edit) {
        Err(PolicyError::Tampered { found, .. }) => found,
        other => return other,
    };
    edited(|value| {
        edit(value);
        value["sha256"] = json!(found);
    })
}

fn refusal(result: Result<Policy, PolicyError>) -> String {
    result.expect_err("it must be refused").to_string()
}

#[test]
fn written_and_read_is_the_same() {
    for threshold in [Threshold::AtLeast(0.1 + 0.2), Threshold::AtLeast(5e-324), Threshold::Never] {
        let policy = Policy::freeze(parts(threshold)).unwrap();
        let again = Policy::parse(policy.to_json().as_bytes()).unwrap();
        assert_eq!(again.file(), policy.file());
        assert_eq!(again.file().threshold, threshold);
    }
    assert_eq!(policy().used_columns(), [3]);
    let needs: Vec<&str> = policy().needs().iter().map(|need| need.field()).collect();
    assert_eq!(needs, ["historical_exact"]);
}

#[test]
fn layout_does_not_matter() {
    let value: Value = serde_json::from_str(&policy().to_json()).unwrap();
    assert_eq!(Policy::parse(value.to_string().as_bytes()).unwrap().sha256(), policy().sha256());
}

#[test]
fn what_is_refused_and_why() {
    let text = policy().to_json();
    let cut = Policy::parse(&text.as_bytes()[..text.len() / 2]);
    assert!(matches!(cut, Err(PolicyError::NotJson(_))), "truncated");
    assert!(matches!(Policy::parse(b""), Err(PolicyError::NotJson(_))));
    assert!(matches!(Policy::parse(b"\xff\xfe{}"), Err(PolicyError::NotJson(_))), "invalid UTF-8");
    assert!(matches!(Policy::parse(b"{}"), Err(PolicyError::NotAPolicy { .. })));
    assert!(matches!(Policy::parse(b"[]"), Err(PolicyError::NotAPolicy { .. })));
    let tampered = edited(|value| value["threshold"] = json!(0.6));
    assert!(matches!(tampered, Err(PolicyError::Tampered { .. })));
    for version in ["foldline.policy/2.0", "foldline.policy/0.9"] {
        assert!(matches!(edited(|value| value["format"] = json!(version)), Err(PolicyError::FutureVersion { .. })));
    }
    for version in [json!("foldline.policy"), json!("other/1.0"), json!(1.0), json!("foldline.policy/1.x")] {
        assert!(matches!(edited(|value| value["format"] = version.clone()), Err(PolicyError::NotAPolicy { .. })));
    }
    for threshold in [json!(null), json!("inf"), json!("always"), json!([1])] {
        let message = refusal(forged(|value| value["threshold"] = threshold.clone()));
        assert!(message.contains("finite number or the word \"never\""), "{message}");
    }
    assert!(matches!(Policy::parse(text.replace("0.5", "1e999").as_bytes()), Err(PolicyError::NotJson(_))));
    for place in ["/learner", "/learner/model", "/learner/model/root", "/guards", "/representation", "/profile", ""] {
        let message = refusal(forged(|value| value.pointer_mut(place).unwrap()["surprise"] = json!(1)));
        assert!(message.contains("surprise"), "{place}: {message}");
    }
    let unknown = refusal(forged(|value| value["learner"]["model"]["kind"] = json!("oracle")));
    assert!(unknown.contains("oracle"), "{unknown}");
    let beyond = refusal(forged(|value| value["learner"]["model"]["root"]["split"]["column"] = json!(17)));
    assert!(beyond.contains("invalid"), "{beyond}");
    let columns = refusal(forged(|value| value["representation"]["columns"][0] = json!("x")));
    assert!(columns.contains("representation.columns"), "{columns}");
    let vector = refusal(forged(|value| value["conformance"][7]["score"] = json!(0.7000000000000001)));
    assert!(vector.contains("vector 7"), "{vector}");
    let decision = refusal(forged(|value| value["conformance"][0]["decision"] = json!("block")));
    assert!(decision.contains("vector 0"), "{decision}");
    let few = refusal(forged(|value| value["conformance"] = json!([])));
    assert!(few.contains("at least 8"), "{few}");
    let guards = refusal(forged(|value| value["guards"]["hard_ceiling_share"] = json!(1.5)));
    assert!(guards.contains("no share"), "{guards}");
    let operator = refusal(forged(|value| value["operator"] = json!(">")));
    assert!(operator.contains("operator") || operator.contains("variant"), "{operator}");
    let profile = refusal(forged(|value| value["profile"]["syntax"] = json!("xml")));
    assert!(profile.contains("xml"), "{profile}");
}

#[test]
fn vocabulary_and_hash_are_required_where_they_count() {
    let mut r3 = parts(Threshold::Never);
    r3.extractor = Extractor {
        representation: Representation::R3,
        profile: Profile::appworld(),
        vocabulary: Vocabulary {
            functions: vec!["bash".into(), "venmo.show_x".into()],
            apps: vec!["bash".into(), "venmo".into()],
        },
    };
    r3.rows = (0..8u32)
        .map(|index| Row { dense: vec![f64::from(index); 17], ones: vec![17, 19, 21 + index, 21 + 4096 + index] })
        .collect();
    let policy = Policy::freeze(r3).unwrap();
    assert!(policy.to_json().len() < 20_000, "hashed columns are named by block");
    let forged = |edit: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&policy.to_json()).unwrap();
        edit(&mut value);
        let text = value.to_string();
        match Policy::parse(text.as_bytes()) {
            Err(PolicyError::Tampered { found, .. }) => {
                value["sha256"] = json!(found);
                refusal(Policy::parse(value.to_string().as_bytes()))
            }
            other => refusal(other),
        }
    };
    let vocabulary = |value: &mut Value| value["representation"].as_object_mut().unwrap().remove("vocabulary");
    assert!(
        forged(&|value| {
            vocabulary(value);
        })
        .contains("vocabulary is missing")
    );
    assert!(
        forged(&|value| value["representation"]["vocabulary"] = json!({"functions": [], "apps": []})).contains("empty")
    );
    assert!(forged(&|value| value["representation"]["vocabulary"]["functions"] = json!(["b", "a"])).contains("sorted"));
    assert!(forged(&|value| value["representation"]["vocabulary"]["apps"] = json!(["bash"])).contains("apps"));
    assert!(forged(&|value| value["representation"]["hash"]["seed"] = json!(1)).contains("seed 1"));
    assert!(forged(&|value| value["representation"]["hash"]["vectors"][0]["hash"] = json!(1)).contains("hello"));
    assert!(forged(&|value| value["representation"]["hash"] = json!(null)).contains("hash is missing"));
    assert!(forged(&|value| value["profile"]["effects"] = json!({"secret.api": "write"})).contains("secret.api"));
}
