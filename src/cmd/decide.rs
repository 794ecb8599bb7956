//! `foldline decide`: may the context be compacted now?

use super::Failure;
use crate::decision_log::DecisionLog;
use crate::lines::{Line, next_line};
use clap::Args as ClapArgs;
use foldline_models::policy::{Decided, LogLine, MAX_REQUEST_BYTES, Mode, Policy, Request, explain};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// Answer "compact now?": one JSON request a line on stdin, one JSON answer a line on stdout
///
/// A request holds a boundary in the native format (without rollouts) or `features` by name, and the live facts
/// ctx_tokens, window_tokens, tokens_source, tool_in_flight, trigger, call_site, consecutive_blocks and last_compaction;
/// all of them are optional. Every line gets an answer, flushed at once. Whatever is wrong with a line allows and says
/// so. When the policy itself cannot be used, every line is answered with allow and policy_error, and the exit code is 65.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  echo '{\"features\":{\"n_exact\":42},\"ctx_tokens\":91000,\"window_tokens\":200000}' \\\n    | foldline decide policy.json --explain"
)]
pub struct Args {
    /// The frozen policy
    policy: PathBuf,
    /// Requests from a file instead of standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Tell the host to obey; without it answers are for the record (shadow mode)
    #[arg(long)]
    enforce: bool,
    /// Add each decision as a sentence
    #[arg(long)]
    explain: bool,
    /// Append one JSON line a decision to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` when the policy cannot be used (every line was answered), `Failure::Other` when stdin, stdout or the
/// log fail.
pub fn run(args: &Args) -> Result<(), Failure> {
    let policy = Policy::read(&args.policy);
    let mut log = open_log(args.log.as_deref())?;
    let mode = if args.enforce { Mode::Enforce } else { Mode::Shadow };
    let mut requests: Box<dyn BufRead> = match &args.input {
        None => Box::new(std::io::stdin().lock()),
        Some(path) => match std::fs::File::open(path) {
            Ok(file) => Box::new(std::io::BufReader::new(file)),
            Err(error) => return Err(Failure::Data(format!("{}: cannot be read: {error}", path.display()))),
        },
    };
    let mut stdout = std::io::stdout().lock();
    let other = |what: &str, error: std::io::Error| Failure::Other(format!("{what}: {error}"));
    while let Some(line) = next_request(&mut requests).map_err(|error| other("cannot read the requests", error))? {
        let (request, decided) = answer(policy.as_ref().map_err(ToString::to_string), &line, mode, args.explain);
        let written = writeln!(stdout, "{}", decided.answer.to_json()).and_then(|()| stdout.flush());
        if let Some(log) = &mut log {
            log.write(&LogLine::new("decide", policy.as_ref().ok(), &request, &decided, 0));
        }
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(other("cannot write standard output", error)),
            Ok(()) => {}
        }
    }
    match policy {
        Err(error) => Err(Failure::Data(format!("{}: {error}", args.policy.display()))),
        Ok(_) if log.is_some_and(|log| !log.is_complete()) => Err(Failure::Other("the log is not complete".to_owned())),
        Ok(_) => Ok(()),
    }
}

/// Opens the decision log of a verb that was given one.
///
/// # Errors
/// `Failure::Other` naming the file.
pub fn open_log(path: Option<&Path>) -> Result<Option<DecisionLog>, Failure> {
    let open =
        |path: &Path| DecisionLog::open(path).map_err(|error| Failure::Other(format!("{}: {error}", path.display())));
    path.map(open).transpose()
}

/// The next line that is not blank.
fn next_request(stdin: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    loop {
        match next_line(stdin, MAX_REQUEST_BYTES)? {
            Some(Line::Whole(line)) if line.trim_ascii().is_empty() => {}
            other => return Ok(other),
        }
    }
}

fn answer(policy: Result<&Policy, String>, line: &Line, mode: Mode, sentence: bool) -> (Request, Decided) {
    let bytes: &[u8] = match line {
        Line::Whole(bytes) => bytes,
        Line::TooLong => b"",
    };
    let mut request = Request::parse_for(policy.as_ref().ok().copied(), bytes);
    if *line == Line::TooLong {
        request.facts.unreadable = vec![format!("the request is longer than {MAX_REQUEST_BYTES} bytes")];
    }
    let mut decided = match &policy {
        Ok(policy) => policy.decide(&request, mode),
        Err(reason) => Decided::policy_error(&request, reason, mode),
    };
    if sentence {
        decided.answer.explain = Some(explain(policy.ok(), &request.facts, &decided.answer));
    }
    (request, decided)
}
