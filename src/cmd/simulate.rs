//! `simulate`: a cohort of the published shape whose law of burden is known.

use super::{Failure, Global, print, say};
use crate::files;
use crate::simulate::{Account, Cohort, Config, Line, catalogue};
use foldline_features::corpus::boundary_line;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Write a simulated cohort: the published shape, a known law of burden
///
/// Counts are met exactly where the size allows; a table of planned and achieved figures goes to stderr. The same
/// options give the same bytes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  foldline simulate --out cohort.jsonl.gz --method-map functions.csv\n  foldline evaluate \
                        cohort.jsonl.gz --methods functions.csv --cells boosted/H --folds stem:5 --out run"
)]
pub struct Args {
    /// Corpus to write: .jsonl, .jsonl.gz or .jsonl.zst
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Boundaries; the sizes below follow in the published proportions unless given
    #[arg(long, default_value_t = 590, value_name = "N")]
    boundaries: usize,
    /// Trajectories, each with one first compaction [published: 275]
    #[arg(long, value_name = "N")]
    trajectories: Option<usize>,
    /// Tasks [published: 140]
    #[arg(long, value_name = "N")]
    tasks: Option<usize>,
    /// Stems, scenarios that tasks share [published: 48]
    #[arg(long, value_name = "N")]
    stems: Option<usize>,
    /// Rollouts an arm at first compactions
    #[arg(long, default_value_t = 5, value_name = "N")]
    rollouts_first: usize,
    /// Rollouts an arm at later compactions
    #[arg(long, default_value_t = 3, value_name = "N")]
    rollouts_later: usize,
    /// Strength of the link between history and harm: 0 none, 1 as published
    #[arg(long, default_value_t = 1.0, value_name = "X")]
    signal: f64,
    /// Write the ordered steps before each boundary too
    #[arg(long)]
    with_prefix: bool,
    /// Write token counts before and after each compaction too
    #[arg(long)]
    with_tokens: bool,
    /// Write the cohort's method map (function,method,session) here
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
}

impl Args {
    fn config(&self, seed: u64) -> Config {
        let mut config = Config::scaled(self.boundaries);
        config.trajectories = self.trajectories.unwrap_or(config.trajectories);
        config.tasks = self.tasks.unwrap_or(config.tasks);
        config.stems = self.stems.unwrap_or(config.stems);
        Config {
            rollouts_first: self.rollouts_first,
            rollouts_later: self.rollouts_later,
            seed,
            signal: self.signal,
            with_prefix: self.with_prefix,
            with_tokens: self.with_tokens,
            ..config
        }
    }
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Usage` where sizes do not fit together or the file's name says no known format, `Failure::Other` where a
/// file cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let packing = Packing::of(&args.out)?;
    let cohort = Cohort::generate(&args.config(global.seed)).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut account = Account::of(&cohort);
    files::stream_whole(&args.out, |out| write_corpus(cohort, &mut account, packing, out))
        .map_err(|error| cannot(&args.out, &error))?;
    if let Some(path) = &args.method_map {
        files::write_whole(path, catalogue::method_map().as_bytes()).map_err(|error| cannot(path, &error))?;
    }
    let lines = account.lines();
    if global.json {
        return print(&format!("{:#}\n", json!({"out": args.out, "account": lines})));
    }
    say(&format!("{:40} {:>14} {:>14}", "", "planned", "achieved"));
    for Line { what, planned, achieved } in lines {
        say(&format!("{what:40} {planned:>14} {achieved:>14}"));
    }
    Ok(())
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::Other(format!("cannot write {}: {error}; choose another place or free space there", path.display()))
}

/// How the lines are packed, by the file's name.
#[derive(Clone, Copy, Debug)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    fn of(path: &Path) -> Result<Packing, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl" | "ndjson") => Ok(Packing::Plain),
            Some("gz") => Ok(Packing::Gzip),
            Some("zst") => Ok(Packing::Zstd),
            _ => Err(Failure::Usage(format!(
                "--out {}: the name must end in .jsonl, .jsonl.gz or .jsonl.zst",
                path.display()
            ))),
        }
    }
}

fn write_corpus(cohort: Cohort, account: &mut Account, packing: Packing, out: &mut dyn Write) -> io::Result<()> {
    match packing {
        Packing::Plain => write_lines(cohort, account, out),
        Packing::Gzip => {
            // the header holds no time, so equal cohorts are equal files
            let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            write_lines(cohort, account, &mut packed)?;
            packed.finish().map(|_| ())
        }
        Packing::Zstd => {
            let mut packed = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            write_lines(cohort, account, &mut packed)?;
            packed.finish().map(|_| ())
        }
    }
}

fn write_lines(cohort: Cohort, account: &mut Account, out: &mut dyn Write) -> io::Result<()> {
    for simulated in cohort {
        account.add(&simulated);
        writeln!(out, "{}", boundary_line(&simulated.boundary))?;
    }
    Ok(())
}
