//! The verbs, one file each: parse, read, compute, print.

#[cfg(feature = "study")]
mod check;
#[cfg(feature = "study")]
mod compare;
mod decide;
#[cfg(feature = "study")]
mod demo;
#[cfg(feature = "study")]
mod evaluate;
#[cfg(feature = "study")]
mod export;
#[cfg(feature = "tables")]
mod features;
#[cfg(feature = "study")]
mod fit;
mod hook;
#[cfg(feature = "import")]
mod import;
mod policy;
#[cfg(feature = "prune")]
mod prune;
mod replay;
#[cfg(feature = "study")]
mod report;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "study")]
mod simulate;
#[cfg(all(feature = "import", feature = "study"))]
mod survey;
#[cfg(feature = "study")]
mod yardstick;

use clap::{Args, Parser, Subcommand};
use std::fmt;
use std::io::Write;

/// Decide when an agent's context may be compacted, and what of a new summary may stay.
#[derive(Debug, Parser)]
#[command(name = "foldline", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Verb,
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Base seed of every random stream
    #[arg(long, global = true, default_value_t = 20260901, value_name = "N")]
    pub seed: u64,
    /// Worker threads; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Machine-readable output on stdout
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[cfg(feature = "study")]
    Demo(demo::Args),
    #[cfg(feature = "study")]
    Check(check::Args),
    #[cfg(feature = "study")]
    Evaluate(Box<evaluate::Args>),
    #[cfg(feature = "study")]
    Yardstick(yardstick::Args),
    #[cfg(feature = "study")]
    Export(export::Args),
    #[cfg(feature = "tables")]
    Features(features::Args),
    #[cfg(feature = "study")]
    Fit(fit::Args),
    #[cfg(feature = "study")]
    Report(report::Args),
    #[cfg(feature = "study")]
    Compare(Box<compare::Args>),
    Decide(decide::Args),
    Hook(hook::Args),
    Policy(policy::Args),
    Replay(replay::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    #[cfg(feature = "study")]
    Simulate(simulate::Args),
    #[cfg(feature = "import")]
    Import(import::Args),
    #[cfg(all(feature = "import", feature = "study"))]
    Survey(survey::Args),
    #[cfg(feature = "prune")]
    Prune(Box<prune::Args>),
}

/// Why a run ended without its result.
#[derive(Debug)]
pub enum Failure {
    /// The command line cannot be obeyed: exit code 2.
    Usage(String),
    /// What was given cannot be read or does not hold together: exit code 65.
    Data(String),
    /// Anything else, such as an output that cannot be written: exit code 1.
    Other(String),
}

impl Failure {
    /// The same failure with the file it is about in front.
    pub fn of_file(self, path: &std::path::Path) -> Failure {
        match self {
            Failure::Data(text) => Failure::Data(format!("{}: {text}", path.display())),
            other => other,
        }
    }

    /// The exit code: 2 usage, 65 bad data, 1 anything else.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Data(_) => 65,
            Failure::Other(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Data(text) | Failure::Other(text) => f.write_str(text),
        }
    }
}

/// Runs the command line and gives the exit code; errors go to stderr.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // help and version are no failures, and clap knows which stream is theirs
            let code = if error.use_stderr() { usage_code() } else { 0 };
            return error.print().map_or(1, |()| code);
        }
    };
    #[cfg(feature = "study")]
    let outcome = set_threads(&cli.global).and_then(|()| run(cli));
    #[cfg(not(feature = "study"))]
    let outcome = run(cli);
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            say(&format!("error: {failure}"));
            failure.code()
        }
    }
}

/// The exit code of a command line that cannot be obeyed: 2, but 1 for `hook`, where Claude Code takes 2 for a veto.
fn usage_code() -> u8 {
    if std::env::args_os().skip(1).any(|word| word == "hook") { 1 } else { 2 }
}

/// Runs a command line given in words, as the demo does.
///
/// # Errors
/// Those of the verb; `Failure::Usage` for words that are no command line.
#[cfg(feature = "study")]
fn run_words(words: &[&str]) -> Result<(), Failure> {
    run(Cli::try_parse_from(words).map_err(|error| Failure::Usage(error.to_string()))?)
}

fn run(cli: Cli) -> Result<(), Failure> {
    let global = &cli.global;
    match cli.verb {
        #[cfg(feature = "study")]
        Verb::Demo(args) => demo::run(&args, global),
        #[cfg(feature = "study")]
        Verb::Check(args) => check::run(&args, global),
        #[cfg(feature = "study")]
        Verb::Yardstick(args) => yardstick::run(&args, global),
        #[cfg(feature = "study")]
        Verb::Evaluate(args) => evaluate::run(&args, global),
        #[cfg(feature = "study")]
        Verb::Export(args) => export::run(&args, global),
        #[cfg(feature = "tables")]
        Verb::Features(args) => features::run(&args, global),
        #[cfg(feature = "study")]
        Verb::Fit(args) => fit::run(&args, global),
        #[cfg(feature = "study")]
        Verb::Report(args) => report::run(&args, global),
        #[cfg(feature = "study")]
        Verb::Compare(args) => compare::run(&args, global),
        Verb::Decide(args) => decide::run(&args),
        Verb::Hook(args) => hook::run(&args, global),
        Verb::Policy(args) => policy::run(&args, global),
        Verb::Replay(args) => replay::run(&args, global),
        #[cfg(feature = "serve")]
        Verb::Serve(args) => serve::run(&args),
        #[cfg(feature = "study")]
        Verb::Simulate(args) => simulate::run(&args, global),
        #[cfg(feature = "import")]
        Verb::Import(args) => import::run(&args, global),
        #[cfg(all(feature = "import", feature = "study"))]
        Verb::Survey(args) => survey::run(&args, global),
        #[cfg(feature = "prune")]
        Verb::Prune(args) => prune::run(&args, global),
    }
}

/// More threads than this are a slip of the hand, and starting them would stall the machine.
#[cfg(feature = "study")]
const MOST_THREADS: usize = 1024;

/// Applies `--threads`; results do not depend on it.
#[cfg(feature = "study")]
fn set_threads(global: &Global) -> Result<(), Failure> {
    let Some(threads) = global.threads else { return Ok(()) };
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(Failure::Usage(format!("--threads {threads}: expected 1 to {MOST_THREADS}")));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| Failure::Other(format!("cannot start {threads} threads: {error}")))
}

/// Writes a line to stderr; a closed stderr is no reason to stop.
pub fn say(line: &str) {
    writeln!(std::io::stderr().lock(), "{line}").unwrap_or_default();
}

/// Writes data to stdout. A reader that has gone away (`| head`) ends the run quietly.
///
/// # Errors
/// `Failure::Other` when stdout cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Other(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
