//! A trigger read beside the split-half replicate: paired differences, share recovered, and the reading rule (protocol
//! section 5).

use crate::bootstrap::{Clusters, Draws};
use crate::cell::Statistic;
use crate::estimate::{Estimate, EstimatorError, Interval, Reason, Value, mean_of_defined, same_length};
use crate::frontier::Retain;
use crate::ranking::auroc;
use crate::splits::SplitHalves;
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

/// Compares a trigger's repetition-averaged out-of-fold score with the replicate on all rows that could be split.
///
/// `scores` and `labels` (the realised y) have one entry per row of the corpus. Both differences use the draws given,
/// paired: the same tasks on both sides. The mixed-label difference takes the trigger's AUROC on the same rows
/// **\[choice\]**.
///
/// # Errors
/// `LengthMismatch`; `NotFinite`; `Invalid` where no boundary could be split.
pub fn against_replicate(
    splits: &SplitHalves,
    scores: &[f64],
    labels: &[bool],
    resamples: &[(&Draws, &Clusters)],
) -> Result<AgainstReplicate, EstimatorError> {
    same_length("scores", splits.n_rows(), scores.len())?;
    same_length("labels", splits.n_rows(), labels.len())?;
    let rows = splits.rows_of(&vec![true; scores.len()])?;
    let kept = splits.corpus_rows(&rows);
    let scores: Vec<f64> = kept.iter().map(|&row| scores[row]).collect();
    let labels: Vec<bool> = kept.iter().map(|&row| labels[row]).collect();
    let single: Vec<(Value, Value)> = splits
        .halves()
        .par_iter()
        .map(|halves| {
            let (d_a, d_b) = halves.of_rows(&rows);
            let y_a: Vec<bool> = d_a.iter().map(|&d| d > 0.0).collect();
            Ok((auroc(&d_b, &y_a)?, auroc(&scores, &y_a)?))
        })
        .collect::<Result<_, EstimatorError>>()?;
    let replicate_auroc = mean_of_defined(&single.iter().map(|pair| pair.0).collect::<Vec<_>>()).0;
    let trigger_auroc = mean_of_defined(&single.iter().map(|pair| pair.1).collect::<Vec<_>>()).0;
    let realised = auroc(&scores, &labels)?;
    let share_recovered = match (trigger_auroc, replicate_auroc) {
        (Value::Defined(trigger), Value::Defined(replicate)) => {
            Value::ratio(trigger - 0.5, replicate - 0.5, Reason::ZeroDenominator)
        }
        (Value::Undefined(reason), _) | (_, Value::Undefined(reason)) => Value::Undefined(reason),
    };
    let mut out = AgainstReplicate {
        replicate_auroc,
        trigger_auroc,
        same_label_difference: Estimate::new(replicate_auroc.minus(trigger_auroc)),
        mixed_label_difference: Estimate::new(replicate_auroc.minus(realised)),
        share_recovered,
    };
    // an AUROC does not depend on the share retained
    let retain = Retain::PAPER;
    for &(draws, clusters) in resamples {
        let clusters = splits.clusters_of(&rows, clusters)?;
        let auroc_in_draws = |scores: &[f64], d: &[f64]| -> Result<Vec<Value>, EstimatorError> {
            let replicates = outcome_cell(scores, d, &clusters, retain)?.replicates(draws);
            Ok(replicates.iter().map(|replicate| replicate.get(Statistic::Auroc)).collect())
        };
        let (mut replicate, mut same) = (Vec::new(), Vec::new());
        for halves in splits.halves().iter().take(INTERVAL_SPLITS) {
            let (d_a, d_b) = halves.of_rows(&rows);
            let of_replicate = auroc_in_draws(&d_b, &d_a)?;
            let of_trigger = auroc_in_draws(&scores, &d_a)?;
            same.push(of_replicate.iter().zip(&of_trigger).map(|(r, t)| r.minus(*t)).collect::<Vec<_>>());
            replicate.push(of_replicate);
        }
        let as_d: Vec<f64> = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
        let realised = auroc_in_draws(&scores, &as_d)?;
        let replicate = mean_over_splits(draws.len(), &replicate, |&value| value);
        let mixed = replicate.iter().zip(&realised).map(|(replicate, trigger)| replicate.minus(*trigger));
        out.same_label_difference.add(draws.interval(mean_over_splits(draws.len(), &same, |&value| value)));
        out.mixed_label_difference.add(draws.interval(mixed));
    }
    Ok(out)
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
