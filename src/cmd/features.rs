//! `foldline features`: a representation of a corpus as a table with named columns.

use super::{Failure, Global, say};
use crate::files::stream_whole;
use crate::input::CorpusArgs;
use clap::Args as ClapArgs;
use foldline_features::{Extractor, Representation};
use foldline_tables::{Format, write_features};
use std::io;
use std::path::PathBuf;

/// Write one representation of a corpus as Parquet or CSV with named columns
///
/// Dense columns bear their names; the 0/1 columns of R1, R2 and R3 are one column `ones` that lists the names of those
/// that are 1.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline features cohort.jsonl.gz --representation R1 --out r1.parquet")]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// six, six-substantive, pair, pair-substantive, H, HT, H+S, R1, R2 or R3
    #[arg(long, default_value = "H", value_name = "NAME")]
    representation: Representation,
    /// Output file; its ending, .parquet or .csv, is its format
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Usage` for an unknown ending, `Failure::Data` for the corpus, `Failure::Other` for the output.
pub fn run(args: &Args, _global: &Global) -> Result<(), Failure> {
    let format = match args.out.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => Format::Parquet,
        Some("csv") => Format::Csv,
        _ => {
            return Err(Failure::Usage(format!(
                "--out {}: expected a name ending in .parquet or .csv",
                args.out.display()
            )));
        }
    };
    let corpus = args.corpus.load()?;
    let prefixes = || corpus.boundaries.iter().map(|boundary| &boundary.prefix);
    let extractor = Extractor::for_cohort(args.representation, corpus.profile.clone(), prefixes());
    let table = extractor.table(prefixes()).map_err(Failure::Data)?;
    let ids: Vec<&str> = corpus.boundaries.iter().map(|boundary| boundary.boundary_id.as_str()).collect();
    stream_whole(&args.out, |out| write_features(&ids, &table, format, out).map_err(io::Error::other))
        .map_err(|error| Failure::Other(format!("{}: cannot be written: {error}", args.out.display())))?;
    say(&format!(
        "{}: {} boundaries, {} columns ({} dense)",
        args.out.display(),
        table.n_rows(),
        table.n_columns(),
        table.n_dense()
    ));
    Ok(())
}
