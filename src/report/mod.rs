//! The report of a run: a pure function of its folder.
//!
//! [`RunReport::read_all`] turns `results.json` and `manifest.json` into [`content`]; [`html`], [`markdown`] and [`csv`]
//! render it, and [`files`] lays the outputs out. Nothing is computed here that is not in the results.

mod comparison;
pub mod content;
pub mod csv;
pub mod files;
pub mod html;
pub mod markdown;
pub mod plot;
#[cfg(feature = "png")]
mod png;
pub mod reading;
mod sections;
pub mod thin;
pub mod verdicts;

use crate::cmd::Failure;
use crate::evaluate::run_folder::{Manifest, RunFolder};
use crate::results::Results;
use content::{Report, Source, Style, code, text};
use foldline_frontiers::{FrontierPoint, Threshold};
use reading::Reading;
use sections::Context;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// The format of `report.json`.
pub const FORMAT: &str = "foldline.report/1";

/// One run, ready to be rendered.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The content.
    pub report: Report,
    /// The thresholds of every trigger that its lines show, for the page's tooltips.
    pub frontiers: Json,
    /// Whether plots bear the yardstick's diamond.
    pub has_yardstick: bool,
    /// The file that its numbers name their places in.
    pub document: &'static str,
}

impl RunReport {
    /// Reads the run folders of one page. A manifest that cannot be read is said on the page and is no failure.
    ///
    /// # Errors
    /// `Failure::Data` when a folder holds no readable results.
    pub fn read_all(paths: &[PathBuf]) -> Result<Vec<RunReport>, Failure> {
        let mut runs = Vec::with_capacity(paths.len());
        for path in paths {
            let folder = RunFolder::open(path)?;
            runs.push((folder.results()?, folder.manifest().ok(), run_name(path)));
        }
        let most = thin::most_points(runs.iter().flat_map(|(results, ..)| line_lengths(results)).collect());
        runs.iter().map(|(results, manifest, name)| RunReport::with(results, manifest.as_ref(), name, most)).collect()
    }

    /// The report of results that have a page to themselves.
    ///
    /// # Errors
    /// `Failure::Other` when they cannot be turned into JSON.
    pub fn of(results: &Results, manifest: Option<&Manifest>, name: &str) -> Result<RunReport, Failure> {
        RunReport::with(results, manifest, name, thin::most_points(line_lengths(results).collect()))
    }

    fn with(results: &Results, manifest: Option<&Manifest>, name: &str, most: usize) -> Result<RunReport, Failure> {
        let defect = |error: serde_json::Error| Failure::Other(format!("the results cannot be shown: {error}"));
        let document = serde_json::to_value(results).map_err(defect)?;
        let manifest_document = manifest.map(serde_json::to_value).transpose().map_err(defect)?.unwrap_or(Json::Null);
        let reading = Reading::of(results);
        let context = Context {
            results,
            source: Source::results(&document),
            manifest,
            manifest_source: Source::manifest(&manifest_document),
            reading: &reading,
            most_points: most,
        };
        let source = &context.source;
        let subtitle = content::join([
            source.counted("/outcome/n", "boundary", "boundaries"),
            vec![text(", ")],
            source.counted("/corpus/summary/tasks", "task", "tasks"),
            vec![text("; target "), code(results.outcome.target.clone()), text(", positive at ")],
            vec![source.count("/outcome/positives"), text(", mean ")],
            vec![source.number("/outcome/mean", Style::Signed(3)), text("; protocol ")],
            vec![code(results.protocol.name.clone()), text(", foldline "), code(results.version.clone())],
        ]);
        let mut sections = sections::sections(&context);
        content::settle_intervals(&mut sections);
        let report = Report {
            format: FORMAT.to_owned(),
            name: name.to_owned(),
            subtitle,
            observational: results.outcome.observational,
            verdicts: verdicts::verdicts(results, &context.source, &reading),
            sections,
        };
        Ok(RunReport {
            report,
            frontiers: frontiers(results, most),
            has_yardstick: context.yardstick_mark(false).is_some(),
            document: "results.json",
        })
    }
}

/// The folder's name; for one that is only called "run" with its parent's.
fn run_name(path: &Path) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    match (last(&full), full.parent().and_then(last)) {
        (Some(name), Some(parent)) if name == "run" => format!("{parent}/{name}"),
        (Some(name), _) => name,
        (None, _) => "run".to_owned(),
    }
}

/// How many thresholds of each trigger a run records.
fn line_lengths(results: &Results) -> impl Iterator<Item = usize> {
    results.cells.iter().map(|cell| cell.frontier.len())
}

/// The thresholds of a run's triggers, at most `most` of each.
fn frontiers(results: &Results, most: usize) -> Json {
    let series = results
        .cells
        .iter()
        .map(|cell| frontier_columns(&cell.name, &cell.frontier, cell.operating_point.threshold, most))
        .collect::<Vec<_>>();
    json!({ "n": results.outcome.n, "positives": results.outcome.positives, "series": series })
}

/// Thresholds, allowed boundaries, blocked positives and mass of a frontier of at most `most` points, in columns; `o` is
/// the operating point.
fn frontier_columns(name: &str, points: &[FrontierPoint], operating: Threshold, most: usize) -> Json {
    let points = thin::thinned(points, operating, most);
    let position = points.iter().position(|point| point.threshold == operating);
    let threshold = |threshold: Threshold| match threshold {
        Threshold::At(at) => content::print(at, Style::Significant),
        Threshold::Never => "never".to_owned(),
    };
    // five decimals of the mass: two more than a tooltip prints
    let mass = |point: &FrontierPoint| point.mass.defined().map(|mass| (mass * 1e5).round() / 1e5);
    json!({
        "name": name,
        "o": position,
        "t": points.iter().map(|point| threshold(point.threshold)).collect::<Vec<_>>(),
        "a": points.iter().map(|point| point.allowed).collect::<Vec<_>>(),
        "p": points.iter().map(|point| point.blocked_positives).collect::<Vec<_>>(),
        "m": points.iter().map(mass).collect::<Vec<_>>(),
    })
}
