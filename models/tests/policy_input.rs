//! What hosts send, and what is made of it.

#![cfg(test)]

mod common;

use common::policy;
use foldline_features::Prefix;
use foldline_models::policy::{Answer, DecidedBy, Decision, Facts, LastCompaction, Mode, Request, explain};
use serde_json::{Value, json};

fn ask(request: Value) -> Answer {
    let policy = policy();
    policy.decide(&Request::parse(request.to_string().as_bytes(), &policy.extractor().profile), Mode::Enforce).answer
}

fn step(call: &str) -> Value {
    json!({"action": format!("print(apis.venmo.{call}(a=1))"), "observation": "ok"})
}

#[test]
fn a_boundary_in_every_form_gets_the_same_answer() {
    let calls = ["a", "b", "c", "d", "e"];
    let exact: Vec<String> = calls.iter().map(|call| format!("venmo.{call}(a=1)")).collect();
    let forms = [
        json!({"prefix": calls.map(step)}),
        json!({"historical_exact": exact}),
        json!({"boundary": {"historical_exact": exact}}),
        json!({"features": {"n_exact": 5}}),
        json!({"historical_exact": exact, "rollouts": [{"arm": "pre"}], "unknown_field": 1}),
        json!({"prefix": calls.map(step), "historical_exact": exact, "prefix_steps": 5}),
    ];
    for form in forms {
        let answer = ask(form.clone());
        assert_eq!((answer.decision, answer.decided_by), (Decision::Block, DecidedBy::Rule), "{form}");
        assert_eq!(answer.score, Some(0.7), "7 of the 10 rows in the leaf");
    }
    let answer = ask(json!({"prefix": calls.map(step)[..4]}));
    assert_eq!((answer.decision, answer.score), (Decision::Allow, Some(0.1)));
    assert!(ask(json!({"historical_exact": exact, "rollouts": []})).warnings.iter().any(|w| w.contains("never read")));
}

#[test]
fn what_is_missing_or_unreadable_allows() {
    let wrong = [
        json!({}),
        json!({"tail": ["x"]}),
        json!({"features": {}}),
        json!({"features": {"n_functions": 5}}),
        json!({"features": {"n_exact": "5"}}),
        json!({"features": [5]}),
        json!({"historical_exact": "a"}),
        json!({"historical_exact": [1]}),
        json!({"features": {"n_exact": 9}, "trigger": "whim"}),
        json!({"features": {"n_exact": 9}, "trigger": 7}),
        json!({"features": {"n_exact": 9}, "consecutive_blocks": -1}),
        json!({"features": {"n_exact": 9}, "tool_in_flight": "no"}),
        json!({"features": {"n_exact": 9}, "last_compaction": 3}),
        json!({"features": {"n_exact": 9}, "profile": "tool"}),
        json!({"prefix": [step("a")], "prefix_steps": 2}),
        json!({"prefix": [{"action": 1, "observation": "x"}]}),
        json!({"prefix": [{"action": {"name": "bash", "arguments": {}}, "observation": "x"}]}),
        json!({"historical_exact": ["a.b()"], "tail": ["1", "2", "3", "4"]}),
        json!("text"),
        json!(null),
    ];
    for request in wrong {
        let answer = ask(request.clone());
        assert_eq!((answer.decision, answer.decided_by), (Decision::Allow, DecidedBy::MissingFeature), "{request}");
        assert!(!answer.warnings.is_empty());
    }
    for tokens in [json!(-1), json!("many"), json!(1.5), json!(1e30)] {
        let answer = ask(json!({"features": {"n_exact": 9}, "ctx_tokens": tokens, "window_tokens": 1000}));
        assert_eq!((answer.decision, answer.decided_by), (Decision::Allow, DecidedBy::ImplausibleUsage), "{tokens}");
    }
    let huge = json!({"features": {"n_exact": 9}, "padding": "x".repeat(10 << 20)}).to_string();
    let policy = policy();
    let answer = policy.decide(&Request::parse(huge.as_bytes(), &policy.extractor().profile), Mode::Enforce).answer;
    assert_eq!(answer.decided_by, DecidedBy::MissingFeature, "10 MB");
    let deep = "[".repeat(100_000);
    assert_eq!(
        policy.decide(&Request::parse(deep.as_bytes(), &policy.extractor().profile), Mode::Enforce).answer.decided_by,
        DecidedBy::MissingFeature,
        "depth"
    );
}

#[test]
fn null_is_absent_but_for_the_last_compaction() {
    let profile = policy().extractor().profile.clone();
    let read = |request: Value| Request::parse(request.to_string().as_bytes(), &profile).facts;
    assert_eq!(read(json!({"ctx_tokens": null, "trigger": null, "tool_in_flight": null})), Facts::default());
    assert_eq!(read(json!({"last_compaction": null})).last_compaction, LastCompaction::None);
    assert_eq!(read(json!({})).last_compaction, LastCompaction::Unknown);
    assert_eq!(read(json!({"ctx_tokens": 4000.0})).ctx_tokens, Some(4000));
}

#[test]
fn a_prefix_from_a_corpus_is_wholly_known() {
    let policy = policy();
    let prefix = Prefix { historical_exact: (0..6).map(|n| format!("a.b({n})")).collect(), ..Prefix::default() };
    let decided = policy.decide(&Request::of_prefix(prefix.clone(), Facts::default()), Mode::Shadow);
    assert_eq!(decided.answer.score, Some(policy.model().score(&policy.extractor().row(&prefix))));
    assert_eq!(
        policy.features_used(&decided.row.expect("a row")).into_iter().collect::<Vec<_>>(),
        [("n_exact".to_owned(), 6.0)]
    );
}

#[test]
fn sentences() {
    let policy = policy();
    let sentence = |request: Value| {
        let request = Request::parse(request.to_string().as_bytes(), &policy.extractor().profile);
        explain(Some(&policy), &request.facts, &policy.decide(&request, Mode::Shadow).answer)
    };
    assert_eq!(
        sentence(json!({"features": {"n_exact": 9}})),
        "Do not compact yet: the rule sees a risky boundary (score 0.7000, at or above the threshold 0.5000); ask again \
         at the end of the next turn (shadow mode: nothing is held back)."
    );
    assert_eq!(
        sentence(json!({"features": {"n_exact": 9}, "ctx_tokens": 950, "window_tokens": 1000})),
        "Compact now: 950 tokens are at or above the hard ceiling of 900 tokens (window 1000)."
    );
    assert!(sentence(json!({})).contains("the rule cannot be asked without historical_exact"));
    let words = policy.describe(Some(200_000));
    assert!(words.contains("= 180000 tokens") && words.contains("n_exact") && words.contains("No evidence"), "{words}");
}
