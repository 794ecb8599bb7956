//! `foldline import`: session logs and replay releases to the native corpus.

use super::{Failure, Global, print, say};
use crate::files::stream_whole;
use crate::import::account::Account;
use crate::import::boundaries::Options;
use crate::import::formats::{Format, detect};
use crate::import::redact::Redactor;
use crate::import::source::{Limits, discover};
use crate::import::{pair, run, trace};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use foldline_features::profile::Profile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Convert session logs or a replay release to the native corpus
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: the sessions of a coding agent, with would-be boundaries every 40,000 tokens
  foldline import pi ~/.pi/agent/sessions --every 40000 --out corpus.jsonl
  foldline check corpus.jsonl --profile coding

The account of what was read and left out goes to stderr (to stdout as JSON with --json and --out).")]
pub struct Args {
    /// What the sources are
    #[arg(value_enum, required_unless_present_any = ["print_profile", "print_mapping"])]
    kind: Option<Kind>,
    /// Files or folders
    #[arg(required_unless_present_any = ["print_profile", "print_mapping"])]
    sources: Vec<PathBuf>,
    /// Write here instead of stdout, whole or not at all
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add would-be boundaries where the tokens since the last boundary exceed this
    #[arg(long, value_name = "TOKENS")]
    every: Option<u64>,
    /// Count tokens from the texts (o200k) even where the log has counts
    #[arg(long)]
    recount: bool,
    /// Tool profile (TOML) instead of the built-in one for coding agents
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Print the built-in tool profile and stop
    #[arg(long)]
    print_profile: bool,
    /// Write no ordered steps, only what is derived from them: smaller, and tied to the profile
    #[arg(long)]
    no_prefix: bool,
    /// What sessions without a task count as the same scenario
    #[arg(long, value_enum, default_value_t = Stem::Session)]
    stem: Stem,
    /// Replace arguments and observations by hashes; features stay usable
    #[arg(long)]
    redact: bool,
    /// Secret key of the hashes: without one, guessable words can be guessed
    #[arg(long, value_name = "FILE", requires = "redact")]
    redact_key: Option<PathBuf>,
    /// TRACE: where the release's fields stand (TOML)
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Print the built-in TRACE mapping and stop
    #[arg(long)]
    print_mapping: bool,
    /// PAIR: only the first draws, on which no boundary was selected
    #[arg(long)]
    round0_only: bool,
    /// Leave out larger files
    #[arg(long, value_name = "MB", default_value_t = 512)]
    max_file_mb: u64,
}

/// A format of logs, or one of the sources that are more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Logs(Format),
    Pair,
    Trace,
    Auto,
}

/// The kinds in the order of the help.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    // a trajectory of PAIR is read where a folder holds no boundaries of it
    let logs = Format::all().iter().filter(|&&format| format != Format::PairTrajectory);
    logs.map(|&format| Kind::Logs(format)).chain([Kind::Pair, Kind::Trace, Kind::Auto]).collect()
});

impl ValueEnum for Kind {
    fn value_variants<'a>() -> &'a [Kind] {
        &KINDS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Kind::Logs(format) => return format.to_possible_value(),
            Kind::Pair => ("pair", "PAIR: boundaries with rollouts, or trajectories of evaluation runs"),
            Kind::Trace => ("trace", "TRACE: a local clone of the release"),
            Kind::Auto => ("auto", "Each file by what it begins with (logs only)"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Stem {
    /// Every session is its own scenario
    Session,
    /// Sessions in one working directory share a scenario
    Folder,
}

/// Runs the verb.
///
/// # Errors
/// `Data` when nothing could be read, `Other` when the output cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    if args.print_profile {
        return print(Profile::CODING_AGENT);
    }
    if args.print_mapping {
        return print(trace::DEFAULT_MAPPING);
    }
    let Some(kind) = args.kind else { return Err(Failure::Usage("name a kind and sources".to_owned())) };
    let profile = match &args.profile {
        Some(path) => read_profile(path)?,
        None => Profile::coding_agent(),
    };
    let options = Options {
        every: args.every,
        profile,
        with_prefix: !args.no_prefix,
        recount: args.recount,
        stem_is_folder: args.stem == Stem::Folder,
        redactor: redactor(args)?,
    };
    if args.redact && matches!(kind, Kind::Trace | Kind::Pair) {
        return Err(Failure::Usage("--redact is for session logs; these releases are shared as they are".to_owned()));
    }
    let mut account = Account::default();
    let mut problem = None;
    let mut fill = |out: &mut dyn Write| -> io::Result<()> {
        match import(kind, args, &options, &mut account, out) {
            Ok(()) if account.sessions + account.paired_boundaries > 0 => Ok(()),
            Ok(()) => {
                problem = Some(Failure::Data("nothing could be read".to_owned()));
                Err(io::Error::other("nothing could be read"))
            }
            Err(Stop::Write(error)) => Err(error),
            Err(Stop::Failure(failure)) => {
                problem = Some(failure);
                Err(io::Error::other("stopped"))
            }
        }
    };
    let written = match &args.out {
        Some(path) => stream_whole(path, fill),
        None => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            fill(&mut out).and_then(|()| out.flush())
        }
    };
    let broken_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe && args.out.is_none();
    let result = match (written, problem) {
        (_, Some(failure)) => Err(failure),
        (Err(error), None) if !broken_pipe(&error) => Err(Failure::Other(format!("cannot write: {error}"))),
        _ => Ok(()),
    };
    tell(&account, global.json, args.out.is_some())?;
    result
}

fn tell(account: &Account, as_json: bool, stdout_is_free: bool) -> Result<(), Failure> {
    match (as_json, stdout_is_free) {
        (true, true) => print(&format!("{:#}\n", account.json())),
        (true, false) => {
            say(&account.json().to_string());
            Ok(())
        }
        (false, _) => {
            say(account.text().trim_end());
            Ok(())
        }
    }
}

/// Reads a tool profile.
///
/// # Errors
/// `Data` when it cannot be read.
pub(super) fn read_profile(path: &Path) -> Result<Profile, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Data(format!("{}: cannot be read: {error}", path.display())))?;
    Profile::from_toml(&text).map_err(|error| Failure::Data(format!("{}: {error}", path.display())))
}

fn redactor(args: &Args) -> Result<Option<Redactor>, Failure> {
    match (args.redact, &args.redact_key) {
        (false, _) => Ok(None),
        (true, None) => Ok(Some(Redactor::default())),
        (true, Some(path)) => match std::fs::read(path) {
            Ok(key) if !key.is_empty() => Ok(Some(Redactor::new(key))),
            Ok(_) => Err(Failure::Usage(format!("{}: the key is empty", path.display()))),
            Err(error) => Err(Failure::Usage(format!("{}: the key cannot be read: {error}", path.display()))),
        },
    }
}

enum Stop {
    Write(io::Error),
    Failure(Failure),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Write(error)
    }
}

fn import(kind: Kind, args: &Args, options: &Options, account: &mut Account, out: &mut dyn Write) -> Result<(), Stop> {
    let limits = Limits { file_bytes: args.max_file_mb.saturating_mul(1 << 20), ..Limits::default() };
    match kind {
        Kind::Logs(format) => account.merge(run::import_logs(format, &args.sources, limits, options, out)?),
        Kind::Auto => {
            let mut formats = Vec::new();
            let wanted =
                |path: &Path, is_folder: bool| Format::all().iter().any(|format| format.wants(path, is_folder));
            for path in discover(&args.sources, &wanted, &mut account.left_out) {
                match detect(&path) {
                    // code and tool calls are read with different profiles, so they are no one corpus
                    Some(format @ (Format::PairTrajectory | Format::Appworld)) => {
                        let reason = format!("trajectory of code (use import {format})");
                        account.left_out.add(reason, 1, Some(path.display().to_string()));
                    }
                    Some(format) => formats.push((format, path)),
                    None => account.left_out.add("file of no known format", 1, Some(path.display().to_string())),
                }
            }
            for &format in Format::all() {
                let paths: Vec<PathBuf> =
                    formats.iter().filter(|(of, _)| *of == format).map(|(_, path)| path.clone()).collect();
                if !paths.is_empty() {
                    account.merge(run::import_units(format, &paths, limits, options, out)?);
                }
            }
        }
        Kind::Pair => {
            let is_boundaries = |path: &Path, is_folder: bool| !is_folder && path.ends_with("boundaries.jsonl");
            let found = discover(&args.sources, &is_boundaries, &mut Default::default());
            let folders: Vec<&Path> = found.iter().filter_map(|path| path.parent()).collect();
            let paired: Vec<&Path> =
                folders.into_iter().filter(|folder| folder.join("rollouts.jsonl").is_file()).collect();
            if paired.is_empty() {
                account.merge(run::import_logs(Format::PairTrajectory, &args.sources, limits, options, out)?);
            }
            for folder in paired {
                let mut write = Lines::new(out);
                let read =
                    pair::read_paired(folder, limits, &options.profile, args.round0_only, account, &mut |draft| {
                        write.line(draft.line());
                    });
                write.result?;
                match read {
                    Ok(()) => account.sources += 1,
                    Err(error) => account.left_out.add(error.to_string(), 1, Some(folder.display().to_string())),
                }
            }
        }
        Kind::Trace => {
            let wrong = |error: trace::TraceError| Stop::Failure(Failure::Data(error.to_string()));
            let text = match &args.mapping {
                Some(path) => std::fs::read_to_string(path).map_err(|error| {
                    Stop::Failure(Failure::Usage(format!("{}: cannot be read: {error}", path.display())))
                })?,
                None => String::new(),
            };
            let mapping = trace::Mapping::parse(&text).map_err(wrong)?;
            for folder in &args.sources {
                let mut write = Lines::new(out);
                trace::read(folder, &mapping, limits, account, &mut |draft| write.line(draft.line())).map_err(wrong)?;
                write.result?;
                account.sources += 1;
            }
        }
    }
    Ok(())
}

/// Writes lines and keeps the first error.
struct Lines<'a> {
    out: &'a mut dyn Write,
    result: io::Result<()>,
}

impl<'a> Lines<'a> {
    fn new(out: &'a mut dyn Write) -> Lines<'a> {
        Lines { out, result: Ok(()) }
    }

    fn line(&mut self, line: String) {
        if self.result.is_ok() {
            self.result = writeln!(self.out, "{line}");
        }
    }
}
