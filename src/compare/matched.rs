//! What a trigger avoids when exactly a given share is retained.
//!
//! Two triggers at their own operating points retain different shares, so their raw shares avoided cannot be compared.
//! Here each blocks exactly (1 − r)·n boundaries, highest scores first; of the boundaries that tie at the edge it blocks
//! the fraction that is still needed, which is the expectation of breaking ties at random **\[choice\]**. On a frontier this
//! is the point at r on the line between two thresholds.

use foldline_frontiers::{Clusters, EstimatorError, Reason, Retain, Value};

/// One boundary.
#[derive(Clone, Copy, Debug)]
struct MatchedRow {
    cluster: u32,
    positive: f64,
    mass: f64,
    d: f64,
    /// The share of this boundary that is blocked on the rows as they are.
    held: f64,
}

/// A trigger's boundaries by descending score, equal scores together.
#[derive(Clone, Debug)]
pub struct Matched {
    rows: Vec<MatchedRow>,
    /// Ends of the runs of equal scores.
    ends: Vec<usize>,
    retain: f64,
}

/// The statistics at the matched share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchedValues {
    /// Share of positives blocked.
    pub avoided: Value,
    /// Share of burden mass blocked.
    pub mass: Value,
    /// avoided − (1 − r).
    pub advantage_count: Value,
    /// mass − (1 − r).
    pub advantage_mass: Value,
    /// Sum of d over what is blocked on the rows as they are, held fixed, as the protocol's signed value is.
    pub v: Value,
}

impl Matched {
    /// Sorts a trigger's boundaries; all slices have one entry per boundary.
    ///
    /// # Errors
    /// `LengthMismatch`, and `NotFinite` for a score.
    pub fn new(
        scores: &[f64],
        labels: &[bool],
        mass: &[f64],
        d: &[f64],
        clusters: &Clusters,
        retain: Retain,
    ) -> Result<Matched, EstimatorError> {
        let n = scores.len();
        for (what, found) in
            [("labels", labels.len()), ("mass", mass.len()), ("d", d.len()), ("clusters", clusters.of().len())]
        {
            if found != n {
                return Err(EstimatorError::LengthMismatch { what, expected: n, found });
            }
        }
        if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
            return Err(EstimatorError::NotFinite { what: "score", row, value: scores[row] });
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let rows = order.iter().map(|&row| MatchedRow {
            cluster: clusters.of()[row],
            positive: f64::from(u8::from(labels[row])),
            mass: mass[row],
            d: d[row],
            held: 0.0,
        });
        let rows: Vec<MatchedRow> = rows.collect();
        // 0.0 and -0.0 are one score
        let mut ends: Vec<usize> =
            (1..n).filter(|&position| scores[order[position - 1]] > scores[order[position]]).collect();
        if n > 0 {
            ends.push(n);
        }
        let mut matched = Matched { rows, ends, retain: retain.value() };
        let held = matched.shares(|_| 1);
        matched.rows.iter_mut().zip(held).for_each(|(row, held)| row.held = held);
        Ok(matched)
    }

    /// What share of each row is blocked, rows in score order.
    fn shares(&self, times: impl Fn(u32) -> u32) -> Vec<f64> {
        let weight = |row: &MatchedRow| f64::from(times(row.cluster));
        let total: f64 = self.rows.iter().map(weight).sum();
        let mut left = total * (1.0 - self.retain);
        let mut shares = vec![0.0; self.rows.len()];
        let mut start = 0;
        for &end in &self.ends {
            let group: f64 = self.rows[start..end].iter().map(weight).sum();
            let share = if group <= left { 1.0 } else { (left / group).max(0.0) };
            shares[start..end].fill(share);
            left -= share * group;
            if left <= 0.0 {
                break;
            }
            start = end;
        }
        shares
    }

    /// The statistics when a row counts as often as its cluster is drawn.
    pub fn values(&self, times: impl Fn(u32) -> u32 + Copy) -> MatchedValues {
        let shares = self.shares(times);
        let (mut blocked_positives, mut positives, mut blocked_mass, mut mass, mut v) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (row, share) in self.rows.iter().zip(shares) {
            let weight = f64::from(times(row.cluster));
            positives += weight * row.positive;
            blocked_positives += weight * share * row.positive;
            mass += weight * row.mass;
            blocked_mass += weight * share * row.mass;
            v += weight * row.held * row.d;
        }
        let ratio = |part: f64, whole: f64, reason: Reason| {
            if whole > 0.0 { Value::Defined(part / whole) } else { Value::Undefined(reason) }
        };
        let avoided = ratio(blocked_positives, positives, Reason::NoPositive);
        let mass = ratio(blocked_mass, mass, Reason::NoMass);
        MatchedValues {
            avoided,
            mass,
            advantage_count: avoided.map(|avoided| avoided - (1.0 - self.retain)),
            advantage_mass: mass.map(|mass| mass - (1.0 - self.retain)),
            v: Value::Defined(v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: Value, expected: f64) {
        let value = value.defined().unwrap();
        assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
    }

    #[test]
    fn by_hand() {
        // five boundaries, retain 3/5: two are blocked, the two highest scores
        let clusters = Clusters::new(&["a", "a", "b", "b", "c"]);
        let (labels, d) = ([true, false, true, false, true], [2.0, -1.0, 1.0, 0.0, 1.0]);
        let mass = d.map(|d: f64| d.max(0.0));
        let retain = Retain::new(3, 5).unwrap();
        let matched = Matched::new(&[0.9, 0.8, 0.3, 0.2, 0.1], &labels, &mass, &d, &clusters, retain).unwrap();
        let values = matched.values(|_| 1);
        close(values.avoided, 1.0 / 3.0);
        close(values.mass, 0.5);
        close(values.advantage_count, 1.0 / 3.0 - 0.4);
        close(values.v, 1.0);
        // cluster a twice, c not at all: six boundaries, 2.4 blocked: both copies of row 0 and 0.4 of two of row 1
        let drawn = matched.values(|cluster| [2, 1, 0][cluster as usize]);
        close(drawn.avoided, 2.0 / 3.0);
        close(drawn.mass, 4.0 / 5.0);
        // the blocked set is that of all rows: rows 0 and 1, each twice
        close(drawn.v, 2.0);
    }

    #[test]
    fn a_constant_score_is_the_random_rule() {
        let n = 7;
        let clusters = Clusters::new(&(0..n).map(|i| format!("t{i}")).collect::<Vec<_>>());
        let labels: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
        let d: Vec<f64> = (0..n).map(|i| i as f64 - 2.0).collect();
        let mass: Vec<f64> = d.iter().map(|d| d.max(0.0)).collect();
        let matched = Matched::new(&vec![0.0; n], &labels, &mass, &d, &clusters, Retain::PAPER).unwrap();
        for times in [1u32, 2] {
            let values = matched.values(move |cluster| if cluster == 0 { times } else { 1 });
            close(values.advantage_count, 0.0);
            close(values.advantage_mass, 0.0);
        }
    }
}
