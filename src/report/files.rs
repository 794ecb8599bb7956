//! Where the outputs of a report lie.
//!
//! In one folder, a run's own where nothing else is named: `report.html`, `report.md`, `report.json`, `tables/NAME.csv`
//! and `plots/NAME.svg` and `NAME.png`. With several runs the names of tables and plots begin with r1-, r2-, ...

use super::{RunReport, csv, html, markdown, plot};
use crate::cmd::Failure;
use crate::files::write_whole;
use std::path::{Path, PathBuf};

/// Writes everything into a folder and gives the path of the page.
///
/// # Errors
/// `Failure::Other` when something cannot be written.
pub fn write_all(folder: &Path, runs: &[RunReport]) -> Result<PathBuf, Failure> {
    #[cfg(feature = "png")]
    let mut pictures: Vec<(PathBuf, String)> = Vec::new();
    write(&folder.join("report.md"), markdown(runs).as_bytes())?;
    write(&folder.join("report.json"), json(runs)?.as_bytes())?;
    write_tables(&folder.join("tables"), runs)?;
    for (run, prefix) in prefixed(runs) {
        for drawn in run.report.plots() {
            let svg = plot::standalone(drawn.alone.as_ref().unwrap_or(&drawn.svg));
            let plot = |ending: &str| folder.join("plots").join(format!("{prefix}{}.{ending}", drawn.id));
            write(&plot("svg"), svg.as_bytes())?;
            #[cfg(feature = "png")]
            pictures.push((plot("png"), svg));
        }
    }
    #[cfg(feature = "png")]
    write_pictures(&pictures)?;
    let page = folder.join("report.html");
    write(&page, html::render(runs)?.as_bytes())?;
    Ok(page)
}

/// Every run with what the names of its files begin with.
fn prefixed(runs: &[RunReport]) -> impl Iterator<Item = (&RunReport, String)> {
    let several = runs.len() > 1;
    runs.iter().zip(1..).map(move |(run, number)| (run, if several { format!("r{number}-") } else { String::new() }))
}

/// Refuses to write a page where a run that is not on it lies.
///
/// # Errors
/// `Failure::Usage`.
pub fn no_other_run(folder: &Path, runs: &[PathBuf]) -> Result<(), Failure> {
    let same = |run: &PathBuf| run.canonicalize().ok() == folder.canonicalize().ok();
    if folder.join("results.json").is_file() && !runs.first().is_some_and(same) {
        return Err(Failure::Usage(format!(
            "--out {}: is the folder of another run, whose report would be overwritten; name another one",
            folder.display()
        )));
    }
    Ok(())
}

/// Writes plots as PNG; on a machine without fonts there are none, and that is said.
#[cfg(feature = "png")]
fn write_pictures(pictures: &[(PathBuf, String)]) -> Result<(), Failure> {
    let Some(painter) = super::png::Painter::new() else {
        crate::cmd::say("note: no font was found on this machine, so plots are written as SVG only");
        return Ok(());
    };
    for (path, svg) in pictures {
        let bytes = painter.paint(svg).map_err(|problem| Failure::Other(format!("{}: {problem}", path.display())))?;
        write(path, &bytes)?;
    }
    Ok(())
}

/// Writes every table of every run as CSV.
///
/// # Errors
/// `Failure::Other`.
pub fn write_tables(folder: &Path, runs: &[RunReport]) -> Result<(), Failure> {
    for (run, prefix) in prefixed(runs) {
        for table in run.report.tables() {
            write(&folder.join(format!("{prefix}{}.csv", table.id)), csv::render(table).as_bytes())?;
        }
    }
    Ok(())
}

/// The content of the report as Markdown, run by run.
pub fn markdown(runs: &[RunReport]) -> String {
    let pages: Vec<String> =
        prefixed(runs).map(|(run, prefix)| markdown::render(&run.report, &format!("plots/{prefix}"))).collect();
    pages.join("\n")
}

/// The content of the report as JSON, numbers with their full value and place; a list where there are several runs.
///
/// # Errors
/// `Failure::Other`.
pub fn json(runs: &[RunReport]) -> Result<String, Failure> {
    let reports: Vec<_> = runs.iter().map(|run| &run.report).collect();
    let text = match reports.as_slice() {
        [single] => serde_json::to_string_pretty(single),
        several => serde_json::to_string_pretty(several),
    };
    Ok(format!("{}\n", text.map_err(|error| Failure::Other(error.to_string()))?))
}

/// Writes a file whole, making its folder.
///
/// # Errors
/// `Failure::Other` naming the file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::Other(format!("{}: cannot be written: {error}", path.display()));
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(cannot)?;
    }
    write_whole(path, bytes).map_err(cannot)
}
