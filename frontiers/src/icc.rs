//! One-way intraclass correlation: how much of the variation lies between groups (protocol section 5).

use crate::bootstrap::{Clusters, Draws};
use crate::estimate::{Estimate, EstimatorError, Reason, Value, all_finite, same_length};

/// Values in groups, reduced to what ICC(1) needs: number, sum and spread of each group.
#[derive(Clone, Debug)]
pub struct GroupedValues {
    groups: Vec<GroupSums>,
}

#[derive(Clone, Copy, Debug, Default)]
struct GroupSums {
    n: f64,
    first: f64,
    mean: f64,
    /// Sum of squared deviations from the group's mean.
    within: f64,
}

impl GroupedValues {
    /// Groups parallel slices: `values[i]` belongs to group `group_of[i]` of `n_groups`.
    ///
    /// # Errors
    /// `LengthMismatch`; `NotFinite`; `OutOfRange` for a group that does not exist.
    pub fn new(values: &[f64], group_of: &[u32], n_groups: usize) -> Result<GroupedValues, EstimatorError> {
        same_length("groups", values.len(), group_of.len())?;
        all_finite("value", values)?;
        let mut groups = vec![GroupSums::default(); n_groups];
        for (&value, &group) in values.iter().zip(group_of) {
            let slot = groups.get_mut(group as usize);
            let slot =
                slot.ok_or(EstimatorError::OutOfRange { what: "group", index: group as usize, count: n_groups })?;
            if slot.n < 1.0 {
                slot.first = value;
            }
            slot.n += 1.0;
            slot.mean += value - slot.first;
        }
        // relative to a member, so that equal values have exactly their value as mean
        for group in groups.iter_mut().filter(|group| group.n > 0.0) {
            group.mean = group.first + group.mean / group.n;
        }
        for (&value, &group) in values.iter().zip(group_of) {
            let group = &mut groups[group as usize];
            group.within += (value - group.mean).powi(2);
        }
        Ok(GroupedValues { groups })
    }

    /// ICC(1) = (MSB − MSW) / (MSB + (n0 − 1)·MSW), n0 = (N − sum n_i²/N)/(k − 1).
    ///
    /// Groups of one member stay in; empty groups are no groups. At most 1, negative when members of a group differ
    /// more than strangers. Undefined with fewer than two groups, when every group has one member, or when all values
    /// are equal.
    ///
    /// Source: protocol section 5; Shrout and Fleiss, Psychological Bulletin 86 (1979) 420-428, unequal group sizes after
    /// Donner and Koval, Biometrics 36 (1980) 19-25.
    pub fn icc(&self) -> Value {
        self.icc_with(|_| 1)
    }

    /// ICC(1) when group g stands `times(g)` times in the sample, each time as a group of its own.
    pub fn icc_with(&self, times: impl Fn(usize) -> u32) -> Value {
        let weighted = || {
            let groups = self.groups.iter().enumerate().filter(|(_, group)| group.n > 0.0);
            groups.map(|(index, group)| (f64::from(times(index)), group))
        };
        let (mut k, mut total, mut squares, mut sum, mut within) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let origin = weighted().find(|&(times, _)| times > 0.0).map_or(0.0, |(_, group)| group.mean);
        for (times, group) in weighted() {
            k += times;
            total += times * group.n;
            squares += times * group.n * group.n;
            sum += times * group.n * (group.mean - origin);
            within += times * group.within;
        }
        if k < 2.0 {
            return Value::Undefined(Reason::TooFewGroups);
        }
        if total <= k {
            return Value::Undefined(Reason::SingletonGroups);
        }
        let grand = origin + sum / total;
        let between: f64 = weighted().map(|(times, group)| times * group.n * (group.mean - grand).powi(2)).sum();
        let msb = between / (k - 1.0);
        let msw = within / (total - k);
        let n0 = (total - squares / total) / (k - 1.0);
        Value::ratio(msb - msw, msb + (n0 - 1.0) * msw, Reason::NoVariation)
    }

    /// ICC(1) with its bootstrap interval: `cluster_of_group[g]` is the cluster (task, stem) that group g is drawn with.
    /// A group drawn twice is two groups.
    ///
    /// # Errors
    /// `LengthMismatch`; `OutOfRange` for a cluster that the draws do not have.
    pub fn estimate(&self, cluster_of_group: &[u32], draws: &Draws) -> Result<Estimate, EstimatorError> {
        same_length("clusters of groups", self.groups.len(), cluster_of_group.len())?;
        let count = draws.n_clusters();
        if let Some(&cluster) = cluster_of_group.iter().find(|&&cluster| cluster as usize >= count) {
            return Err(EstimatorError::OutOfRange { what: "cluster", index: cluster as usize, count });
        }
        let values =
            draws.map(|| (), |(), multiplicity| self.icc_with(|group| multiplicity[cluster_of_group[group] as usize]));
        Ok(Estimate::new(self.icc()).with(draws.interval(values)))
    }
}

/// ICC(1) of one value per boundary (a delta) grouped by cluster, with an interval that draws the same clusters.
///
/// # Errors
/// `LengthMismatch`; `NotFinite`.
pub fn icc_by_cluster(values: &[f64], clusters: &Clusters, draws: &Draws) -> Result<Estimate, EstimatorError> {
    let grouped = GroupedValues::new(values, clusters.of(), clusters.len())?;
    let own: Vec<u32> = (0..clusters.len() as u32).collect();
    grouped.estimate(&own, draws)
}

/// ICC(1) of per-rollout counts across boundaries (each boundary is a group), with an interval that draws clusters of
/// boundaries. `counts[row]` are the counts of one arm's rollouts.
///
/// # Errors
/// `LengthMismatch`.
pub fn icc_of_rollouts(counts: &[Vec<f64>], clusters: &Clusters, draws: &Draws) -> Result<Estimate, EstimatorError> {
    same_length("counts", clusters.of().len(), counts.len())?;
    let values: Vec<f64> = counts.iter().flatten().copied().collect();
    let group_of: Vec<u32> =
        (0u32..).zip(counts).flat_map(|(row, counts)| std::iter::repeat_n(row, counts.len())).collect();
    GroupedValues::new(&values, &group_of, counts.len())?.estimate(clusters.of(), draws)
}
