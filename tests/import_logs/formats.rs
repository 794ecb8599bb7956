//! Every importer against a sample whose contents were counted by hand.

use crate::support::{fixture, import, options, read, shared};
use foldline::import::account::Account;
use foldline::import::formats::{Format, detect};
use foldline::import::session::TokenSource;
use foldline_features::{Arm, Boundary, Burden, Profile, Target};

fn imported(format: Format, path: std::path::PathBuf) -> (Vec<Boundary>, Account) {
    let (bytes, account) = import(format, path, &options());
    (read(bytes, Profile::coding_agent()), account)
}

/// (sessions, steps, failed steps, compactions, boundaries)
fn counts(account: &Account) -> (u64, u64, u64, u64, u64) {
    (account.sessions, account.steps, account.failed_steps, account.compactions, account.boundaries())
}

#[test]
fn pi_sample() {
    let Some(path) = shared("transcripts/pi.jsonl") else { return };
    assert_eq!(detect(&path), Some(Format::Pi));
    let (boundaries, account) = imported(Format::Pi, path);
    assert_eq!(counts(&account), (1, 2, 1, 1, 1));
    let boundary = &boundaries[0];
    assert_eq!(boundary.prefix.prefix_steps, 2);
    assert_eq!(boundary.prefix.tail, ["1 test failed\n\nCommand exited with code 2", "fn main() {}"]);
    assert_eq!(boundary.prefix.tail_errors, [Some(true), Some(false)]);
    assert!(boundary.prefix.historical_functions.contains("bash.read"), "make test changes no source");
    // tokensBefore of the entry; input of the next request
    assert_eq!((boundary.context.tokens_before, boundary.context.tokens_after), (Some(2140), Some(700)));
    assert_eq!(boundary.context.summary.as_deref(), Some("## Goal\nfix the failing test"));
    let steps = boundary.context.steps.as_ref().expect("kept");
    // prompt sizes are 900 + 100 and 1200 + 900; the last step before the compaction has no next request
    assert_eq!(steps[0].tokens, Some(1100));
    assert!(boundary.rollouts.is_empty(), "nothing but a message follows");
}

#[test]
fn claude_code_sample() {
    let Some(path) = shared("transcripts/claude-code.jsonl") else { return };
    assert_eq!(detect(&path), Some(Format::ClaudeCode));
    let (boundaries, account) = imported(Format::ClaudeCode, path);
    assert_eq!(counts(&account), (1, 2, 1, 1, 1));
    let boundary = &boundaries[0];
    assert_eq!((boundary.context.tokens_before, boundary.context.tokens_after), (Some(2118), Some(400)));
    assert!(boundary.context.summary.as_ref().is_some_and(|text| text.ends_with("fix the failing test")));
    assert_eq!(boundary.prefix.tail[0], "Exit code 2\n1 test failed");
    // usage is repeated on both lines of msg_1 and counts once: prompts 1050 and 2100
    assert_eq!(boundary.context.steps.as_ref().expect("kept")[0].tokens, Some(1050));
}

#[test]
fn codex_sample() {
    let Some(path) = shared("transcripts/codex.jsonl") else { return };
    assert_eq!(detect(&path), Some(Format::Codex));
    let (boundaries, account) = imported(Format::Codex, path);
    assert_eq!(counts(&account), (1, 1, 1, 1, 1));
    let boundary = &boundaries[0];
    assert_eq!((boundary.context.tokens_before, boundary.context.tokens_after), (Some(920), None));
    assert_eq!(boundary.prefix.tail_errors, [Some(true)]);
    assert!(boundary.context.summary.as_ref().is_some_and(|text| text.ends_with("1 failed")));
}

#[test]
fn hermes_sample_as_lines_and_as_database() {
    let Some(path) = shared("transcripts/hermes_messages.jsonl") else { return };
    assert_eq!(detect(&path), Some(Format::Hermes));
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("state.db");
    hermes_database(&path, &database);
    assert_eq!(detect(&database), Some(Format::Hermes));
    let before = std::fs::read(&database).expect("readable");
    for (path, model) in [(path, None), (database.clone(), Some("stub-model"))] {
        let (bytes, account) = import(Format::Hermes, path, &options());
        let line: serde_json::Value = serde_json::from_slice(&bytes).expect("one line");
        assert_eq!(line["import"]["model"].as_str(), model);
        let boundaries = read(bytes, Profile::coding_agent());
        // user, call, result; at the compaction the user's row is written again, then the summary, a call and its result
        assert_eq!(counts(&account), (1, 2, 1, 1, 1));
        let boundary = &boundaries[0];
        assert_eq!(boundary.prefix.prefix_steps, 1);
        assert_eq!(boundary.rollouts.len(), 1);
        assert_eq!((boundary.rollouts[0].arm, boundary.rollouts[0].steps.len()), (Arm::Post, 1));
        assert_eq!(boundary.rollouts[0].steps[0].function, "terminal.read");
    }
    assert_eq!(std::fs::read(&database).expect("readable"), before, "a database is opened read-only");
}

/// The sample's rows in a database with the columns that Hermes has.
fn hermes_database(rows: &std::path::Path, path: &std::path::Path) {
    let database = rusqlite::Connection::open(path).expect("a new database");
    database
        .execute_batch(
            "CREATE TABLE sessions(id TEXT, source TEXT, model TEXT, parent_session_id TEXT, end_reason TEXT, cwd TEXT);
             CREATE TABLE messages(id INTEGER, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT,
               tool_name TEXT, timestamp REAL, active INTEGER, compacted INTEGER);
             INSERT INTO sessions VALUES('20261130_100000_abc123', 'cli', 'stub-model', NULL, NULL, '/home/u/demo');",
        )
        .expect("tables");
    for line in std::fs::read_to_string(rows).expect("readable").lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let calls = (!row["tool_calls"].is_null()).then(|| row["tool_calls"].to_string());
        database
            .execute(
                "INSERT INTO messages VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                rusqlite::params![
                    row["id"].as_i64(),
                    row["session_id"].as_str(),
                    row["role"].as_str(),
                    row["content"].as_str(),
                    row["tool_call_id"].as_str(),
                    calls,
                    row["tool_name"].as_str(),
                    row["timestamp"].as_f64(),
                    row["active"].as_i64(),
                    row["compacted"].as_i64()
                ],
            )
            .expect("a row");
    }
}

#[test]
fn openhands_sample_as_lines_and_as_folder() {
    let Some(path) = shared("transcripts/openhands.jsonl") else { return };
    assert_eq!(detect(&path), Some(Format::Openhands));
    let folder = tempfile::tempdir().expect("a folder");
    let conversation = folder.path().join("0123abcd");
    std::fs::create_dir_all(conversation.join("events")).expect("folders");
    for (index, line) in std::fs::read_to_string(&path).expect("readable").lines().enumerate() {
        let name = format!("events/event-{index:05}-x.json");
        std::fs::write(conversation.join(name), line).expect("written");
    }
    let state = serde_json::json!({
        "id": "0123abcd",
        "agent": {"llm": {"model": "stub-model"}},
        "workspace": {"working_dir": "/home/u/demo"},
        "stats": {"usage_to_metrics": {"agent": {"token_usages": [
            {"response_id": "chatcmpl-1", "prompt_tokens": 900, "completion_tokens": 20},
            {"response_id": "chatcmpl-3", "prompt_tokens": 500, "completion_tokens": 5},
        ]}}},
    });
    std::fs::write(conversation.join("base_state.json"), state.to_string()).expect("written");
    for (path, tokens) in [(path, (Some(40), None)), (folder.path().to_owned(), (Some(920), Some(500)))] {
        let (boundaries, account) = imported(Format::Openhands, path);
        // one result that is an error, one call that the agent got wrong
        assert_eq!(counts(&account), (1, 2, 2, 1, 1));
        let context = &boundaries[0].context;
        assert_eq!((context.tokens_before, context.tokens_after), tokens);
        assert_eq!(context.summary.as_deref(), Some("ran the tests, 1 failed"));
        assert_eq!(boundaries[0].prefix.tail, ["1 test failed", "Error validating tool 'edit': unknown tool"]);
    }
}

/// The four list formats hold the same eleven steps: one failure (the fifth), one compaction after the sixth.
fn check_eleven_steps(format: Format, name: &str, tokens: (Option<u64>, Option<u64>)) -> Account {
    let path = fixture(name);
    assert_eq!(detect(&path), Some(format), "{name}");
    let (boundaries, account) = imported(format, path);
    assert_eq!(boundaries.len(), 1, "{name}");
    let boundary = &boundaries[0];
    assert_eq!((account.steps, account.compactions), (11, 1), "{name}");
    assert_eq!(boundary.prefix.prefix_steps, 6, "{name}");
    // bash.read (make test twice, grep), read twice, edit
    assert_eq!(boundary.prefix.historical_exact.len(), 5, "{name}");
    assert_eq!((boundary.context.tokens_before, boundary.context.tokens_after), tokens, "{name}");
    let rollout = &boundary.rollouts[0];
    assert_eq!(rollout.arm, Arm::Post);
    let refetches: Vec<bool> = rollout.steps.iter().map(|step| step.refetch).collect();
    // both files are read again, then an edit, then make test again, then a commit
    assert_eq!(refetches, [true, true, false, true, false], "{name}");
    let functions: Vec<&str> = rollout.steps.iter().map(|step| step.function.as_str()).collect();
    assert_eq!(functions, ["read", "read", "edit", "bash.read", "bash.write"], "{name}");
    account
}

#[test]
fn atif_fixture() {
    let account = check_eleven_steps(Format::Atif, "atif.json", (Some(1620), Some(700)));
    assert_eq!((account.failed_steps, account.steps_without_flag), (1, 0));
    // five steps have a next request before the compaction, four after it
    assert_eq!(account.token_sources[TokenSource::Provider.name()], 9);
}

#[test]
fn inspect_fixture_as_document_and_as_archive() {
    for name in ["inspect.json", "inspect.eval"] {
        let account = check_eleven_steps(Format::Inspect, name, (Some(1620), Some(700)));
        assert_eq!((account.failed_steps, account.steps_without_flag), (1, 0));
    }
}

#[test]
fn openai_fixture() {
    let account = check_eleven_steps(Format::Openai, "openai.jsonl", (Some(1620), Some(700)));
    assert_eq!((account.failed_steps, account.steps_without_flag), (0, 11), "the format has no error flag");
    let mut with_rule = options();
    with_rule.profile.failure.begins_with = vec!["Error: ".to_owned()];
    let (_, account) = import(Format::Openai, fixture("openai.jsonl"), &with_rule);
    assert_eq!(account.failed_steps, 1);
}

#[test]
fn anthropic_fixture() {
    let account = check_eleven_steps(Format::Anthropic, "anthropic.json", (Some(1620), Some(700)));
    assert_eq!((account.failed_steps, account.steps_without_flag), (1, 0));
}

#[test]
fn pair_fixture_as_sessions() {
    let mut plain = options();
    plain.every = None;
    let (bytes, account) = import(Format::PairTrajectory, fixture("pair/trajectories"), &plain);
    let boundaries = read(bytes, Profile::appworld());
    assert_eq!(counts(&account), (1, 11, 1, 2, 2));
    assert_eq!(boundaries.iter().map(|b| b.prefix.prefix_steps).collect::<Vec<_>>(), [4, 8]);
    assert_eq!(boundaries.iter().map(|b| b.prefix.compaction_index).collect::<Vec<_>>(), [1, 2]);
    // the step behind the first compaction makes no call, which ends its rollout
    assert_eq!(boundaries.iter().map(|b| b.rollouts[0].steps.len()).collect::<Vec<_>>(), [0, 3]);
    assert!(boundaries[1].rollouts[0].completed);
    assert_eq!(boundaries[0].stem, "6ea6792");
}

#[test]
fn pair_fixture_as_paired_replays() {
    use foldline::import::pair::read_paired;
    use foldline::import::source::Limits;
    for (round0_only, rollouts, delta) in [(false, 4, 2.0), (true, 2, 2.0)] {
        let mut account = Account::default();
        let (mut bytes, mut selected) = (Vec::new(), 0);
        let profile = Profile::coding_agent();
        read_paired(&fixture("pair"), Limits::default(), &profile, round0_only, &mut account, &mut |draft| {
            selected += draft.rollouts.iter().filter(|rollout| rollout.selected == Some(true)).count();
            bytes.extend((draft.line() + "\n").bytes());
        })
        .expect("readable");
        let boundaries = read(bytes, Profile::appworld());
        assert_eq!(account.paired_boundaries, 2);
        let first = &boundaries[0];
        assert_eq!((first.boundary_id.as_str(), first.prefix.prefix_steps), ("run1::6ea6792_2#t1", 4));
        assert_eq!(first.context.summary.as_deref(), Some("state before step 5"));
        assert_eq!(first.rollouts.len(), rollouts);
        assert_eq!((selected, account.selected_rollouts), if round0_only { (0, 0) } else { (2, 2) });
        // union counts at k = 3 by hand: PRE 0 and 1, POST 2 and 3; of round 0 alone 0 and 2
        assert_eq!(Burden::of(first).delta(Target::PRIMARY).map(|delta| delta.value()), Some(delta));
        // of the second boundary's POST rollout the step without a call ends it
        assert_eq!(boundaries[1].rollouts.iter().map(|r| r.steps.len()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(account.left_out.count("rollout with a collection error"), 1);
    }
}

#[test]
fn trace_fixture_and_its_errors() {
    use foldline::import::source::Limits;
    use foldline::import::trace::{Mapping, read as read_trace};
    let run = |folder: &std::path::Path, mapping: &str| {
        let (mut account, mut bytes) = (Account::default(), Vec::new());
        let mapping = Mapping::parse(mapping).map_err(|error| error.to_string())?;
        read_trace(folder, &mapping, Limits::default(), &mut account, &mut |draft| {
            bytes.extend((draft.line() + "\n").bytes());
        })
        .map_err(|error| error.to_string())?;
        Ok::<_, String>((bytes, account))
    };
    let (bytes, account) = run(&fixture("trace"), "").expect("the default mapping fits");
    let boundaries = read(bytes, Profile::appworld());
    assert_eq!((boundaries.len(), account.left_out.count("rollout with a collection error")), (2, 1));
    assert_eq!((boundaries[0].prefix.difficulty, boundaries[1].prefix.compaction_index), (Some(1), 2));
    assert_eq!(boundaries[0].deltas["dU@3"].to_bits(), 1.0f64.to_bits(), "the released delta was reproduced");

    // every mistake names what was looked for, what is there, and how to map it
    let error = run(&fixture("trace"), "[boundary]\ntail = \"last_three\"").expect_err("no such field");
    for part in ["no boundary.tail", "last_three", "historical_exact", "[boundary]", "--print-mapping"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let error = run(&fixture("pair"), "[files]\nboundaries = \"cohort.jsonl\"").expect_err("no such file");
    for part in ["cohort.jsonl", "boundaries.jsonl", "[files]"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let error = run(&fixture("trace"), "[values]\npre = [\"FULL\"]").expect_err("another word");
    assert!(error.contains("rollout.arm is \"PRE\"") && error.contains("FULL"), "{error}");
    let error = run(&fixture("trace"), "[boundary]\ntails = \"x\"").expect_err("no field of ours");
    assert!(error.contains("[boundary] has no field tails"), "{error}");

    // the same content as CSV with JSON in cells, under other names
    let folder = tempfile::tempdir().expect("a folder");
    let csv = "id,task,n,calls,fns,obs,step_no\n\
               b1,6ea6792_2,1,\"[\"\"notes.f(a=1)\"\"]\",\"[\"\"notes.f\"\"]\",\"[\"\"{}\"\"]\",7\n";
    std::fs::write(folder.path().join("b.csv"), csv).expect("written");
    std::fs::copy(fixture("trace/rollouts.jsonl"), folder.path().join("rollouts.jsonl")).expect("copied");
    let mapping = "[files]\nboundaries = \"b.csv\"\n[boundary]\ncompaction_index = \"n\"\nhistorical_exact = \"calls\"\n\
                   historical_functions = \"fns\"\ntail = \"obs\"\nprefix_steps = \"step_no\"\n";
    let (bytes, account) = run(folder.path(), mapping).expect("mapped");
    let boundaries = read(bytes, Profile::appworld());
    assert_eq!(boundaries[0].prefix.historical_exact.first().map(String::as_str), Some("notes.f(a=1)"));
    assert_eq!(account.left_out.count("boundary id of rollouts that no boundary has"), 1);
}

#[test]
fn redaction_keeps_what_tool_calls_did() {
    use foldline::import::redact::Redactor;
    let plain = options();
    let redacted = foldline::import::boundaries::Options { redactor: Some(Redactor::default()), ..options() };
    let (one, _) = import(Format::Atif, fixture("atif.json"), &plain);
    let (other, _) = import(Format::Atif, fixture("atif.json"), &redacted);
    let text = String::from_utf8(other.clone()).expect("UTF-8");
    for secret in ["parser", "make test", "todo", "atif-session-1", "cannot find"] {
        assert!(!text.contains(secret), "{secret} is still there");
    }
    let (one, other) = (read(one, Profile::coding_agent()), read(other, Profile::coding_agent()));
    let (one, other) = (&one[0], &other[0]);
    assert_eq!(one.prefix.historical_functions, other.prefix.historical_functions, "classes of commands stay");
    assert_eq!(one.prefix.historical_exact.len(), other.prefix.historical_exact.len());
    assert_eq!(one.prefix.tail_errors, other.prefix.tail_errors);
    let lengths = |boundary: &Boundary| boundary.prefix.tail.iter().map(|t| t.chars().count()).collect::<Vec<_>>();
    assert_eq!(lengths(one), lengths(other));
    assert_eq!(Burden::of(one), Burden::of(other));
    assert_eq!(one.context.tokens_before, other.context.tokens_before);
}
