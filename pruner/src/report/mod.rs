//! Numbers over many summaries and runs: shares, persistence, run records.
//!
//! Plain sums and means; what needs a bootstrap is computed by the caller.

pub mod persistence;
pub mod runs;
pub mod shares;

use crate::account::{Account, Verdict};

/// One scored summary.
#[derive(Clone, Debug)]
pub struct Scored {
    /// The summary's own id.
    pub summary_id: String,
    /// The run it belongs to; boundaries of one run are compared with each other.
    pub run: String,
    /// 1 for the first compaction of the run; `None` where summaries are not in sequence.
    pub boundary: Option<u32>,
    /// Its layout or any other group it is counted in.
    pub layout: String,
    /// What the judge said.
    pub account: Account,
}

/// Words in a section's name that make its entries reasoning. The paper counts "Decisions" and "Open TODOs"; other
/// layouts name the same differently **\[choice\]**.
const REASONING: &[&str] = &[
    "decision",
    "todo",
    "to-do",
    "next step",
    "plan",
    "reasoning",
    "rationale",
    "pending",
    "remaining",
    "unresolved",
    "open ",
];

/// Whether an entry stands in a section for decisions or open work.
pub fn is_reasoning(verdict: &Verdict) -> bool {
    verdict.section.iter().any(|name| {
        let name = name.to_lowercase();
        REASONING.iter().any(|word| name.contains(word))
    })
}

/// Whether an entry was scored below the threshold; `None` without a score.
pub fn is_unsupported(verdict: &Verdict, tau: f64) -> Option<bool> {
    verdict.score.map(|score| score < tau)
}

/// `numerator / denominator`, or nothing for an empty denominator.
pub fn ratio(numerator: f64, denominator: usize) -> Option<f64> {
    (denominator > 0).then(|| numerator / denominator as f64)
}
