//! Random halves of each boundary's rollouts, and the deltas of both halves.

use crate::bootstrap::Clusters;
use crate::counts::{TargetCounts, delta_of};
use crate::estimate::{EstimatorError, same_length};
use crate::streams::{Stream, Streams};
use foldline_features::{Burden, Target};
use rayon::prelude::*;

/// Deltas of the two halves of one split, one entry per boundary that could be split.
#[derive(Clone, Debug, PartialEq)]
pub struct Halves {
    /// Of half A, which gives the label.
    pub d_a: Vec<f64>,
    /// Of half B, which gives the score.
    pub d_b: Vec<f64>,
}

impl Halves {
    /// d_A and d_B of some entries.
    pub(crate) fn of_rows(&self, rows: &[usize]) -> (Vec<f64>, Vec<f64>) {
        (rows.iter().map(|&row| self.d_a[row]).collect(), rows.iter().map(|&row| self.d_b[row]).collect())
    }
}

/// A split that is given: positions of half A among a boundary's rollouts of an arm, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenSplit {
    /// For each boundary the PRE positions of half A.
    pub half_a_pre: Vec<Vec<u32>>,
    /// For each boundary the POST positions of half A.
    pub half_a_post: Vec<Vec<u32>>,
}

/// Many splits of the same boundaries for one target.
///
/// Half A holds floor(n/2) rollouts of each arm, half B the rest. Boundaries with fewer than 2 rollouts in an arm that
/// the target needs are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitHalves {
    n_rows: usize,
    /// Corpus rows of the entries of each `Halves`, ascending.
    kept: Vec<usize>,
    halves: Vec<Halves>,
}

impl SplitHalves {
    /// `count` random splits.
    ///
    /// Split i shuffles the positions of each boundary's PRE and then POST rollouts, boundaries in corpus order, with
    /// stream `(seed, "splits", i)`, and takes the first floor(n/2) as half A: the target does not enter, so that all
    /// channels and horizons share the same splits.
    ///
    /// # Errors
    /// `Invalid` names a boundary without a rollout in an arm that the target needs.
    pub fn random(
        burdens: &[Burden],
        target: Target,
        streams: &Streams,
        count: u32,
    ) -> Result<SplitHalves, EstimatorError> {
        let rows = TargetCounts::of_all(burdens, target)?;
        let kept = splittable(burdens, target);
        let halves = (0..count)
            .into_par_iter()
            .map(|split| {
                let mut stream = streams.stream("splits", u64::from(split));
                let mut out = Halves { d_a: Vec::with_capacity(kept.len()), d_b: Vec::with_capacity(kept.len()) };
                let mut next = kept.iter().peekable();
                for (row, burden) in burdens.iter().enumerate() {
                    // every boundary is shuffled, kept or not, so that observational targets share the splits too
                    let pre = random_half(&mut stream, burden.pre.len());
                    let post = random_half(&mut stream, burden.post.len());
                    if next.next_if_eq(&&row).is_some() {
                        push_halves(&mut out, &rows[row], &pre, &post);
                    }
                }
                out
            })
            .collect();
        Ok(SplitHalves { n_rows: burdens.len(), kept, halves })
    }

    /// Splits that are given.
    ///
    /// # Errors
    /// `LengthMismatch`, `OutOfRange`; `Invalid` as for [`SplitHalves::random`].
    pub fn explicit(burdens: &[Burden], target: Target, splits: &[GivenSplit]) -> Result<SplitHalves, EstimatorError> {
        let rows = TargetCounts::of_all(burdens, target)?;
        let kept = splittable(burdens, target);
        let mut halves = Vec::with_capacity(splits.len());
        for split in splits {
            same_length("half A (PRE)", burdens.len(), split.half_a_pre.len())?;
            same_length("half A (POST)", burdens.len(), split.half_a_post.len())?;
            let mut out = Halves { d_a: Vec::new(), d_b: Vec::new() };
            for &row in &kept {
                let pre = given_half(&split.half_a_pre[row], burdens[row].pre.len())?;
                let post = given_half(&split.half_a_post[row], burdens[row].post.len())?;
                push_halves(&mut out, &rows[row], &pre, &post);
            }
            halves.push(out);
        }
        Ok(SplitHalves { n_rows: burdens.len(), kept, halves })
    }

    /// The same splits with the roles of A and B exchanged.
    pub fn mirrored(&self) -> SplitHalves {
        let halves = self.halves.iter().map(|halves| Halves { d_a: halves.d_b.clone(), d_b: halves.d_a.clone() });
        SplitHalves { n_rows: self.n_rows, kept: self.kept.clone(), halves: halves.collect() }
    }

    /// The splits.
    pub fn halves(&self) -> &[Halves] {
        &self.halves
    }

    /// Number of boundaries of the corpus.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Boundaries left out for want of rollouts.
    pub fn left_out(&self) -> usize {
        self.n_rows - self.kept.len()
    }

    /// Entries of the halves whose corpus row is included.
    ///
    /// # Errors
    /// `LengthMismatch` when `include` has not one entry per corpus row.
    pub fn rows_of(&self, include: &[bool]) -> Result<Vec<usize>, EstimatorError> {
        same_length("subset", self.n_rows, include.len())?;
        Ok((0..self.kept.len()).filter(|&entry| include[self.kept[entry]]).collect())
    }

    /// The corpus rows of entries.
    pub(crate) fn corpus_rows(&self, entries: &[usize]) -> Vec<usize> {
        entries.iter().map(|&entry| self.kept[entry]).collect()
    }

    /// The clusters of entries, given those of all corpus rows.
    pub(crate) fn clusters_of(&self, entries: &[usize], clusters: &Clusters) -> Result<Clusters, EstimatorError> {
        same_length("clusters", self.n_rows, clusters.of().len())?;
        Ok(clusters.of_rows(&self.corpus_rows(entries)))
    }
}

/// Rows with at least two rollouts in each arm that the target needs.
fn splittable(burdens: &[Burden], target: Target) -> Vec<usize> {
    use foldline_features::Arm;
    let enough = |burden: &Burden| match target {
        Target::Paired(..) => burden.pre.len() >= 2 && burden.post.len() >= 2,
        Target::Arm(Arm::Pre, ..) => burden.pre.len() >= 2,
        Target::Arm(Arm::Post, ..) => burden.post.len() >= 2,
    };
    (0..burdens.len()).filter(|&row| enough(&burdens[row])).collect()
}

/// Which of n rollouts are in half A.
fn random_half(stream: &mut Stream, n: usize) -> Vec<bool> {
    let mut in_a: Vec<bool> = (0..n).map(|position| position < n / 2).collect();
    stream.shuffle(&mut in_a);
    in_a
}

fn given_half(positions: &[u32], n: usize) -> Result<Vec<bool>, EstimatorError> {
    let mut in_a = vec![false; n];
    for &position in positions {
        let slot = in_a.get_mut(position as usize);
        *slot.ok_or(EstimatorError::OutOfRange { what: "rollout", index: position as usize, count: n })? = true;
    }
    let half = in_a.iter().filter(|&&in_a| in_a).count();
    if half == 0 || half == n {
        return Err(EstimatorError::Invalid(format!("half A holds {half} of {n} rollouts: both halves need one")));
    }
    Ok(in_a)
}

fn push_halves(out: &mut Halves, row: &TargetCounts, pre_in_a: &[bool], post_in_a: &[bool]) {
    let sum = |counts: &[u8], in_a: &[bool], half: bool| -> (i64, i64) {
        let chosen = counts.iter().zip(in_a).filter(|&(_, &in_a)| in_a == half);
        chosen.fold((0, 0), |(sum, n), (&count, _)| (sum + i64::from(count), n + 1))
    };
    for (half, d) in [(true, &mut out.d_a), (false, &mut out.d_b)] {
        d.push(delta_of(sum(&row.pre, pre_in_a, half), sum(&row.post, post_in_a, half)).value());
    }
}
