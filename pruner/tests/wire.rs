//! The judges that ask a server, against a server on loopback: the recorded wire format, its faults, and what is sent.

#![cfg(test)]

mod mock;

use std::time::Duration;

use foldline_pruner::account::{Account, Status};
use foldline_pruner::history::{Span, Step};
use foldline_pruner::judge::{FaultKind, Judge};
use foldline_pruner::judges::http::{Key, Link};
use foldline_pruner::judges::jev::Jev;
use foldline_pruner::judges::logprobs::LogProbs;
use foldline_pruner::prune::{Options, Tau, prune};
use mock::{Mock, Reply};
use serde_json::{Value, json};

fn steps() -> Vec<Step> {
    vec![Step { action: "look(password='hunter22')".into(), observation: "A is 1, B is 2, C is 3".into() }]
}

fn run(judge: &dyn Judge, summary: &str) -> (String, Account) {
    let steps = steps();
    let span = Span { task: Some("the task"), history: &steps, recent: &steps, previous: Some("- earlier") };
    prune(summary, &span, judge, &Options::default())
}

fn answers(scores: &[(&str, f64)]) -> String {
    let answers: serde_json::Map<String, Value> =
        scores.iter().map(|(id, score)| ((*id).to_string(), json!({ "type": "noul", "noul": score }))).collect();
    json!({ "model": "jev-1.13.0", "answers": answers, "usage": { "input_tokens": 214, "output_tokens": 12 } })
        .to_string()
}

fn one_reply(body: &str) -> (Mock, Jev) {
    let body = body.to_string();
    let mock = Mock::start(move |_, _| Reply::ok(body.clone()));
    let jev = Jev::new(Link::new(&mock.url, "jev-latest"));
    (mock, jev)
}

/// The recorded case `sjc-01`, reply by reply.
#[test]
fn recorded_faults_delete_nothing() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/cases.jsonl");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("no shared cases: not tested");
        return;
    };
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut seen = 0;
    for case in cases.filter(|case| case["kind"] == "sjc") {
        let names: Vec<&str> =
            case["input"]["entries"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        let summary: String = names.iter().map(|name| format!("- {name}\n")).collect();
        for (at, response) in case["input"]["responses"].as_array().unwrap().iter().enumerate() {
            let response = response.clone();
            let mock = Mock::start(move |_, _| match response["http_status"].as_u64() {
                Some(status) => Reply {
                    status: u16::try_from(status).unwrap(),
                    headers: vec![("Retry-After", response["retry_after_s"].to_string())],
                    body: "{}".into(),
                },
                None => Reply::ok(response.to_string()),
            });
            let (pruned, account) = run(&Jev::new(Link::new(&mock.url, "m")), &summary);
            let kept: String = case["expect"]["kept"][at]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| format!("- {}\n", n.as_str().unwrap()))
                .collect();
            assert_eq!(pruned, kept, "reply {at}");
            assert_eq!(account.status.name(), case["expect"]["status"][at].as_str().unwrap(), "reply {at}");
            seen += 1;
        }
        for tau in case["input"]["config_thresholds"].as_array().unwrap() {
            assert!(Tau::new(tau.as_f64().unwrap()).is_err());
        }
    }
    assert!(seen >= 7);
}

#[test]
fn scores_decide_and_the_line_itself_stays() {
    let (mock, jev) = one_reply(&answers(&[("e1", 0.9), ("e2", 0.1), ("e3", 0.5)]));
    let (pruned, account) = run(&jev, "## S\n- A\n- B\n- C\n");
    assert_eq!(pruned, "## S\n- A\n- C\n");
    assert_eq!(account.model.as_deref(), Some("jev-1.13.0"));
    assert_eq!(account.requests, [1, 0]);
    assert_eq!(account.usage.input_tokens, 214);
    assert_eq!(account.counts.near_line, 1);
    let unsupported = account.unsupported.unwrap();
    assert_eq!((unsupported.entries, unsupported.share), (1, 1.0 / 3.0));
    // asked again: from memory
    assert_eq!(run(&jev, "## S\n- A\n- B\n- C\n").1.requests, [0, 1]);
    assert_eq!(mock.requests().len(), 1);
}

/// A request whose answer was no use was sent and may be billed.
#[test]
fn a_faulty_answer_counts_as_a_request() {
    let (mock, jev) = one_reply(r#"{"answers": {"e1": 0.9}}"#);
    let (pruned, account) = run(&jev, "## S\n- A\n- B\n");
    assert_eq!((pruned.as_str(), account.requests), ("## S\n- A\n- B\n", [1, 0]));
    assert!(matches!(account.status, Status::Fault(_)), "{}", account.reason);
    assert_eq!(mock.requests().len(), 1);
}

#[test]
fn what_is_sent_is_the_wire_format_without_secrets() {
    let (mock, _) = one_reply(&answers(&[("e1", 0.9), ("e2", 0.9)]));
    let mut link = Link::new(&mock.url, "typesafe/jev-1.13");
    link.key = Some(Key::new("sk-or-0123456789abcdef"));
    assert!(!format!("{link:?}").contains("0123456789"));
    let (_, account) = run(&Jev::new(link), "## S\n- A\n- Authorization: Bearer abcd1234\n");
    assert_eq!(account.status, Status::NothingToPrune);
    let request = &mock.requests()[0];
    assert!(request.head.to_lowercase().contains("authorization: bearer sk-or-0123456789abcdef"));
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["model"], "typesafe/jev-1.13");
    assert_eq!(body["state"]["task"], "the task");
    assert_eq!(body["state"]["previous"], "- earlier");
    assert_eq!(body["state"]["entries"]["e1"], "A");
    assert_eq!(body["state"]["sections"]["e1"], "S");
    assert_eq!(body["state"]["evidence"], json!(["A is 1, B is 2, C is 3"]));
    let question = &body["questions"]["e1"];
    assert_eq!(question["type"], "noul");
    // one of the two services takes strings only
    assert!(question["instructions"].is_string() && question["criteria"]["true"].is_string());
    for secret in ["hunter22", "abcd1234"] {
        assert!(!request.body.contains(secret), "{secret} was sent");
    }
}

/// Each secret stands where only one of the parts of a request could bring it.
#[test]
fn nothing_that_is_sent_remembered_or_said_holds_a_secret() {
    let reply = json!({
        "answers": { "e1": { "noul": 0.9 }, "e2": { "noul": 0.9 }, "e3": { "noul": 0.9 } },
        "choices": [{ "logprobs": { "content": [{ "top_logprobs": [{ "token": "yes", "logprob": -0.1 }] } ] } }],
    });
    let mock = Mock::start(move |_, _| Reply::ok(reply.to_string()));
    // the passages and chunks of the evidence end within this password
    let across = |at: usize| format!("{} password='c4tc5-h1s-p4rt-of-1t-a11' ok", "w ".repeat(at / 2 - 10));
    let step = |action: &str, output: &str| Step { action: action.into(), observation: output.into() };
    let history = [
        step("login(password='act10n-only')", &across(300)),
        step("x", &across(2_000)),
        step("print(venmo_password)", "pr1nted-alone\n"),
        step("x", "-----BEGIN PRIVATE KEY-----\nMIIsecretbody\n-----END PRIVATE KEY-----"),
    ];
    let recent = [step("curl -u user:rec3nt-act https://h", "Set-Cookie: sid=rec3nt-out; Path=/")];
    let task = "Use postgres://u:t4sk-pw@host/db";
    let span =
        Span { task: Some(task), history: &history, recent: &recent, previous: Some("- the password: pr3vious") };
    let summary = "## token ghp_inheading1234567\n- logged in with act10n-only, then pr1nted-alone\n\
                   - w ok password c4tc5-h1s-p4rt-of-1t-a11\n- **Password**:\n  - un1ied\n";
    let secrets = [
        "act10n",
        "c4tc5",
        "p4rt",
        "a11'",
        "pr1nted",
        "MIIsecret",
        "rec3nt",
        "t4sk",
        "pr3vious",
        "inheading",
        "un1ied",
    ];
    let dir = std::env::temp_dir().join(format!("foldline-prune-secrets-{}", std::process::id()));
    let mut link = Link::new(&mock.url, "m");
    link.cache = Some(dir.clone());
    let judges: [Box<dyn Judge>; 2] = [Box::new(Jev::new(link.clone())), Box::new(LogProbs::new(link))];
    for judge in judges {
        let (_, account) = prune(summary, &span, &*judge, &Options::default());
        assert_eq!(account.status, Status::NothingToPrune, "{}", account.reason);
    }
    let requests = mock.requests();
    assert_eq!(requests.len(), 4);
    let files = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path());
    let kept = files.map(|file| format!("{} {}", file.display(), std::fs::read_to_string(&file).unwrap()));
    let seen: Vec<String> = requests.iter().map(|request| request.body.clone()).chain(kept).collect();
    std::fs::remove_dir_all(&dir).unwrap();
    for secret in secrets {
        assert!(seen.iter().all(|text| !text.contains(secret)), "{secret} went out");
    }
    // the names are still there, and the entry shares its stand-in with the output
    let body: Value = serde_json::from_str(&requests[0].body).unwrap();
    let entry = body["state"]["entries"]["e2"].as_str().unwrap();
    let stand_in = entry.rsplit(' ').next().unwrap();
    assert!(stand_in.starts_with("<secret_"), "{entry}");
    assert!(body["state"]["evidence"].to_string().contains(&format!("password='{stand_in}'")), "{}", body["state"]);

    // a URL with a key that nobody answers
    for url in ["http://u:s3cret1@127.0.0.1:9/bot/sk-aaaabbbbcccc1234?key=s3cret2", "ht tp://u:s3cret1@h"] {
        let mut link = Link::new(url, "m");
        link.retries = 0;
        let reason = prune(summary, &span, &Jev::new(link), &Options::default()).1.reason;
        assert!(!reason.contains("s3cret") && !reason.contains("aaaabbbb") && !reason.is_empty(), "{reason}");
    }
}

#[test]
fn a_busy_server_is_asked_again_and_then_left_alone() {
    let body = answers(&[("e1", 0.9), ("e2", 0.1)]);
    let mock = Mock::start(
        move |n, _| if n < 2 { Reply::status(if n == 0 { 503 } else { 429 }) } else { Reply::ok(body.clone()) },
    );
    assert_eq!(run(&Jev::new(Link::new(&mock.url, "m")), "- A\n- B\n").0, "- A\n");
    assert_eq!(mock.requests().len(), 3);

    let mock = Mock::start(|_, _| Reply::status(500));
    let (pruned, account) = run(&Jev::new(Link::new(&mock.url, "m")), "- A\n- B\n");
    assert_eq!((pruned.as_str(), account.status), ("- A\n- B\n", Status::Fault(FaultKind::JudgeUnavailable)));
    assert_eq!(mock.requests().len(), 3);

    for status in [400, 401, 404] {
        let mock = Mock::start(move |_, _| Reply::status(status));
        let (_, account) = run(&Jev::new(Link::new(&mock.url, "m")), "- A\n- B\n");
        assert_eq!(account.status, Status::Fault(FaultKind::JudgeUnavailable));
        assert!(account.reason.contains(&status.to_string()), "{}", account.reason);
        assert_eq!(mock.requests().len(), 1);
    }
}

#[test]
fn a_server_that_asks_for_more_patience_than_there_is_is_not_waited_for() {
    let mock =
        Mock::start(|_, _| Reply { status: 429, headers: vec![("Retry-After", "3600".into())], body: "{}".into() });
    let (_, account) = run(&Jev::new(Link::new(&mock.url, "m")), "- A\n- B\n");
    assert_eq!(account.status, Status::Fault(FaultKind::JudgeUnavailable));
    assert_eq!(mock.requests().len(), 1);
}

#[test]
fn every_other_broken_reply_deletes_nothing() {
    let nan = r#"{"answers": {"e1": {"noul": NaN}, "e2": {"noul": 0.1}}}"#;
    for (reply, kind) in [
        (r#"{"error": {"message": "no such route"}}"#, FaultKind::JudgeUnavailable),
        ("not json", FaultKind::JudgeUnavailable),
        (nan, FaultKind::JudgeUnavailable),
        ("[]", FaultKind::InvalidAnswer),
        (r#"{"answers": null}"#, FaultKind::InvalidAnswer),
        (r#"{"answers": {"e1": {"noul": 0.9}, "e2": 0.1}}"#, FaultKind::InvalidAnswer),
        (r#"{"answers": {"e1": {"noul": 0.9}, "e2": {"noul": "0.1"}}}"#, FaultKind::InvalidAnswer),
        (r#"{"answers": {"e1": {"noul": 1.7}, "e2": {"noul": 0.1}}}"#, FaultKind::InvalidAnswer),
        (r#"{"answers": {"e1": {"noul": 0.9}, "e2": null}}"#, FaultKind::MissingAnswer),
        (r#"{"answers": {"__proto__": {"e2": {"noul": 0.1}}, "e1": {"noul": 0.9}}}"#, FaultKind::MissingAnswer),
        (r#"{"answers": {"e1": {"noul": 0.9}, "e2": {"noul": 0.1}, "e9": {"noul": 0.1}}}"#, FaultKind::InvalidAnswer),
        (r#"{"answers": {"e1": {"noul": 0.9}, "e2": {"noul": 0.1}, "e1": {"noul": 0.1}}}"#, FaultKind::InvalidAnswer),
        (r#"{"answers": {"e1": {"noul": 0.9}, "e2": {"noul": 0.9, "noul": 0.1}}}"#, FaultKind::InvalidAnswer),
        (r#"{"answers": {"e1": {"type": "score", "noul": 0.9}, "e2": {"noul": 0.1}}}"#, FaultKind::TypeMismatch),
    ] {
        let (_mock, jev) = one_reply(reply);
        let (pruned, account) = run(&jev, "- A\n- B\n");
        assert_eq!(pruned, "- A\n- B\n", "{reply}");
        assert_eq!(account.status, Status::Fault(kind), "{reply}");
        assert!(!account.reason.is_empty());
    }
}

#[test]
fn nobody_at_home_and_a_slow_server() {
    let mut link = Link::new("http://127.0.0.1:9/v1/systemone", "m");
    link.retries = 0;
    assert_eq!(run(&Jev::new(link), "- A\n- B\n").1.status, Status::Fault(FaultKind::JudgeUnavailable));

    let mock = Mock::start(|_, _| {
        std::thread::sleep(Duration::from_secs(5));
        Reply::ok("{}")
    });
    let mut link = Link::new(&mock.url, "m");
    link.deadline = Duration::from_millis(200);
    assert_eq!(run(&Jev::new(link), "- A\n- B\n").1.status, Status::Fault(FaultKind::JudgeUnavailable));
    assert_eq!(mock.requests().len(), 1);
}

#[test]
fn too_much_for_one_request_is_split_by_entries() {
    let mock = Mock::start(|_, request| {
        let body: Value = serde_json::from_str(&request.body).expect("requests are JSON");
        let ids: Vec<String> = body["questions"].as_object().expect("questions").keys().cloned().collect();
        let scores: Vec<(&str, f64)> = ids.iter().map(|id| (id.as_str(), if id == "e7" { 0.1 } else { 0.9 })).collect();
        Reply::ok(answers(&scores))
    });
    let mut link = Link::new(&mock.url, "m");
    link.limit_tokens = 1_500;
    let summary: String = (1..=12).map(|n| format!("- entry {n}\n")).chain(["- ".into(), "x ".repeat(9_000)]).collect();
    let (pruned, account) = run(&Jev::new(link), &summary);
    assert_eq!(pruned, summary.replace("- entry 7\n", ""));
    assert!(account.requests[0] >= 3, "{:?}", account.requests);
    // the last entry fits into no request: not judged, kept, counted
    assert_eq!((account.counts.unanswered, account.counts.source_not_shown), (1, 1));
    for request in mock.requests() {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let [asked, shown] = [&body["questions"], &body["state"]["entries"]].map(|map| map.as_object().unwrap());
        assert!(asked.keys().eq(shown.keys()));
    }
}

#[test]
fn answers_are_kept_between_runs() {
    let dir = std::env::temp_dir().join(format!("foldline-prune-cache-{}", std::process::id()));
    let (mock, _) = one_reply(&answers(&[("e1", 0.9), ("e2", 0.1)]));
    let mut link = Link::new(&mock.url, "m");
    link.cache = Some(dir.clone());
    assert_eq!(run(&Jev::new(link.clone()), "- A\n- B\n").1.requests, [1, 0]);
    assert_eq!(run(&Jev::new(link.clone()), "- A\n- B\n").1.requests, [0, 1]);
    // another model, another question: asked again
    link.model = "n".into();
    assert_eq!(run(&Jev::new(link), "- A\n- B\n").1.requests, [1, 0]);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_cache_file_that_holds_no_answer_is_asked_anew() {
    let dir = std::env::temp_dir().join(format!("foldline-prune-broken-cache-{}", std::process::id()));
    let (mock, _) = one_reply(&answers(&[("e1", 0.9), ("e2", 0.1)]));
    let mut link = Link::new(&mock.url, "m");
    link.cache = Some(dir.clone());
    let ask = || run(&Jev::new(link.clone()), "- A\n- B\n");
    ask();
    let file = std::fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read_to_string(&file).unwrap();
    for broken in ["", "{", "[]", r#"{"answers": {"e1": {"noul": 0.9}}}"#, r#"{"error": "no"}"#] {
        std::fs::write(&file, broken).unwrap();
        let (pruned, account) = ask();
        assert_eq!((pruned.as_str(), account.requests), ("- A\n", [1, 0]), "{broken}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    }
    std::fs::remove_dir_all(dir).unwrap();
}

/// A judge that says what it was sent.
#[test]
fn the_key_does_not_come_back() {
    let dir = std::env::temp_dir().join(format!("foldline-prune-echo-{}", std::process::id()));
    let key = "tsk-0123456789abcdefghij";
    for (field, value) in [("model", "noul"), ("type", "KEY"), ("note", "noul")] {
        let mock = Mock::start(move |_, request| {
            let sent = request.head.lines().find(|line| line.to_lowercase().starts_with("authorization"));
            let said = format!("{} {}", sent.unwrap(), "x".repeat(400));
            let kind = if field == "type" { &said } else { value };
            let mut reply = json!({ "answers": { "e1": { "type": kind, "noul": 0.9 }, "e2": { "noul": 0.1 } } });
            reply[field] = json!(said);
            reply[&said] = json!([said]);
            Reply::ok(reply.to_string())
        });
        let mut link = Link::new(&mock.url, "m");
        link.key = Some(Key::new(key));
        link.cache = Some(dir.clone());
        let (_, account) = run(&Jev::new(link), "- A\n- B\n");
        let said = format!("{} {account:?} {}", account.reason, serde_json::to_string(&account).unwrap());
        assert!(!said.contains("0123456789") && !said.contains(&"x".repeat(201)), "{said}");
        assert_eq!(account.status == Status::Fault(FaultKind::TypeMismatch), field == "type");
    }
    for file in std::fs::read_dir(&dir).unwrap() {
        assert!(!std::fs::read_to_string(file.unwrap().path()).unwrap().contains("0123456789"));
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn sums_of_tokens_do_not_overflow() {
    let mock = Mock::start(|_, _| {
        let top = json!([{ "token": "yes", "logprob": -0.1 }]);
        let usage = json!({ "prompt_tokens": u64::MAX, "completion_tokens": u64::MAX });
        let reply = json!({ "choices": [{ "logprobs": { "content": [{ "top_logprobs": top }] } }], "usage": usage });
        Reply::ok(reply.to_string())
    });
    let (_, account) = run(&LogProbs::new(Link::new(&mock.url, "m")), "- A\n- B\n");
    assert_eq!((account.usage.input_tokens, account.usage.output_tokens), (u64::MAX, u64::MAX));
}

#[test]
fn a_date_to_come_back_is_waited_for_as_long_as_allowed() {
    let body = answers(&[("e1", 0.9), ("e2", 0.1)]);
    let mock = Mock::start(move |n, _| {
        let date = ("Retry-After", "Wed, 21 Oct 2065 07:28:00 GMT".to_string());
        if n == 0 { Reply { status: 429, headers: vec![date], body: "{}".into() } } else { Reply::ok(body.clone()) }
    });
    let mut link = Link::new(&mock.url, "m");
    link.deadline = Duration::from_millis(600);
    assert_eq!(run(&Jev::new(link), "- A\n- B\n").0, "- A\n");
    assert_eq!(mock.requests().len(), 2);
}

#[test]
fn token_probabilities_are_asked_entry_by_entry() {
    let mock = Mock::start(|_, request| {
        let yes: f64 = if request.body.contains("`entries.e2`") { 0.2 } else { 0.9 };
        let top = json!([{ "token": "yes", "logprob": yes.ln() }, { "token": " No", "logprob": (1.0 - yes).ln() }]);
        Reply::ok(
            json!({
                "model": "small",
                "choices": [{ "logprobs": { "content": [{ "token": "yes", "top_logprobs": top }] } }],
                "usage": { "prompt_tokens": 10, "completion_tokens": 1 },
            })
            .to_string(),
        )
    });
    let (pruned, account) = run(&LogProbs::new(Link::new(&mock.url, "small")), "- A\n- B\n- C\n");
    assert_eq!(pruned, "- A\n- C\n");
    assert_eq!((account.requests, account.usage.input_tokens), ([3, 0], 30));
    assert!((account.entries[1].score.unwrap() - 0.2).abs() < 1e-12);
    let body: Value = serde_json::from_str(&mock.requests()[0].body).unwrap();
    assert_eq!((&body["logprobs"], &body["max_tokens"]), (&json!(true), &json!(1)));
}
