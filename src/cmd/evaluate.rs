//! `foldline evaluate`: score triggers out of fold and judge them honestly.

use super::{Failure, Global, print, say};
use crate::clock::Stopwatch;
use crate::evaluate::cohort::Cohort;
use crate::evaluate::fold_files::FoldFile;
use crate::evaluate::protocol::{CellName, FoldPlan, Protocol};
use crate::evaluate::run_folder::{Manifest, RunFolder, ScoreFormat};
use crate::evaluate::{Evaluation, Plan, Stage, evaluate};
use crate::foreign::foreign_scores;
use crate::input::{CorpusArgs, read_text};
use crate::progress::Progress;
use clap::Args as ClapArgs;
use foldline_features::Target;
use foldline_frontiers::{Retain, Unit};
use std::path::{Path, PathBuf};

/// Score triggers out of fold and judge them: AUROC, frontier, operating point, advantage over a random rule, signed
/// value, replicate yardstick, each with its intervals
///
/// Writes a run folder: results.json, recorded scores, outcomes and folds, and a manifest. `foldline report` turns run
/// folders into pages. A stopped run goes on where it was when the same command is given again.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  foldline evaluate cohort.jsonl.gz --protocol paper --out run && foldline report run\n  \
    foldline evaluate logs.jsonl.gz --target pre.U@3 --cells boosted/H,logistic/H --folds stem:5 --out run"
)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// paper, quick, or a TOML file of the documented schema
    #[arg(long, default_value = "paper", value_name = "NAME|FILE", conflicts_with = "cells")]
    protocol: String,
    /// Cells LEARNER/REPRESENTATION in place of a protocol
    #[arg(long, value_delimiter = ',', value_name = "CELL,...")]
    cells: Vec<CellName>,
    /// Folds for --cells: task, stem (20 repetitions), stem:REPETITIONS, stem:5x4 (5 folds, 4 repetitions), or a CSV
    /// (boundary_id,repetition,fold) that keeps tasks or stems whole; with a protocol such CSVs only, each in the place of
    /// the protocol's folds of its unit
    #[arg(long, value_name = "PLAN|FILE.csv")]
    folds: Vec<String>,
    /// Target: dU@3, dE@1, ..., or of one arm pre.U@3, post.E@1, ... [default: the protocol's, dU@3]
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,
    /// Share of opportunities that must stay allowed at the operating point, such as 4/5 [default: the protocol's, 0.8]
    #[arg(long, value_name = "SHARE")]
    retain: Option<Retain>,
    /// Bootstrap draws of every interval, in place of the protocol's numbers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    draws: Option<u32>,
    /// Cell to refit in the sensitivity analyses in place of its group's best; may be given several times
    #[arg(long, value_name = "CELL")]
    sensitivity_cell: Vec<CellName>,
    /// A foreign trigger, NAME=FILE with its scores as a CSV (boundary_id,score); may be given several times
    #[arg(long, value_name = "NAME=FILE")]
    foreign: Vec<String>,
    /// How the out-of-fold scores are recorded
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    scores: ScoreFormat,
    /// Stages to run beside scoring and judging cells; all when absent
    #[arg(long, value_delimiter = ',', value_name = "STAGE,...")]
    stages: Vec<Stage>,
    /// Run folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Usage` for a plan that makes no sense, `Failure::Data` for the corpus and side files, `Failure::Other` for
/// the output.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let plan = plan(args, global)?;
    let corpus = args.corpus.load()?;
    // a corpus without the target is refused before a folder is made
    Cohort::new(&corpus, plan.protocol.target).map_err(|failure| failure.of_file(&args.corpus.corpus))?;
    let folder = RunFolder::create(&args.out)?;
    let progress = Progress::on_terminal();
    let evaluation = evaluate(&corpus, &plan, Some(&folder), &progress).inspect_err(|_| folder.abandon())?;
    evaluation.notes.iter().for_each(|note| say(&format!("note: {note}")));
    let manifest = Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        seed: global.seed,
        threads: rayon::current_num_threads(),
        started_unix_seconds: watch.started_unix_seconds(),
        elapsed_seconds: watch.seconds(),
        stages: progress.stages(),
        corpus: args.corpus.corpus.display().to_string(),
        corpus_sha256: corpus.sha256.clone(),
    };
    write_run(&folder, &evaluation, &manifest, args.scores)?;
    if global.json {
        let text =
            serde_json::to_string_pretty(&evaluation.results).map_err(|error| Failure::Other(error.to_string()))?;
        print(&format!("{text}\n"))?;
    } else {
        print(&overview(&evaluation))?;
    }
    let seconds = watch.seconds();
    say(&format!(
        "wrote {} in {seconds:.1} s, {:.2} ms a boundary; next: foldline report {}",
        args.out.display(),
        1000.0 * seconds / evaluation.results.outcome.n.max(1) as f64,
        args.out.display()
    ));
    Ok(())
}

fn plan(args: &Args, global: &Global) -> Result<Plan, Failure> {
    let mut protocol = if args.cells.is_empty() {
        if let Some(plan) = args.folds.iter().find(|plan| !plan.ends_with(".csv")) {
            return Err(Failure::Usage(format!(
                "--folds {plan}: a protocol sets its folds; name cells with --cells, or give a CSV of folds"
            )));
        }
        named_protocol(&args.protocol)?
    } else {
        let folds = match args.folds.as_slice() {
            [plan] if !plan.ends_with(".csv") => plan.parse().map_err(Failure::Usage)?,
            [] | [_] => FoldPlan::Stem { k: 5, repetitions: 20 },
            _ => return Err(Failure::Usage("--folds: the cells of --cells share one plan".to_owned())),
        };
        Protocol::of_cells(args.cells.clone(), folds)
            .map_err(|problem| Failure::Usage(format!("--cells: {problem}")))?
    };
    protocol.target = args.target.unwrap_or(protocol.target);
    protocol.retain = args.retain.unwrap_or(protocol.retain);
    let fold_files = args.folds.iter().filter(|plan| plan.ends_with(".csv"));
    let fold_files = fold_files.map(|file| {
        Ok(FoldFile { name: file.clone(), text: read_text(Path::new(file))?, for_all: !args.cells.is_empty() })
    });
    Ok(Plan {
        protocol,
        seed: global.seed,
        draws: args.draws,
        fold_files: fold_files.collect::<Result<_, Failure>>()?,
        foreign: args.foreign.iter().map(|given| foreign_scores(given)).collect::<Result<_, _>>()?,
        sensitivity_cells: args.sensitivity_cell.clone(),
        stages: args.stages.iter().copied().collect(),
    })
}

/// A built-in protocol, or one from a file.
///
/// # Errors
/// `Failure::Data` for an unreadable file.
pub fn named_protocol(name: &str) -> Result<Protocol, Failure> {
    if let Some(protocol) = Protocol::builtin(name) {
        return Ok(protocol);
    }
    let text = read_text(Path::new(name))
        .map_err(|failure| Failure::Data(format!("--protocol: neither paper nor quick, and as a file: {failure}")))?;
    Protocol::from_toml(&text).map_err(|problem| Failure::Data(format!("{name}: {problem}")))
}

/// Writes everything an evaluation leaves; results.json comes last, so that a folder that has it is complete.
///
/// # Errors
/// `Failure::Other`.
fn write_run(
    folder: &RunFolder,
    evaluation: &Evaluation,
    manifest: &Manifest,
    scores: ScoreFormat,
) -> Result<(), Failure> {
    folder.clear()?;
    let ids: Vec<&str> = evaluation.outcomes.iter().map(|record| record.boundary_id.as_str()).collect();
    folder.write_scores(&evaluation.scores, &ids, scores)?;
    folder.write_outcomes(&evaluation.outcomes)?;
    folder.write("folds.csv", evaluation.folds.as_bytes())?;
    folder.write_json("manifest.json", manifest)?;
    folder.write_json("results.json", &evaluation.results)?;
    folder.forget_stages()
}

/// The cells of an evaluation as a table for a terminal.
fn overview(evaluation: &Evaluation) -> String {
    let results = &evaluation.results;
    let outcome = &results.outcome;
    let mut out = format!(
        "{}: {} boundaries, {} positive ({:.1}%), mean {:.3}{}\n\n{:<24} {:>22} {:>9} {:>24} {:>26}\n",
        outcome.target,
        outcome.n,
        outcome.positives,
        100.0 * outcome.positives as f64 / outcome.n as f64,
        outcome.mean,
        if outcome.observational { "; observational" } else { "" },
        "cell",
        "AUROC [95%]",
        "retained",
        "avoided [95%]",
        "vs random [95%]"
    );
    let text = |estimate: &foldline_frontiers::Estimate| match (
        estimate.point.defined(),
        estimate.interval(Unit::Task).and_then(|i| i.ends()),
    ) {
        (Some(value), Some((lo, hi))) => format!("{value:.3} [{lo:.3}, {hi:.3}]"),
        (Some(value), None) => format!("{value:.3}"),
        (None, _) => estimate.point.to_string(),
    };
    for cell in &results.cells {
        out.push_str(&format!(
            "{:<24} {:>22} {:>9} {:>24} {:>26}\n",
            cell.name,
            text(&cell.auroc_averaged),
            cell.retained.point.defined().map_or_else(|| "-".to_owned(), |value| format!("{value:.3}")),
            text(&cell.avoided),
            text(&cell.advantage_count),
        ));
    }
    for refused in &results.refused {
        out.push_str(&format!("not computed: {}: {}\n", refused.analysis, refused.reason));
    }
    out
}
