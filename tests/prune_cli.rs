//! `foldline prune` as a harness or a shell uses it.

#![cfg(test)]
#![cfg(feature = "prune")]

#[path = "../pruner/tests/mock/mod.rs"]
mod mock;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use mock::{Mock, Reply};
use serde_json::{Value, json};

const HISTORY: &str = r#"{"action": "apis.venmo.search_users(query='Melissa')", "observation": "[{\"email\": \"mel.bailey@gmail.com\", \"friend\": true}]"}
{"action": "apis.venmo.create_payment_request(user_email='mel.bailey@gmail.com', amount=28)", "observation": "{\"message\": \"Payment request sent.\", \"payment_request_id\": 6097}"}
"#;

const SUMMARY: &str = "## Facts\r\n- Created payment request 6097 for mel.bailey@gmail.com\r\n\r\n## Open TODOs\r\n- Ask the user whether anything else should be done\r\n- N/A";

const PRUNED: &str = "## Facts\r\n- Created payment request 6097 for mel.bailey@gmail.com\r\n\r\n## Open TODOs\r\n";

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("foldline-prune-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("the temporary folder is writable");
        Dir(dir)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("the temporary folder is writable");
        path.display().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn foldline(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_foldline"))
        .arg("prune")
        .args(args)
        .env_remove("TYPESAFE_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut stdin = child.stdin.take().expect("it is piped");
    // on a thread of its own, since the program may answer before it has read everything
    std::thread::scope(|scope| {
        // a program that reads no input closes it: no failure
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().expect("the program ends")
    })
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn stdout_is_exactly_the_summary() {
    let dir = Dir::new("plain");
    let (summary, history) = (dir.file("s.md", SUMMARY), dir.file("h.jsonl", HISTORY));
    let output = foldline(&["--summary", &summary, "--history", &history], b"");
    assert_eq!((code(&output), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(0), PRUNED));
    assert!(stderr(&output).contains("dropped"), "{}", stderr(&output));
    // once more: nothing more goes
    let pruned = dir.file("p.md", &output.stdout);
    let again = foldline(&["--summary", &pruned, "--history", &history], b"");
    assert_eq!(again.stdout, output.stdout);
    assert!(stderr(&again).contains("nothing_to_prune"));
    // from stdin
    let piped = foldline(&["--summary", "-", "--history", &history], SUMMARY.as_bytes());
    assert_eq!(piped.stdout, output.stdout);
}

#[test]
fn a_shadow_prints_the_input_byte_for_byte() {
    let dir = Dir::new("shadow");
    let (summary, history) = (dir.file("s.md", SUMMARY), dir.file("h.jsonl", HISTORY));
    let account = dir.0.join("a.json").display().to_string();
    let output = foldline(&["--summary", &summary, "--history", &history, "--shadow", "--account", &account], b"");
    assert_eq!(output.stdout, SUMMARY.as_bytes());
    let account: Value = serde_json::from_slice(&std::fs::read(account).unwrap()).unwrap();
    assert_eq!(
        (&account["status"], &account["changed"], &account["shadow"]),
        (&json!("ok"), &json!(false), &json!(true))
    );
    assert_eq!(account["counts"]["dropped"], 2);
    assert_eq!(account["entries"][1]["section"], json!(["Open TODOs"]));
}

#[test]
fn json_puts_everything_on_stdout_and_is_read_back_as_scores() {
    let dir = Dir::new("json");
    let (summary, history) = (dir.file("s.md", SUMMARY), dir.file("h.jsonl", HISTORY));
    let output = foldline(&["--summary", &summary, "--history", &history, "--json"], b"");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["summary"], PRUNED);
    assert_eq!(document["unsupported"]["entries"], 2);
    let recorded = dir.file("scores.json", &output.stdout);
    let replay =
        foldline(&["--summary", &summary, "--history", &history, "--judge", "scores", "--scores", &recorded], b"");
    assert_eq!(String::from_utf8_lossy(&replay.stdout), PRUNED);
    // scores of another summary are not applied
    let other = dir.file("o.md", SUMMARY.replace("6097", "6098"));
    let replay =
        foldline(&["--summary", &other, "--history", &history, "--judge", "scores", "--scores", &recorded], b"");
    assert_eq!(replay.stdout, SUMMARY.replace("6097", "6098").as_bytes());
    assert!(stderr(&replay).contains("scores_mismatch"));
    // nor are scores that name none of its entries
    for scores in [r#"{"x1": 0.1, "x2": 0.9}"#, "{}", r#"{"entries": []}"#] {
        let recorded = dir.file("other.json", scores);
        let args = ["--summary", &summary, "--history", &history, "--judge", "scores", "--scores", &recorded];
        let replay = foldline(&args, b"");
        assert_eq!((code(&replay), replay.stdout.as_slice()), (Some(0), SUMMARY.as_bytes()));
        assert!(stderr(&replay).contains("scores_mismatch"), "{scores}: {}", stderr(&replay));
    }
}

#[test]
fn plain_scores_as_list_and_map() {
    let dir = Dir::new("scores");
    let (summary, history) = (dir.file("s.md", "- a\n- b\n- c\n"), dir.file("h.jsonl", HISTORY));
    for scores in ["[0.9, 0.1, null]", r#"{"e1": 0.5, "e2": 0.49}"#] {
        let scores = dir.file("scores.json", scores);
        let run = |tau: &str| {
            let args = ["--summary", &summary, "--history", &history, "--judge", "scores", "--scores", &scores];
            foldline(&[&args[..], &["--tau", tau]].concat(), b"")
        };
        assert_eq!(String::from_utf8_lossy(&run("0.5").stdout), "- a\n- c\n");
        for tau in ["1.01", "-0.1", "NaN", "x"] {
            assert_eq!(code(&run(tau)), Some(2), "{tau}");
        }
    }
    let bad = dir.file("bad.json", "[1.5, 0, 0]");
    let output = foldline(&["--summary", &summary, "--history", &history, "--judge", "scores", "--scores", &bad], b"");
    assert_eq!((code(&output), output.stdout.as_slice()), (Some(65), b"- a\n- b\n- c\n".as_slice()));
}

#[test]
fn bad_input_leaves_the_summary_as_it_was() {
    let dir = Dir::new("bad");
    let history = dir.file("h.jsonl", HISTORY);
    let long = "- entry of a long summary\n".repeat(400_000);
    let cases: [(&str, &[u8], i32, &str); 7] = [
        ("empty", b"", 0, "empty_summary"),
        ("blank", b" \n\t\n", 0, "empty_summary"),
        ("headings only", b"# A\n## B\n\nC:\n", 0, "no_entries"),
        ("no headings", b"I will look into it and then decide.", 0, "would_be_empty"),
        ("10 MB", long.as_bytes(), 0, "summary_too_large"),
        ("not UTF-8", b"# A\n- \xff\xfe\n- b\n", 65, "invalid_utf8"),
        ("code only", b"```\n- a\n```\n", 0, "no_entries"),
    ];
    for (name, bytes, expected, status) in cases {
        let summary = dir.file("s.md", bytes);
        let output = foldline(&["--summary", &summary, "--history", &history], b"");
        assert_eq!(code(&output), Some(expected), "{name}: {}", stderr(&output));
        assert!(output.stdout == bytes, "{name}: changed");
        assert!(stderr(&output).contains(status), "{name}: {}", stderr(&output));
    }
    let summary = dir.file("s.md", SUMMARY);
    let silent = dir.file("silent.jsonl", "{\"action\": \"look()\", \"observation\": \"\"}\n");
    let output = foldline(&["--summary", &summary, "--history", &silent], b"");
    assert_eq!((code(&output), output.stdout.as_slice()), (Some(0), SUMMARY.as_bytes()));
    assert!(stderr(&output).contains("no_source"));
    // a history that cannot be read: an error, and still the summary
    for broken in [dir.file("broken.jsonl", "{\"action\": 1}\nnot json\n"), "/nowhere/h.jsonl".to_string()] {
        let output = foldline(&["--summary", &summary, "--history", &broken], b"");
        assert_eq!((code(&output), output.stdout.as_slice()), (Some(65), SUMMARY.as_bytes()), "{broken}");
    }
}

#[test]
fn a_judge_that_is_down_or_has_no_key_leaves_the_summary_as_it_was() {
    let dir = Dir::new("down");
    let (summary, history) = (dir.file("s.md", SUMMARY), dir.file("h.jsonl", HISTORY));
    let base = ["--summary", &summary, "--history", &history, "--judge", "jev"];
    let busy = Mock::start(|_, _| Reply::status(503));
    let nobody = "http://127.0.0.1:9/v1/systemone";
    let urls = [nobody, &busy.url].map(|url| vec!["--url", url, "--retries", "0"]);
    for extra in urls.into_iter().chain([vec![]]) {
        let output = foldline(&[&base[..], &extra].concat(), b"");
        assert_eq!((code(&output), output.stdout.as_slice()), (Some(0), SUMMARY.as_bytes()));
        assert!(stderr(&output).contains("judge_unavailable"), "{}", stderr(&output));
    }
}

#[test]
fn jev_over_the_wire() {
    let reply = json!({ "model": "jev-1.13.0", "answers": { "e1": { "noul": 0.9 }, "e2": { "noul": 0.2 }, "e3": { "noul": 0.1 } } });
    let mock = Mock::start(move |_, _| Reply::ok(reply.to_string()));
    let dir = Dir::new("jev");
    let (summary, history) = (dir.file("s.md", SUMMARY), dir.file("h.jsonl", HISTORY));
    let output = foldline(
        &["--summary", &summary, "--history", &history, "--task", "Ask Melissa", "--judge", "jev", "--url", &mock.url],
        b"",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), PRUNED);
    let request = &mock.requests()[0];
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["state"]["task"], "Ask Melissa");
    // no key is sent to an address of one's own unless it is named
    assert!(!request.head.to_lowercase().contains("authorization"));
}

#[test]
fn requests_one_a_line_remember_the_committed_summary() {
    let history: Vec<Value> = HISTORY.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = json!({ "session": "s", "summary": SUMMARY, "history": history });
    // the second boundary's history is silent: its only source is what was committed before
    let second = json!({ "session": "s", "summary": "- Created payment request 6097\n- Need to decide later\n",
        "history": [{ "action": "x", "observation": "ok" }] });
    let other = json!({ "session": "t", "summary": "- Created payment request 6097\n- Need to decide later\n",
        "history": [{ "action": "x", "observation": "ok" }] });
    let input = format!("{first}\n{second}\nnot json\n{other}\n{{\"summary\": \"- a\", \"history\": 3}}\n");
    let output = foldline(&["--stream"], input.as_bytes());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let answers: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0]["summary"], PRUNED);
    let score = |answer: &Value| answer["entries"][0]["score"].as_f64().unwrap();
    assert!(score(&answers[1]) > 0.9 && score(&answers[3]) < 0.6, "{} {}", score(&answers[1]), score(&answers[3]));
    assert_eq!(answers[2]["status"], "invalid_request");
    assert_eq!((&answers[4]["status"], &answers[4]["summary"]), (&json!("invalid_request"), &json!("- a")));
    // a single request
    let output = foldline(&["--json"], first.to_string().as_bytes());
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["summary"], PRUNED);
    assert_eq!(code(&foldline(&["--json"], b"{}")), Some(65));
    assert_eq!(code(&foldline(&[], b"")), Some(2));
}

#[test]
fn a_request_with_a_misspelt_field_is_refused_and_the_fields_are_named() {
    let request = json!({ "summary": SUMMARY, "histroy": [{ "action": "x", "observation": "ok" }] });
    let output = foldline(&["--json"], request.to_string().as_bytes());
    assert_eq!(code(&output), Some(65));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["status"], &answer["summary"]), (&json!("invalid_request"), &json!(SUMMARY)));
    let reason = answer["reason"].as_str().unwrap();
    for word in ["`histroy`", "`history`", "`recent`", "`previous`", "`task`", "`session`", "`tau`", "`shadow`"] {
        assert!(reason.contains(word), "{word}: {reason}");
    }
}

/// A summary of a gigabyte, or without an end, is passed on without being held; in JSON it is refused.
#[test]
fn a_summary_too_long_to_hold_is_passed_on_unread() {
    let dir = Dir::new("huge");
    let history = dir.file("h.jsonl", HISTORY);
    let huge = dir.0.join("huge.md");
    let file = std::fs::File::create(&huge).unwrap();
    file.set_len(17 << 20).unwrap();
    let huge = huge.display().to_string();
    let base = ["--summary", &huge, "--history", &history];
    let account = dir.0.join("a.json").display().to_string();
    let output = foldline(&[&base[..], &["--account", &account]].concat(), b"");
    assert_eq!((code(&output), output.stdout.len()), (Some(0), 17 << 20));
    assert!(stderr(&output).contains("summary_too_large"), "{}", stderr(&output));
    let account: Value = serde_json::from_slice(&std::fs::read(account).unwrap()).unwrap();
    assert_eq!(account["status"], "summary_too_large");
    let piped = foldline(&["--summary", "-", "--history", &history], &vec![b'x'; 17 << 20]);
    assert_eq!((code(&piped), piped.stdout.len()), (Some(0), 17 << 20));
    let output = foldline(&[&base[..], &["--json"]].concat(), b"");
    assert_eq!(code(&output), Some(65), "{}", stderr(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["status"], &answer["summary"]), (&json!("summary_too_large"), &Value::Null));
}

/// One that is too long is answered once, and the next one is read from its beginning.
#[test]
fn a_request_too_long_does_not_spoil_the_next() {
    let good = json!({ "summary": "- a\n", "history": [{ "action": "x", "observation": "ok" }] });
    let input = format!("{}\n{good}\n", "x".repeat((64 << 20) + 5));
    let output = foldline(&["--stream"], input.as_bytes());
    let statuses: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone())
        .collect();
    assert_eq!((statuses.len(), &statuses[0]), (2, &json!("invalid_request")));
    assert_ne!(statuses[1], "invalid_request");
    assert_eq!(code(&foldline(&["--json"], &vec![b' '; (64 << 20) + 5])), Some(65));
}

#[test]
fn the_previous_summary_is_a_source_and_the_task_is_not() {
    let dir = Dir::new("previous");
    let summary = dir.file("s.md", "- Card 4471 belongs to Zoe Miller\n- Send 28 dollars to Melissa\n");
    let history = dir.file("h.jsonl", "{\"action\": \"x\", \"observation\": \"ok\"}\n");
    let previous = dir.file("p.md", "- Zoe Miller has card 4471\n");
    let scores = |args: &[&str]| -> Vec<f64> {
        let output = foldline(&[&["--summary", &summary, "--history", &history, "--json"], args].concat(), b"");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["entries"].as_array().unwrap().iter().map(|entry| entry["score"].as_f64().unwrap()).collect()
    };
    let [bare, with] = [scores(&[]), scores(&["--previous", &previous])];
    assert!(bare[0] < 0.5 && with[0] > 0.5, "{bare:?} {with:?}");
    assert!(scores(&["--task", "Send 28 dollars to Melissa"])[1] < 0.5);
}

#[test]
fn a_corpus_gets_the_observables_of_its_summaries() {
    let dir = Dir::new("annotate");
    let prefix: Vec<Value> = HISTORY.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let with = json!({ "boundary_id": "b1", "summary": SUMMARY, "prefix": prefix });
    let without = json!({ "boundary_id": "b2" });
    let corpus = dir.file("c.jsonl", format!("{with}\n{without}\n"));
    let out = dir.0.join("out.jsonl");
    let output = foldline(&["annotate", &corpus, "--out", &out.display().to_string()], b"");
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let lines = std::fs::read_to_string(&out).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["summary_entries"], &first["summary_unsupported"]), (&json!(3), &json!(2)));
    assert_eq!(lines.lines().nth(1), Some(without.to_string().as_str()));
    assert!(Path::new(&out).exists());
}

/// A log of any harness is a history.
#[cfg(feature = "import")]
#[test]
fn logs_of_harnesses_are_histories() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/transcripts"));
    if !folder.exists() {
        println!("{}: absent, not tested", folder.display());
        return;
    }
    let dir = Dir::new("logs");
    let summary = dir.file("s.md", "- Printed something\n- N/A\n");
    for log in ["pi.jsonl", "claude-code.jsonl", "codex.jsonl", "openhands.jsonl", "hermes_messages.jsonl"] {
        let history = folder.join(log).display().to_string();
        let output = foldline(&["--summary", &summary, "--history", &history], b"");
        assert_eq!(code(&output), Some(0), "{log}: {}", stderr(&output));
        // it would be said if no output had been read
        assert!(!stderr(&output).contains("no_source"), "{log}: {}", stderr(&output));
    }
}

/// A history that is not read would leave every fact without a source, so nothing may pass for an empty one.
#[test]
fn a_history_is_read_or_refused_but_never_empty_by_mistake() {
    let dir = Dir::new("read");
    let summary = dir.file("s.md", "- Found 12 songs by Melissa\n- Ask Bob later about it\n");
    let previous = dir.file("p.md", "- Something else");
    let run = |history: &str, input: &[u8]| {
        foldline(&["--summary", &summary, "--history", history, "--previous", &previous], input)
    };
    let kept = |output: &Output| String::from_utf8_lossy(&output.stdout).contains("Found 12 songs");
    let step = r#"{"action": "search()", "observation": "12 songs by Melissa"}"#;
    // from standard input, with a byte order mark, and longer than what a format is told by
    let filler = format!("{{\"action\": \"x\", \"observation\": \"{}\"}}\n", "y".repeat(100 << 10));
    for text in [step.to_owned(), format!("\u{feff}{step}\n"), format!("{filler}{step}\n")] {
        let output = run("-", text.as_bytes());
        assert!(code(&output) == Some(0) && kept(&output), "{}", stderr(&output));
    }
    // steps that some importer would claim are steps all the same
    for line in [
        r#"{"action":"GET","observation":{"messages":[{"role":"user","content":"12 songs by Melissa"}]}}"#,
        r#"{"type":"session","action":"x","observation":"12 songs by Melissa"}"#,
        r#"{"uuid":"1","sessionId":"2","action":"x","observation":"12 songs by Melissa"}"#,
        r#"{"schema_version":"1","agent":"x","action":"x","observation":"12 songs by Melissa"}"#,
    ] {
        let output = run(&dir.file("h.jsonl", line), b"");
        assert!(code(&output) == Some(0) && kept(&output), "{line}: {}", stderr(&output));
    }
    // what holds no step, or an output under another name
    for (text, said) in [
        (r#"{"action":"a","output":"12 songs by Melissa"}"#, "`output` and no `observation`"),
        (r#"{"steps":[{"action":"a","observations":"12 songs"}]}"#, "`observations` and no `observation`"),
        (r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#, "no step was found in it"),
    ] {
        let output = run(&dir.file("h.jsonl", text), b"");
        assert!(stderr(&output).contains(said), "{text}: {}", stderr(&output));
        assert!(code(&output) == Some(65) && kept(&output), "the summary comes out as it was");
    }
    let request = r#"{"summary":"- Found 12 songs","history":[{"action":"a","result":"12 songs"}]}"#;
    let output = foldline(&["--json"], request.as_bytes());
    assert_eq!(code(&output), Some(65));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Found 12 songs"), "the summary is given back");
    // no judge: the request's summary is given back too
    for mode in ["--json", "--stream"] {
        let args = if mode == "--json" { vec![mode] } else { vec![mode, "--json"] };
        let output =
            foldline(&[&args[..], &["--judge", "scores", "--scores", "/nowhere.json"]].concat(), request.as_bytes());
        let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
        assert_eq!((code(&output), &answer["summary"]), (Some(65), &json!("- Found 12 songs")), "{mode}");
    }
}

/// The account is written where it is asked for and takes the place of nothing else.
#[cfg(unix)]
#[test]
fn an_account_replaces_no_input_link_or_pipe() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let dir = Dir::new("account");
    let (summary, history) = (dir.file("s.md", SUMMARY), dir.file("h.jsonl", HISTORY));
    let run = |account: &str| foldline(&["--summary", &summary, "--history", &history, "--account", account], b"");
    assert_eq!(code(&run(&summary)), Some(2));
    assert_eq!(std::fs::read_to_string(&summary).expect("it is there"), SUMMARY);
    let target = dir.file("target.json", "old");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let link = dir.0.join("link.json");
    symlink(&target, &link).expect("links can be made");
    assert_eq!(code(&run(&link.display().to_string())), Some(0));
    assert!(std::fs::symlink_metadata(&link).expect("it is there").is_symlink());
    assert!(std::fs::read_to_string(&target).expect("it is there").contains("\"status\""));
    assert_eq!(std::fs::metadata(&target).expect("it is there").permissions().mode() & 0o777, 0o600);
    let pipe = dir.0.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe)
    });
    assert_eq!(code(&run(&pipe.display().to_string())), Some(0));
    assert!(reader.join().expect("it ends").expect("it reads").contains("\"status\""));
    assert!(std::fs::metadata(&pipe).expect("it is there").file_type().is_fifo());
}

#[test]
fn odd_layouts_neither_change_nor_blow_up() {
    let dir = Dir::new("odd");
    let history = dir.file("h.jsonl", r#"{"action": "x", "observation": "Bob owes 5"}"#);
    // without the item the line before would become a heading
    let text = "Open questions about the refund\n- I plan to ask Bob next\n---\n- Bob owes 5\n- Bob owes 5 too\n";
    let output = foldline(&["--summary", &dir.file("s.md", text), "--history", &history], b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), text, "{}", stderr(&output));
    assert!(stderr(&output).contains("would_change_layout"), "{}", stderr(&output));
    // a heading of half a megabyte above five thousand items
    let huge = format!("# {}\n{}", "x".repeat(500_000), "- a zebra\n".repeat(5_000));
    let output = foldline(&["--summary", &dir.file("s.md", &huge), "--history", &history, "--json"], b"");
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(output.stdout.len() < 8 << 20, "{} bytes", output.stdout.len());
    // quotation marks without end
    let quotes = format!("- {}\n- Bob owes 5\n", " 'a “".repeat(200_000));
    let output = foldline(&["--summary", &dir.file("s.md", &quotes), "--history", &history], b"");
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
}
