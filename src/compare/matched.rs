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
    positive: bool,
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
    retain: Retain,
}

/// Where blocking ends: the rows before `full` are blocked, those up to `edge` by the share `left / whole`, in integers.
struct Edge {
    full: usize,
    edge: usize,
    left: u128,
    whole: u128,
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
            positive: labels[row],
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
        let mut matched = Matched { rows, ends, retain };
        let Edge { full, edge, left, whole } = matched.edge(|_| 1);
        matched.rows[..full].iter_mut().for_each(|row| row.held = 1.0);
        matched.rows[full..edge].iter_mut().for_each(|row| row.held = left as f64 / whole as f64);
        Ok(matched)
    }

    /// What is blocked when a row counts as often as its cluster is drawn.
    fn edge(&self, times: impl Fn(u32) -> u32) -> Edge {
        let (numerator, denominator) = self.retain.parts();
        let weight = |rows: &[MatchedRow]| rows.iter().map(|row| u128::from(times(row.cluster))).sum::<u128>();
        // in units of 1 / denominator
        let mut left = weight(&self.rows) * u128::from(denominator - numerator);
        let mut full = 0;
        for &end in &self.ends {
            let whole = weight(&self.rows[full..end]) * u128::from(denominator);
            if whole > left {
                return Edge { full, edge: end, left, whole };
            }
            left -= whole;
            full = end;
        }
        Edge { full, edge: full, left: 0, whole: 1 }
    }

    /// The statistics when a row counts as often as its cluster is drawn.
    ///
    /// An advantage is one division of one difference: a trigger that is the random rule has exactly 0.
    pub fn values(&self, times: impl Fn(u32) -> u32 + Copy) -> MatchedValues {
        let Edge { full, edge, left, whole } = self.edge(times);
        let sums = |rows: &[MatchedRow]| {
            rows.iter().fold((0u128, 0.0), |(positives, mass), row| {
                let times = times(row.cluster);
                (positives + if row.positive { u128::from(times) } else { 0 }, mass + f64::from(times) * row.mass)
            })
        };
        let ((full_positives, full_mass), (edge_positives, edge_mass)) =
            (sums(&self.rows[..full]), sums(&self.rows[full..edge]));
        let (positives, mass) = sums(&self.rows);
        let v = self.rows.iter().map(|row| f64::from(times(row.cluster)) * row.held * row.d).sum();

        let (numerator, denominator) = self.retain.parts();
        let (blocked, denominator) = (u128::from(denominator - numerator), u128::from(denominator));
        // shares over a common denominator, whole · positives, and the same less what a random rule blocks of it
        let hit = full_positives * whole + edge_positives * left;
        let by_chance = positives * whole;
        let of_count = |part: i128, times: u128| {
            let all = by_chance * times;
            if all > 0 { Value::Defined(part as f64 / all as f64) } else { Value::Undefined(Reason::NoPositive) }
        };
        let hit_mass = full_mass * whole as f64 + edge_mass * left as f64;
        let all_mass = mass * whole as f64;
        // integers first, so that one group of equal scores leaves the difference of two equal products
        let lead = full_mass * (whole * denominator) as f64 + edge_mass * (left * denominator) as f64
            - mass * (whole * blocked) as f64;
        let of_mass = |part: f64, all: f64| {
            if all > 0.0 { Value::Defined(part / all) } else { Value::Undefined(Reason::NoMass) }
        };
        MatchedValues {
            avoided: of_count(hit as i128, 1),
            mass: of_mass(hit_mass, all_mass),
            advantage_count: of_count((hit * denominator) as i128 - (by_chance * blocked) as i128, denominator),
            advantage_mass: of_mass(lead, all_mass * denominator as f64),
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
        for retain in ["0.8", "0.7", "0.6", "0.9", "1/3", "0.123456"] {
            let retain: Retain = retain.parse().unwrap();
            let matched = Matched::new(&vec![0.0; n], &labels, &mass, &d, &clusters, retain).unwrap();
            for times in [1u32, 2, 3] {
                let values = matched.values(move |cluster| if cluster == 0 { times } else { 1 });
                assert_eq!(values.advantage_count, Value::Defined(0.0));
                assert_eq!(values.advantage_mass, Value::Defined(0.0));
            }
        }
    }
}
