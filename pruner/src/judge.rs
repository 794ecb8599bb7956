//! The source judge: what it is asked, what it may answer, how it may fail.

use serde::Serialize;

use crate::entries::Entry;
use crate::history::Span;

/// One entry as a judge sees it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its id, which comes back unchanged.
    pub id: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Headings and labels above it, outermost first.
    pub section: &'a [String],
}

impl<'a> From<&'a Entry> for Asked<'a> {
    fn from(entry: &'a Entry) -> Asked<'a> {
        Asked { id: &entry.id, text: &entry.text, section: &entry.section }
    }
}

/// What a judge answered.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Per entry, the probability in 0..=1 that it has a source. `None`: no usable answer, so the entry is kept.
    pub scores: Vec<Option<f64>>,
    /// The model that answered, as it named itself.
    pub model: Option<String>,
    /// Requests sent over the network (retries not counted).
    pub requests: usize,
    /// Requests answered from the cache.
    pub cached: usize,
    /// Tokens the judge read and wrote, where it says so.
    pub usage: Usage,
    /// Entries whose evidence did not fit into a request: not judged, kept.
    pub source_not_shown: usize,
}

/// Tokens billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// Why nothing may be removed on a judge's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// No answer in time, an error status, or an error document with status 200.
    JudgeUnavailable,
    /// Not the shape agreed upon, or a number outside 0..=1.
    InvalidAnswer,
    /// An asked id is not among the answers.
    MissingAnswer,
    /// An answer is of another type than its question.
    TypeMismatch,
    /// Recorded scores belong to another summary or wording.
    ScoresMismatch,
}

/// A failed judge. The summary stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct JudgeFault {
    /// The kind of failure.
    pub kind: FaultKind,
    /// What happened and what to do, without secrets.
    pub detail: String,
    /// Requests that were sent all the same, and may have cost something.
    pub requests: usize,
}

impl JudgeFault {
    /// A failure of a kind.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> JudgeFault {
        JudgeFault { kind, detail: detail.into(), requests: 0 }
    }
}

/// Scores entries for whether they have a source.
pub trait Judge {
    /// What it calls itself: `lexical`, `jev`, `logprobs`, `scores`.
    fn name(&self) -> &'static str;

    /// The wording its scores belong to. Scores and thresholds of different wordings must not be mixed.
    fn wording(&self) -> Wording;

    /// Scores every entry, in order.
    fn judge(&self, span: &Span<'_>, entries: &[Asked<'_>]) -> Result<Answers, JudgeFault>;
}

/// The name and hash of a question, or of the rules that stand for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wording {
    /// Name and version.
    pub name: String,
    /// SHA-256 of everything that makes the wording, hexadecimal.
    pub sha256: String,
}
