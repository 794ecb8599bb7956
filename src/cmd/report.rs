//! `foldline report`: the page people look at, from run folders alone.

use super::{Failure, Global, print, say};
use crate::report::{RunReport, csv, files, html, markdown};
use clap::{Args as ClapArgs, ValueEnum};
use serde_json::json;
use std::path::PathBuf;

/// Turn run folders into one self-contained HTML page, with plots, tables and Markdown beside it
///
/// A pure function of the run folders: nothing is fitted or drawn again, nothing is loaded from a network. Without
/// --format everything is written into the first run's folder: report.html, report.md, report.json, the tables as CSV and
/// the plots as SVG and PNG.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  foldline report run\n  foldline report run --table 14\n  \
    foldline report run --format md > report.md\n  foldline report run-a run-b --out both")]
pub struct Args {
    /// Run folders written by `foldline evaluate`
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Folder to write into [default: the first run's], or with --format a file (csv: a folder)
    #[arg(long, value_name = "FILE|DIR")]
    out: Option<PathBuf>,
    /// One format only; md, csv and json go to stdout unless --out is given
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print one of the paper's tables as Markdown, by its number
    #[arg(long, value_name = "N", conflicts_with_all = ["format", "out"])]
    table: Option<String>,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The page.
    Html,
    /// Markdown.
    Md,
    /// All tables.
    Csv,
    /// The content as JSON, every number with its full value and its place in results.json.
    Json,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` for a run that cannot be read, `Failure::Usage` for options that do not go together,
/// `Failure::Other` for the output.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    let runs = RunReport::read_all(&args.runs)?;
    if let Some(number) = &args.table {
        return print_table(&runs, number);
    }
    if let Some(format) = args.format {
        return one_format(args, &runs, format);
    }
    let folder = match (&args.out, args.runs.as_slice()) {
        // a page that is named is all that is wanted
        (Some(out), _) if out.extension().is_some_and(|extension| extension == "html") => {
            return one_format(args, &runs, Format::Html);
        }
        (Some(out), _) => out.clone(),
        (None, runs) => runs.first().cloned().unwrap_or_default(),
    };
    files::no_other_run(&folder, &args.runs)?;
    let page = files::write_all(&folder, &runs)?;
    if global.json {
        let verdicts: Vec<Vec<String>> = runs
            .iter()
            .map(|run| run.report.verdicts.iter().map(|v| crate::report::content::plain(&v.line)).collect())
            .collect();
        print(&format!("{}\n", json!({ "page": page.display().to_string(), "verdicts": verdicts })))?;
    } else {
        for run in &runs {
            if runs.len() > 1 {
                print(&format!("{}\n", run.report.name))?;
            }
            for verdict in &run.report.verdicts {
                print(&format!("- {}\n", crate::report::content::plain(&verdict.line)))?;
            }
        }
    }
    say(&format!("wrote {}; report.md, report.json, tables and plots are beside it", page.display()));
    Ok(())
}

fn one_format(args: &Args, runs: &[RunReport], format: Format) -> Result<(), Failure> {
    let text = match format {
        Format::Html => html::render(runs)?,
        Format::Md => files::markdown(runs),
        Format::Json => files::json(runs)?,
        Format::Csv => {
            if let Some(folder) = &args.out {
                files::write_tables(folder, runs)?;
                say(&format!("wrote {}", folder.display()));
                return Ok(());
            }
            let tables = runs.iter().flat_map(|run| run.report.tables());
            tables.map(|table| format!("# {}\n{}\n", table.id, csv::render(table))).collect()
        }
    };
    match (&args.out, format, args.runs.as_slice()) {
        (Some(out), _, _) => {
            let out = if out.is_dir() { out.join(file_name(format)) } else { out.clone() };
            files::write(&out, text.as_bytes())?;
            say(&format!("wrote {}", out.display()));
            Ok(())
        }
        (None, Format::Html, [single]) => {
            let out = single.join(file_name(format));
            files::write(&out, text.as_bytes())?;
            say(&format!("wrote {}", out.display()));
            Ok(())
        }
        (None, _, _) => print(&text),
    }
}

fn file_name(format: Format) -> &'static str {
    match format {
        Format::Html => "report.html",
        Format::Md => "report.md",
        Format::Csv => "tables",
        Format::Json => "report.json",
    }
}

fn print_table(runs: &[RunReport], number: &str) -> Result<(), Failure> {
    let id = format!("paper-{}", number.trim());
    let mut printed = false;
    for run in runs {
        if let Some(table) = run.report.tables().find(|table| table.id == id) {
            print(&markdown::table(table))?;
            printed = true;
        }
    }
    if printed {
        return Ok(());
    }
    let mut known: Vec<&str> =
        runs.iter().flat_map(|run| run.report.tables()).filter_map(|table| table.id.strip_prefix("paper-")).collect();
    known.dedup();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(Failure::Data(format!(
        "table {number} is not in the run: it holds {known}; the protocol `paper` computes those the corpus can answer"
    )))
}
