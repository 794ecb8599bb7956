//! Placement: mean burden of the boundaries with and without a label, and their contrast (protocol section 5; the
//! paper's section 3 and Appendix C).

use crate::bootstrap::{Clusters, Draws};
use crate::estimate::{Estimate, EstimatorError, Interval, Reason, Value, all_finite, same_length};
use foldline_features::{Arm, Boundary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One cell of boundaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellMean {
    /// Boundaries in the cell.
    pub boundaries: usize,
    /// Clusters (tasks) with a boundary in it.
    pub clusters: usize,
    /// Mean of d, with intervals.
    pub mean: Estimate,
}

/// Cells with and without a label, and their difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Boundaries with the label.
    pub with: CellMean,
    /// Boundaries without it.
    pub without: CellMean,
    /// Mean with minus mean without.
    pub difference: Estimate,
    /// Clusters (tasks) with a boundary in both cells.
    pub clusters_with_both: usize,
}

impl Contrast {
    /// Half of the width of the difference's first interval.
    pub fn half_width(&self) -> Option<f64> {
        self.difference.intervals.first().and_then(Interval::half_width)
    }
}

/// Sums of d of one cell by cluster.
struct CellSums {
    n: Vec<u32>,
    sum: Vec<f64>,
}

impl CellSums {
    fn new(d: &[f64], include: impl Fn(usize) -> bool, clusters: &Clusters) -> CellSums {
        let mut out = CellSums { n: vec![0; clusters.len()], sum: vec![0.0; clusters.len()] };
        for (row, &cluster) in clusters.of().iter().enumerate().filter(|&(row, _)| include(row)) {
            out.n[cluster as usize] += 1;
            out.sum[cluster as usize] += d[row];
        }
        out
    }

    fn mean(&self, times: impl Fn(usize) -> u32) -> Value {
        let (mut n, mut sum) = (0.0, 0.0);
        for (cluster, (&rows, &total)) in self.n.iter().zip(&self.sum).enumerate() {
            let times = f64::from(times(cluster));
            n += times * f64::from(rows);
            sum += times * total;
        }
        Value::ratio(sum, n, Reason::EmptyCell)
    }

    fn clusters(&self) -> BTreeSet<usize> {
        (0..self.n.len()).filter(|&cluster| self.n[cluster] > 0).collect()
    }

    fn cell(&self, draws: &[&Draws]) -> CellMean {
        let mut mean = Estimate::new(self.mean(|_| 1));
        for draws in draws {
            let values = draws.map(|| (), |(), times| self.mean(|cluster| times[cluster]));
            mean.add(draws.interval(values));
        }
        let boundaries = self.n.iter().map(|&n| n as usize).sum();
        CellMean { boundaries, clusters: self.clusters().len(), mean }
    }
}

/// The mean of d over the boundaries with `include`.
///
/// All slices are parallel, one entry per boundary; each of `draws` gives an interval (draws in which the cell is empty
/// are dropped and counted).
///
/// # Errors
/// `LengthMismatch`; `NotFinite`.
pub fn cell_mean(
    d: &[f64],
    include: &[bool],
    clusters: &Clusters,
    draws: &[&Draws],
) -> Result<CellMean, EstimatorError> {
    same_length("include", d.len(), include.len())?;
    same_length("clusters", d.len(), clusters.of().len())?;
    all_finite("d", d)?;
    Ok(CellSums::new(d, |row| include[row], clusters).cell(draws))
}

/// The contrast of a 0/1 label among the boundaries with `include` (all, or first compactions only).
///
/// The difference of cell means is also the slope of d on the label with an intercept and nothing else. Draws in which
/// one of the cells is empty are dropped and counted.
///
/// # Errors
/// `LengthMismatch`; `NotFinite`.
pub fn contrast(
    d: &[f64],
    label: &[bool],
    include: &[bool],
    clusters: &Clusters,
    draws: &[&Draws],
) -> Result<Contrast, EstimatorError> {
    same_length("label", d.len(), label.len())?;
    same_length("include", d.len(), include.len())?;
    same_length("clusters", d.len(), clusters.of().len())?;
    all_finite("d", d)?;
    let with = CellSums::new(d, |row| include[row] && label[row], clusters);
    let without = CellSums::new(d, |row| include[row] && !label[row], clusters);
    let mut difference = Estimate::new(with.mean(|_| 1).minus(without.mean(|_| 1)));
    for draws in draws {
        let values = draws
            .map(|| (), |(), times| with.mean(|cluster| times[cluster]).minus(without.mean(|cluster| times[cluster])));
        difference.add(draws.interval(values));
    }
    Ok(Contrast {
        clusters_with_both: with.clusters().intersection(&without.clusters()).count(),
        with: with.cell(draws),
        without: without.cell(draws),
        difference,
    })
}

/// How much the rollouts of an arm could show within a horizon: fewer actions, or more completions, mean fewer chances
/// to fail. Boundary-weighted: the mean over boundaries of the mean over the arm's rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exposure {
    /// Rollouts of the arm.
    pub rollouts: usize,
    /// Valid actions (steps with a call) among the first k.
    pub valid_actions: Value,
    /// Share that ended with the task complete at a step <= k; a rollout of 0 steps counts if it is complete
    /// **\[choice\]**.
    pub completed: Value,
}

/// The exposure of an arm through the first `k` steps. Boundaries without a rollout in the arm do not count.
pub fn exposure<'a>(boundaries: impl IntoIterator<Item = &'a Boundary>, arm: Arm, k: usize) -> Exposure {
    let (mut rollouts, mut counted, mut valid, mut completed) = (0usize, 0.0, 0.0, 0.0);
    for boundary in boundaries {
        let of_arm = || boundary.rollouts.iter().filter(|rollout| rollout.arm == arm);
        let n = of_arm().count();
        if n == 0 {
            continue;
        }
        rollouts += n;
        counted += 1.0;
        let actions: usize =
            of_arm().map(|r| r.steps.iter().take(k).filter(|step| !step.function.is_empty()).count()).sum();
        let done = of_arm().filter(|rollout| rollout.completed && rollout.steps.len() <= k).count();
        valid += actions as f64 / n as f64;
        completed += done as f64 / n as f64;
    }
    Exposure {
        rollouts,
        valid_actions: Value::ratio(valid, counted, Reason::NoRows),
        completed: Value::ratio(completed, counted, Reason::NoRows),
    }
}
