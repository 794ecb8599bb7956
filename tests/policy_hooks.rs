//! The adapters, driven with the payloads that the real clients send.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod policy_stump;
mod policy_support;

use policy_stump::stump_in;
use policy_support::{lines, run};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

fn claude(folder: &Path, policy: &Path, payload: &Value, more: &[&str]) -> Output {
    let state = folder.join("state");
    let mut arguments = vec![
        "hook",
        "claude-code",
        policy.to_str().unwrap(),
        "--state-dir",
        state.to_str().unwrap(),
        "--window-tokens",
        "223000",
    ];
    arguments.extend_from_slice(more);
    run(&arguments, payload.to_string().as_bytes())
}

fn tool_use(session: &str, number: usize) -> Value {
    json!({
        "session_id": session, "transcript_path": "/nowhere.jsonl", "cwd": "/", "hook_event_name": "PostToolUse",
        "tool_name": "Bash", "tool_input": {"command": format!("step {number}")},
        "tool_response": {"stdout": "out", "stderr": "", "interrupted": false}, "tool_use_id": format!("toolu_{number}")
    })
}

fn pre_compact(session: &str, trigger: &str, transcript: &Path) -> Value {
    json!({
        "session_id": session, "transcript_path": transcript, "cwd": "/", "hook_event_name": "PreCompact",
        "trigger": trigger, "custom_instructions": null
    })
}

fn transcript(folder: &Path, tokens: u64) -> std::path::PathBuf {
    let path = folder.join("transcript.jsonl");
    let usage = json!({"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0});
    let line = json!({"type": "assistant", "isSidechain": false, "message": {"usage": usage}});
    std::fs::write(&path, format!("{{\"type\":\"api-request\"}}\n{line}\n")).unwrap();
    path
}

/// The client calls an overflow `auto`, as it calls its own threshold; blocking it ends the session.
#[test]
fn claude_code_tells_an_overflow_from_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    for session in ["first", "second", "silent"] {
        for number in 0..6 {
            assert!(claude(folder.path(), &policy, &tool_use(session, number), &[]).status.success());
        }
    }
    let path = transcript(folder.path(), 100_000);
    let ordinary = std::fs::read_to_string(&path).unwrap();
    let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_5"}]}});
    let refused = format!("{ordinary}{result}\n{}\n", json!({"type": "api-request", "id": "r"}));
    let ask = |session: &str, text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = claude(folder.path(), &policy, &pre_compact(session, "auto", &path), &["--enforce"]);
        assert!(output.status.success());
        !output.stdout.is_empty()
    };
    assert!(!ask("first", &refused), "refused before the client's own threshold");
    assert!(ask("second", &ordinary), "an ordinary question is blocked");
    assert!(!ask("second", &refused), "then the request is sent, and refused");
    let silent = ordinary.replace("api-request", "other");
    assert!(ask("silent", &silent));
    assert!(!ask("silent", &silent), "nothing tells a second question from an overflow");
    let log = lines(&std::fs::read(folder.path().join("state/decisions.ndjson")).unwrap());
    let by: Vec<&str> = log.iter().map(|line| line["decided_by"].as_str().unwrap()).collect();
    assert_eq!(by, ["overflow", "rule", "overflow", "rule", "overflow"]);
}

#[test]
fn claude_code_from_the_first_tool_call_to_the_ceiling() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let ask = |trigger: &str, tokens: u64, more: &[&str]| {
        let path = transcript(folder.path(), tokens);
        let output = claude(folder.path(), &policy, &pre_compact("s/1", trigger, &path), more);
        assert!(output.status.success(), "an adapter never fails");
        String::from_utf8(output.stdout).unwrap()
    };
    let step = |number: usize| {
        let output = claude(folder.path(), &policy, &tool_use("s/1", number), &[]);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    };
    (0..4).for_each(step);
    assert_eq!(ask("auto", 100_000, &["--enforce"]), "", "four distinct calls: the rule sees no risk");
    step(3);
    let failure = json!({
        "session_id": "s/1", "hook_event_name": "PostToolUseFailure", "tool_name": "Read",
        "tool_input": {"file_path": "/x"}, "error": "no such file", "tool_use_id": "toolu_x"
    });
    assert!(claude(folder.path(), &policy, &failure, &[]).status.success());
    assert_eq!(ask("auto", 100_000, &[]), "", "shadow mode holds nothing back");
    let blocked = ask("auto", 100_000, &["--enforce"]);
    let answer: Value = serde_json::from_str(&blocked).unwrap();
    assert_eq!(answer["decision"], "block");
    assert!(answer["reason"].as_str().unwrap().contains("rule"));
    assert_eq!(ask("auto", 100_000, &["--enforce"]), blocked, "asked twice, answered once");
    assert_eq!(ask("manual", 100_000, &["--enforce"]), "", "a person is never held back");
    assert_eq!(ask("auto", 180_000, &["--enforce"]), "", "0.9 of the usable 200,000");
    for number in 10..13 {
        step(number);
        assert_ne!(ask("auto", 100_000, &["--enforce"]), "", "block {number}");
    }
    step(13);
    assert_eq!(ask("auto", 100_000, &["--enforce"]), "", "after three blocks in a row");

    let log = lines(&std::fs::read(folder.path().join("state/decisions.ndjson")).unwrap());
    assert!(log.iter().all(|line| line["harness"] == "claude-code" && line["session"] == "s/1"));
    let last = log.last().unwrap();
    assert_eq!((&last["decided_by"], &last["consecutive_blocks"]), (&json!("max_blocks"), &json!(3)));
    assert!(last["features"]["n_exact"].as_f64().unwrap() > 4.0);
    let names: Vec<_> =
        std::fs::read_dir(folder.path().join("state")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "one side-car, its lock, the log: {names:?}");
}

#[test]
fn an_adapter_survives_whatever_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let nothing = |output: Output, what: &str| {
        assert_eq!(output.status.code(), Some(0), "{what}");
        assert!(output.stdout.is_empty(), "{what}");
        assert!(output.stderr.starts_with(b"foldline: "), "{what}: {output:?}");
    };
    let state = folder.path().join("state");
    let state = state.to_str().unwrap();
    let base = ["hook", "claude-code", policy.to_str().unwrap(), "--enforce", "--state-dir", state];
    nothing(run(&base, b"not JSON"), "payload");
    nothing(run(&base, b"\xff\xfe"), "invalid UTF-8");
    nothing(run(&base, b"{}"), "no session");
    nothing(run(&base, b"{\"session_id\": \"x\"}"), "no event");
    (0..6).for_each(|number| drop(claude(folder.path(), &policy, &tool_use("s", number), &[])));
    let payload = pre_compact("s", "auto", Path::new("relative/../../etc/passwd"));
    let odd = claude(folder.path(), &policy, &payload, &["--enforce"]);
    assert!(odd.status.success() && String::from_utf8_lossy(&odd.stderr).contains("not absolute"));
    let broken = folder.path().join("broken.json");
    std::fs::write(&broken, "{").unwrap();
    let payload = pre_compact("s", "auto", &transcript(folder.path(), 5));
    nothing(claude(folder.path(), &broken, &payload, &["--enforce"]), "broken policy");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let nowhere = ["hook", "claude-code", policy.to_str().unwrap(), "--enforce", "--state-dir", file.to_str().unwrap()];
    nothing(run(&nowhere, payload.to_string().as_bytes()), "no place for the state");
    let usage = run(&["hook", "claude-code"], b"");
    assert_eq!(usage.status.code(), Some(1), "2 would be a veto in Claude Code");
}

#[test]
fn sessions_that_write_at_once_lose_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (folder, policy) = (folder.path(), &policy);
            scope.spawn(move || assert!(claude(folder, policy, &tool_use("s", number), &[]).status.success()));
        }
    });
    let text = std::fs::read(folder.path().join("state/claude-code-s.ndjson")).unwrap();
    assert_eq!(lines(&text).len(), 6);
}

fn pi_request(steps: usize, tokens: u64, reason: Value) -> Value {
    let mut entries = vec![json!({"type": "session", "id": "root"})];
    for step in 0..steps {
        entries.push(json!({"type": "message", "id": format!("a{step}"), "message": {
            "role": "assistant", "stopReason": "toolUse", "usage": {"input": tokens},
            "content": [{"type": "toolCall", "id": format!("c{step}"), "name": "bash", "arguments": {"command": step}}]}}));
        entries.push(json!({"type": "message", "id": format!("r{step}"), "message": {
            "role": "toolResult", "toolCallId": format!("c{step}"), "toolName": "bash", "isError": false,
            "content": [{"type": "text", "text": "out"}]}}));
    }
    json!({
        "event": "session_before_compact", "session_id": "p", "reason": reason, "contextWindow": 12000,
        "preparation": {"tokensBefore": tokens, "settings": {"reserveTokens": 8000}}, "branchEntries": entries,
        "usage": null, "customInstructions": null
    })
}

#[test]
fn pi_in_one_process_and_in_many() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let state = folder.path().join("state");
    let base = ["hook", "pi", policy.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
    let mut enforced = base.to_vec();
    enforced.push("--enforce");
    let requests = [
        (pi_request(4, 4233, json!("threshold")), false, "rule"),
        (pi_request(6, 5000, json!("threshold")), true, "rule"),
        (pi_request(6, 5000, json!("threshold")), true, "rule"),
        (pi_request(7, 5500, json!("overflow")), false, "overflow"),
        (pi_request(7, 5500, json!("manual")), false, "manual"),
        (pi_request(7, 10_800, json!("threshold")), false, "hard_ceiling"),
        (pi_request(8, 5000, Value::Null), true, "rule"),
        (pi_request(8, 3000, Value::Null), false, "manual"),
        (json!({"event": "session_compact"}), false, ""),
        (json!([1]), false, "missing_feature"),
    ];
    let input: Vec<String> = requests.iter().map(|(request, ..)| request.to_string()).collect();
    let output = run(&enforced, input.join("\n").as_bytes());
    assert!(output.status.success());
    let answers = lines(&output.stdout);
    assert_eq!(answers.len(), requests.len(), "every line gets a line");
    for ((request, cancel, by), answer) in requests.iter().zip(&answers) {
        if by.is_empty() {
            assert_eq!(answer["noted"], true);
            continue;
        }
        assert_eq!(
            (answer["cancel"].as_bool(), answer["decided_by"].as_str()),
            (Some(*cancel), Some(*by)),
            "{request}"
        );
    }
    assert_eq!(answers[1], answers[2], "pi 0.73.1 asks twice at one boundary");
    let shadow = run(&base, pi_request(9, 5000, json!("threshold")).to_string().as_bytes());
    let answer = &lines(&shadow.stdout)[0];
    assert_eq!(
        (&answer["decision"], &answer["cancel"], &answer["mode"]),
        (&json!("block"), &json!(false), &json!("shadow"))
    );
    let cancels = |steps: usize, compactions: usize| {
        let mut request = pi_request(steps, 5000, json!("threshold"));
        let entries = request["branchEntries"].as_array_mut().unwrap();
        (0..compactions).for_each(|index| entries.insert(1, json!({"type": "compaction", "id": format!("k{index}")})));
        let output = run(&enforced, request.to_string().as_bytes());
        lines(&output.stdout)[0]["cancel"] == true
    };
    let answers: Vec<bool> = (10..16).map(|steps| cancels(steps, 1)).collect();
    assert_eq!(answers, [true, true, true, false, false, false], "the cap holds until the next compaction");
    assert!(cancels(16, 2), "counted anew after it");
}

#[test]
fn pi_without_a_session_shares_no_count() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let state = folder.path().join("state");
    let enforced = ["hook", "pi", policy.to_str().unwrap(), "--enforce", "--state-dir", state.to_str().unwrap()];
    let mut request = pi_request(6, 5000, json!("threshold"));
    request["session_id"] = Value::Null;
    let output = run(&enforced, request.to_string().as_bytes());
    assert_eq!(lines(&output.stdout)[0]["cancel"], true, "the branch's first entry names the session");
    for entry in request["branchEntries"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("id");
    }
    let output = run(&enforced, request.to_string().as_bytes());
    let answer = &lines(&output.stdout)[0];
    assert_eq!((&answer["cancel"], &answer["decision"]), (&json!(false), &json!("allow")));
    assert!(answer["warnings"].to_string().contains("names no session"), "{answer}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("names no session"));
}

#[test]
fn the_doctor_refuses_what_cannot_work() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let policy = policy.to_str().unwrap();
    for harness in ["pi", "claude-code", "openhands", "hermes", "langchain"] {
        let output = run(&["hook", "doctor", policy, "--harness", harness], b"");
        assert!(output.status.success(), "{harness}: {output:?}");
    }
    for harness in ["codex", "opencode", "gemini-cli", "goose"] {
        let output = run(&["hook", "doctor", policy, "--harness", harness], b"");
        assert_eq!(output.status.code(), Some(65), "{harness}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be held back"), "{harness}");
    }
    let table = run(&["hook", "doctor", "--json"], b"");
    let table: Value = serde_json::from_slice(&table.stdout).unwrap();
    assert!(table.as_array().unwrap().len() >= 9);
    for harness in table.as_array().unwrap().iter().map(|entry| &entry["harness"]) {
        let measured = harness["facts"].as_array().unwrap().contains(&json!("tool_in_flight"));
        assert_eq!(measured, harness["name"] == "langchain", "{harness}");
    }
    assert_eq!(run(&["hook", "doctor", "--harness", "nobody"], b"").status.code(), Some(2));

    // a policy on the task's difficulty, which no harness knows, and one that reads AppWorld code
    use foldline::policy::{Guards, Parts, Policy, Threshold};
    use foldline_features::extract::Extractor;
    use foldline_features::{Profile, Representation, Row, Vocabulary};
    let split = json!({"kind": "tree", "root": {"n": 20, "positives": 8, "split": {
        "column": 19, "threshold": 0.5, "left": {"n": 10, "positives": 1}, "right": {"n": 10, "positives": 7}}}});
    let parts = Parts {
        name: "difficulty".to_owned(),
        created_by: "a test".to_owned(),
        extractor: Extractor {
            representation: Representation::HT,
            profile: Profile::appworld(),
            vocabulary: Vocabulary::default(),
        },
        learner: "stump".to_owned(),
        model: serde_json::from_value(split).unwrap(),
        threshold: Threshold::AtLeast(0.5),
        guards: Guards::default(),
        evidence: None,
        rows: (0..8).map(|index| Row { dense: vec![f64::from(index); 20], ones: Vec::new() }).collect(),
    };
    let path = folder.path().join("difficulty.json");
    std::fs::write(&path, Policy::freeze(parts).unwrap().to_json()).unwrap();
    let refused = run(&["hook", "doctor", path.to_str().unwrap(), "--harness", "pi"], b"");
    let reason = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(65));
    assert!(reason.contains("cannot give difficulty") && reason.contains("difficulty_3"), "{reason}");
    assert!(reason.contains("profile appworld"), "{reason}");
}
