//! SJC: entries of a compaction summary, their sources, and the judge that keeps or drops them.
//!
//! Source: "Prune the Summary, Not the History" (arXiv 2610.20927), called *the paper* here. A summary is split into
//! [`entries`]; a judge scores each for whether it has a source in the environment's outputs or in the previous summary;
//! entries below the threshold are removed and every other byte stays as it was.

pub mod account;
pub mod entries;
pub mod evidence;
pub mod history;
pub mod judge;
pub mod judges;
pub mod prune;
pub mod question;
pub mod redact;
pub mod report;
mod words;

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
