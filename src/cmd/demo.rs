//! `foldline demo`: the main job on a simulated cohort, from a corpus to a judged trigger and a frozen policy.

use super::{Failure, Global, run_words, say};
use crate::files::write_whole;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Run the main job on a simulated cohort: simulate, check, evaluate, report, fit, export, decide
///
/// Each step is a command of its own, printed before it runs; everything is written into one folder. The cohort is
/// simulated, so its figures say nothing about any real agent.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline demo, then open foldline-demo/run/report.html")]
pub struct Args {
    /// Folder to write
    #[arg(long, default_value = "foldline-demo", value_name = "DIR")]
    out: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// Those of the steps.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.out)
        .map_err(|error| Failure::Other(format!("{}: cannot be made: {error}", args.out.display())))?;
    let file = |name: &str| args.out.join(name).display().to_string();
    let (cohort, methods, run, report) =
        (file("cohort.jsonl"), file("functions.csv"), file("run"), file("run/report.html"));
    let (model, policy, request) = (file("model.json"), file("policy.json"), file("request.jsonl"));
    let seed = global.seed.to_string();
    let step = |words: &[&str]| {
        say(&format!("\n$ foldline {}", words.join(" ")));
        run_words(&[&["foldline", "--seed", &seed], words].concat())
    };
    step(&["simulate", "--with-tokens", "--out", &cohort, "--method-map", &methods])?;
    step(&["check", &cohort, "--methods", &methods])?;
    step(&["evaluate", &cohort, "--methods", &methods, "--protocol", "quick", "--out", &run])?;
    step(&["report", &run])?;
    step(&["fit", &cohort, "--methods", &methods, "--cell", "boosted/H", "--out", &model])?;
    step(&["export", &model, "--retain", "0.8", "--evidence", &run, "--out", &policy])?;
    // one live question: the first boundary of the cohort, at 60% of a window
    let boundaries = crate::input::read_text(args.out.join("cohort.jsonl").as_path())?;
    let first = boundaries.lines().next().unwrap_or_default();
    let live = format!("{{\"ctx_tokens\":4300,\"window_tokens\":7200,{}\n", first.trim_start_matches('{'));
    write_whole(&args.out.join("request.jsonl"), live.as_bytes())
        .map_err(|error| Failure::Other(format!("{request}: cannot be written: {error}")))?;
    step(&["decide", &policy, "--input", &request, "--explain"])?;
    say(&format!("\nThe report: {report}"));
    Ok(())
}
