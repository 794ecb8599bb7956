//! One summary in, one summary out; or JSON requests, one a line.

use super::lines::{LONGEST, Line, next_line};
use super::steps::{read_steps, step_of};
use super::{Failure, FilterArgs, Global, print, say};
use crate::files::write_whole;
use crate::input::read_text;
use foldline_pruner::account::{Account, Fate, Status};
use foldline_pruner::entries::Prose;
use foldline_pruner::history::{Span, Step};
use foldline_pruner::judge::Judge;
use foldline_pruner::prune::{Options, Tau, prune};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a summary that is read; a longer one is passed on as it comes. It is far above what is judged, so that an
/// account can still say what a summary too large was.
const LARGEST_SUMMARY: u64 = 16 << 20;

/// Prunes the summary of the command line, or the requests on stdin.
///
/// # Errors
/// `Failure::Data` for input that cannot be read; the summary is then on stdout as it came, if it could be read.
pub fn run(args: &FilterArgs, global: &Global) -> Result<(), Failure> {
    if let Some(account) = &args.account {
        let same =
            |path: &&PathBuf| path.canonicalize().is_ok_and(|path| account.canonicalize().is_ok_and(|a| a == path));
        let inputs = [&args.summary, &args.history, &args.recent, &args.previous];
        if let Some(input) = inputs.into_iter().flatten().find(same) {
            return Err(Failure::Usage(format!("--account {}: is an input too; name another file", input.display())));
        }
    }
    let judge = args.judge.judge();
    let options = Options { tau: args.tau, prose: args.prose.into(), shadow: args.shadow };
    match &args.summary {
        Some(summary) => {
            let (bytes, rest) = read_summary(summary)?;
            if let Some(rest) = rest {
                return pass_on(args, &bytes, rest, global);
            }
            // from here on the summary comes through, whatever else is wrong
            match judge.and_then(|judge| file(args, &bytes, &*judge, &options, global)) {
                // the summary is out already; the code tells a script that it was no text
                Ok(account) if account.status == Status::InvalidUtf8 => Err(Failure::Data(account.reason)),
                Ok(_) => Ok(()),
                Err(failure) => {
                    if global.json {
                        let summary = String::from_utf8(bytes).ok();
                        let answer = json!({ "status": "invalid_input", "reason": failure.to_string(), "changed": false,
                            "summary": summary });
                        print(&format!("{answer:#}\n"))?;
                    } else {
                        print_bytes(&bytes)?;
                    }
                    Err(failure)
                }
            }
        }
        None if args.stream => stream(judge, &options),
        None if global.json => request(judge, &options),
        None => Err(Failure::Usage(
            "give --summary and --history; or --json with a request on stdin; or --stream with one request a line"
                .to_owned(),
        )),
    }
}

fn file(
    args: &FilterArgs,
    bytes: &[u8],
    judge: &dyn Judge,
    options: &Options,
    global: &Global,
) -> Result<Account, Failure> {
    let history = args.history.as_deref().map(read_steps).transpose()?.unwrap_or_default();
    let recent = args.recent.as_deref().map(read_steps).transpose()?.unwrap_or_default();
    let previous = args.previous.as_deref().map(read_text).transpose()?;
    let task = args.task.as_deref().map(text_or_file).transpose()?;
    let span = Span { task: task.as_deref(), history: &history, recent: &recent, previous: previous.as_deref() };
    let (summary, account) = match std::str::from_utf8(bytes) {
        Ok(text) => {
            let (pruned, account) = prune(text, &span, judge, options);
            (Some(pruned), account)
        }
        Err(error) => (None, Account::invalid_utf8(judge, options, error.valid_up_to())),
    };
    let document = |summary: Value| {
        let mut value = serde_json::to_value(&account).map_err(|error| Failure::Other(error.to_string()))?;
        if !summary.is_null() || global.json {
            value["summary"] = summary;
        }
        Ok(format!("{value:#}\n"))
    };
    if let Some(path) = &args.account {
        write_whole(path, document(Value::Null)?.as_bytes())
            .map_err(|error| Failure::Other(format!("{}: cannot be written: {error}", path.display())))?;
    }
    if global.json {
        print(&document(summary.map_or(Value::Null, Value::String))?)?;
    } else {
        print_bytes(summary.as_deref().map_or(bytes, str::as_bytes))?;
        if args.account.is_none() {
            for line in lines(&account) {
                say(&line);
            }
        }
    }
    say(&format!("prune: {}: {}", account.status.name(), account.reason));
    Ok(account)
}

/// Scores for people, one entry a line.
fn lines(account: &Account) -> Vec<String> {
    let line = |verdict: &foldline_pruner::account::Verdict| {
        let score = verdict.score.map_or("   -".to_owned(), |score| format!("{score:4.2}"));
        let near = if verdict.near_line { "~" } else { " " };
        let fate = match verdict.fate {
            Fate::Dropped if account.shadow => "would drop",
            Fate::Dropped => "dropped",
            Fate::Kept => "kept",
            Fate::Unanswered => "kept, no answer",
            Fate::KeptForChild => "kept for its child",
            Fate::NotApplied => "not applied",
        };
        let text: String =
            verdict.text.chars().take(70).map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
        format!("{score}{near} {fate:<18} {} {text}", verdict.id)
    };
    account.entries.iter().map(line).collect()
}

/// One request (see docs/prune.md). A misspelt field would go unnoticed as "no source", so no other is taken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    summary: String,
    #[serde(default)]
    history: Vec<Value>,
    #[serde(default)]
    recent: Vec<Value>,
    previous: Option<String>,
    task: Option<String>,
    /// Names the conversation: its last committed summary is the next one's `previous`.
    session: Option<String>,
    tau: Option<f64>,
    shadow: Option<bool>,
}

/// Committed summaries by session.
type Memory = BTreeMap<String, String>;

/// A judge, or why there is none: requests are then given back as they came.
type Given = Result<Box<dyn Judge>, Failure>;

/// The answer to a request that no judge was made for.
fn unjudged(text: &[u8], failure: &Failure) -> Value {
    let summary = serde_json::from_slice::<Value>(text).map_or(Value::Null, |value| value["summary"].clone());
    json!({ "status": "invalid_input", "reason": failure.to_string(), "changed": false, "summary": summary })
}

fn request(judge: Given, options: &Options) -> Result<(), Failure> {
    let mut text = Vec::new();
    std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut text).map_err(cannot_read_stdin)?;
    if text.len() as u64 > LONGEST {
        print(&format!("{}\n", too_long()))?;
        return Err(Failure::Data(TOO_LONG.to_owned()));
    }
    let judge = match judge {
        Ok(judge) => judge,
        Err(failure) => {
            print(&format!("{}\n", unjudged(&text, &failure)))?;
            return Err(failure);
        }
    };
    let (answer, valid) = answer(&text, &*judge, options, &mut Memory::new());
    print(&format!("{answer}\n"))?;
    if valid { Ok(()) } else { Err(Failure::Data(answer["reason"].as_str().unwrap_or_default().to_owned())) }
}

/// Answers requests until stdin ends; a bad one gets an answer and is no reason to stop.
fn stream(judge: Given, options: &Options) -> Result<(), Failure> {
    let mut memory = Memory::new();
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        let answer = match next_line(&mut input, &mut line).map_err(cannot_read_stdin)? {
            Line::End => return judge.map(drop),
            Line::TooLong => too_long(),
            Line::Whole if line.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Whole => match &judge {
                Ok(judge) => answer(&line, &**judge, options, &mut memory).0,
                Err(failure) => unjudged(&line, failure),
            },
        };
        print(&format!("{answer}\n"))?;
    }
}

fn cannot_read_stdin(error: std::io::Error) -> Failure {
    Failure::Data(format!("standard input: cannot be read: {error}"))
}

/// What is said of a request that was not read to its end.
const TOO_LONG: &str = "the request is longer than 64 MiB; give --summary and --history as files";

/// The answer to a request that is too long: its summary is somewhere in what was not read.
fn too_long() -> Value {
    json!({ "status": "invalid_request", "reason": TOO_LONG, "changed": false, "summary": null })
}

/// The answer to a request, and whether it was a valid one.
fn answer(text: &[u8], judge: &dyn Judge, options: &Options, memory: &mut Memory) -> (Value, bool) {
    let invalid = |reason: String, summary: Value| {
        let answer = json!({ "status": "invalid_request", "reason": reason, "changed": false, "summary": summary });
        (answer, false)
    };
    let request: Request = match serde_json::from_slice(text) {
        Ok(request) => request,
        Err(error) => {
            // what can be given back is given back
            let summary = serde_json::from_slice::<Value>(text).map_or(Value::Null, |value| value["summary"].clone());
            return invalid(format!("the request is not what docs/prune.md says: {error}"), summary);
        }
    };
    let same = Value::String(request.summary.clone());
    let steps = |list: &[Value]| list.iter().map(step_of).collect::<Result<Vec<Step>, String>>();
    let (history, recent) = match (steps(&request.history), steps(&request.recent)) {
        (Ok(history), Ok(recent)) => (history, recent),
        (Err(problem), _) | (_, Err(problem)) => return invalid(format!("history or recent: {problem}"), same),
    };
    let tau = match request.tau.map_or(Ok(options.tau), Tau::new) {
        Ok(tau) => tau,
        Err(error) => return invalid(error.to_string(), same),
    };
    let options = Options { tau, shadow: request.shadow.unwrap_or(options.shadow), ..*options };
    let remembered = request.session.as_ref().and_then(|session| memory.get(session)).cloned();
    let previous = request.previous.or(remembered);
    let span =
        Span { task: request.task.as_deref(), history: &history, recent: &recent, previous: previous.as_deref() };
    let (summary, account) = prune(&request.summary, &span, judge, &options);
    if let Some(session) = &request.session {
        memory.insert(session.clone(), summary.clone());
    }
    let mut value = serde_json::to_value(&account).unwrap_or_else(|error| json!({ "reason": error.to_string() }));
    value["summary"] = Value::String(summary);
    if let Some(session) = request.session {
        value["session"] = Value::String(session);
    }
    (value, true)
}

/// What follows the part of a summary that was read.
type Rest = Box<dyn Read>;

/// The summary, and the rest of its input where it is longer than what is read.
fn read_summary(path: &Path) -> Result<(Vec<u8>, Option<Rest>), Failure> {
    let cannot = |error: std::io::Error| Failure::Data(format!("{}: cannot be read: {error}", path.display()));
    let mut input: Rest = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(cannot)?)
    };
    let mut bytes = Vec::new();
    input.by_ref().take(LARGEST_SUMMARY + 1).read_to_end(&mut bytes).map_err(cannot)?;
    let more = bytes.len() as u64 > LARGEST_SUMMARY;
    Ok((bytes, more.then_some(input)))
}

/// Passes on a summary that is too long to be held: as it came, without keeping it.
fn pass_on(args: &FilterArgs, bytes: &[u8], mut rest: Rest, global: &Global) -> Result<(), Failure> {
    let name = Status::SummaryTooLarge.name();
    let reason = format!("the summary has more than {} MiB: it was not read", LARGEST_SUMMARY >> 20);
    let answer = json!({ "status": name, "reason": reason, "changed": false, "summary": null });
    if global.json {
        print(&format!("{answer:#}\n"))?;
    } else {
        print_bytes(bytes)?;
        match std::io::copy(&mut rest, &mut std::io::stdout().lock()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                return Err(Failure::Other(format!("the rest of the summary cannot be passed on: {error}")));
            }
            _ => {}
        }
    }
    if let Some(path) = &args.account {
        write_whole(path, format!("{answer:#}\n").as_bytes())
            .map_err(|error| Failure::Other(format!("{}: cannot be written: {error}", path.display())))?;
    }
    if global.json {
        return Err(Failure::Data(format!("{reason} and is not in the answer; without --json it is passed on")));
    }
    say(&format!("prune: {name}: {reason}, but passed on as it is"));
    Ok(())
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Other(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// A task is short: it may be given as it is, or as a file.
fn text_or_file(task: &str) -> Result<String, Failure> {
    match task.strip_prefix('@') {
        Some(path) => read_text(Path::new(path)),
        // a text may be longer than any path, so the question is asked of short ones only
        None if task.len() < 4_096 && Path::new(task).is_file() => read_text(Path::new(task)),
        None => Ok(task.to_owned()),
    }
}

impl From<super::ProseName> for Prose {
    fn from(name: super::ProseName) -> Prose {
        match name {
            super::ProseName::Auto => Prose::Auto,
            super::ProseName::Keep => Prose::Keep,
            super::ProseName::Split => Prose::Split,
        }
    }
}
