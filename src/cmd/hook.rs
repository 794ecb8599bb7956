//! `foldline hook`: adapters for harnesses, and whether a policy can be installed in one.

use super::{Failure, Global, policy, print, say};
use crate::hook::gate::{Gate, default_state_dir};
use crate::hook::harnesses::{HARNESSES, Harness, Veto, obstacles};
use crate::hook::{MAX_PAYLOAD_BYTES, claude_code, pi};
use crate::lines::{Line, next_line};
use clap::{Args as ClapArgs, Subcommand};
use foldline_models::policy::{Mode, Policy};
use serde_json::json;
use std::io::Read;
use std::path::PathBuf;

/// Answer a harness in its own words, or check whether a policy can be installed in it
///
/// Without --enforce nothing is held back: decisions are only logged (shadow mode). An adapter always leaves with exit
/// code 0 and allows whenever anything is wrong, so that a session is never stranded; the reason is on stderr.
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    harness: Adapter,
}

#[derive(Debug, Subcommand)]
enum Adapter {
    ClaudeCode(ClaudeCode),
    Pi(Common),
    Doctor(Doctor),
}

#[derive(Debug, ClapArgs)]
struct Common {
    /// The frozen policy
    policy: PathBuf,
    /// Hold compactions back; without it decisions are only logged (shadow mode)
    #[arg(long)]
    enforce: bool,
    /// Folder of the sessions' side-car files [default: $FOLDLINE_STATE_DIR, $XDG_STATE_HOME/foldline or ~/.local/state/foldline]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Decision log, or `none` [default: decisions.ndjson among the side-car files]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Claude Code: the same command for PreCompact, PostToolUse, PostToolUseFailure, PostCompact and SessionStart
#[derive(Debug, ClapArgs)]
struct ClaudeCode {
    #[command(flatten)]
    common: Common,
    /// The model's window in tokens [default: $CLAUDE_CODE_AUTO_COMPACT_WINDOW]
    #[arg(long, value_name = "TOKENS")]
    window_tokens: Option<u64>,
    /// Tokens below the window that the client never uses
    #[arg(long, value_name = "TOKENS", default_value_t = 23_000)]
    reserve_tokens: u64,
}

/// Which harnesses can be held back, and whether a policy can be installed in one; exit code 65 if it cannot
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline hook doctor policy.json --harness pi")]
struct Doctor {
    /// The frozen policy
    policy: Option<PathBuf>,
    /// Only this harness
    #[arg(long, value_name = "NAME")]
    harness: Option<String>,
}

/// Runs the verb. An adapter never fails.
///
/// # Errors
/// Only `doctor`: `Failure::Data` for a policy that cannot be read or installed, `Failure::Usage` for an unknown harness.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let outcome = match &args.harness {
        Adapter::Doctor(args) => return doctor(args, global.json),
        Adapter::ClaudeCode(args) => run_claude_code(args),
        Adapter::Pi(args) => run_pi(args),
    };
    if let Err(problem) = outcome {
        say(&format!("foldline: {problem}"));
    }
    Ok(())
}

impl Common {
    fn gate(&self, harness: &'static str) -> Result<Gate, String> {
        let policy = Policy::read(&self.policy).map_err(|error| format!("{}: {error}", self.policy.display()));
        if let Err(problem) = &policy {
            say(&format!("foldline: {problem}"));
        }
        let state_dir = match &self.state_dir {
            Some(folder) => folder.clone(),
            None => default_state_dir()?,
        };
        let log = match &self.log {
            None => Some(state_dir.join("decisions.ndjson")),
            Some(path) if path.as_os_str() == "none" => None,
            Some(path) => Some(path.clone()),
        };
        let mode = if self.enforce { Mode::Enforce } else { Mode::Shadow };
        Ok(Gate { harness, policy, mode, state_dir, log })
    }
}

fn run_claude_code(args: &ClaudeCode) -> Result<(), String> {
    let mut payload = Vec::new();
    let read = std::io::stdin().lock().take(MAX_PAYLOAD_BYTES as u64 + 1).read_to_end(&mut payload);
    read.map_err(|error| format!("the payload cannot be read: {error}"))?;
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(format!("the payload is longer than {MAX_PAYLOAD_BYTES} bytes"));
    }
    let stated = std::env::var("CLAUDE_CODE_AUTO_COMPACT_WINDOW").ok().and_then(|text| text.parse().ok());
    let window = claude_code::Window { tokens: args.window_tokens.or(stated), reserve: args.reserve_tokens };
    let gate = args.common.gate("claude-code")?;
    match claude_code::handle(&gate, window, &payload)? {
        Some(answer) => print(&format!("{answer}\n")).map_err(|failure| failure.to_string()),
        None => Ok(()),
    }
}

fn run_pi(args: &Common) -> Result<(), String> {
    let gate = args.gate("pi")?;
    let mut stdin = std::io::stdin().lock();
    while let Some(line) =
        next_line(&mut stdin, MAX_PAYLOAD_BYTES).map_err(|error| format!("the payload cannot be read: {error}"))?
    {
        let answer = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => pi::handle(&gate, &line),
            Line::TooLong => Err(format!("the payload is longer than {MAX_PAYLOAD_BYTES} bytes")),
        };
        // every line gets a line, so that a host that keeps the process open never waits in vain
        let answer = answer.unwrap_or_else(|problem| {
            say(&format!("foldline: {problem}"));
            json!({"decision": "allow", "decided_by": "missing_feature", "cancel": false, "warnings": [problem]})
                .to_string()
        });
        print(&format!("{answer}\n")).map_err(|failure| failure.to_string())?;
    }
    Ok(())
}

fn doctor(args: &Doctor, as_json: bool) -> Result<(), Failure> {
    let policy = args.policy.as_deref().map(policy::read).transpose()?;
    let chosen: Vec<&Harness> = match &args.harness {
        None => HARNESSES.iter().collect(),
        Some(name) => {
            let found = HARNESSES.iter().find(|harness| harness.name == name).ok_or_else(|| {
                let names: Vec<&str> = HARNESSES.iter().map(|harness| harness.name).collect();
                Failure::Usage(format!("{name:?} is no known harness: expected one of {}", names.join(", ")))
            })?;
            vec![found]
        }
    };
    let found: Vec<(&Harness, Vec<String>)> = chosen
        .into_iter()
        .map(|harness| (harness, policy.as_ref().map_or_else(Vec::new, |policy| obstacles(harness, policy))))
        .collect();
    if as_json {
        let list: Vec<_> =
            found.iter().map(|(harness, obstacles)| json!({"harness": harness, "obstacles": obstacles})).collect();
        print(&format!("{:#}\n", json!(list)))?;
    } else {
        print(&found.iter().map(|(harness, obstacles)| in_words(harness, obstacles)).collect::<String>())?;
    }
    match (&args.harness, found.first()) {
        (Some(name), Some((_, obstacles))) if policy.is_some() && !obstacles.is_empty() => {
            Err(Failure::Data(format!("this policy cannot be installed in {name}: {}", obstacles.join("; "))))
        }
        _ => Ok(()),
    }
}

fn in_words(harness: &Harness, obstacles: &[String]) -> String {
    let veto = match (harness.veto, harness.adapter) {
        (Veto::Yes, true) => "can be held back",
        (Veto::Yes, false) => "can be held back, no adapter here",
        (Veto::No, _) => "cannot be held back",
    };
    let mut text =
        format!("{} ({}): {veto}\n  {}\n  {}\n", harness.name, harness.versions, harness.how, harness.advice);
    if !harness.facts.is_empty() {
        text.push_str(&format!("  live facts: {}\n", harness.facts.join(", ")));
    }
    for obstacle in obstacles.iter().filter(|_| harness.veto == Veto::Yes) {
        text.push_str(&format!("  obstacle: {obstacle}\n"));
    }
    text
}
