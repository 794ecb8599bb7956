//! `foldline demo`: the main job on a simulated cohort, from a corpus to a judged trigger and a frozen policy.

use super::evaluate::write_run;
use super::{Failure, Global, print, say};
use crate::clock::Stopwatch;
use crate::evaluate::protocol::Protocol;
use crate::evaluate::run_folder::{Manifest, RunFolder};
use crate::evaluate::{Plan, evaluate};
use crate::files::{stream_whole, write_whole};
use crate::input::open;
use crate::progress::Progress;
use crate::simulate::{Cohort, Config, catalogue};
use clap::Args as ClapArgs;
use foldline_features::Profile;
use foldline_features::corpus::{Options, boundary_line, read_corpus};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Run the main job on a simulated cohort: simulate, evaluate, report
///
/// Everything it writes stands in one folder, with the commands that would do the same step by step.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline demo && open demo/report/index.html")]
pub struct Args {
    /// Folder to write
    #[arg(long, default_value = "demo", value_name = "DIR")]
    out: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Other` when the folder cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let out = &args.out;
    let cannot =
        |path: &Path, error: std::io::Error| Failure::Other(format!("{}: cannot be written: {error}", path.display()));
    std::fs::create_dir_all(out).map_err(|error| cannot(out, error))?;

    let corpus_file = out.join("cohort.jsonl");
    let config = Config { seed: global.seed, with_tokens: true, ..Config::scaled(590) };
    let cohort = Cohort::generate(&config).map_err(|error| Failure::Other(error.to_string()))?;
    stream_whole(&corpus_file, |file| {
        cohort.into_iter().try_for_each(|simulated| writeln!(file, "{}", boundary_line(&simulated.boundary)))
    })
    .map_err(|error| cannot(&corpus_file, error))?;
    let methods = catalogue::method_map();
    let methods_file = out.join("functions.csv");
    write_whole(&methods_file, methods.as_bytes()).map_err(|error| cannot(&methods_file, error))?;
    say(&format!("simulated {} boundaries: {}", config.boundaries, corpus_file.display()));

    let mut profile = Profile::appworld();
    profile.add_methods(&methods).map_err(Failure::Other)?;
    let reader = open(&corpus_file, Options::new(profile))?;
    let corpus = read_corpus(reader).map_err(|error| Failure::Data(error.to_string()))?;
    let plan = Plan {
        protocol: Protocol::builtin("quick").expect("the quick protocol is built in"),
        seed: global.seed,
        draws: None,
        fold_files: BTreeMap::new(),
        foreign: Vec::new(),
        sensitivity_cells: Vec::new(),
        stages: BTreeSet::new(),
    };
    let folder = RunFolder::create(&out.join("run"))?;
    let evaluation = evaluate(&corpus, &plan, None, &Progress::on_terminal())?;
    let command =
        ["foldline", "evaluate", "cohort.jsonl", "--methods", "functions.csv", "--protocol", "quick", "--out", "run"];
    let manifest = Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.map(str::to_owned).to_vec(),
        seed: global.seed,
        threads: rayon::current_num_threads(),
        started_unix_seconds: watch.started_unix_seconds(),
        elapsed_seconds: watch.seconds(),
        stages: Vec::new(),
        corpus: "cohort.jsonl".to_owned(),
        corpus_sha256: corpus.sha256.clone(),
    };
    write_run(&folder, &evaluation, &manifest)?;
    print(&super::evaluate::overview(&evaluation))?;
    say(&format!("evaluated: {}", folder.path().display()));
    Ok(())
}
