//! Nested bootstrap: tasks, and within each copy of each of their boundaries the rollouts (protocol section 5).
//!
//! It asks how much of an interval is due to the few replays behind each label. Scores stay fixed, d and y are rebuilt.
//! Many cells are judged in the same draws, so that a draw's rollouts are resampled once.

use crate::bootstrap::{Clusters, Draws};
use crate::cell::{Cell, Replicate};
use crate::counts::{TargetCounts, delta_of};
use crate::estimate::{EstimatorError, Reason, Unit, Value, same_length};
use crate::groups::Group;
use crate::streams::{Stream, Streams};
use foldline_features::{Burden, Target};
use rayon::prelude::*;

/// What a nested bootstrap finds.
#[derive(Clone, Debug)]
pub struct Nested {
    /// `[cell][draw]`: all statistics of each cell in each draw.
    pub replicates: Vec<Vec<Replicate>>,
    /// Mean over draws of the share of drawn boundaries whose rebuilt y is 1.
    pub positive_rate: Value,
    /// Mean over draws of the share of drawn boundaries whose rebuilt y differs from the realised one.
    pub sign_changes: Value,
    /// Stands for the draws when an interval is made: unit nested, its seed.
    draws: Draws,
}

impl Nested {
    /// The draws, for [`crate::cell::interval`] and [`crate::cell::difference`].
    pub fn draws(&self) -> &Draws {
        &self.draws
    }
}

/// Judges cells under resampled rollouts.
///
/// `burdens` are the rollout counts of every boundary, parallel to the cells' rows; `clusters` those of the cells. Each
/// copy of a boundary in a draw resamples its PRE and its POST rollouts with replacement, as many as there are, each
/// copy by itself **\[choice\]**: a task drawn twice does not repeat its resampled rollouts (sharing them would widen the
/// intervals by about a seventh). For an observational target only its own arm is resampled. The operating threshold is
/// reselected and the signed values' threshold held, as in the plain bootstrap.
///
/// Draw i takes its tasks from stream `(seed, "bootstrap/nested", i)` and its rollouts from `(seed, "nested/rollouts",
/// i)`, boundaries in corpus order.
///
/// # Errors
/// `LengthMismatch`; `Invalid` names a boundary without a rollout in an arm that the target needs.
pub fn nested_bootstrap(
    cells: &[&Cell],
    burdens: &[Burden],
    target: Target,
    clusters: &Clusters,
    streams: &Streams,
    count: u32,
) -> Result<Nested, EstimatorError> {
    let n = burdens.len();
    same_length("clusters", n, clusters.of().len())?;
    for cell in cells {
        same_length("rows of a cell", n, cell.ranks().n_rows())?;
    }
    let rows = TargetCounts::of_all(burdens, target)?;
    let draws = Draws::new(streams, Unit::Nested, clusters.len(), count);

    let per_draw: Vec<(Vec<Replicate>, Value, Value)> = (0..draws.len())
        .into_par_iter()
        .map_init(
            || (Vec::new(), Vec::new()),
            |(copies, groups), draw| {
                let mut stream = streams.stream("nested/rollouts", draw as u64);
                resample(&rows, clusters, draws.multiplicity(draw), &mut stream, copies);
                let judged = cells.iter().map(|cell| judge(cell, copies, groups)).collect();
                let drawn = copies.len() as f64;
                let positive = copies.iter().filter(|copy| copy.d > 0.0).count() as f64;
                let changed =
                    copies.iter().filter(|copy| (copy.d > 0.0) != rows[copy.row].delta.is_positive()).count() as f64;
                (judged, Value::ratio(positive, drawn, Reason::NoRows), Value::ratio(changed, drawn, Reason::NoRows))
            },
        )
        .collect();

    let mean = |of: fn(&(Vec<Replicate>, Value, Value)) -> Value| {
        crate::estimate::mean_of_defined(&per_draw.iter().map(of).collect::<Vec<_>>()).0
    };
    let (positive_rate, sign_changes) = (mean(|draw| draw.1), mean(|draw| draw.2));
    let replicates = (0..cells.len()).map(|cell| per_draw.iter().map(|(judged, ..)| judged[cell]).collect()).collect();
    Ok(Nested { replicates, positive_rate, sign_changes, draws })
}

/// One copy of a boundary in a draw, with its rebuilt d.
struct Copied {
    row: usize,
    d: f64,
}

fn resample(rows: &[TargetCounts], clusters: &Clusters, times: &[u32], stream: &mut Stream, copies: &mut Vec<Copied>) {
    copies.clear();
    let mut sum = |counts: &[u8]| -> (i64, i64) {
        let sum = counts.iter().map(|_| i64::from(counts[stream.below(counts.len() as u32) as usize])).sum();
        (sum, counts.len() as i64)
    };
    for (index, (row, &cluster)) in rows.iter().zip(clusters.of()).enumerate() {
        for _ in 0..times[cluster as usize] {
            let d = delta_of(sum(&row.pre), sum(&row.post)).value();
            copies.push(Copied { row: index, d });
        }
    }
}

fn judge(cell: &Cell, copies: &[Copied], groups: &mut Vec<Group>) -> Replicate {
    groups.clear();
    groups.resize(cell.distinct_scores(), Group::default());
    let ranks = cell.ranks().ranks();
    for copy in copies {
        groups[ranks[copy.row] as usize].add(1, copy.d > 0.0, copy.d.max(0.0), copy.d);
    }
    cell.judge(groups)
}
