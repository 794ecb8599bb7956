//! A trigger read beside the split-half replicate: paired differences, share recovered, and the reading rule (protocol
//! section 5).

use crate::bootstrap::{Clusters, Draws};
use crate::estimate::{Estimate, EstimatorError, Interval, Reason, Value, mean_of_defined, same_length};
use crate::frontier::Retain;
use crate::groups::{ScoreRanks, group_rows};
use crate::ranking::{auroc, auroc_of_groups};
use crate::splits::{Halves, SplitHalves};
use crate::yardstick::{INTERVAL_SPLITS, mean_over_splits, outcome_cell};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A trigger beside the replicate, on the same boundaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgainstReplicate {
    /// Mean over all splits of the replicate's AUROC(d_B, y_A).
    pub replicate_auroc: Value,
    /// Mean over all splits of the trigger's AUROC against the same half-sample label y_A.
    pub trigger_auroc: Value,
    /// Replicate minus trigger, both against y_A: mean over all splits, intervals over the first 20.
    pub same_label_difference: Estimate,
    /// AUROC(d_B, y_A) minus the trigger's AUROC against the realised label; context only, the labels differ.
    pub mixed_label_difference: Estimate,
    /// (AUROC(trigger, y_A) − 0.5) / (AUROC(d_B, y_A) − 0.5), of the two means.
    pub share_recovered: Value,
}

/// How the replicate ranks the boundaries that could be split, in every split and draw: computed once, and set beside any
/// number of triggers.
pub struct ReplicateRanking<'a> {
    splits: &'a SplitHalves,
    /// Corpus rows that could be split.
    kept: Vec<usize>,
    /// Per split the label y_A of the kept rows.
    labels: Vec<Vec<bool>>,
    /// Mean AUROC(d_B, y_A) over all splits.
    auroc: Value,
    resamples: Vec<Resample<'a>>,
}

/// The replicate's AUROC in the draws of one bootstrap.
struct Resample<'a> {
    draws: &'a Draws,
    /// Clusters of the kept rows.
    clusters: Clusters,
    /// `[split][draw]`, of the first splits.
    auroc: Vec<Vec<Value>>,
}

// an AUROC does not depend on the share retained
const RETAIN: Retain = Retain::PAPER;

impl<'a> ReplicateRanking<'a> {
    /// Ranks the boundaries by half B in all splits, and in the draws of `resamples` in the first 20.
    ///
    /// # Errors
    /// `LengthMismatch`; `Invalid` where no boundary could be split.
    pub fn new(
        splits: &'a SplitHalves,
        resamples: &[(&'a Draws, &Clusters)],
    ) -> Result<ReplicateRanking<'a>, EstimatorError> {
        let rows = splits.rows_of(&vec![true; splits.n_rows()])?;
        let of_split = |halves: &Halves| {
            let (d_a, d_b) = halves.of_rows(&rows);
            let y_a: Vec<bool> = d_a.iter().map(|&d| d > 0.0).collect();
            Ok((auroc(&d_b, &y_a)?, y_a))
        };
        let single: Vec<(Value, Vec<bool>)> =
            splits.halves().par_iter().map(of_split).collect::<Result<_, EstimatorError>>()?;
        let (values, labels): (Vec<Value>, Vec<_>) = single.into_iter().unzip();
        let resample = |&(draws, clusters): &(&'a Draws, &Clusters)| {
            let clusters = splits.clusters_of(&rows, clusters)?;
            let of_split = |halves: &Halves| {
                let (d_a, d_b) = halves.of_rows(&rows);
                Ok(outcome_cell(&d_b, &d_a, &clusters, RETAIN)?.aurocs(draws))
            };
            let auroc = splits.halves().iter().take(INTERVAL_SPLITS).map(of_split).collect::<Result<_, _>>()?;
            Ok(Resample { draws, clusters, auroc })
        };
        Ok(ReplicateRanking {
            splits,
            kept: splits.corpus_rows(&rows),
            labels,
            auroc: mean_of_defined(&values).0,
            resamples: resamples.iter().map(resample).collect::<Result<_, EstimatorError>>()?,
        })
    }

    /// Compares a trigger's repetition-averaged out-of-fold score with the replicate on all rows that could be split.
    ///
    /// `scores` and `labels` (the realised y) have one entry per row of the corpus. Both differences use the same draws on
    /// both sides. The mixed-label difference takes the trigger's AUROC on the same rows **\[choice\]**.
    ///
    /// # Errors
    /// `LengthMismatch`; `NotFinite`; `Invalid` where no boundary could be split.
    pub fn against(&self, scores: &[f64], labels: &[bool]) -> Result<AgainstReplicate, EstimatorError> {
        same_length("scores", self.splits.n_rows(), scores.len())?;
        same_length("labels", self.splits.n_rows(), labels.len())?;
        let scores: Vec<f64> = self.kept.iter().map(|&row| scores[row]).collect();
        let labels: Vec<bool> = self.kept.iter().map(|&row| labels[row]).collect();
        let ranks = ScoreRanks::new(&scores)?;
        let against = |labels: &[bool]| Ok(auroc_of_groups(&group_rows(&ranks, labels, &[], &[])?));
        let same_label: Vec<Value> =
            self.labels.par_iter().map(|y_a| against(y_a)).collect::<Result<_, EstimatorError>>()?;
        let trigger_auroc = mean_of_defined(&same_label).0;
        let share_recovered = match (trigger_auroc, self.auroc) {
            (Value::Defined(trigger), Value::Defined(replicate)) => {
                Value::ratio(trigger - 0.5, replicate - 0.5, Reason::ZeroDenominator)
            }
            (Value::Undefined(reason), _) | (_, Value::Undefined(reason)) => Value::Undefined(reason),
        };
        let mut out = AgainstReplicate {
            replicate_auroc: self.auroc,
            trigger_auroc,
            same_label_difference: Estimate::new(self.auroc.minus(trigger_auroc)),
            mixed_label_difference: Estimate::new(self.auroc.minus(against(&labels)?)),
            share_recovered,
        };
        for Resample { draws, clusters, auroc } in &self.resamples {
            let in_draws = |labels: &[bool]| {
                let as_d: Vec<f64> = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
                Ok(outcome_cell(&scores, &as_d, clusters, RETAIN)?.aurocs(draws))
            };
            let mut same = Vec::with_capacity(auroc.len());
            for (replicate, y_a) in auroc.iter().zip(&self.labels) {
                let trigger: Vec<Value> = in_draws(y_a)?;
                same.push(replicate.iter().zip(&trigger).map(|(r, t)| r.minus(*t)).collect::<Vec<_>>());
            }
            let realised: Vec<Value> = in_draws(&labels)?;
            let replicate = mean_over_splits(draws.len(), auroc, |&value| value);
            let mixed = replicate.iter().zip(&realised).map(|(replicate, trigger)| replicate.minus(*trigger));
            let same = mean_over_splits(draws.len(), &same, |&value| value);
            out.same_label_difference.add(draws.interval(same));
            out.mixed_label_difference.add(draws.interval(mixed));
        }
        Ok(out)
    }
}

/// How a trigger's AUROC reads beside the replicate's (protocol section 5, the reading rule).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The intervals overlap.
    WithinRange,
    /// The replicate's interval lies entirely above the trigger's.
    FallsShort,
    /// The trigger's interval lies entirely above the replicate's; the rule has no sentence for it **\[choice\]**.
    Exceeds,
    /// One of the intervals does not exist.
    Unknown,
}

impl Reading {
    /// Applies the rule to the two AUROC intervals.
    pub fn of(replicate: &Interval, trigger: &Interval) -> Reading {
        match (replicate.ends(), trigger.ends()) {
            (Some((lo, _)), Some((_, trigger_hi))) if lo > trigger_hi => Reading::FallsShort,
            (Some((_, hi)), Some((trigger_lo, _))) if hi < trigger_lo => Reading::Exceeds,
            (Some(_), Some(_)) => Reading::WithinRange,
            _ => Reading::Unknown,
        }
    }

    /// The sentence fixed by the rule.
    pub fn sentence(self) -> &'static str {
        match self {
            Reading::WithinRange => "within the range set by the boundary's own replicate",
            Reading::FallsShort => "falls short of what a replicate of the same boundary predicts",
            Reading::Exceeds => "above the range set by the boundary's own replicate",
            Reading::Unknown => "not comparable with a replicate of the same boundary: an interval is undefined",
        }
    }
}
