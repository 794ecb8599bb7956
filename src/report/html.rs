//! The report as one HTML page: no network, opens from disk.
//!
//! Names and texts of a corpus are untrusted: the template engine escapes all of them, plots escape theirs, and the
//! page's content security policy allows exactly the one script and style that stand in it, by their hashes, and no
//! connection at all.

use super::RunReport;
use super::content::{Block, code, text};
use super::plot;
use crate::cmd::Failure;
use minijinja::{Environment, context};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Short names of sections for the bar at the top.
const SHORT: &[(&str, &str)] = &[
    ("frontier", "Frontier"),
    ("auroc", "AUROC"),
    ("mass", "Mass"),
    ("value", "Value"),
    ("yardstick", "Yardstick"),
    ("grid", "Grid"),
    ("placement", "Placement"),
    ("models", "Models"),
    ("importance", "Importance"),
    ("data", "Data"),
    ("choices", "Choices"),
    ("tables", "Tables"),
    ("absent", "Absent"),
    ("provenance", "Command"),
    ("differences", "Differences"),
];

/// A page has fewer bytes than this wherever leaving out folded tables achieves it.
pub const LARGEST: usize = 2_000_000;

/// The page of one or more runs. Where it would be too large, tables that a page shows closed at first are left out, and
/// each section names its own.
///
/// # Errors
/// `Failure::Other` if the template cannot be rendered, which would be a defect of this program.
pub fn render(runs: &[RunReport]) -> Result<String, Failure> {
    let page = render_all(runs)?;
    if page.len() < LARGEST {
        return Ok(page);
    }
    let slim: Vec<RunReport> = runs.iter().map(|run| without_folded_tables(run.clone(), runs.len() > 1)).collect();
    render_all(&slim)
}

/// A report with the names of folded tables in their places.
fn without_folded_tables(mut run: RunReport, several: bool) -> RunReport {
    for section in &mut run.report.sections {
        let mut names = Vec::new();
        section.blocks.retain(|block| match block {
            Block::Table(table) if table.folded => {
                names.push(table.title.clone());
                false
            }
            _ => true,
        });
        if !names.is_empty() {
            let line = vec![
                text("Left out to keep the page below 2 MB: "),
                text(names.join("; ")),
                text(if several { ". A page of this run alone shows this; " } else { "; " }),
                code("--format md"),
                text(" prints it."),
            ];
            section.blocks.push(Block::Absent { line });
        }
    }
    run
}

fn render_all(runs: &[RunReport]) -> Result<String, Failure> {
    let style = format!("{STYLE}{}", plot::STYLE);
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(&style)
    );
    let short: BTreeMap<&str, &str> = SHORT.iter().copied().collect();
    let several = runs.len() > 1;
    let contexts: Vec<Json> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| {
            let svgs: BTreeMap<&str, Json> = run
                .report
                .plots()
                .map(|plot| (plot.id.as_str(), json!({"wide": plot.svg, "narrow": plot.narrow})))
                .collect();
            json!({
                "report": run.report,
                "prefix": if several { format!("r{}-", index + 1) } else { String::new() },
                "svgs": svgs,
                "short": short,
                "yardstick": run.has_yardstick,
                "document": run.document,
                // a closing tag inside a string would end the data block
                "data": run.frontiers.to_string().replace('<', "\\u003c"),
            })
        })
        .collect();
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    let defect = |error: minijinja::Error| Failure::Other(format!("the page cannot be rendered: {error:#}"));
    environment.add_template("page.html", PAGE).map_err(defect)?;
    let page = environment.get_template("page.html").map_err(defect)?;
    let page = page.render(context! {
        runs => minijinja::value::Serde(&contexts),
        policy,
        style,
        script => SCRIPT,
        version => env!("CARGO_PKG_VERSION"),
    });
    // a slash ends nothing in text or a quoted attribute, and every number's place has some
    page.map(|page| page.replace("&#x2f;", "/")).map_err(defect)
}

fn hash(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

/// Base64 with padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0u32, |group, i| group << 8 | u32::from(chunk.get(i).copied().unwrap_or(0)));
        for position in 0..4 {
            let symbol = ALPHABET[(group >> (18 - 6 * position)) as usize & 63];
            out.push(if position <= chunk.len() { char::from(symbol) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_rfc_4648() {
        for (plain, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
