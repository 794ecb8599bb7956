//! A corpus on the command line: what is noticed, what is refused, and where outputs may go.

#![cfg(test)]
#![cfg(feature = "study")]

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foldline")).args(args).output().expect("the binary runs")
}

fn boundary(id: &str, arms: &[&str]) -> Value {
    let rollouts: Vec<Value> = arms
        .iter()
        .map(|arm| json!({"arm": arm, "sample": 0, "steps": [], "completed": true, "selected": false}))
        .collect();
    json!({
        "boundary_id": id, "task_id": format!("t_{id}"), "trajectory_id": id, "compaction_index": 1, "prefix_steps": 1,
        "historical_exact": [], "historical_functions": [], "tail": [], "rollouts": rollouts, "import": {"harness": "pi"}
    })
}

/// Exit code, stdout and stderr of `check` on these lines.
fn check(folder: &Path, boundaries: &[Value]) -> (Option<i32>, String, String) {
    let path = folder.join("corpus.jsonl");
    std::fs::write(&path, boundaries.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let output = run(&["check", path.to_str().unwrap()]);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn check_says_what_it_notices() {
    let folder = tempfile::tempdir().unwrap();
    let paired = boundary("a", &["pre", "post"]);
    let (code, out, _) = check(folder.path(), std::slice::from_ref(&paired));
    assert_eq!(code, Some(0));
    assert!(!out.contains("note:"), "what the importers write is known, and nothing lacks an arm: {out}");

    let (code, out, _) = check(folder.path(), &[paired.clone(), boundary("b", &["pre"]), boundary("c", &[])]);
    assert_eq!(code, Some(0));
    assert!(out.contains("note: 2 of 3 boundaries lack the rollouts of an arm"), "{out}");
    assert!(out.contains("first b (no post)"), "{out}");

    let mut second = boundary("d", &["pre", "post"]);
    (second["task_id"], second["stem"]) = (json!("t_a"), json!("other"));
    let twice = boundary("e", &["pre", "pre"]);
    let (code, _, err) = check(folder.path(), &[paired, second, twice]);
    assert_eq!(code, Some(65));
    assert!(err.contains("line 2, boundary d, field stem: ") && err.contains("2 problems"), "{err}");
    assert!(err.contains("line 3, boundary e, field rollouts[1].sample: arm pre has this sample already"), "{err}");
}

#[test]
fn outputs_keep_off_what_is_not_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    std::fs::write(&corpus, format!("{}\n", boundary("a", &["pre", "post"]))).unwrap();
    let here = folder.path().to_str().unwrap();
    let demo = run(&["demo", "--out", here]);
    assert_eq!(demo.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&demo.stderr).contains("no earlier demo"));
    let fit = |out: &str| {
        let output = run(&["fit", corpus.to_str().unwrap(), "--cell", "stump/H", "--out", out]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = fit(here);
    assert_eq!(code, Some(1));
    assert!(message.contains("cannot be written: it is a folder; name a file in it"), "{message}");
    let (code, message) = fit(folder.path().join("absent/model.json").to_str().unwrap());
    assert_eq!(code, Some(1));
    assert!(message.contains("there is no folder"), "{message}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was written");
}
