//! The split-half replicate yardstick: how well a boundary's own second half of rollouts predicts its first half
//! (protocol section 5).
//!
//! No trigger that sees only the past can be expected to beat a replicate of the same boundary, so the replicate's
//! discrimination is the scale on which a trigger's is read.

pub use crate::against_replicate::{AgainstReplicate, Reading, ReplicateRanking};

use crate::bootstrap::{Clusters, Draws, percentile};
use crate::cell::{Cell, Replicate, Statistic};
use crate::estimate::{Estimate, EstimatorError, Reason, Value, mean_of_defined, same_length};
use crate::frontier::Retain;
use crate::ranking::{pearson, spearman, weighted_pearson};
use crate::splits::{Halves, SplitHalves};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Intervals are of the mean over this many splits, the first ones.
pub const INTERVAL_SPLITS: usize = 20;

/// A statistic over random splits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverSplits {
    /// Mean over the splits where it is defined, and the bootstrap intervals of the mean over the first 20 splits.
    #[serde(flatten)]
    pub mean: Estimate,
    /// 5th percentile over splits.
    pub p5: Value,
    /// 95th percentile over splits.
    pub p95: Value,
    /// Splits in which it is defined.
    pub defined: usize,
}

impl OverSplits {
    fn of(values: &[Value]) -> OverSplits {
        let (mean, defined) = mean_of_defined(values);
        let mut ascending: Vec<f64> = values.iter().filter_map(|value| value.defined()).collect();
        ascending.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| match percentile(&ascending, q) {
            Value::Undefined(_) => Value::Undefined(Reason::NoneDefined),
            defined => defined,
        };
        OverSplits { mean: Estimate::new(mean), p5: at(0.05), p95: at(0.95), defined }
    }
}

/// The statistics of one split: half B's delta as a score for half A's label 1\[d_A > 0\].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitStatistics {
    /// AUROC of d_B against the label.
    pub auroc: Value,
    /// Pearson's correlation of d_A and d_B.
    pub pearson: Value,
    /// Spearman's.
    pub spearman: Value,
    /// 2r/(1 + r) of Pearson's r: the reliability of all rollouts together.
    pub spearman_brown: Value,
    /// Share of boundaries whose two halves agree in sign; 0 is a sign of its own.
    pub sign_agreement: Value,
    /// Cohen's kappa of the signs.
    pub kappa: Value,
    /// Share of boundaries with d_A > 0.
    pub label_positive_rate: Value,
    /// The operating point with d_B as score, y_A and m_A = max(0, d_A): share allowed.
    pub retained: Value,
    /// Share of the positives of half A blocked there.
    pub avoided: Value,
    /// Share of the burden mass of half A blocked there.
    pub mass: Value,
    /// avoided − (1 − retained).
    pub advantage_count: Value,
    /// mass − (1 − retained).
    pub advantage_mass: Value,
}

/// 2r/(1 + r), undefined at r = −1.
fn spearman_brown(r: Value) -> Value {
    match r {
        Value::Defined(r) => Value::ratio(2.0 * r, 1.0 + r, Reason::ZeroDenominator),
        undefined @ Value::Undefined(_) => undefined,
    }
}

/// Sign agreement and Cohen's kappa of two lists of signed numbers, with classes negative, zero, positive.
///
/// kappa is undefined where chance alone would always agree.
///
/// # Errors
/// `LengthMismatch`.
pub fn sign_agreement(a: &[f64], b: &[f64]) -> Result<(Value, Value), EstimatorError> {
    same_length("b", a.len(), b.len())?;
    let class = |x: f64| usize::from(x > 0.0) + usize::from(x >= 0.0);
    let mut table = [[0u64; 3]; 3];
    a.iter().zip(b).for_each(|(&a, &b)| table[class(a)][class(b)] += 1);
    let n = a.len() as u64;
    let agree: u64 = (0..3).map(|i| table[i][i]).sum();
    // chance agreement times n², in integers
    let by_chance: u64 =
        (0..3).map(|i| table[i].iter().sum::<u64>() * table.iter().map(|row| row[i]).sum::<u64>()).sum();
    let agreement = Value::ratio(agree as f64, n as f64, Reason::NoRows);
    let kappa = if n == 0 {
        Value::Undefined(Reason::NoRows)
    } else {
        Value::ratio((agree * n) as f64 - by_chance as f64, (n * n) as f64 - by_chance as f64, Reason::NoVariation)
    };
    Ok((agreement, kappa))
}

/// A split's rows of a subset as a cell: d_B is the score, half A the outcome.
fn half_cell(halves: &Halves, rows: &[usize], clusters: &Clusters, retain: Retain) -> Result<Cell, EstimatorError> {
    let (d_a, d_b) = halves.of_rows(rows);
    outcome_cell(&d_b, &d_a, clusters, retain)
}

/// A cell judged on the outcome of half A.
pub(crate) fn outcome_cell(
    scores: &[f64],
    d_a: &[f64],
    clusters: &Clusters,
    retain: Retain,
) -> Result<Cell, EstimatorError> {
    let labels: Vec<bool> = d_a.iter().map(|&d| d > 0.0).collect();
    let mass: Vec<f64> = d_a.iter().map(|&d| d.max(0.0)).collect();
    Cell::new(scores, &labels, &mass, d_a, clusters, retain)
}

/// The statistics of one split on some of its rows.
///
/// # Errors
/// `Invalid` without a row.
pub fn split_statistics(halves: &Halves, rows: &[usize], retain: Retain) -> Result<SplitStatistics, EstimatorError> {
    let (d_a, d_b) = halves.of_rows(rows);
    let nobody = Clusters::new(&vec![""; rows.len()]);
    let point = outcome_cell(&d_b, &d_a, &nobody, retain)?.point();
    let r = pearson(&d_a, &d_b)?;
    let (sign_agreement, kappa) = sign_agreement(&d_a, &d_b)?;
    let positive = d_a.iter().filter(|&&d| d > 0.0).count() as f64;
    Ok(SplitStatistics {
        auroc: point.get(Statistic::Auroc),
        pearson: r,
        spearman: spearman(&d_a, &d_b)?,
        spearman_brown: spearman_brown(r),
        sign_agreement,
        kappa,
        label_positive_rate: Value::ratio(positive, d_a.len() as f64, Reason::NoRows),
        retained: point.get(Statistic::Retained),
        avoided: point.get(Statistic::Avoided),
        mass: point.get(Statistic::Mass),
        advantage_count: point.get(Statistic::AdvantageCount),
        advantage_mass: point.get(Statistic::AdvantageMass),
    })
}

/// The yardstick of one horizon and subset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Yardstick {
    /// Boundaries used.
    pub n: usize,
    /// Boundaries of the subset left out, with fewer than 2 rollouts in an arm.
    pub left_out: usize,
    /// Random splits.
    pub splits: usize,
    /// AUROC of d_B against 1\[d_A > 0\].
    pub auroc: OverSplits,
    /// Pearson's correlation of the halves.
    pub pearson: OverSplits,
    /// Spearman's correlation of the halves; no interval.
    pub spearman: OverSplits,
    /// Spearman-Brown step-up, computed per split.
    pub spearman_brown: OverSplits,
    /// Three-class sign agreement; no interval.
    pub sign_agreement: OverSplits,
    /// Cohen's kappa of the signs; no interval.
    pub kappa: OverSplits,
    /// Share of boundaries with d_A > 0; no interval.
    pub label_positive_rate: OverSplits,
    /// Operating point with d_B as score: share allowed.
    pub retained: OverSplits,
    /// Share of positives of half A blocked.
    pub avoided: OverSplits,
    /// Share of the burden mass of half A blocked.
    pub mass: OverSplits,
    /// avoided − (1 − retained).
    pub advantage_count: OverSplits,
    /// mass − (1 − retained).
    pub advantage_mass: OverSplits,
}

/// The yardstick on a subset of the boundaries: `include[row]` says which.
///
/// Point values are means over all splits; intervals are bootstrap intervals of the mean over the first 20 splits,
/// whose operating thresholds are reselected in every draw. A draw in which any of the 20 is undefined is dropped
/// **\[choice\]**. `resamples` are pairs of draws and clusters (by task, by stem); clusters are those of all rows, so that
/// every subset and horizon sees the same draws, its other rows counting nothing **\[choice\]**.
///
/// # Errors
/// `LengthMismatch`; `Invalid` where no boundary is left.
pub fn yardstick(
    splits: &SplitHalves,
    include: &[bool],
    retain: Retain,
    resamples: &[(&Draws, &Clusters)],
) -> Result<Yardstick, EstimatorError> {
    let rows = splits.rows_of(include)?;
    if rows.is_empty() {
        return Err(EstimatorError::Invalid(
            "no boundary of the subset has two rollouts in each arm that the target needs".to_owned(),
        ));
    }
    let single: Vec<SplitStatistics> =
        splits.halves().par_iter().map(|halves| split_statistics(halves, &rows, retain)).collect::<Result<_, _>>()?;
    let over = |of: fn(&SplitStatistics) -> Value| OverSplits::of(&single.iter().map(of).collect::<Vec<_>>());
    let mut out = Yardstick {
        n: rows.len(),
        left_out: include.iter().filter(|&&included| included).count() - rows.len(),
        splits: single.len(),
        auroc: over(|s| s.auroc),
        pearson: over(|s| s.pearson),
        spearman: over(|s| s.spearman),
        spearman_brown: over(|s| s.spearman_brown),
        sign_agreement: over(|s| s.sign_agreement),
        kappa: over(|s| s.kappa),
        label_positive_rate: over(|s| s.label_positive_rate),
        retained: over(|s| s.retained),
        avoided: over(|s| s.avoided),
        mass: over(|s| s.mass),
        advantage_count: over(|s| s.advantage_count),
        advantage_mass: over(|s| s.advantage_mass),
    };
    for &(draws, clusters) in resamples {
        add_intervals(&mut out, splits, &rows, retain, draws, clusters)?;
    }
    Ok(out)
}

fn add_intervals(
    out: &mut Yardstick,
    splits: &SplitHalves,
    rows: &[usize],
    retain: Retain,
    draws: &Draws,
    clusters: &Clusters,
) -> Result<(), EstimatorError> {
    let clusters = splits.clusters_of(rows, clusters)?;
    let mut replicates: Vec<Vec<Replicate>> = Vec::new();
    let mut correlations: Vec<Vec<Value>> = Vec::new();
    for halves in splits.halves().iter().take(INTERVAL_SPLITS) {
        replicates.push(half_cell(halves, rows, &clusters, retain)?.replicates(draws));
        let (d_a, d_b) = halves.of_rows(rows);
        correlations.push(draws.map(
            || (),
            |(), times| {
                let weighted = clusters.of().iter().map(|&cluster| times[cluster as usize]);
                weighted_pearson(weighted.zip(d_a.iter().zip(&d_b)).map(|(times, (&a, &b))| (times, a, b)))
            },
        ));
    }
    let statistic = |statistic: Statistic| {
        draws.interval(mean_over_splits(draws.len(), &replicates, |replicate| replicate.get(statistic)))
    };
    for (field, name) in [
        (&mut out.auroc, Statistic::Auroc),
        (&mut out.retained, Statistic::Retained),
        (&mut out.avoided, Statistic::Avoided),
        (&mut out.mass, Statistic::Mass),
        (&mut out.advantage_count, Statistic::AdvantageCount),
        (&mut out.advantage_mass, Statistic::AdvantageMass),
    ] {
        field.mean.add(statistic(name));
    }
    let of_r = |map: fn(Value) -> Value| draws.interval(mean_over_splits(draws.len(), &correlations, |&r| map(r)));
    out.pearson.mean.add(of_r(|r| r));
    out.spearman_brown.mean.add(of_r(spearman_brown));
    Ok(())
}

/// For each draw the mean over splits of `[split][draw]` values; undefined as soon as one is.
pub(crate) fn mean_over_splits<T>(draws: usize, by_split: &[Vec<T>], value: impl Fn(&T) -> Value) -> Vec<Value> {
    (0..draws)
        .map(|draw| {
            let mut sum = 0.0;
            for split in by_split {
                match value(&split[draw]) {
                    Value::Defined(number) => sum += number,
                    undefined @ Value::Undefined(_) => return undefined,
                }
            }
            Value::ratio(sum, by_split.len() as f64, Reason::NoneDefined)
        })
        .collect()
}
