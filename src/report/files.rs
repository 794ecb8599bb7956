//! Where the outputs of a report lie.
//!
//! In one folder: `report.html`, and beside it `report/` with `report.md`, `report.json`, `tables/NAME.csv` and
//! `plots/NAME.svg` and `NAME.png`. For several runs each has its own subfolder of `report/`, named r1, r2, ...

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
    for (index, run) in runs.iter().enumerate() {
        let mut beside = folder.join("report");
        if runs.len() > 1 {
            beside.push(format!("r{}", index + 1));
        }
        write(&beside.join("report.md"), markdown::render(&run.report, "plots").as_bytes())?;
        write(&beside.join("report.json"), &json(run)?)?;
        write_tables(&beside.join("tables"), run)?;
        for drawn in run.report.plots() {
            let svg = plot::standalone(drawn.alone.as_ref().unwrap_or(&drawn.svg));
            #[cfg(feature = "png")]
            pictures.push((beside.join("plots").join(format!("{}.png", drawn.id)), svg.clone()));
            write(&beside.join("plots").join(format!("{}.svg", drawn.id)), svg.as_bytes())?;
        }
    }
    #[cfg(feature = "png")]
    write_pictures(&pictures)?;
    let page = folder.join("report.html");
    write(&page, html::render(runs)?.as_bytes())?;
    Ok(page)
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

/// Writes every table of a run as CSV.
///
/// # Errors
/// `Failure::Other`.
pub fn write_tables(folder: &Path, run: &RunReport) -> Result<(), Failure> {
    for table in run.report.tables() {
        write(&folder.join(format!("{}.csv", table.id)), csv::render(table).as_bytes())?;
    }
    Ok(())
}

/// The content of a run's report as JSON, numbers with their full value and place.
///
/// # Errors
/// `Failure::Other`.
pub fn json(run: &RunReport) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec_pretty(&run.report).map_err(|error| Failure::Other(error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
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
