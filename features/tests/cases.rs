//! Small exact cases from elsewhere: units of an independent implementation, and corpus lines taken from bug reports of
//! other readers.

#![cfg(test)]

use foldline_features::corpus::{Options, Reader, read_corpus};
use foldline_features::extract::{bucket, murmur3};
use foldline_features::signature::appworld_calls;
use foldline_features::{Arm, Burden, Profile, Target};
use serde_json::{Value, json};
use std::io::Cursor;

fn data(path: &str) -> Option<String> {
    let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/{}"), path);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: {path} is not there");
    }
    text
}

fn units() -> Option<Value> {
    data("oracle/units.json").map(|text| serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn hashes_signatures_and_failures() {
    let Some(units) = units() else { return };
    for (text, expected) in units["murmur3_x86_32_seed0"].as_object().expect("hashes") {
        assert_eq!(u64::from(murmur3(text)), expected["hash"].as_u64().expect("hash"), "{text:?}");
        assert_eq!(u64::from(bucket(text)), expected["bucket"].as_u64().expect("bucket"), "{text:?}");
    }
    for case in units["signatures"].as_array().expect("signatures") {
        let action = case["action"].as_str().expect("action");
        let calls: Vec<Value> = appworld_calls(action)
            .into_iter()
            .map(|call| json!({"exact": call.exact, "function": call.function}))
            .collect();
        assert_eq!(Value::from(calls), case["calls"], "{action}");
    }
    let contract = Profile::appworld().failure;
    for case in units["failure_contract"].as_array().expect("observations") {
        let observation = case["observation"].as_str().expect("text");
        assert_eq!(contract.is_failure(observation, None), case["failed"].as_bool().expect("flag"), "{observation:?}");
    }
}

/// Everything that reading a text gives: the targets of the first boundary, or the message.
fn read(text: String) -> Result<foldline_features::Corpus, String> {
    let reader = Reader::new("corpus.jsonl", Cursor::new(text), Options::new(Profile::appworld()));
    reader.and_then(read_corpus).map_err(|error| error.to_string())
}

fn with(base: &Value, changes: &Value) -> Value {
    let mut line = base.clone();
    for (key, value) in changes.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    line
}

#[test]
fn corpus_lines() {
    let Some(cases) = data("cases.jsonl") else { return };
    let cases = cases.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let case = cases.into_iter().find(|case| case["id"] == "parse-01-native-corpus").expect("the case");
    let (base, variants) = (&case["input"]["base"], case["input"]["variants"].as_array().expect("variants"));
    let line = |changes: &Value| with(base, changes).to_string();

    let corpus = read(line(&variants[0]["set"])).expect("ok");
    let burden = Burden::of(&corpus.boundaries[0]);
    for (name, value) in case["expect"]["base_values"].as_object().expect("values") {
        if let Ok(target) = name.parse::<Target>() {
            assert_eq!(burden.delta(target).map(|delta| delta.value()), value.as_f64(), "{name}");
        }
    }
    assert!(burden.delta(Target::PRIMARY).is_some_and(|delta| delta.is_positive()));

    let message = |changes: &Value| read(line(changes)).expect_err("refused");
    let error = message(&variants[1]["set"]);
    assert!(error.contains("b1") && error.contains("dU@3"), "{error}");
    read(line(&variants[2]["set"])).expect("within 1e-9");
    let error = message(&variants[3]["set"]);
    assert!(error.contains("compaction_index") && error.contains("line 1"), "{error}");
    assert_eq!(read(line(&variants[4]["set"])).expect("hard").boundaries[0].prefix.difficulty, Some(3));
    assert!(message(&variants[5]["set"]).contains("difficulty"));
    assert!(message(&variants[6]["set"]).contains("tail"));
    let twice = format!("{base}\n{base}\n");
    let error = read(twice).expect_err("duplicate");
    assert!(error.contains("b1") && error.contains("line 2"), "{error}");

    let mut one_arm = with(base, &variants[8]["set"]);
    one_arm["rollouts"].as_array_mut().expect("rollouts").retain(|rollout| rollout["arm"] == "post");
    let corpus = read(one_arm.to_string()).expect("observational");
    let burden = Burden::of(&corpus.boundaries[0]);
    assert!(!corpus.has_arm(Arm::Pre));
    assert_eq!(burden.delta(Target::PRIMARY), None);
    let observational: Target = "post.U@3".parse().expect("a target");
    assert_eq!(burden.delta(observational).map(|delta| delta.value()), Some(2.0));

    let unknown = with(base, &variants[9]["set"]);
    let second = with(&unknown, &variants[9]["second"]);
    let corpus = read(format!("{unknown}\n{second}\n")).expect("unknown fields are ignored");
    assert_eq!(corpus.notes.unknown_fields.into_iter().collect::<Vec<_>>(), [("surprise".to_owned(), 2)]);

    let cut = format!("{base}\n{}", variants[10]["raw_suffix"].as_str().expect("suffix"));
    assert!(read(cut).expect_err("half a line").contains("line 2"));
    assert_eq!(read(format!("\u{feff}{base}\r\n\r\n")).expect("mark, CRLF, blank").boundaries.len(), 1);
}

#[test]
fn a_line_must_be_sound() {
    let base = json!({
        "boundary_id": "b", "task_id": "t_1", "trajectory_id": "r", "compaction_index": 1, "prefix_steps": 1,
        "historical_exact": [], "historical_functions": [], "tail": [], "rollouts": []
    });
    // (change, what the message must say)
    let cases = [
        (json!({"format": "foldline.corpus/2"}), "foldline.corpus/2"),
        (json!({"boundary_id": ""}), "boundary_id"),
        (json!({"prefix_steps": -1}), "prefix_steps"),
        (json!({"prefix_steps": 1.5}), "found 1.5"),
        (json!({"prefix_steps": 1e300}), "prefix_steps"),
        (json!({"prefix_steps": null}), "prefix_steps"),
        (json!({"historical_exact": "a.f()"}), "historical_exact"),
        (json!({"rollouts": [{"arm": "both", "steps": []}]}), "rollouts[0].arm"),
        (
            json!({"rollouts": [{"arm": "pre", "steps": [{"exact": "a.f()", "function": "a.f"}]}]}),
            "rollouts[0].steps[0].blocked",
        ),
        (
            json!({"rollouts": [{"arm": "pre", "sample": 2, "steps": []}, {"arm": "pre", "sample": 2, "steps": []}]}),
            "boundary b, field rollouts[1].sample: arm pre has this sample already, at rollouts[0]",
        ),
        (json!({"prefix": [{"action": "apis.a.f()", "observation": ""}]}), "historical_exact"),
        (json!({"prefix": [], "prefix_steps": 2}), "prefix_steps"),
        (json!({"deltas": {"dU@3": 0.5}}), "one arm has no rollout"),
    ];
    for (change, expected) in cases {
        let error = read(with(&base, &change).to_string()).expect_err("refused");
        assert!(error.contains(expected) && error.contains("line 1"), "{change}: {error}");
    }
    let twice = base.to_string().replacen('{', "{\"task_id\":\"other\",", 1);
    assert!(read(twice).expect_err("refused").contains("given twice"));
    assert!(read(base.to_string().replace(":1,", ":NaN,")).is_err());
    assert!(read(String::new()).expect_err("refused").contains("holds no boundary"));
    let deep = "[".repeat(100_000);
    assert!(read(deep).is_err());
}

#[test]
fn numbers_arms_and_fields_that_are_fine() {
    let base = json!({
        "boundary_id": "b", "task_id": "t_1", "trajectory_id": "r", "compaction_index": 1.0, "prefix_steps": 3.0,
        "difficulty": 2.0, "historical_exact": [], "historical_functions": [], "tail": [], "import": {"harness": "pi"},
        "rollouts": [
            {"arm": "pre", "sample": 0, "steps": [], "selected": false},
            {"arm": "post", "sample": 0, "steps": [], "selected": true},
            {"arm": "post", "steps": []}, {"arm": "post", "sample": 2, "steps": []}
        ]
    });
    let corpus = read(base.to_string()).expect("reads");
    let prefix = &corpus.boundaries[0].prefix;
    assert_eq!((prefix.compaction_index, prefix.prefix_steps, prefix.difficulty), (1, 3, Some(2)));
    assert!(corpus.notes.unknown_fields.is_empty(), "{:?}", corpus.notes.unknown_fields);
    let mut every_field = base;
    for field in foldline_features::corpus::FIELDS {
        every_field.as_object_mut().expect("an object").entry(field).or_insert(Value::Null);
    }
    assert!(read(every_field.to_string()).expect("reads").notes.unknown_fields.is_empty());
}

#[test]
fn a_task_has_one_stem() {
    let line = |id: &str, stem: &str| {
        json!({
            "boundary_id": id, "task_id": "t_1", "stem": stem, "trajectory_id": "r", "compaction_index": 1,
            "prefix_steps": 1, "historical_exact": [], "historical_functions": [], "tail": [], "rollouts": []
        })
    };
    read(format!("{}\n{}\n", line("a", "t"), line("b", "t"))).expect("one stem");
    let error = read(format!("{}\n{}\n", line("a", "t"), line("b", "u"))).expect_err("two stems");
    assert!(error.starts_with("corpus.jsonl, line 2, boundary b, field stem: ") && error.contains("line 1"), "{error}");
}

#[test]
fn what_is_written_reads_back() {
    let prefix = json!([
        {"action": "print(apis.a.f(x=1))", "observation": "ok", "tokens": 3},
        {"action": "apis.a.g()", "observation": "Execution failed. Traceback: no"}
    ]);
    let line = json!({
        "boundary_id": "b", "task_id": "t_1", "trajectory_id": "r", "compaction_index": 2, "prefix": prefix,
        "tokens_before": 10, "tokens_after": 4, "summary": "s",
        "rollouts": [
            {"arm": "pre", "sample": 0, "steps": [{"action": "apis.a.f(x = 1)", "observation": "ok"}], "completed": true},
            {"arm": "post", "sample": 0, "steps": [{"action": "nothing", "observation": "No code available to execute."}]}
        ]
    });
    let options = Options { keep_steps: true, ..Options::new(Profile::appworld()) };
    let read = |text: String| {
        let reader = Reader::new("corpus.jsonl", Cursor::new(text), options.clone()).expect("opens");
        read_corpus(reader).expect("reads").boundaries.remove(0)
    };
    let boundary = read(line.to_string());
    assert!(boundary.rollouts[0].steps[0].refetch, "the prefix already made that call");
    assert!(boundary.rollouts[1].steps[0].blocked && !boundary.rollouts[1].steps[0].refetch);
    assert_eq!(boundary.prefix.prefix_steps, 2);
    assert_eq!(read(foldline_features::corpus::boundary_line(&boundary)), boundary);
}
