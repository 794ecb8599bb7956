//! How well scores order boundaries by harm: AUROC, average precision, rank and linear correlation (protocol section 5).

use crate::bootstrap::{Clusters, Draws};
use crate::estimate::{Estimate, EstimatorError, Reason, Value, all_finite, mean_of_defined, same_length};
use crate::folds::Folds;
use crate::groups::{Group, ScoreRanks, group_rows};
use serde::{Deserialize, Serialize};

/// Chance that a random positive outscores a random negative; ties count one half.
///
/// `scores` and `labels` are parallel, one entry per boundary, in any order; a higher score is riskier. In [0, 1],
/// higher is better; tasks and stems are ignored. `Undefined(OneClass)` with one class only, never 0.5. −0.0 equals
/// 0.0; scores that are merely close stay apart.
///
/// # Errors
/// `LengthMismatch`; `NotFinite` names the row of a NaN or infinite score.
///
/// Source: protocol section 5; Hanley and McNeil, Radiology 143 (1982) 29-36.
pub fn auroc(scores: &[f64], labels: &[bool]) -> Result<Value, EstimatorError> {
    Ok(auroc_of_groups(&group_rows(&ScoreRanks::new(scores)?, labels, &[], &[])?))
}

/// AUROC of grouped scores, lowest first. Pairs are counted in integers and divided once.
pub fn auroc_of_groups(groups: &[Group]) -> Value {
    // twice the number of pairs in the right order, ties counting one
    let mut twice_pairs = 0u128;
    let mut negative_below = 0u64;
    let mut positives = 0u64;
    for group in groups {
        let positive = u64::from(group.positive);
        let negative = u64::from(group.rows - group.positive);
        twice_pairs += u128::from(positive) * u128::from(2 * negative_below + negative);
        negative_below += negative;
        positives += positive;
    }
    if groups.is_empty() {
        return Value::Undefined(Reason::NoRows);
    }
    auroc_of_pairs(twice_pairs, positives, negative_below)
}

/// AUROC from twice the number of pairs in the right order, ties counting one, and the sizes of both classes.
pub(crate) fn auroc_of_pairs(twice_pairs: u128, positives: u64, negatives: u64) -> Value {
    match u128::from(positives) * u128::from(negatives) {
        0 => Value::Undefined(Reason::OneClass),
        pairs => Value::Defined(twice_pairs as f64 / (2 * pairs) as f64),
    }
}

/// Average precision, step-wise: sum over distinct scores, descending, of (R_j − R_{j−1})·P_j.
///
/// Not the trapezoid rule, and without the made-up point (recall 0, precision 1): a constant score gets the share of
/// positives. In (0, 1], higher is better. `Undefined(NoPositive)` without a positive.
///
/// # Errors
/// As [`auroc`].
///
/// Source: protocol section 5; the definition of scikit-learn's `average_precision_score`.
pub fn average_precision(scores: &[f64], labels: &[bool]) -> Result<Value, EstimatorError> {
    Ok(average_precision_of_groups(&group_rows(&ScoreRanks::new(scores)?, labels, &[], &[])?))
}

/// Average precision of grouped scores, lowest first.
pub fn average_precision_of_groups(groups: &[Group]) -> Value {
    let (mut rows, mut positives, mut sum) = (0u64, 0u64, 0.0);
    for group in groups.iter().rev() {
        rows += u64::from(group.rows);
        positives += u64::from(group.positive);
        if group.positive > 0 {
            sum += f64::from(group.positive) * (positives as f64 / rows as f64);
        }
    }
    Value::ratio(sum, positives as f64, Reason::NoPositive)
}

/// A statistic of each test fold, and its mean over the folds where it is defined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerFold {
    /// One value for each fold, in fold order.
    pub folds: Vec<Value>,
    /// Their mean over the defined ones.
    pub mean: Value,
    /// How many are defined.
    pub defined: usize,
}

/// AUROC within each test fold of one repetition, and the mean over the folds with both classes.
///
/// Not the pooled AUROC: only boundaries scored by the same model are compared. `scores` are the out-of-fold scores of
/// that repetition.
///
/// # Errors
/// As [`auroc`]; `OutOfRange` for a repetition that the folds do not have.
pub fn auroc_per_fold(
    scores: &[f64],
    labels: &[bool],
    folds: &Folds,
    repetition: usize,
) -> Result<PerFold, EstimatorError> {
    all_finite("score", scores)?;
    same_length("labels", scores.len(), labels.len())?;
    same_length("folds", scores.len(), folds.n_rows())?;
    if repetition >= folds.repetitions() {
        return Err(EstimatorError::OutOfRange { what: "repetition", index: repetition, count: folds.repetitions() });
    }
    let per_fold: Vec<Value> = (0..folds.k())
        .map(|fold| {
            let rows = folds.test_rows(repetition, fold);
            let scores: Vec<f64> = rows.iter().map(|&row| scores[row as usize]).collect();
            let labels: Vec<bool> = rows.iter().map(|&row| labels[row as usize]).collect();
            auroc(&scores, &labels)
        })
        .collect::<Result<_, _>>()?;
    let (mean, defined) = mean_of_defined(&per_fold);
    Ok(PerFold { folds: per_fold, mean, defined })
}

/// A statistic of each repetition: mean, smallest and largest. It has no interval.
///
/// In JSON `{"point": 0.62, "mean": 0.62, "min": 0.6, "max": 0.64, "defined": 20, "repetitions": [0.61, ...]}`: the point
/// is the mean, and a repetition where the statistic is undefined is null; with none defined `{"point": null, "reason":
/// ..., "mean": null, ...}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "PerRepetitionRecord", from = "PerRepetitionRecord")]
pub struct PerRepetition {
    /// One value for each repetition, in order.
    pub repetitions: Vec<Value>,
    /// Mean over the defined ones, added in repetition order; undefined, for the first one's reason, where none is.
    pub mean: Value,
    /// Smallest of the defined ones.
    pub min: Value,
    /// Largest of the defined ones.
    pub max: Value,
    /// How many are defined.
    pub defined: usize,
}

impl PerRepetition {
    /// Summarises values of single repetitions.
    pub fn of(repetitions: Vec<Value>) -> PerRepetition {
        let (mean, defined) = mean_of_defined(&repetitions);
        let none = repetitions.first().and_then(|first| first.reason()).unwrap_or(Reason::NoneDefined);
        let extreme = |pick: fn(f64, f64) -> f64| match repetitions.iter().filter_map(|v| v.defined()).reduce(pick) {
            Some(number) => Value::Defined(number),
            None => Value::Undefined(none),
        };
        let (min, max) = (extreme(f64::min), extreme(f64::max));
        let mean = if defined > 0 { mean } else { Value::Undefined(none) };
        PerRepetition { repetitions, mean, min, max, defined }
    }
}

/// How a [`PerRepetition`] stands in a file.
#[derive(Serialize, Deserialize)]
struct PerRepetitionRecord {
    point: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    mean: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    defined: usize,
    repetitions: Vec<Option<f64>>,
}

impl From<PerRepetition> for PerRepetitionRecord {
    fn from(per: PerRepetition) -> PerRepetitionRecord {
        PerRepetitionRecord {
            point: per.mean.defined(),
            reason: per.mean.reason(),
            mean: per.mean.defined(),
            min: per.min.defined(),
            max: per.max.defined(),
            defined: per.defined,
            repetitions: per.repetitions.iter().map(|value| value.defined()).collect(),
        }
    }
}

impl From<PerRepetitionRecord> for PerRepetition {
    fn from(record: PerRepetitionRecord) -> PerRepetition {
        let undefined = Value::Undefined(record.reason.unwrap_or(Reason::NoneDefined));
        let value = |number: Option<f64>| number.map_or(undefined, Value::Defined);
        PerRepetition {
            repetitions: record.repetitions.into_iter().map(value).collect(),
            mean: value(record.mean),
            min: value(record.min),
            max: value(record.max),
            defined: record.defined,
        }
    }
}

/// Pooled AUROC of every repetition: `scores[repetition][row]` are out-of-fold scores.
///
/// # Errors
/// As [`auroc`].
pub fn auroc_per_repetition(scores: &[Vec<f64>], labels: &[bool]) -> Result<PerRepetition, EstimatorError> {
    Ok(PerRepetition::of(scores.iter().map(|scores| auroc(scores, labels)).collect::<Result<_, _>>()?))
}

/// Average precision of every repetition: `scores[repetition][row]` are out-of-fold scores.
///
/// # Errors
/// As [`auroc`].
pub fn average_precision_per_repetition(scores: &[Vec<f64>], labels: &[bool]) -> Result<PerRepetition, EstimatorError> {
    Ok(PerRepetition::of(scores.iter().map(|scores| average_precision(scores, labels)).collect::<Result<_, _>>()?))
}

/// The repetition-averaged score of every row: added in repetition order, divided once.
///
/// # Errors
/// `LengthMismatch` between repetitions; `Invalid` without any.
pub fn average_scores(scores: &[Vec<f64>]) -> Result<Vec<f64>, EstimatorError> {
    let (first, rest) =
        scores.split_first().ok_or_else(|| EstimatorError::Invalid("no repetition to average".to_owned()))?;
    let mut sum = first.clone();
    for repetition in rest {
        same_length("scores of a repetition", sum.len(), repetition.len())?;
        sum.iter_mut().zip(repetition).for_each(|(sum, score)| *sum += score);
    }
    let count = scores.len() as f64;
    sum.iter_mut().for_each(|sum| *sum /= count);
    Ok(sum)
}

/// Pearson's correlation of two parallel slices; `Undefined(NoVariation)` when either is constant.
///
/// # Errors
/// `LengthMismatch`; `NotFinite`.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Value, EstimatorError> {
    same_length("y", x.len(), y.len())?;
    all_finite("x", x)?;
    all_finite("y", y)?;
    Ok(weighted_pearson(x.iter().zip(y).map(|(&x, &y)| (1, x, y))))
}

/// Pearson's correlation of rows (times, x, y).
///
/// Whether a variable is constant is decided by comparing its values, not by a variance that rounding may leave above 0.
pub(crate) fn weighted_pearson(rows: impl Iterator<Item = (u32, f64, f64)> + Clone) -> Value {
    let mut first: Option<(f64, f64)> = None;
    let (mut x_varies, mut y_varies) = (false, false);
    let (mut x_size, mut y_size) = (0.0f64, 0.0f64);
    for (_, x, y) in rows.clone().filter(|row| row.0 > 0) {
        let (x0, y0) = *first.get_or_insert((x, y));
        x_varies |= (x - x0).abs() > 0.0;
        y_varies |= (y - y0).abs() > 0.0;
        x_size = x_size.max(x.abs());
        y_size = y_size.max(y.abs());
    }
    if first.is_none() {
        return Value::Undefined(Reason::NoRows);
    }
    if !(x_varies && y_varies) {
        return Value::Undefined(Reason::NoVariation);
    }
    // sizes far from 1 would over- or underflow when squared
    let scale_of = |size: f64| if (1e-60..1e60).contains(&size) { 1.0 } else { size };
    let (x_scale, y_scale) = (scale_of(x_size), scale_of(y_size));
    let rows = rows.map(|(times, x, y)| (f64::from(times), x / x_scale, y / y_scale));
    let (mut n, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
    for (times, x, y) in rows.clone() {
        n += times;
        sum_x += times * x;
        sum_y += times * y;
    }
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (times, x, y) in rows {
        let (x, y) = (x - mean_x, y - mean_y);
        xx += times * x * x;
        yy += times * y * y;
        xy += times * x * y;
    }
    let scale = xx.sqrt() * yy.sqrt();
    Value::ratio(xy, scale, Reason::NoVariation).map(|r| r.clamp(-1.0, 1.0))
}

/// Spearman's rank correlation: Pearson's of the mid-ranks (tied values share their mean rank).
///
/// # Errors
/// As [`pearson`].
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Value, EstimatorError> {
    same_length("y", x.len(), y.len())?;
    Ok(RankCorrelation::new(x, y)?.with_weights(&vec![1; x.len()]))
}

/// Two ranked variables, ready for Spearman's correlation under many weightings of the rows.
#[derive(Clone, Debug)]
pub struct RankCorrelation {
    x: ScoreRanks,
    y: ScoreRanks,
}

impl RankCorrelation {
    /// Ranks both variables.
    ///
    /// # Errors
    /// As [`pearson`].
    pub fn new(x: &[f64], y: &[f64]) -> Result<RankCorrelation, EstimatorError> {
        same_length("y", x.len(), y.len())?;
        Ok(RankCorrelation { x: ScoreRanks::new(x)?, y: ScoreRanks::new(y)? })
    }

    /// Spearman's correlation when row i stands `times[i]` times in the sample; missing entries count 0.
    pub fn with_weights(&self, times: &[u32]) -> Value {
        let (x, y) = (mid_ranks(&self.x, times), mid_ranks(&self.y, times));
        let ranks = self.x.ranks().iter().zip(self.y.ranks());
        weighted_pearson(ranks.zip(times).map(|((&gx, &gy), &times)| (times, x[gx as usize], y[gy as usize])))
    }
}

impl RankCorrelation {
    /// Spearman's correlation of the rows as they are, with one interval per bootstrap; `clusters` are those of the rows.
    ///
    /// # Errors
    /// `LengthMismatch`.
    pub fn estimate(&self, clusters: &Clusters, draws: &[&Draws]) -> Result<Estimate, EstimatorError> {
        let n = self.x.n_rows();
        same_length("clusters", n, clusters.of().len())?;
        let mut estimate = Estimate::new(self.with_weights(&vec![1; n]));
        for draws in draws {
            let values = draws.map(Vec::new, |times: &mut Vec<u32>, multiplicity| {
                times.clear();
                times.extend(clusters.of().iter().map(|&cluster| multiplicity[cluster as usize]));
                self.with_weights(times)
            });
            estimate.add(draws.interval(values));
        }
        Ok(estimate)
    }
}

/// The cell with the largest value, given in table order; ties go to the earlier one, undefined ones are passed over.
///
/// The protocol's best cell has the largest per-repetition mean AUROC on the primary target among the eligible cells;
/// its interval is not adjusted for having been selected.
pub fn best_cell(means: &[Value]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (index, mean) in means.iter().enumerate() {
        if let Some(mean) = mean.defined().filter(|&mean| best.is_none_or(|(_, largest)| mean > largest)) {
            best = Some((index, mean));
        }
    }
    best.map(|(index, _)| index)
}

/// The mid-rank of every group of equal values, rows counting `times`.
fn mid_ranks(ranks: &ScoreRanks, times: &[u32]) -> Vec<f64> {
    let mut rows = vec![0u64; ranks.distinct().len()];
    for (&rank, &times) in ranks.ranks().iter().zip(times) {
        rows[rank as usize] += u64::from(times);
    }
    let mut below = 0u64;
    rows.iter()
        .map(|&rows| {
            let mid = below as f64 + (rows as f64 + 1.0) / 2.0;
            below += rows;
            mid
        })
        .collect()
}
