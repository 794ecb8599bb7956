//! One scored policy under a bootstrap: every statistic of a cell in every draw, from one pass over its rows.

use crate::bootstrap::{Clusters, Draws};
use crate::estimate::{Estimate, EstimatorError, Interval, Reason, Value, same_length};
use crate::frontier::{FrontierPoint, OperatingPoint, Retain, frontier_of_groups, operating_point};
use crate::groups::{Group, ScoreRanks, group_rows};
use crate::ranking::{auroc_of_groups, auroc_of_pairs, average_precision_of_groups};
use serde::{Deserialize, Serialize};

/// A statistic of a cell that has intervals (protocol section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// AUROC.
    Auroc,
    /// Average precision.
    Ap,
    /// Share allowed at the operating point, reselected in every draw.
    Retained,
    /// Share of positives blocked there.
    Avoided,
    /// Share of burden mass blocked there.
    Mass,
    /// avoided − (1 − retained).
    AdvantageCount,
    /// mass − (1 − retained).
    AdvantageMass,
    /// Sum of d over the blocked set, at the threshold held fixed.
    V,
    /// V − |B|/n · sum of d, at the threshold held fixed.
    VMinusERand,
    /// V / |B|, at the threshold held fixed.
    VPerBlocked,
    /// As `VMinusERand` with max(0, d) in place of d.
    PositivePartMinusERand,
}

impl Statistic {
    /// All of them.
    pub const ALL: [Statistic; 11] = [
        Statistic::Auroc,
        Statistic::Ap,
        Statistic::Retained,
        Statistic::Avoided,
        Statistic::Mass,
        Statistic::AdvantageCount,
        Statistic::AdvantageMass,
        Statistic::V,
        Statistic::VMinusERand,
        Statistic::VPerBlocked,
        Statistic::PositivePartMinusERand,
    ];
}

/// The statistics of one draw (or of the rows as they are).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replicate {
    values: [Value; 11],
}

impl Replicate {
    /// One statistic.
    pub fn get(&self, statistic: Statistic) -> Value {
        self.values[statistic as usize]
    }

    /// All statistics of grouped rows, lowest score first.
    ///
    /// The operating threshold is reselected here; the signed values hold `held`, the lowest blocked group. n counts
    /// rows with multiplicity.
    pub(crate) fn of_groups(groups: &[Group], retain: Retain, held: usize) -> Replicate {
        let mut total = Group::default();
        let mut allowed_by_held = Group::default();
        for (index, group) in groups.iter().enumerate() {
            if index == held {
                allowed_by_held = total;
            }
            total.rows += group.rows;
            total.positive += group.positive;
            total.mass += group.mass;
            total.d += group.d;
        }
        if held >= groups.len() {
            allowed_by_held = total;
        }
        if total.rows == 0 {
            return Replicate { values: [Value::Undefined(Reason::NoRows); 11] };
        }
        let n = f64::from(total.rows);
        let min_allowed = retain.min_allowed(u64::from(total.rows)) as u32;

        // from the top: the last threshold that still allows enough and that avoids strictly more than the ones above
        let (mut best, mut blocked) = (Group::default(), Group::default());
        for group in groups.iter().rev() {
            blocked.rows += group.rows;
            if total.rows - blocked.rows < min_allowed {
                break;
            }
            blocked.positive += group.positive;
            blocked.mass += group.mass;
            if blocked.positive > best.positive {
                best = blocked;
            }
        }
        let retained = f64::from(total.rows - best.rows) / n;
        let avoided = Value::ratio(f64::from(best.positive), f64::from(total.positive), Reason::NoPositive);
        let mass = Value::ratio(best.mass, total.mass, Reason::NoMass);

        // share − blocked/n with one division, so that no advantage is exactly 0 and not a rounding error
        let blocked_rows = f64::from(best.rows);
        let advantage =
            |part: f64, whole: f64, reason| Value::ratio(part * n - whole * blocked_rows, whole * n, reason);
        let held_rows = f64::from(total.rows - allowed_by_held.rows);
        let held_share = held_rows / n;
        let v = total.d - allowed_by_held.d;
        let positive_part = total.mass - allowed_by_held.mass;
        Replicate {
            values: [
                auroc_of_groups(groups),
                average_precision_of_groups(groups),
                Value::Defined(retained),
                avoided,
                mass,
                advantage(f64::from(best.positive), f64::from(total.positive), Reason::NoPositive),
                advantage(best.mass, total.mass, Reason::NoMass),
                Value::Defined(v),
                Value::Defined(v - held_share * total.d),
                Value::ratio(v, held_rows, Reason::NothingBlocked),
                Value::Defined(positive_part - held_share * total.mass),
            ],
        }
    }
}

/// One row of a cell, in score order.
#[derive(Clone, Copy, Debug)]
struct CellRow {
    cluster: u32,
    group: u32,
    positive: bool,
    mass: f64,
    d: f64,
}

/// Scored boundaries of one policy, sorted once, ready to be judged in many draws.
#[derive(Clone, Debug)]
pub struct Cell {
    ranks: ScoreRanks,
    rows: Vec<CellRow>,
    frontier: Vec<FrontierPoint>,
    retain: Retain,
    held: usize,
}

impl Cell {
    /// Sorts a policy's boundaries.
    ///
    /// `scores`, `labels` (y), `mass` (max(0, d)), `d` and the clusters are parallel, one entry per boundary. The
    /// threshold of the operating point on these rows is the one held fixed for the signed values.
    ///
    /// # Errors
    /// `LengthMismatch`; `NotFinite`; `Invalid` without a row.
    pub fn new(
        scores: &[f64],
        labels: &[bool],
        mass: &[f64],
        d: &[f64],
        clusters: &Clusters,
        retain: Retain,
    ) -> Result<Cell, EstimatorError> {
        let n = scores.len();
        same_length("mass", n, mass.len())?;
        same_length("d", n, d.len())?;
        same_length("clusters", n, clusters.of().len())?;
        let ranks = ScoreRanks::new(scores)?;
        let groups = group_rows(&ranks, labels, mass, d)?;
        let frontier = frontier_of_groups(&groups, ranks.distinct());
        let point =
            operating_point(&frontier, retain).ok_or_else(|| EstimatorError::Invalid("no row to judge".to_owned()))?;
        let held = point.point.threshold.first_blocked(&ranks);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&row| ranks.ranks()[row]);
        let rows = order
            .into_iter()
            .map(|row| CellRow {
                cluster: clusters.of()[row],
                group: ranks.ranks()[row],
                positive: labels[row],
                mass: mass[row],
                d: d[row],
            })
            .collect();
        Ok(Cell { ranks, rows, frontier, retain, held })
    }

    /// The frontier on the rows as they are.
    pub fn frontier(&self) -> &[FrontierPoint] {
        &self.frontier
    }

    /// The operating point on the rows as they are.
    pub fn operating_point(&self) -> OperatingPoint {
        operating_point(&self.frontier, self.retain).expect("a cell has at least one row")
    }

    /// Number of distinct scores.
    pub fn distinct_scores(&self) -> usize {
        self.ranks.distinct().len()
    }

    /// Which group of equal scores each boundary belongs to.
    pub(crate) fn ranks(&self) -> &ScoreRanks {
        &self.ranks
    }

    /// All statistics of grouped rows of this cell.
    pub(crate) fn judge(&self, groups: &[Group]) -> Replicate {
        Replicate::of_groups(groups, self.retain, self.held)
    }

    /// All statistics on the rows as they are.
    pub fn point(&self) -> Replicate {
        self.in_draw(&mut Vec::new(), |_| 1)
    }

    /// All statistics in every draw, in draw order. The cell's rows and the draws must number clusters alike.
    ///
    /// Two cells judged with the same draws are paired: see [`difference`].
    pub fn replicates(&self, draws: &Draws) -> Vec<Replicate> {
        draws.map(Vec::new, |groups, multiplicity| self.in_draw(groups, |cluster| multiplicity[cluster as usize]))
    }

    /// AUROC in every draw, in draw order: what [`Cell::replicates`] gives, without the rest.
    pub fn aurocs(&self, draws: &Draws) -> Vec<Value> {
        draws.map(|| (), |(), multiplicity| self.auroc_in_draw(multiplicity))
    }

    /// Pairs are counted group by group, as in [`auroc_of_groups`], without making the groups.
    fn auroc_in_draw(&self, multiplicity: &[u32]) -> Value {
        let (mut twice_pairs, mut negative_below, mut positives) = (0u128, 0u64, 0u64);
        let (mut negative, mut positive, mut group) = (0u64, 0u64, 0u32);
        let mut close = |negative: u64, positive: u64| {
            twice_pairs += u128::from(positive) * u128::from(2 * negative_below + negative);
            negative_below += negative;
            positives += positive;
        };
        for row in &self.rows {
            if row.group != group {
                close(negative, positive);
                (negative, positive, group) = (0, 0, row.group);
            }
            let times = u64::from(multiplicity[row.cluster as usize]);
            *(if row.positive { &mut positive } else { &mut negative }) += times;
        }
        close(negative, positive);
        auroc_of_pairs(twice_pairs, positives, negative_below)
    }

    fn in_draw(&self, groups: &mut Vec<Group>, times: impl Fn(u32) -> u32) -> Replicate {
        groups.clear();
        groups.resize(self.ranks.distinct().len(), Group::default());
        for row in &self.rows {
            groups[row.group as usize].add(times(row.cluster), row.positive, row.mass, row.d);
        }
        self.judge(groups)
    }
}

/// The interval of one statistic over its replicates.
pub fn interval(replicates: &[Replicate], statistic: Statistic, draws: &Draws) -> Interval {
    draws.interval(replicates.iter().map(|replicate| replicate.get(statistic)))
}

/// A statistic with one interval for each bootstrap it was judged in.
pub fn estimate(cell: &Cell, statistic: Statistic, bootstraps: &[(&[Replicate], &Draws)]) -> Estimate {
    let intervals = bootstraps.iter().map(|&(replicates, draws)| interval(replicates, statistic, draws));
    intervals.fold(Estimate::new(cell.point().get(statistic)), Estimate::with)
}

/// The interval of a paired difference `a − b`: both judged with the same draws; a draw in which either is undefined is
/// dropped.
///
/// # Errors
/// `LengthMismatch` when the numbers of replicates differ, so that they cannot be of the same draws.
pub fn difference(
    a: &[Replicate],
    b: &[Replicate],
    statistic: Statistic,
    draws: &Draws,
) -> Result<Interval, EstimatorError> {
    same_length("replicates", a.len(), b.len())?;
    Ok(draws.interval(a.iter().zip(b).map(|(a, b)| a.get(statistic).minus(b.get(statistic)))))
}
