//! `foldline replay`: reads decision logs back.

use super::{Failure, Global, print, say};
use crate::lines::{Line, next_line};
use crate::replay::Replay;
use clap::Args as ClapArgs;
use foldline_models::policy::{LogLine, Policy, shown};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// Longest log line, in bytes.
const MAX_LINE: usize = 4 << 20;

/// Read decision logs back: how often compaction was held back, how many blocks in a row, and by whom
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline replay ~/.local/state/foldline/decisions.ndjson")]
pub struct Args {
    /// Decision logs, in the order in which they were written
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// Print every decision as a sentence first
    #[arg(long)]
    explain: bool,
    /// The policy that decided, so that sentences name its numbers
    #[arg(long, value_name = "FILE", requires = "explain")]
    policy: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` when a log cannot be read or holds no decision.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let policy = args.policy.as_deref().map(super::policy::read).transpose()?;
    let mut replay = Replay::default();
    for path in &args.logs {
        let cannot = |error: std::io::Error| Failure::Data(format!("{}: cannot be read: {error}", path.display()));
        let mut log = BufReader::new(File::open(path).map_err(cannot)?);
        let mut number = 0u64;
        let mut left_out: Option<(u64, String)> = None;
        let unreadable_before = replay.unreadable;
        while let Some(line) = next_line(&mut log, MAX_LINE).map_err(cannot)? {
            number += 1;
            let read = match &line {
                Line::Whole(line) if line.trim_ascii().is_empty() => continue,
                Line::Whole(line) => LogLine::parse(line),
                Line::TooLong => Err(format!("longer than {MAX_LINE} bytes")),
            };
            match read {
                Ok(line) => {
                    if args.explain {
                        print(&sentence(&line, policy.as_ref()))?;
                    }
                    replay.add(&line);
                }
                Err(problem) => {
                    replay.unreadable += 1;
                    left_out.get_or_insert((number, problem));
                }
            }
        }
        if let Some((first, problem)) = left_out {
            // once a file: one that is no log at all would fill the terminal
            say(&format!(
                "note: {}: {} lines left out, first line {first}: {problem}; expected one decision a line (foldline.log/1), \
                 as decide, serve and hook log them",
                path.display(),
                replay.unreadable - unreadable_before
            ));
        }
    }
    if replay.decisions == 0 {
        return Err(Failure::Data("the logs hold no decision".to_owned()));
    }
    if global.json { print(&format!("{:#}\n", replay.to_json())) } else { print(&replay.in_words()) }
}

fn sentence(line: &LogLine, policy: Option<&Policy>) -> String {
    let policy = policy.filter(|policy| Some(policy.sha256()) == line.policy_sha.as_deref());
    let boundary = line.boundary.as_deref().unwrap_or("a boundary");
    let session = line.session.as_deref().map_or(String::new(), |session| format!("{session} "));
    shown(&format!("{} {session}{boundary}: {}", line.harness, line.explain(policy))) + "\n"
}
