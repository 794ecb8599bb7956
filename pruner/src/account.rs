//! The account of a pruning: what went, what stayed and why.

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::entries::{Document, Kind};
use crate::judge::{Answers, FaultKind, Judge, Usage, Wording};
use crate::prune::{Options, Tau};

/// Distance from the threshold within which a repeated request may flip an answer (five equal requests to Jev differed
/// by a standard deviation of up to 0.022).
pub const NEAR_LINE: f64 = 0.05;

/// How a pruning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Entries were removed (in shadow mode: would have been).
    Ok,
    /// Everything was scored and everything stays.
    NothingToPrune,
    /// The summary is empty.
    EmptySummary,
    /// The summary is not UTF-8.
    InvalidUtf8,
    /// The summary is longer than what is judged.
    SummaryTooLarge,
    /// No entries: headings, code or untouched prose only.
    NoEntries,
    /// Nothing in the history could be a source.
    NoSource,
    /// Every entry (of two or more) is below the threshold: not applied.
    AllBelowThresholdNotApplied,
    /// Nothing would be left.
    WouldBeEmpty,
    /// The rest would read as other entries.
    WouldChangeLayout,
    /// The judge failed.
    Fault(FaultKind),
}

impl Status {
    /// Its name in accounts.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::NothingToPrune => "nothing_to_prune",
            Status::EmptySummary => "empty_summary",
            Status::InvalidUtf8 => "invalid_utf8",
            Status::SummaryTooLarge => "summary_too_large",
            Status::NoEntries => "no_entries",
            Status::NoSource => "no_source",
            Status::AllBelowThresholdNotApplied => "all_below_threshold_not_applied",
            Status::WouldBeEmpty => "would_be_empty",
            Status::WouldChangeLayout => "would_change_layout",
            Status::Fault(FaultKind::JudgeUnavailable) => "judge_unavailable",
            Status::Fault(FaultKind::InvalidAnswer) => "invalid_answer",
            Status::Fault(FaultKind::MissingAnswer) => "missing_answer",
            Status::Fault(FaultKind::TypeMismatch) => "type_mismatch",
            Status::Fault(FaultKind::ScoresMismatch) => "scores_mismatch",
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// At or above the threshold.
    Kept,
    /// Below it, and removed.
    Dropped,
    /// No usable answer: stays.
    Unanswered,
    /// Below it, but an entry nested in it stays.
    KeptForChild,
    /// Nothing was applied.
    NotApplied,
}

/// One entry and its score.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// `e1`, `e2`, ...
    pub id: String,
    /// Headings and labels above it.
    pub section: Vec<String>,
    /// How it is marked.
    pub kind: Kind,
    /// The entry it is nested in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Byte ranges in the summary: pairs of start and end.
    pub ranges: Vec<[usize; 2]>,
    /// Its text.
    pub text: String,
    /// SHA-256 of the text, by which recorded scores are recognised.
    pub text_sha256: String,
    /// The judge's score, in 0..=1.
    pub score: Option<f64>,
    /// Whether the score is so close to the threshold that a repetition may flip it.
    pub near_line: bool,
    /// What became of it.
    pub fate: Fate,
}

/// Distribution of the scores, by linear interpolation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// Smallest.
    pub min: f64,
    /// Quarter.
    pub q25: f64,
    /// Median.
    pub median: f64,
    /// Three quarters.
    pub q75: f64,
    /// Largest.
    pub max: f64,
}

/// The whole account.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    /// How it ended.
    pub status: Status,
    /// The same in words, for people.
    pub reason: String,
    /// Whether the summary that is returned differs from the one that came.
    pub changed: bool,
    /// Whether this was a trial.
    pub shadow: bool,
    /// The judge.
    pub judge: &'static str,
    /// Its wording.
    pub wording: Wording,
    /// The model that answered, as it named itself.
    pub model: Option<String>,
    /// The threshold.
    pub tau: f64,
    /// Entries found, removed (0 where nothing was applied), without an answer, and near the line.
    pub counts: Counts,
    /// Observables of a boundary, once it has a summary: entries below the threshold, number and share of those scored.
    pub unsupported: Option<Unsupported>,
    /// Characters (Unicode scalar values) of the summary before and after.
    pub chars: [usize; 2],
    /// Distribution of the scores.
    pub scores: Option<Quantiles>,
    /// Requests sent and answered from the cache.
    pub requests: [usize; 2],
    /// Tokens billed by the judge.
    pub usage: Usage,
    /// Every entry.
    pub entries: Vec<Verdict>,
}

/// Counts of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Found.
    pub entries: usize,
    /// Removed.
    pub dropped: usize,
    /// Without a usable answer.
    pub unanswered: usize,
    /// Of these, because their evidence did not fit into a request.
    pub source_not_shown: usize,
    /// Near the threshold.
    pub near_line: usize,
}

/// Entries below the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unsupported {
    /// How many.
    pub entries: usize,
    /// Share of the scored entries, in 0..=1.
    pub share: f64,
}

impl Account {
    pub(crate) fn new(judge: &dyn Judge, options: &Options, summary: &str) -> Account {
        let chars = summary.chars().count();
        Account {
            status: Status::NothingToPrune,
            reason: String::new(),
            changed: false,
            shadow: options.shadow,
            judge: judge.name(),
            wording: judge.wording(),
            model: None,
            tau: options.tau.get(),
            counts: Counts::default(),
            unsupported: None,
            chars: [chars, chars],
            scores: None,
            requests: [0, 0],
            usage: Usage::default(),
            entries: Vec::new(),
        }
    }

    /// The account of a summary that is not even text.
    pub fn invalid_utf8(judge: &dyn Judge, options: &Options, at: usize) -> Account {
        let reason = format!("the summary is not UTF-8: byte {at} cannot be read; it is passed on as it is");
        Account::new(judge, options, "").unchanged(Status::InvalidUtf8, &reason)
    }

    pub(crate) fn list(&mut self, document: &Document<'_>) {
        let ids = |at: usize| document.entries[at].id.clone();
        self.counts.entries = document.entries.len();
        self.entries = document
            .entries
            .iter()
            .map(|entry| Verdict {
                id: entry.id.clone(),
                section: entry.section.clone(),
                kind: entry.kind,
                parent: entry.parent.map(ids),
                ranges: entry.ranges.iter().map(|range| [range.start, range.end]).collect(),
                text: entry.text.clone(),
                text_sha256: text_hash(&entry.text),
                score: None,
                near_line: false,
                fate: Fate::NotApplied,
            })
            .collect();
    }

    pub(crate) fn answered(&mut self, answers: &Answers, tau: Tau) {
        for (verdict, &score) in self.entries.iter_mut().zip(&answers.scores) {
            verdict.score = score;
            verdict.near_line = score.is_some_and(|score| (score - tau.get()).abs() <= NEAR_LINE);
        }
        let mut scores: Vec<f64> = answers.scores.iter().flatten().copied().collect();
        scores.sort_unstable_by(f64::total_cmp);
        self.scores = quantiles(&scores);
        let below = scores.iter().filter(|&&score| score < tau.get()).count();
        self.unsupported =
            (!scores.is_empty()).then(|| Unsupported { entries: below, share: below as f64 / scores.len() as f64 });
        self.counts.unanswered = answers.scores.len() - scores.len();
        self.counts.source_not_shown = answers.source_not_shown;
        self.counts.near_line = self.entries.iter().filter(|verdict| verdict.near_line).count();
        self.model = answers.model.clone();
        self.requests = [answers.requests, answers.cached];
        self.usage = answers.usage;
    }

    pub(crate) fn unchanged(mut self, status: Status, reason: &str) -> Account {
        self.status = status;
        self.reason = reason.to_string();
        for verdict in &mut self.entries {
            if verdict.fate == Fate::Dropped {
                verdict.fate = Fate::NotApplied;
            }
        }
        self
    }

    pub(crate) fn applied(mut self, pruned: &str) -> Account {
        self.counts.dropped = self.entries.iter().filter(|verdict| verdict.fate == Fate::Dropped).count();
        self.status = Status::Ok;
        self.changed = !self.shadow;
        self.chars[1] = pruned.chars().count();
        let mood = if self.shadow { "would be removed (shadow: nothing was changed)" } else { "removed" };
        self.reason = format!("{} of {} entries {mood}", self.counts.dropped, self.counts.entries);
        self
    }
}

/// SHA-256 of an entry's text, hexadecimal.
pub fn text_hash(text: &str) -> String {
    crate::hex(&Sha256::digest(text.as_bytes()))
}

fn quantiles(sorted: &[f64]) -> Option<Quantiles> {
    let last = sorted.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let low = place.floor();
        let [low_value, high_value] = [sorted[low as usize], sorted[(place.ceil() as usize).min(last)]];
        low_value + (high_value - low_value) * (place - low)
    };
    Some(Quantiles { min: at(0.0), q25: at(0.25), median: at(0.5), q75: at(0.75), max: at(1.0) })
}
