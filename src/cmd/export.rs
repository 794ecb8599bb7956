//! `foldline export`: a fitted model becomes a frozen policy.

use super::{Failure, Global, print, say};
use crate::evaluate::run_folder::RunFolder;
use crate::files::write_whole;
use crate::freeze::evidence::{HeldOut, measure, of_run};
use crate::freeze::model_file::ModelFile;
use crate::freeze::{freeze, median_threshold};
use clap::Args as ClapArgs;
use foldline_frontiers::Retain;
use foldline_models::policy::{Guards, Share, Threshold};
use std::path::PathBuf;

/// Freeze a fitted model: threshold, guards, evidence, conformance vectors and hash in one file
///
/// The threshold is the median over the repetitions of each repetition's operating point. The evidence says what that
/// threshold does on held-out rows; --evidence adds the intervals of a run on the same corpus, cell and target.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  foldline export model.json --retain 0.8 --evidence run --out policy.json\n  foldline policy show policy.json --window 200000"
)]
pub struct Args {
    /// The model file that `fit` wrote
    model: PathBuf,
    /// Share of boundaries that must stay allowed, such as 0.8 or 4/5
    #[arg(long, default_value = "0.8", value_name = "SHARE")]
    retain: Retain,
    /// Run folder whose intervals are added
    #[arg(long, value_name = "RUN")]
    evidence: Option<PathBuf>,
    /// A name for people [default: cell and target]
    #[arg(long)]
    name: Option<String>,
    /// Always allow from this share of the window on
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    hard_ceiling_share: f64,
    /// Tokens that the compaction itself needs below the ceiling
    #[arg(long, value_name = "TOKENS", default_value_t = 0)]
    summary_reserve_tokens: u64,
    /// Blocks in a row from which on nothing but a pending tool result blocks
    #[arg(long, value_name = "N", default_value_t = 3)]
    max_consecutive_blocks: u64,
    /// Block below this share of the window
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    min_fill_share: f64,
    /// Growth since the last compaction, as a share of the window, below which to block
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    cooldown_growth_share: f64,
    /// Policy file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` for the model file and the run, `Failure::Usage` for guards that cannot hold, `Failure::Other` for
/// the output.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let guards = args.guards()?;
    let model = ModelFile::read(&args.model)?;
    let threshold = median_threshold(&HeldOut::of(&model), args.retain)?;
    let mut evidence = measure(&model, threshold, args.retain)?;
    if let Some(path) = &args.evidence {
        evidence.run = Some(of_run(&model, &RunFolder::open(path)?.results()?)?);
    }
    let verdict = evidence.verdict.clone();
    let name = args.name.clone().unwrap_or_else(|| format!("{} for {}", model.cell, model.target));
    let policy = freeze(&model, name, threshold, guards, evidence)?;
    write_whole(&args.out, policy.to_json().as_bytes())
        .map_err(|error| Failure::Other(format!("{}: {error}", args.out.display())))?;
    if global.json {
        let evidence = serde_json::to_string_pretty(&policy.file().evidence);
        print(&format!("{}\n", evidence.map_err(|error| Failure::Other(error.to_string()))?))?;
    } else {
        let threshold = match threshold {
            Threshold::AtLeast(threshold) => format!("{threshold}"),
            Threshold::Never => "never".to_owned(),
        };
        print(&format!("threshold {threshold}\nsha256    {}\n{verdict}\n", policy.sha256()))?;
    }
    say(&format!("wrote {}; next: foldline policy show {}", args.out.display(), args.out.display()));
    Ok(())
}

impl Args {
    fn guards(&self) -> Result<Guards, Failure> {
        let share = |name: &str, value: f64| {
            Share::new(value).map_err(|problem| Failure::Usage(format!("--{name}: {problem}")))
        };
        let guards = Guards {
            hard_ceiling_share: share("hard-ceiling-share", self.hard_ceiling_share)?,
            summary_reserve_tokens: self.summary_reserve_tokens,
            max_consecutive_blocks: self.max_consecutive_blocks,
            min_fill_share: share("min-fill-share", self.min_fill_share)?,
            cooldown_growth_share: share("cooldown-growth-share", self.cooldown_growth_share)?,
        };
        guards.check().map_err(Failure::Usage)?;
        Ok(guards)
    }
}
