//! `foldline survey`: what compaction cost in someone's own session logs.

use super::{Failure, Global, print, say};
use crate::files::write_whole;
use crate::import::source::Limits;
use crate::survey::collect::{Options, collect};
use crate::survey::measure::measure;
use crate::survey::{page::page, text::text};
use foldline_features::profile::Profile;
use std::path::PathBuf;

/// Say what compaction cost in session logs: burden before and after each one (observational)
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: all sessions of two harnesses, as text and as a page
  foldline survey ~/.pi/agent/sessions ~/.claude/projects --html survey.html

Reads the logs of pi, Claude Code, Hermes, OpenHands, Codex, ATIF, Inspect, OpenAI and Anthropic message lists, each file
by what it begins with. Nothing leaves the machine.")]
pub struct Args {
    /// Files or folders of session logs
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// Steps before and after a compaction that are compared
    #[arg(short, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=50))]
    k: u16,
    /// Bootstrap draws over sessions
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    draws: u32,
    /// Also write a self-contained page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Tool profile (TOML) instead of the built-in one for coding agents
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Leave out larger files
    #[arg(long, value_name = "MB", default_value_t = 512)]
    max_file_mb: u64,
}

/// Runs the verb.
///
/// # Errors
/// `Data` when nothing could be read, `Other` when an output cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let profile = match &args.profile {
        Some(path) => super::import::read_profile(path)?,
        None => Profile::coding_agent(),
    };
    let k = usize::from(args.k);
    let limits = Limits { file_bytes: args.max_file_mb.saturating_mul(1 << 20), ..Limits::default() };
    let collected = collect(&args.logs, &Options { k, profile, limits });
    let survey = measure(&collected, k, args.draws, global.seed);
    if collected.sources == 0 {
        for row in &survey.left_out {
            say(&format!("left out: {} x {} ({})", row.count, row.reason, row.places.join("; ")));
        }
        return Err(Failure::Data("nothing could be read".to_owned()));
    }
    if let Some(path) = &args.html {
        let html = page(&survey).map_err(|error| Failure::Other(format!("the page cannot be made: {error}")))?;
        write_whole(path, html.as_bytes())
            .map_err(|error| Failure::Other(format!("{}: cannot be written: {error}", path.display())))?;
    }
    if global.json {
        let json = serde_json::to_string_pretty(&survey)
            .map_err(|error| Failure::Other(format!("the survey cannot be written as JSON: {error}")))?;
        print(&(json + "\n"))
    } else {
        print(&text(&survey))
    }
}
