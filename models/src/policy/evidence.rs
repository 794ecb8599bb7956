//! What was measured about a policy before it was frozen: carried inside the policy file, so that whoever deploys it
//! sees it.

use serde::{Deserialize, Serialize};

/// A measured quantity: a value, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// The value; absent where it is undefined.
    pub value: Option<f64>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undefined: Option<String>,
    /// Lower end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What the value is, and how the interval was made.
    pub method: String,
}

impl Quantity {
    /// A value without an interval.
    pub fn defined(value: f64, method: impl Into<String>) -> Quantity {
        Quantity { value: Some(value), undefined: None, low: None, high: None, method: method.into() }
    }

    /// No value, with the reason.
    pub fn undefined(reason: impl Into<String>, method: impl Into<String>) -> Quantity {
        Quantity { value: None, undefined: Some(reason.into()), low: None, high: None, method: method.into() }
    }

    /// The same with an interval.
    #[must_use]
    pub fn with_interval(mut self, low: f64, high: f64, method: &str) -> Quantity {
        self.low = Some(low);
        self.high = Some(high);
        self.method = format!("{}; {method}", self.method);
        self
    }

    /// `0.74 (0.61 to 0.85)`, or the reason why there is none.
    pub fn in_words(&self) -> String {
        match (self.value, self.low, self.high) {
            (Some(value), Some(low), Some(high)) => format!("{value:.3} ({low:.3} to {high:.3})"),
            (Some(value), ..) => format!("{value:.3} (no interval)"),
            (None, ..) => format!("undefined: {}", self.undefined.as_deref().unwrap_or("no reason recorded")),
        }
    }
}

/// What is known of a policy's merit, measured on rows that the scoring model had not seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// SHA-256 of the corpus the policy was fitted on.
    pub corpus_sha256: String,
    /// Learner and representation, such as `boosted/H`.
    pub cell: String,
    /// The target, such as `dU@3`.
    pub target: String,
    /// Base seed of the folds.
    pub seed: u64,
    /// How the held-out scores came about.
    pub folds: String,
    /// Boundaries of the corpus.
    pub boundaries: u64,
    /// Tasks of the corpus.
    pub tasks: u64,
    /// Stems of the corpus.
    pub stems: u64,
    /// Boundaries with a positive label.
    pub positives: u64,
    /// The share of boundaries that the threshold was to retain.
    pub retain: f64,
    /// Which threshold this is: the median of the repetitions' operating points, and no point of a pooled frontier.
    pub threshold_note: String,
    /// Held-out AUROC of the repetition-averaged score.
    pub auroc: Quantity,
    /// Share of held-out boundaries that the frozen threshold allows.
    pub retained: Quantity,
    /// Share of held-out positives that it blocks.
    pub avoided: Quantity,
    /// Avoided minus what a random rule that blocks as often would avoid.
    pub advantage_count: Quantity,
    /// The same by positive burden mass.
    pub advantage_mass: Quantity,
    /// Sum of the outcome over the blocked boundaries, minus its expectation under a random rule that blocks as often.
    pub signed_value: Quantity,
    /// Share of the training rows that the final model blocks at this threshold; optimistic, and no estimate of merit.
    pub blocked_share_of_training_rows: f64,
    /// What a run says of the same cell, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunEvidence>,
    /// One plain sentence.
    pub verdict: String,
}

/// The figures of an evaluation of the same cell on the same corpus and target. Its operating point is one of a frontier
/// that pools several fold models: it describes the trigger, and is no deployable policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunEvidence {
    /// Unit, folds and repetitions, such as `stem:5x20`.
    pub folds: String,
    /// Base seed of the run.
    pub seed: u64,
    /// Held-out AUROC.
    pub auroc: Quantity,
    /// Share allowed at the operating point.
    pub retained: Quantity,
    /// Share of positives blocked there.
    pub avoided: Quantity,
    /// Avoided minus what a random rule that blocks as often would avoid.
    pub advantage_count: Quantity,
    /// The same by positive burden mass.
    pub advantage_mass: Quantity,
    /// Sum of the outcome over the blocked boundaries, minus its expectation under a random rule that blocks as often.
    pub signed_value: Quantity,
    /// AUROC of a replicate of the same boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yardstick: Option<Quantity>,
}
