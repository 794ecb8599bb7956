//! `decide`, `policy`, `replay`: a frozen policy from the command line.

#![cfg(test)]

mod policy_stump;
mod policy_support;

use policy_stump::{stump_in, stump_named};
use policy_support::{lines, run};
use serde_json::json;

#[test]
fn every_line_gets_an_answer_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let log = folder.path().join("log.ndjson");
    let steps: Vec<_> = (0..6)
        .map(|n| {
            json!({"action": json!({"name": "bash", "arguments": {"command": n}}).to_string(), "observation": "", "is_error": false})
        })
        .collect();
    let mut input = Vec::new();
    for request in [
        json!({"boundary_id": "a", "prefix": steps, "ctx_tokens": 100, "window_tokens": 200}),
        json!({"boundary_id": "b", "features": {"n_exact": 2}}),
        json!({"boundary_id": "c", "prefix": steps, "ctx_tokens": 190, "window_tokens": 200}),
        json!({"boundary_id": "d", "prefix": steps, "trigger": "overflow"}),
        json!({"boundary_id": "e", "tool_in_flight": true}),
    ] {
        input.extend_from_slice(request.to_string().as_bytes());
        input.push(b'\n');
    }
    input.extend_from_slice(b"\n{\"half\": \n\xff\xfe\n");
    input.extend_from_slice(&vec![b'x'; 10 << 20]);
    input.extend_from_slice(b"\n{\"boundary_id\":\"last\",\"features\":{\"n_exact\":9}}");
    let policy = policy.to_str().unwrap();
    let output = run(&["decide", policy, "--enforce", "--explain", "--log", log.to_str().unwrap()], &input);
    assert!(output.status.success(), "{output:?}");
    let answers = lines(&output.stdout);
    let of =
        |index: usize| (answers[index]["decision"].as_str().unwrap(), answers[index]["decided_by"].as_str().unwrap());
    assert_eq!(of(0), ("block", "rule"));
    assert_eq!(answers[0]["retry_at"], "next_turn_end");
    assert_eq!(answers[0]["score"], 0.7);
    assert_eq!(of(1), ("allow", "rule"));
    assert_eq!(of(2), ("allow", "hard_ceiling"));
    assert_eq!(of(3), ("allow", "overflow"));
    assert_eq!(of(4), ("block", "tool_in_flight"));
    assert_eq!(answers[4]["retry_at"], "after_tool_result");
    for bad in [5, 6, 7] {
        assert_eq!(of(bad), ("allow", "missing_feature"), "{}", answers[bad]);
    }
    assert_eq!((of(8), answers[8]["boundary_id"].as_str()), (("block", "rule"), Some("last")));
    assert_eq!(answers.len(), 9, "a blank line is no request");
    assert!(answers.iter().all(|answer| answer["mode"] == "enforce" && answer["explain"].is_string()));

    let logged = lines(&std::fs::read(&log).unwrap());
    assert_eq!(logged.len(), 9);
    assert_eq!(logged[0]["features"], json!({"n_exact": 6.0}));
    assert_eq!(logged[2]["would_fire"], json!(["hard_ceiling", "rule"]));
    let replay = run(&["replay", log.to_str().unwrap(), "--json"], b"");
    let summary: serde_json::Value = serde_json::from_slice(&replay.stdout).unwrap();
    assert_eq!((&summary["decisions"], &summary["boundaries_blocked"]), (&json!(9), &json!(3)));
    let words = run(&["replay", log.to_str().unwrap(), "--explain", "--policy", policy], b"");
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(words.contains("hard ceiling of 180 tokens (window 200)"), "{words}");
    assert!(words.contains("block by rule"), "{words}");
}

#[test]
fn the_same_question_gets_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let question = b"{\"features\":{\"n_exact\":9},\"ctx_tokens\":5}\n".repeat(3);
    let output = run(&["decide", policy.to_str().unwrap()], &question);
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = text.lines().collect();
    assert!(answers.len() == 3 && answers.iter().all(|answer| *answer == answers[0]));
    assert!(answers[0].contains("\"mode\":\"shadow\""), "shadow unless told otherwise");
}

#[test]
fn an_unusable_policy_allows_everything_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = stump_in(folder.path());
    let good = std::fs::read_to_string(&path).unwrap();
    let bad = [
        ("truncated", good[..good.len() / 2].to_owned()),
        ("tampered", good.replace("\"threshold\": 0.5", "\"threshold\": 0.0")),
        ("future", good.replace("foldline.policy/1.0", "foldline.policy/2.0")),
        ("infinite", good.replace("\"threshold\": 0.5", "\"threshold\": null")),
        ("empty", String::new()),
    ];
    let questions = b"{\"boundary_id\":\"x\",\"features\":{\"n_exact\":9}}\nnonsense\n";
    for (name, text) in bad {
        assert_ne!(text, good, "{name}");
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let output = run(&["decide", path, "--enforce"], questions);
        assert_eq!(output.status.code(), Some(65), "{name}");
        let answers = lines(&output.stdout);
        assert_eq!(answers.len(), 2, "{name}");
        for answer in &answers {
            assert_eq!(
                (&answer["decision"], &answer["decided_by"]),
                (&json!("allow"), &json!("policy_error")),
                "{name}"
            );
            assert!(answer["warnings"][0].is_string() && answer["policy_sha"].is_null());
        }
        assert_eq!(answers[0]["boundary_id"], "x");
        assert_eq!(String::from_utf8_lossy(&output.stderr).matches(path).count(), 1, "{name}: said once");
        for verb in [["policy", "verify"], ["policy", "show"]] {
            assert_eq!(run(&[verb[0], verb[1], path], b"").status.code(), Some(65), "{name}");
        }
    }
    let missing = run(&["decide", "/nonexistent/policy.json"], questions);
    assert_eq!((missing.status.code(), lines(&missing.stdout).len()), (Some(65), 2));
}

#[test]
fn show_says_what_it_does_in_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let policy = policy.to_str().unwrap();
    let words = String::from_utf8(run(&["policy", "show", policy, "--window", "200000"], b"").stdout).unwrap();
    for part in ["180000 tokens", "20000 tokens", "after 3 blocks", "min_fill", "off", "historical_exact", "0.5"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let shown = run(&["policy", "show", policy, "--window", "200000", "--json"], b"");
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["effective"]["ceiling_tokens"], 180_000);
    let verified = run(&["policy", "verify", policy], b"");
    assert!(verified.status.success() && verified.stdout.starts_with(b"ok"));
    let no_window = run(&["policy", "show", policy, "--window", "0"], b"");
    assert_eq!(no_window.status.code(), Some(2));
}

#[test]
fn a_name_cannot_speak_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.json");
    let name = "\u{1b}[2Jgood\nsha256 0000\u{9b}";
    std::fs::write(&path, stump_named(name).to_json()).unwrap();
    let output = run(&["policy", "show", path.to_str().unwrap()], b"");
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.starts_with("\\u{1b}[2Jgood\\nsha256 0000\\u{9b} ("), "{words}");
    assert!(!words.contains(|character: char| character.is_control() && character != '\n'));
}

#[test]
fn replay_counts_runs_and_questions() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.ndjson");
    let line = |session: &str, boundary: &str, decision: &str| {
        json!({
            "format": "foldline.log/1", "harness": "pi", "session": session, "boundary": boundary, "trigger": "auto",
            "score": 0.5, "threshold": "never", "decision": decision, "decided_by": "rule", "retry_at": null,
            "mode": "enforce", "policy_sha": "00", "ctx_tokens": 50, "window_tokens": 100, "later_field": 1
        })
        .to_string()
    };
    let asked = [
        ("s", "1", "block"),
        ("s", "1", "block"),
        ("t", "1", "allow"),
        ("s", "2", "block"),
        ("s", "3", "allow"),
        ("s", "4", "block"),
        ("t", "2", "block"),
        ("t", "2", "allow"),
    ];
    let mut text: Vec<String> =
        asked.iter().map(|(session, boundary, decision)| line(session, boundary, decision)).collect();
    text.extend(["{\"half".to_owned(), "{".to_owned(), "}".to_owned()]);
    std::fs::write(&log, text.join("\n")).unwrap();
    let output = run(&["replay", log.to_str().unwrap(), "--json"], b"");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // by hand: s has boundaries 1 to 4 (blocked, blocked, allowed, blocked), t has 1 and 2 (allowed at the end)
    assert_eq!(summary["boundaries"], 6);
    assert_eq!(summary["boundaries_blocked"], 3);
    assert_eq!(summary["asked_again"], 2);
    assert_eq!(summary["boundaries_with_two_answers"], 1);
    assert_eq!(summary["block_runs"], json!([{"length": 1, "count": 1}, {"length": 2, "count": 1}]));
    assert_eq!(summary["unreadable_lines"], 3);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(notes.lines().count(), 1, "{notes}");
    assert!(notes.contains("3 lines left out, first line 9: ") && notes.contains("foldline.log/1"), "{notes}");
    assert_eq!(summary["median_fill"], json!({"allow": 0.5, "block": 0.5}));
    assert_eq!(run(&["replay", "/nonexistent"], b"").status.code(), Some(65));
}
