//! `foldline demo`: the main job on a simulated cohort, from a corpus to a judged trigger and a frozen policy.

use super::{Failure, Global, run_words, say};
use crate::files::write_whole;
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};

/// Run the main job on a simulated cohort: simulate, check, evaluate, report, fit, export, decide
///
/// Each step is a command of its own, printed before it runs; everything is written into one folder. The cohort is
/// simulated, so its figures say nothing about any real agent.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline demo, then open foldline-demo/run/report.html")]
pub struct Args {
    /// Folder to write: new, empty, or an earlier demo's
    #[arg(long, default_value = "foldline-demo", value_name = "DIR")]
    out: PathBuf,
}

/// The file by which a folder is known to be a demo's.
const MARK: &str = ".foldline-demo";

/// Makes the folder and marks it as a demo's.
///
/// # Errors
/// `Failure::Usage` for a folder that holds something else, `Failure::Other` when it cannot be read or written.
fn claim(folder: &Path) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::Other(format!("{}: cannot be used: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let mark = folder.join(MARK);
    // half of the names a demo writes are names that anyone uses, such as model.json
    if !mark.is_file() && std::fs::read_dir(folder).map_err(cannot)?.next().is_some() {
        return Err(Failure::Usage(format!(
            "--out {}: holds files that are no earlier demo's, and some could be overwritten; name a new folder",
            folder.display()
        )));
    }
    std::fs::write(&mark, "This folder is written by `foldline demo`, which may write over it.\n").map_err(cannot)
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Usage` for a folder that holds something else; those of the steps.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    claim(&args.out)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_folder() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("new/demo");
        claim(&own).unwrap();
        std::fs::write(own.join("model.json"), "{}").unwrap();
        claim(&own).unwrap();
        let foreign = folder.path().join("new");
        assert!(matches!(claim(&foreign), Err(Failure::Usage(text)) if text.contains("no earlier demo")));
        assert!(!foreign.join(MARK).exists());
    }
}
