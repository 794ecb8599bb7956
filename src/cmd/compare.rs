//! `foldline compare`: triggers side by side on the same boundaries.

use super::{Failure, Global, print, say};
use crate::compare::boundaries::{Boundaries, Run, Trigger, rules};
use crate::compare::{Comparison, Plan, compare};
use crate::foreign::{ForeignScores, foreign_scores, strangers};
use crate::input::{Conventions, CorpusArgs};
use crate::report::content::plain;
use crate::report::reading::Reading;
use crate::report::{RunReport, files};
use clap::Args as ClapArgs;
use foldline_features::Target;
use foldline_frontiers::Retain;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Compare triggers on the same boundaries: paired differences with intervals, against each other and the replicate
///
/// Triggers come from run folders, from score files (an LLM judge, a token-budget rule, a hand-written rule), and, with
/// --corpus, from the rules that need no learning. Shares avoided are compared at exactly the same share retained; every
/// interval is that of the paired difference, over the same resampled tasks. Runs on different boundaries are refused.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  foldline compare run-a run-b --yardstick\n  \
    foldline compare run --cells boosted/H,rule/prefix-length --foreign judge=judge.csv --out comparison\n  \
    foldline compare --corpus cohort.jsonl --foreign judge=judge.csv --yardstick")]
pub struct Args {
    /// Run folders written by `foldline evaluate`
    #[arg(value_name = "RUN", required_unless_present = "corpus")]
    runs: Vec<PathBuf>,
    /// Corpus to judge --foreign on, beside the rules that need no learning
    #[arg(long, value_name = "FILE", conflicts_with = "runs", requires = "foreign")]
    corpus: Option<PathBuf>,
    #[command(flatten)]
    conventions: Conventions,
    /// A foreign trigger, NAME=FILE with its scores as a CSV (boundary_id,score); may be given several times
    #[arg(long, alias = "scores", value_name = "NAME=FILE")]
    foreign: Vec<String>,
    /// Triggers of the runs to compare; all when absent
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    cells: Vec<String>,
    /// The trigger that the others are compared with [default: the first --foreign, else the first run's best]
    #[arg(long, value_name = "NAME")]
    against: Option<String>,
    /// Compare with the split-half replicate too, on the same half-sample labels
    #[arg(long)]
    yardstick: bool,
    /// With --corpus: the target, dU@3, dE@1, ..., or of one arm pre.U@3, post.E@1, ...
    #[arg(long, value_name = "TARGET", requires = "corpus")]
    target: Option<Target>,
    /// Share of opportunities that stays allowed [default: the runs', or 0.8]
    #[arg(long, value_name = "SHARE")]
    retain: Option<Retain>,
    /// Bootstrap draws
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    draws: u32,
    /// Folder for compare.json, report.html, tables and plots
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` for what cannot be read or compared, `Failure::Usage` for unknown names, `Failure::Other` for the
/// output.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let foreign: Vec<ForeignScores> =
        args.foreign.iter().map(|given| foreign_scores(given)).collect::<Result<_, _>>()?;
    let (boundaries, triggers, notes, best, seed) = gather(args, &foreign, global)?;
    let known = boundaries.records.iter().map(|record| record.boundary_id.as_str()).collect();
    strangers(&foreign, &known).iter().for_each(|note| say(&format!("note: {note}")));
    let reference = args.against.clone().or_else(|| foreign.first().map(|(name, _)| name.clone())).or(best);
    let plan = Plan { seed, draws: args.draws, reference, yardstick: args.yardstick };
    let mut comparison = compare(&boundaries, &triggers, &plan)?;
    comparison.notes.splice(0..0, notes);
    let report = RunReport::of_comparison(&comparison, "comparison")?;
    if let Some(folder) = &args.out {
        files::no_other_run(folder, &[])?;
        let text = to_json(&comparison)?;
        files::write(&folder.join("compare.json"), text.as_bytes())?;
        let page = files::write_all(folder, std::slice::from_ref(&report))?;
        say(&format!("wrote {}", page.display()));
    }
    if global.json { print(&to_json(&comparison)?) } else { print(&overview(&comparison, &report)) }
}

fn to_json(comparison: &Comparison) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(comparison).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(format!("{text}\n"))
}

type Gathered = (Boundaries, Vec<Trigger>, Vec<String>, Option<String>, u64);

/// Boundaries, triggers, notes, the name of the best of the first run, and the seed.
fn gather(args: &Args, foreign: &[ForeignScores], global: &Global) -> Result<Gathered, Failure> {
    if let Some(path) = &args.corpus {
        let given = CorpusArgs { corpus: path.clone(), conventions: args.conventions.clone(), strict: false };
        let corpus = given.load()?;
        let target = args.target.unwrap_or(Target::PRIMARY);
        let boundaries = Boundaries::of_corpus(&corpus, target, args.retain.unwrap_or(Retain::PAPER))?;
        let (rules, notes) = rules(&corpus, target, global.seed)?;
        let mut triggers = with_scores(foreign, &boundaries)?;
        triggers.extend(rules);
        return Ok((boundaries, unique(triggers)?, notes, None, global.seed));
    }
    let runs: Vec<Run> = args.runs.iter().map(|path| Run::open(path)).collect::<Result<_, _>>()?;
    let boundaries = Boundaries::of_runs(&runs, args.retain)?;
    let mut triggers = Vec::new();
    let mut found = BTreeSet::new();
    for run in &runs {
        let scores = run.scores()?;
        for cell in &run.results.cells {
            let wanted = args.cells.is_empty() || args.cells.contains(&cell.name);
            // its only points are ON and OFF, which every frontier has
            let constant = args.cells.is_empty() && cell.distinct_scores == 1;
            if wanted && !constant {
                found.insert(cell.name.clone());
                let trigger = run.trigger(&scores, &cell.name, &boundaries)?;
                let twice =
                    runs.iter().filter(|other| other.results.cells.iter().any(|c| c.name == cell.name)).count() > 1;
                let name = if twice { format!("{}:{}", run.name, cell.name) } else { cell.name.clone() };
                triggers.push(Trigger { name, ..trigger });
            }
        }
    }
    if let Some(missing) = args.cells.iter().find(|cell| !found.contains(*cell)) {
        return Err(Failure::Usage(format!("--cells {missing}: no run holds this trigger")));
    }
    triggers.extend(with_scores(foreign, &boundaries)?);
    let headline = Reading::of(&runs[0].results).headline.map(|index| runs[0].results.cells[index].name.clone());
    let best = headline.and_then(|name| {
        let own = |trigger: &&Trigger| trigger.from == runs[0].name && trigger.name.ends_with(&name);
        triggers.iter().find(own).map(|trigger| trigger.name.clone())
    });
    let seed = runs[0].results.seed;
    Ok((boundaries, unique(triggers)?, Vec::new(), best, seed))
}

fn with_scores(foreign: &[ForeignScores], boundaries: &Boundaries) -> Result<Vec<Trigger>, Failure> {
    foreign.iter().map(|(name, given)| boundaries.scores(name, given)).collect()
}

fn unique(triggers: Vec<Trigger>) -> Result<Vec<Trigger>, Failure> {
    let mut names = BTreeSet::new();
    match triggers.iter().find(|trigger| !names.insert(trigger.name.as_str())) {
        Some(twice) => {
            Err(Failure::Usage(format!("two triggers are called {}: give one of them another name", twice.name)))
        }
        None => Ok(triggers),
    }
}

fn overview(comparison: &Comparison, report: &RunReport) -> String {
    let mut out = String::new();
    for verdict in &report.report.verdicts {
        out.push_str(&format!("- {}\n", plain(&verdict.line)));
    }
    for table in report.report.tables().take(2) {
        let rows: Vec<Vec<String>> = std::iter::once(table.columns.iter().map(|column| column.head.clone()).collect())
            .chain(table.rows.iter().map(|row| row.cells.iter().map(|line| plain(line)).collect()))
            .collect();
        let width = |column: usize| {
            rows.iter()
                .filter_map(|row: &Vec<String>| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        out.push_str(&format!("\n{}\n", table.title));
        for row in &rows {
            for (column, cell) in row.iter().enumerate() {
                let room = width(column) - cell.chars().count();
                let pad = " ".repeat(room);
                let numeric = table.columns[column].numeric;
                out.push_str(&if numeric { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") });
            }
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
        }
    }
    for note in &comparison.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    out
}
