//! `foldline check`: is this corpus sound, what is in it, and what can it answer?

use super::{Failure, Global, print, say};
use crate::analyses::{Answer, analyses};
use crate::input::{CorpusArgs, notes};
use crate::summary::CorpusSummary;
use clap::Args as ClapArgs;
use foldline_features::corpus::Corpus;
use serde_json::json;
use std::fmt::Write as _;

/// Validate a corpus: count what is in it, show every problem, and say which analyses it can answer
///
/// Every problem is printed with file, line, boundary and field; the exit code is then 65.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline simulate --out cohort.jsonl.gz && foldline check cohort.jsonl.gz")]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
}

/// Problems printed in full; the rest is counted.
const SHOWN_PROBLEMS: usize = 50;

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` when the corpus has problems or cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let mut reader = args.corpus.reader(false)?;
    let (mut boundaries, mut problems, mut shown) = (Vec::new(), 0usize, Vec::new());
    for boundary in &mut reader {
        match boundary {
            Ok(boundary) => boundaries.push(boundary),
            Err(problem) => {
                problems += 1;
                if problems <= SHOWN_PROBLEMS {
                    say(&format!("problem: {problem}"));
                    shown.push(problem.to_string());
                }
            }
        }
    }
    let corpus = Corpus {
        boundaries,
        sha256: reader.sha256(),
        notes: reader.notes().clone(),
        profile: args.corpus.conventions.profile()?,
    };
    let summary = CorpusSummary::of(&corpus);
    let answers = analyses(&corpus);
    let notes = notes(&corpus);
    if global.json {
        let report = json!({
            "sha256": corpus.sha256, "problems": problems, "first_problems": shown, "notes": notes,
            "summary": summary, "analyses": answers,
        });
        print(&format!("{report:#}\n"))?;
    } else {
        print(&text(&summary, &notes, &answers))?;
    }
    let unmapped = corpus.unmapped();
    if problems > 0 {
        let plural = if problems == 1 { "" } else { "s" };
        return Err(Failure::Data(format!("{}: {problems} problem{plural}", args.corpus.corpus.display())));
    }
    if corpus.boundaries.is_empty() {
        return Err(Failure::Data(format!("{}: holds no boundary", args.corpus.corpus.display())));
    }
    if !unmapped.is_empty() && !args.corpus.conventions.allow_unmapped {
        let names: Vec<&str> = unmapped.keys().copied().collect();
        return Err(Failure::Data(format!(
            "{} functions are in no method map: {}; add them to a --methods file, or count them as reads with --allow-unmapped",
            names.len(),
            names.join(", ")
        )));
    }
    Ok(())
}

fn text(summary: &CorpusSummary, notes: &[String], answers: &[Answer]) -> String {
    let mut out = String::new();
    for (name, value) in summary.lines() {
        writeln!(out, "{name:<34} {value}").unwrap_or_default();
    }
    for note in notes {
        writeln!(out, "note: {note}").unwrap_or_default();
    }
    writeln!(out, "\nWhat this corpus can answer").unwrap_or_default();
    for answer in answers {
        let (mark, why) = match &answer.missing {
            None => ("yes", String::new()),
            Some(missing) => ("no ", format!(": {missing}")),
        };
        writeln!(out, "  {mark}  {}{why}", answer.analysis).unwrap_or_default();
    }
    out
}
