//! `foldline yardstick`: what a replicate of the same boundary predicts.

use super::{Failure, Global, print};
use crate::evaluate::cohort::Cohort;
use crate::evaluate::protocol::{Protocol, YardstickPlan};
use crate::evaluate::run_folder::{OutcomeRecord, RunFolder};
use crate::evaluate::{Plan, Stage, evaluate};
use crate::foreign::ForeignScores;
use crate::input::CorpusArgs;
use crate::progress::Progress;
use crate::results::{Results, YardstickResult};
use clap::Args as ClapArgs;
use foldline_features::corpus::Corpus;
use foldline_features::{Burden, Target};
use foldline_frontiers::ranking::average_scores;
use foldline_frontiers::{Estimate, Retain, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// How well one half of a boundary's rollouts predicts the other: the ceiling a trigger is measured against
///
/// Each boundary's rollouts are split at random into two halves; the delta of one half is the score, the sign of the
/// other's the label. With --run, every trigger recorded there is compared with the replicate on the same half-sample
/// labels.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline yardstick cohort.jsonl.gz --methods functions.csv --run run")]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Target, paired or of one arm
    #[arg(long, default_value = "dU@3", value_name = "TARGET")]
    target: Target,
    /// Share of opportunities that must stay allowed at the operating point
    #[arg(long, default_value = "4/5", value_name = "SHARE")]
    retain: Retain,
    /// Random splits
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    splits: u32,
    /// Bootstrap draws
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    draws: u32,
    /// Run folders on the same corpus whose recorded triggers are compared; may be given several times
    #[arg(long, value_name = "RUN")]
    run: Vec<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` for a corpus or run that cannot be read, or a corpus without replicated rollouts.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let corpus = args.corpus.load()?;
    let mut protocol = Protocol::builtin("paper").expect("the paper protocol is built in");
    protocol.name = "yardstick".to_owned();
    protocol.target = args.target;
    protocol.retain = args.retain;
    protocol.groups.clear();
    (protocol.sensitivity, protocol.importance) = (None, None);
    protocol.yardstick = Some(YardstickPlan { splits: args.splits });
    Cohort::new(&corpus, args.target).map_err(|failure| failure.of_file(&args.corpus.corpus))?;
    let plan = Plan {
        protocol,
        seed: global.seed,
        draws: Some(args.draws),
        fold_files: Vec::new(),
        foreign: recorded(&args.run, &corpus, args.target)?,
        sensitivity_cells: Vec::new(),
        stages: BTreeSet::from([Stage::Yardstick]),
    };
    let results = evaluate(&corpus, &plan, None, &Progress::on_terminal())?.results;
    let Some(yardstick) = &results.yardstick else {
        let reasons: Vec<&str> = results.refused.iter().map(|refused| refused.reason.as_str()).collect();
        return Err(Failure::Data(format!("{}: no yardstick: {}", args.corpus.corpus.display(), reasons.join("; "))));
    };
    if global.json {
        let text = serde_json::to_string_pretty(yardstick).map_err(|error| Failure::Other(error.to_string()))?;
        return print(&format!("{text}\n"));
    }
    print(&text(&results, yardstick))
}

/// Repetition-averaged scores of every cell of the runs, by boundary; the runs must be of these boundaries and target.
fn recorded(runs: &[PathBuf], corpus: &Corpus, target: Target) -> Result<Vec<ForeignScores>, Failure> {
    let here: BTreeMap<&str, OutcomeRecord> = corpus
        .boundaries
        .iter()
        .map(|boundary| (boundary.boundary_id.as_str(), OutcomeRecord::of(boundary, &Burden::of(boundary))))
        .collect();
    let mut triggers = Vec::new();
    for path in runs {
        let other = |what: String| Failure::Data(format!("--run {}: {what}", path.display()));
        let folder = RunFolder::open(path)?;
        let (results, outcomes) = (folder.results()?, folder.outcomes()?);
        if results.protocol.target != target {
            return Err(other(format!("its target is {}; give --target {0}", results.protocol.target)));
        }
        if let Some(strange) = outcomes.iter().find(|record| here.get(record.boundary_id.as_str()) != Some(record)) {
            return Err(other(format!(
                "boundary {} has another task, stem or other rollouts in the corpus, or is not there; expected a run on \
                 this corpus",
                strange.boundary_id
            )));
        }
        let ids = || outcomes.iter().map(|record| record.boundary_id.clone());
        let recorded = folder.scores(&outcomes)?;
        for cell in results.cells.into_iter().map(|cell| cell.name) {
            let averaged = average_scores(recorded.get(&cell).map_or(&[], Vec::as_slice))
                .map_err(|error| other(format!("scores of {cell}: {error}")))?;
            let name = if runs.len() > 1 { format!("{}:{cell}", path.display()) } else { cell };
            triggers.push((name, ids().zip(averaged).collect()));
        }
    }
    Ok(triggers)
}

fn with_interval(estimate: &Estimate) -> String {
    match (estimate.point.defined(), estimate.interval(Unit::Task).and_then(|interval| interval.ends())) {
        (Some(value), Some((lo, hi))) => format!("{value:.3} [{lo:.3}, {hi:.3}]"),
        (Some(value), None) => format!("{value:.3}"),
        (None, _) => estimate.point.to_string(),
    }
}

fn text(results: &Results, yardstick: &YardstickResult) -> String {
    let mut out = format!(
        "{:<8} {:<16} {:>5} {:>22} {:>8} {:>22} {:>22}\n",
        "target", "subset", "n", "replicate AUROC", "Pearson", "Spearman-Brown", "avoided"
    );
    for row in &yardstick.rows {
        let statistics = &row.statistics;
        let subset = if row.mirrored { format!("{}, mirrored", row.subset) } else { row.subset.clone() };
        out.push_str(&format!(
            "{:<8} {subset:<16} {:>5} {:>22} {:>8} {:>22} {:>22}\n",
            row.target,
            statistics.n,
            with_interval(&statistics.auroc.mean),
            with_interval(&statistics.pearson.mean).split(' ').next().unwrap_or_default(),
            with_interval(&statistics.spearman_brown.mean),
            with_interval(&statistics.avoided.mean),
        ));
    }
    for row in &yardstick.icc {
        out.push_str(&format!("ICC(1), {}: {}\n", row.name, with_interval(&row.estimate)));
    }
    if !yardstick.triggers.is_empty() {
        out.push_str(&format!(
            "\n{:<24} {:>16} {:>24} {:>16}  reading\n",
            "trigger", "AUROC, same label", "replicate - trigger", "share recovered"
        ));
    }
    for row in &yardstick.triggers {
        let comparison = &row.comparison;
        let number = |value: foldline_frontiers::Value| {
            value.defined().map_or_else(|| value.to_string(), |number| format!("{number:.3}"))
        };
        out.push_str(&format!(
            "{:<24} {:>16} {:>24} {:>16}  {}\n",
            row.cell,
            number(comparison.trigger_auroc),
            with_interval(&comparison.same_label_difference),
            number(comparison.share_recovered),
            row.reading
        ));
    }
    for refused in &results.refused {
        out.push_str(&format!("not computed: {}: {}\n", refused.analysis, refused.reason));
    }
    out
}
