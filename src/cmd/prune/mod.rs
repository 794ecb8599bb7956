//! `foldline prune`: remove the entries of a summary that have no source; and the analyses of what was removed.

mod annotate;
#[cfg(feature = "study")]
mod arms;
mod construct;
mod filter;
mod judges;
mod lines;
#[cfg(feature = "study")]
mod report;
#[cfg(feature = "study")]
mod sequences;
mod steps;
mod trajectories;
#[cfg(feature = "study")]
mod validate;

use super::{Failure, Global, print, say};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use foldline_pruner::prune::Tau;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  foldline prune --summary summary.md --history steps.jsonl --task \"Pay Melissa back\" > pruned.md
  foldline prune --summary summary.md --history session.jsonl --judge jev --shadow --account account.json
  foldline prune --stream < requests.jsonl
  foldline prune report --summaries summaries.jsonl --histories trajectories.jsonl --labels labels.jsonl --json

Exit codes: 0 a summary came out, pruned or as it was (the reason is on stderr); 65 input that cannot be read (a readable
summary still comes out as it was); 2 usage; 1 anything else.";

/// Remove the entries of a compaction summary that have no source in the environment's outputs
///
/// Stdout is exactly the summary; scores and reasons go to stderr, or to --account, or with --json everything to stdout.
/// Whatever goes wrong, the summary comes out as it was.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    analysis: Option<Analysis>,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Debug, Subcommand)]
enum Analysis {
    #[cfg(feature = "study")]
    Report(Box<report::Args>),
    Annotate(annotate::Args),
    Construct(construct::Args),
}

/// What is pruned.
#[derive(Debug, ClapArgs)]
pub struct FilterArgs {
    /// The summary; `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "stream")]
    summary: Option<PathBuf>,
    /// The compressed history: JSON lines of {action, observation}, or a log that `import` reads
    #[arg(long, value_name = "FILE", requires = "summary")]
    history: Option<PathBuf>,
    /// The committed (pruned) summary of the boundary before: a source
    #[arg(long, value_name = "FILE", requires = "summary")]
    previous: Option<PathBuf>,
    /// The task, as text or as a file: context, not a source. Without it no word counts as the task's
    #[arg(long, value_name = "TEXT|FILE", requires = "summary")]
    task: Option<String>,
    /// The interaction kept verbatim, in a format of --history
    #[arg(long, value_name = "FILE", requires = "summary")]
    recent: Option<PathBuf>,
    /// Score from which an entry stays
    #[arg(long, default_value = "0.5", value_name = "P")]
    tau: Tau,
    /// Score, but print the summary as it came
    #[arg(long)]
    shadow: bool,
    /// Prose: untouched if there are list items and split into lines otherwise (auto), untouched (keep), split (split)
    #[arg(long, value_enum, default_value = "auto")]
    prose: ProseName,
    /// Write the account as JSON
    #[arg(long, value_name = "FILE", requires = "summary")]
    account: Option<PathBuf>,
    /// Answer JSON requests, one a line, until stdin ends; a request's `session` remembers its last summary
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    judge: judges::JudgeArgs,
}

/// What happens to prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProseName {
    Auto,
    Keep,
    Split,
}

/// Runs the verb.
///
/// # Errors
/// As the exit codes of `--help` say.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    match &args.analysis {
        None => filter::run(&args.filter, global),
        #[cfg(feature = "study")]
        Some(Analysis::Report(args)) => report::run(args, global),
        Some(Analysis::Annotate(args)) => annotate::run(args),
        Some(Analysis::Construct(args)) => construct::run(args),
    }
}
