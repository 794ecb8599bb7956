//! `foldline fit`: the final model, on all rows.

use super::{Failure, Global, print, say};
use crate::evaluate::cohort::Cohort;
use crate::evaluate::protocol::CellName;
use crate::files::{check_target, write_whole};
use crate::freeze::model_file::fit_cell;
use crate::input::CorpusArgs;
use crate::progress::Progress;
use clap::Args as ClapArgs;
use foldline_features::Target;
use serde_json::json;
use std::path::PathBuf;

/// Fit the final model on all rows, and out of fold for the choice of a threshold
///
/// The model file holds the model fitted on every boundary that has the target and, for `export`, the scores of 20
/// repetitions of 5 stem-grouped folds: those scores come from models that had not seen the boundary's stem.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  foldline fit cohort.jsonl.gz --cell boosted/H --out model.json\n  foldline export model.json --retain 0.8 --out policy.json"
)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// LEARNER/REPRESENTATION
    #[arg(long, value_name = "CELL")]
    cell: CellName,
    /// What is predicted
    #[arg(long, default_value = "dU@3", value_name = "TARGET")]
    target: Target,
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` for the corpus, `Failure::Usage` for a cell that is not fitted, `Failure::Other` for an output that
/// cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let cannot = |error| Failure::Other(format!("{}: cannot be written: {error}", args.out.display()));
    check_target(&args.out).map_err(cannot)?;
    let corpus = args.corpus.load()?;
    let cohort = Cohort::new(&corpus, args.target)?;
    let outcome = cohort.outcome(args.target)?;
    let model = fit_cell(&corpus, &cohort, &outcome, args.cell, global.seed, &Progress::on_terminal())?;
    let mut text = serde_json::to_vec(&model).map_err(|error| Failure::Other(error.to_string()))?;
    text.push(b'\n');
    write_whole(&args.out, &text).map_err(cannot)?;
    for warning in &model.warnings {
        say(&format!("warning: {warning}"));
    }
    let positives = outcome.labels.iter().filter(|&&label| label).count();
    if global.json {
        print(&format!(
            "{:#}\n",
            json!({
                "cell": model.cell, "target": model.target, "boundaries": cohort.n(), "left_out": cohort.left_out,
                "positives": positives, "corpus_sha256": model.corpus_sha256, "folds": model.folds,
                "warnings": model.warnings,
            })
        ))?;
    } else {
        print(&format!(
            "{} on {} for {}: {} boundaries, {positives} positive, {} left out\n",
            model.learner,
            model.representation,
            model.target,
            cohort.n(),
            cohort.left_out
        ))?;
    }
    say(&format!("wrote {}; next: foldline export {} --out policy.json", args.out.display(), args.out.display()));
    Ok(())
}
