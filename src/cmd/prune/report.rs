//! `foldline prune report`: shares of unsupported entries, persistence, a judge against labels, run records.

use super::arms::{Arms, arms};
use super::judges::JudgeArgs;
use super::trajectories::{Trajectory, json_lines, read};
use super::validate::{Ranged, Setting, Validation, instructions, read_labels, validate};
use super::{Failure, Global, ProseName, print, sequences};
use clap::Args as ClapArgs;
use foldline_pruner::history::{Span, Step};
use foldline_pruner::judge::{Judge, Wording};
use foldline_pruner::prune::{Options, Tau, prune};
use foldline_pruner::report::Scored;
use foldline_pruner::report::persistence::{Persistence, persistence};
use foldline_pruner::report::shares::{LayoutShare, Share, Shares, shares};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Numbers of the pruning paper: shares by section and boundary, persistence, lengths, a judge against labels, run records
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:
  foldline prune report --summaries summaries.jsonl --histories trajectories.jsonl --labels labels.jsonl --json
  foldline prune report --trajectories output/appworld/history/s1
  foldline prune report --runs sjc/s1 sjc/s2 sjc/s3 --against prompting/s1 prompting/s2 prompting/s3")]
pub struct Args {
    /// Summaries, one a line: `summary_id`, `trajectory_id`, `summary`, and where recorded `instruction`, `format`,
    /// `boundary`, `previous`, `steps_shown`
    #[arg(long, value_name = "FILE", requires = "histories")]
    summaries: Option<PathBuf>,
    /// Trajectories, one a line: `trajectory_id`, `steps`, and where recorded `task_id`, `instruction`
    #[arg(long, value_name = "FILE")]
    histories: Option<PathBuf>,
    /// Folder of PAIR trajectories whose compaction events hold summaries
    #[arg(long, value_name = "DIR")]
    trajectories: Option<PathBuf>,
    /// Labelled entries, one a line: `trajectory_id`, `entry`, `source` (yes, no), `summary_id`, `steps_shown`
    #[arg(long, value_name = "FILE", requires = "histories")]
    labels: Option<PathBuf>,
    /// Run records of one arm, one file or folder a run
    #[arg(long, value_name = "RUN", num_args = 1..)]
    runs: Vec<PathBuf>,
    /// Run records of the arm it is compared with
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "runs")]
    against: Vec<PathBuf>,
    /// Characters of an observation that count as shown to the summariser, 0 for all
    #[arg(long, default_value_t = 800, value_name = "N")]
    cut: usize,
    /// Score from which an entry stays
    #[arg(long, default_value = "0.5", value_name = "P")]
    tau: Tau,
    /// Prose: see `foldline prune --help`
    #[arg(long, value_enum, default_value = "auto")]
    prose: ProseName,
    /// Bootstrap draws
    #[arg(long, default_value_t = 2_000, value_name = "N")]
    draws: u32,
    #[command(flatten)]
    judge: JudgeArgs,
}

#[derive(Serialize)]
struct Report {
    judge: &'static str,
    wording: Wording,
    tau: f64,
    cut: usize,
    seed: u64,
    /// What the intervals resample: `auroc`, `precision`, `recall` scenarios, `runs` tasks.
    #[serde(flatten)]
    validation: Option<Validation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<Shares>,
    #[serde(skip_serializing_if = "Option::is_none")]
    persistence: Option<Persistence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arms: Option<Arms>,
}

/// Runs the analysis.
///
/// # Errors
/// `Failure::Usage` without anything to analyse; `Failure::Data` naming what cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let judge = args.judge.judge()?;
    let trajectories = args.histories.as_deref().map(read).transpose()?.unwrap_or_default();
    let summaries = args.summaries.as_deref().map(json_lines).transpose()?;
    if summaries.is_none() && args.labels.is_none() && args.trajectories.is_none() && args.runs.is_empty() {
        return Err(Failure::Usage("give --summaries, --labels, --trajectories or --runs".to_owned()));
    }
    let instructions = instructions(summaries.as_deref().unwrap_or_default());
    let validation = match &args.labels {
        Some(path) => {
            let setting = Setting {
                trajectories: &trajectories,
                instructions: &instructions,
                cut: args.cut,
                tau: args.tau.get(),
                draws: args.draws,
                seed: global.seed,
            };
            Some(validate(&read_labels(path)?, &*judge, &setting)?)
        }
        None => None,
    };
    let mut scored = Vec::new();
    if let Some(summaries) = &summaries {
        scored.extend(score(summaries, &trajectories, &*judge, args)?);
    }
    if let Some(folder) = &args.trajectories {
        scored.extend(sequences::read(folder)?.into_iter().map(|compaction| in_sequence(compaction, &*judge, args)));
    }
    let sequenced = scored.iter().any(|summary| summary.boundary.is_some());
    let report = Report {
        judge: judge.name(),
        wording: judge.wording(),
        tau: args.tau.get(),
        cut: args.cut,
        seed: global.seed,
        validation,
        shares: (!scored.is_empty()).then(|| shares(&scored)),
        persistence: sequenced.then(|| persistence(&scored, 3)),
        arms: match args.runs.as_slice() {
            [] => None,
            runs => Some(arms(runs, &args.against, args.draws, global.seed)?),
        },
    };
    let document = serde_json::to_value(&report).map_err(|error| Failure::Other(error.to_string()))?;
    if global.json { print(&format!("{document:#}\n")) } else { print(&text(&report, &document)) }
}

fn options(args: &Args) -> Options {
    Options { tau: args.tau, prose: args.prose.into(), shadow: false }
}

fn score(
    summaries: &[(usize, Value)],
    trajectories: &BTreeMap<String, Trajectory>,
    judge: &dyn Judge,
    args: &Args,
) -> Result<Vec<Scored>, Failure> {
    let mut scored = Vec::new();
    for (number, value) in summaries {
        let place = |what: String| Failure::Data(format!("summaries, line {number}: {what}"));
        let text = |key: &str| value[key].as_str();
        let id = text("trajectory_id").ok_or_else(|| place("no `trajectory_id`".to_owned()))?;
        let trajectory = trajectories.get(id).ok_or_else(|| place(format!("trajectory {id} is not in --histories")))?;
        let summary = text("summary").ok_or_else(|| place("no `summary`".to_owned()))?;
        let shown = value["steps_shown"].as_u64().map(|steps| steps as usize);
        let steps: Vec<Step> = trajectory.shown(shown, args.cut);
        let span = Span {
            task: text("instruction").or(trajectory.instruction.as_deref()),
            history: &steps,
            previous: text("previous"),
            ..Span::default()
        };
        scored.push(Scored {
            summary_id: text("summary_id").unwrap_or(id).to_owned(),
            run: id.to_owned(),
            boundary: value["boundary"].as_u64().and_then(|boundary| u32::try_from(boundary).ok()),
            layout: text("format").unwrap_or("unnamed").to_owned(),
            account: prune(summary, &span, judge, &options(args)).1,
        });
    }
    Ok(scored)
}

fn in_sequence(compaction: sequences::Compaction, judge: &dyn Judge, args: &Args) -> Scored {
    let span = Span {
        task: compaction.task.as_deref(),
        history: &compaction.steps,
        recent: &[],
        previous: compaction.previous.as_deref(),
    };
    Scored {
        summary_id: format!("{}#{}", compaction.run, compaction.boundary),
        account: prune(&compaction.summary, &span, judge, &options(args)).1,
        run: compaction.run,
        boundary: Some(compaction.boundary),
        layout: "in sequence".to_owned(),
    }
}

fn text(report: &Report, document: &Value) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    let short: String = report.wording.sha256.chars().take(12).collect();
    line(format!("judge {} ({} {short}), tau {}", report.judge, report.wording.name, report.tau));
    if let Some(validation) = &report.validation {
        line(format!(
            "\nlabelled entries: {} ({} with a source), {} without a score, {} scenarios",
            validation.n, validation.n_pos, validation.unscored, validation.scenarios
        ));
        for (name, ranged) in [
            ("AUROC", &validation.auroc),
            ("precision", &validation.precision),
            ("recall", &validation.recall),
            ("removed of those without a source", &validation.removed_without_source),
        ] {
            line(format!("  {name:<34} {}", interval(ranged)));
        }
        line(format!("  near the line                      {}", validation.near_line));
    }
    if let Some(shares) = &report.shares {
        line(format!(
            "\n{:<34} {:>9} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}",
            "layout", "summaries", "changed", "entries", "kept", "dropped", "below", "saved"
        ));
        for (name, row) in shares.layouts.iter().chain([(&"all".to_owned(), &shares.total)]) {
            line(layout(name, row));
        }
        line(format!("\n{:<50} {:>8} {:>8} {:>7}", "section", "entries", "below", "share"));
        for (name, row) in sorted(&shares.sections) {
            let name: String = if name.is_empty() { "(none)".to_owned() } else { name.chars().take(50).collect() };
            line(format!("{name:<50} {:>8} {:>8} {:>7}", row.entries, row.unsupported, percent(row.share)));
        }
        line(format!(
            "{:<50} {:>8} {:>8} {:>7}",
            "reasoning entries",
            shares.reasoning.entries,
            shares.reasoning.unsupported,
            percent(shares.reasoning.share)
        ));
        for (name, row) in &shares.boundaries {
            line(format!(
                "boundary {name}: {} summaries, below the line {} of all and {} of reasoning entries, {} a summary",
                row.summaries,
                percent(row.all.share),
                percent(row.reasoning.share),
                row.unsupported_reasoning_per_summary.map_or("-".to_owned(), |count| format!("{count:.1}"))
            ));
        }
    }
    for part in ["persistence", "arms"] {
        if let Some(value) = document.get(part) {
            line(format!("\n{part}\n{value:#}"));
        }
    }
    out
}

/// Sections by number of entries, the twenty largest.
fn sorted(sections: &BTreeMap<String, Share>) -> Vec<(&String, &Share)> {
    let mut rows: Vec<_> = sections.iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.entries));
    rows.truncate(20);
    rows
}

fn layout(name: &str, row: &LayoutShare) -> String {
    format!(
        "{name:<34} {:>9} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}",
        row.summaries,
        row.changed,
        row.all.entries,
        row.all.entries - row.all.dropped,
        row.all.dropped,
        percent(row.all.share),
        percent(row.saved)
    )
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

fn interval(ranged: &Ranged) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    match ranged.reason {
        Some(reason) => format!("undefined: {reason}"),
        None => format!("{} [{}, {}]", number(ranged.point), number(ranged.lo), number(ranged.hi)),
    }
}
