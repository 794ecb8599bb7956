//! Boundaries grouped by distinct score: all that a ranking statistic or a frontier can see.
//!
//! AUROC, average precision, the frontier and the operating point depend on the scores through the groups of equal
//! scores alone. Grouping once and then only adding up makes a bootstrap draw one pass over the rows.

use crate::estimate::{EstimatorError, all_finite, same_length};

/// Which group of equal scores each row belongs to.
///
/// Scores are compared exactly (no tolerance), and −0.0 equals 0.0.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreRanks {
    /// The distinct scores, ascending.
    scores: Vec<f64>,
    /// For each row the index of its score in `scores`.
    rank: Vec<u32>,
}

impl ScoreRanks {
    /// Ranks the rows by score.
    ///
    /// # Errors
    /// `NotFinite` names the first row whose score is NaN or infinite.
    pub fn new(scores: &[f64]) -> Result<ScoreRanks, EstimatorError> {
        all_finite("score", scores)?;
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        // adding 0.0 turns -0.0 into 0.0, which total_cmp would otherwise tell apart
        let key = |row: u32| scores[row as usize] + 0.0;
        order.sort_unstable_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
        let mut distinct: Vec<f64> = Vec::new();
        let mut rank = vec![0u32; scores.len()];
        for row in order {
            let score = key(row);
            if distinct.last().is_none_or(|&last| last < score) {
                distinct.push(score);
            }
            rank[row as usize] = (distinct.len() - 1) as u32;
        }
        Ok(ScoreRanks { scores: distinct, rank })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.rank.len()
    }

    /// The distinct scores, ascending.
    pub fn distinct(&self) -> &[f64] {
        &self.scores
    }

    /// For each row the index of its score among the distinct ones.
    pub fn ranks(&self) -> &[u32] {
        &self.rank
    }

    /// The lowest group that a threshold blocks (score >= threshold); the number of groups if it blocks none.
    pub fn first_blocked(&self, threshold: f64) -> usize {
        self.scores.partition_point(|&score| score < threshold)
    }
}

/// What a group of equal scores holds, in sums over its rows (with multiplicity in a bootstrap draw).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Group {
    /// Rows.
    pub rows: u32,
    /// Rows with a positive label.
    pub positive: u32,
    /// Sum of the burden mass.
    pub mass: f64,
    /// Sum of the signed delta.
    pub d: f64,
}

impl Group {
    /// Adds one row `times` times.
    #[inline]
    pub fn add(&mut self, times: u32, positive: bool, mass: f64, d: f64) {
        self.rows += times;
        self.positive += if positive { times } else { 0 };
        self.mass += f64::from(times) * mass;
        self.d += f64::from(times) * d;
    }
}

/// Sums by distinct score, lowest score first, of rows that all count once.
///
/// `labels`, `mass` and `d` are parallel to the ranked rows; `mass` and `d` may be empty where only counts matter.
///
/// # Errors
/// `LengthMismatch`, or `NotFinite` for a mass or delta.
pub fn group_rows(ranks: &ScoreRanks, labels: &[bool], mass: &[f64], d: &[f64]) -> Result<Vec<Group>, EstimatorError> {
    let n = ranks.n_rows();
    same_length("labels", n, labels.len())?;
    for (what, values) in [("mass", mass), ("d", d)] {
        if !values.is_empty() {
            same_length(what, n, values.len())?;
            all_finite(what, values)?;
        }
    }
    let at = |values: &[f64], row: usize| values.get(row).copied().unwrap_or(0.0);
    let mut groups = vec![Group::default(); ranks.distinct().len()];
    for (row, (&rank, &label)) in ranks.ranks().iter().zip(labels).enumerate() {
        groups[rank as usize].add(1, label, at(mass, row), at(d, row));
    }
    Ok(groups)
}

/// Rebuilds the groups of equal scores from a printed frontier: rows (allowed, blocked positives) in ascending order
/// of allowed, from (0, all positives) to (n, 0).
///
/// Mass and delta are unknown and stay 0. From Table 12 of the paper this gives the AUROC of its Table 11.
///
/// # Errors
/// `Invalid` names the first row that does not follow from the one before it.
pub fn groups_from_frontier(rows: &[(u32, u32)]) -> Result<Vec<Group>, EstimatorError> {
    if rows.first().is_none_or(|first| first.0 != 0) || rows.last().is_none_or(|last| last.1 != 0) {
        return Err(EstimatorError::Invalid(
            "a frontier starts with 0 allowed and ends with 0 blocked positives".to_owned(),
        ));
    }
    let mut groups = Vec::with_capacity(rows.len().saturating_sub(1));
    for (index, pair) in rows.windows(2).enumerate() {
        let counts = pair[1].0.checked_sub(pair[0].0).zip(pair[0].1.checked_sub(pair[1].1));
        match counts {
            Some((rows, positive)) if rows > 0 && positive <= rows => {
                groups.push(Group { rows, positive, mass: 0.0, d: 0.0 });
            }
            _ => {
                return Err(EstimatorError::Invalid(format!(
                    "frontier row {}: {:?} cannot follow {:?} (allowed must rise, blocked positives fall by no more)",
                    index + 1,
                    pair[1],
                    pair[0]
                )));
            }
        }
    }
    Ok(groups)
}
