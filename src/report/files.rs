//! Where the outputs of a report lie.
//!
//! In one folder, a run's own where nothing else is named: `report.html`, `report.md`, `report.json`, `tables/NAME.csv`
//! and `plots/NAME.svg` and `NAME.png`. With several runs the names of tables and plots begin with r1-, r2-, ...

use super::{FORMAT, RunReport, csv, html, markdown, plot};
use crate::cmd::Failure;
use crate::files::write_whole;
use serde_json::Value as Json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Writes everything into a folder, in place of an earlier report, and gives the path of the page.
///
/// # Errors
/// `Failure::Other` when something cannot be written.
pub fn write_all(folder: &Path, runs: &[RunReport]) -> Result<PathBuf, Failure> {
    #[cfg(feature = "png")]
    let mut pictures: Vec<(PathBuf, String)> = Vec::new();
    remove_earlier(folder)?;
    write(&folder.join("report.md"), markdown(runs).as_bytes())?;
    write(&folder.join("report.json"), json(runs)?.as_bytes())?;
    write_tables(&folder.join("tables"), runs)?;
    for (run, prefix) in prefixed(runs) {
        for drawn in run.report.plots() {
            let svg = plot::standalone(drawn.alone.as_ref().unwrap_or(&drawn.svg));
            let plot = |ending: &str| folder.join("plots").join(file_name(&prefix, &drawn.id, ending));
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
    runs.iter().zip(1..).map(move |(run, number)| (run, prefix(several, number)))
}

/// What the names of a run's files begin with.
fn prefix(several: bool, number: usize) -> String {
    if several { format!("r{number}-") } else { String::new() }
}

/// The name of a table's or plot's file. An id may come from a file that anybody wrote, so only letters, digits, `-`, `_`
/// and `.` remain and no dot comes first: it stays in its folder and is not hidden.
fn file_name(prefix: &str, id: &str, ending: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = format!("{prefix}{id}.{ending}").chars().map(plain).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

/// Removes the tables and plots that a report of ours in the folder names, so that none of an older one stays beside the
/// new ones; nothing else.
///
/// # Errors
/// `Failure::Other` naming a file that cannot be removed.
pub fn remove_earlier(folder: &Path) -> Result<(), Failure> {
    let earlier = std::fs::read(folder.join("report.json")).ok();
    let earlier: Json = earlier.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let (reports, several) = match &earlier {
        Json::Array(reports) => (reports.as_slice(), true),
        single => (std::slice::from_ref(single), false),
    };
    for (report, number) in reports.iter().zip(1..).filter(|(report, _)| report["format"] == FORMAT) {
        let prefix = prefix(several, number);
        let sections = report["sections"].as_array().into_iter().flatten();
        for block in sections.flat_map(|section| section["blocks"].as_array().into_iter().flatten()) {
            if let Some(id) = block["id"].as_str().filter(|_| block["block"] == "table") {
                remove(&folder.join("tables").join(file_name(&prefix, id, "csv")))?;
            }
            for id in block["plots"].as_array().into_iter().flatten().filter_map(|plot| plot["id"].as_str()) {
                for ending in ["svg", "png"] {
                    remove(&folder.join("plots").join(file_name(&prefix, id, ending)))?;
                }
            }
        }
    }
    Ok(())
}

/// Removes a file that may be gone already.
fn remove(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory => {
            let place = path.display();
            Err(Failure::Other(format!("{place}: is of an earlier report and cannot be removed: {error}; remove it")))
        }
        _ => Ok(()),
    }
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
            write(&folder.join(file_name(&prefix, &table.id, "csv")), csv::render(table).as_bytes())?;
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

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn file_names_stay_in_their_folder() {
        for (prefix, id, name) in [
            ("", "operating-points", "operating-points.csv"),
            ("r2-", "paper-14", "r2-paper-14.csv"),
            ("", "../../escaped", "_..-..-escaped.csv"),
            ("", "paper-../../escaped", "paper-..-..-escaped.csv"),
            ("", "/etc/x\\y:\u{e9}\0", "-etc-x-y---.csv"),
            ("", "", "_.csv"),
        ] {
            assert_eq!(file_name(prefix, id, "csv"), name);
        }
    }
}
