//! `foldline prune annotate`: what a judge says of every summary of a corpus, as observables of its boundary.

use super::judges::JudgeArgs;
use super::lines::{LONGEST, Line, next_line};
use super::steps::step_of;
use super::{Failure, say};
use crate::files::stream_whole;
use clap::Args as ClapArgs;
use foldline_pruner::entries::Prose;
use foldline_pruner::history::{Span, Step};
use foldline_pruner::judge::Judge;
use foldline_pruner::prune::{Options, Tau, prune};
use serde_json::Value;
use std::io::BufReader;
use std::path::PathBuf;

/// Add `summary_entries` and `summary_unsupported` to every boundary of a corpus that holds a summary and its prefix
///
/// They exist only after summarising; representation H+S uses them. Boundaries without a summary, without ordered steps
/// or without an answer of the judge pass through as they are and are counted.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  foldline prune annotate cohort.jsonl --out judged.jsonl && foldline check judged.jsonl"
)]
pub struct Args {
    /// Corpus as NDJSON
    corpus: PathBuf,
    /// Output corpus
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Score from which an entry counts as supported
    #[arg(long, default_value = "0.5", value_name = "P")]
    tau: Tau,
    #[command(flatten)]
    judge: JudgeArgs,
}

/// Runs the analysis.
///
/// # Errors
/// `Failure::Data` for a corpus that cannot be read, `Failure::Other` for the output.
pub fn run(args: &Args) -> Result<(), Failure> {
    let judge = args.judge.judge()?;
    let place = |what: &str| Failure::Data(format!("{}: {what}", args.corpus.display()));
    let file = std::fs::File::open(&args.corpus).map_err(|error| place(&format!("cannot be read: {error}")))?;
    let mut problem = None;
    let [mut judged, mut passed] = [0usize; 2];
    let written = stream_whole(&args.out, |out| {
        let mut input = BufReader::new(file);
        let mut line = Vec::new();
        for number in 1.. {
            let mut unreadable = |what: &str| {
                problem = Some(format!("line {number} {what}"));
                std::io::Error::other("unreadable corpus")
            };
            match next_line(&mut input, &mut line)? {
                Line::End => break,
                Line::TooLong => return Err(unreadable(&format!("is longer than {} MiB", LONGEST >> 20))),
                Line::Whole => {}
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let Ok(mut boundary) = serde_json::from_slice::<Value>(text) else {
                return Err(unreadable("is no JSON object"));
            };
            if observe(&mut boundary, &*judge, args.tau) {
                judged += 1;
                writeln!(out, "{boundary}")?;
            } else {
                passed += 1;
                out.write_all(text)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    });
    if let Some(problem) = problem {
        return Err(place(&problem));
    }
    written.map_err(|error| Failure::Other(format!("{}: {error}", args.out.display())))?;
    say(&format!("{}: {judged} boundaries judged, {passed} passed through", args.out.display()));
    Ok(())
}

/// Adds the two fields; false where there is nothing to add.
fn observe(boundary: &mut Value, judge: &dyn Judge, tau: Tau) -> bool {
    let Some(summary) = boundary["summary"].as_str() else { return false };
    let Some(prefix) = boundary["prefix"].as_array() else { return false };
    let Ok(history) = prefix.iter().map(step_of).collect::<Result<Vec<Step>, String>>() else { return false };
    let span = Span { task: boundary["instruction"].as_str(), history: &history, ..Span::default() };
    let options = Options { tau, prose: Prose::Auto, shadow: true };
    let (_, account) = prune(summary, &span, judge, &options);
    let Some(unsupported) = account.unsupported else { return false };
    boundary["summary_entries"] = (account.counts.entries - account.counts.unanswered).into();
    boundary["summary_unsupported"] = unsupported.entries.into();
    true
}
