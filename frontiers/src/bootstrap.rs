//! Clustered percentile bootstrap: which clusters each draw takes, and what interval follows (protocol section 5).
//!
//! A draw takes as many clusters as there are, with replacement; a cluster drawn twice counts twice. A draw is a
//! multiplicity per cluster, so that every statistic is a weighted pass over the rows, and the same draws serve every
//! score vector: differences between two policies are then paired.

use crate::estimate::{EstimatorError, Interval, Reason, Unit, Value};
use crate::streams::Streams;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The confidence level of every interval: 2.5 and 97.5 percentiles.
pub const LEVEL: f64 = 0.95;

/// Which cluster (task, stem) each row belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    of: Vec<u32>,
    ids: Vec<String>,
}

impl Clusters {
    /// Numbers the distinct ids in bytewise order.
    pub fn new<S: AsRef<str>>(ids: &[S]) -> Clusters {
        let mut number: BTreeMap<&str, u32> = ids.iter().map(|id| (id.as_ref(), 0)).collect();
        for (index, value) in (0u32..).zip(number.values_mut()) {
            *value = index;
        }
        Clusters {
            of: ids.iter().map(|id| number[id.as_ref()]).collect(),
            ids: number.into_keys().map(str::to_owned).collect(),
        }
    }

    /// The cluster of every row.
    pub fn of(&self) -> &[u32] {
        &self.of
    }

    /// The ids, bytewise sorted: cluster i is `ids()[i]`.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// The clusters of some rows only, numbered as before, so that the same draws serve both.
    pub fn of_rows(&self, rows: &[usize]) -> Clusters {
        Clusters { of: rows.iter().map(|&row| self.of[row]).collect(), ids: self.ids.clone() }
    }

    /// Number of clusters.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no cluster.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Bootstrap draws: how often each cluster is taken in each of them.
#[derive(Clone, Debug)]
pub struct Draws {
    unit: Unit,
    seed: Option<u64>,
    n_clusters: usize,
    /// `[draw · n_clusters + cluster]`.
    multiplicity: Vec<u32>,
}

impl Draws {
    /// Draws `count` times as many clusters as there are, with replacement.
    ///
    /// Draw i uses stream `(seed, "bootstrap/UNIT", i)`: the first 2,000 of 10,000 draws are those of a bootstrap of
    /// 2,000, and the thread count does not matter.
    pub fn new(streams: &Streams, unit: Unit, n_clusters: usize, count: u32) -> Draws {
        let stage = format!("bootstrap/{}", unit.name());
        let mut multiplicity = vec![0u32; n_clusters * count as usize];
        if n_clusters > 0 {
            multiplicity.par_chunks_mut(n_clusters).enumerate().for_each(|(draw, row)| {
                let mut stream = streams.stream(&stage, draw as u64);
                for _ in 0..n_clusters {
                    row[stream.below(n_clusters as u32) as usize] += 1;
                }
            });
        }
        Draws { unit, seed: Some(streams.seed()), n_clusters, multiplicity }
    }

    /// Draws that are given, each as a list of cluster numbers.
    ///
    /// # Errors
    /// `OutOfRange` for a cluster that does not exist; `Invalid` without a cluster.
    pub fn explicit(unit: Unit, n_clusters: usize, draws: &[Vec<u32>]) -> Result<Draws, EstimatorError> {
        if n_clusters == 0 {
            return Err(EstimatorError::Invalid("no cluster to draw".to_owned()));
        }
        let mut multiplicity = vec![0u32; n_clusters * draws.len()];
        for (row, draw) in multiplicity.chunks_mut(n_clusters).zip(draws) {
            for &cluster in draw {
                let slot = row.get_mut(cluster as usize);
                *slot.ok_or(EstimatorError::OutOfRange {
                    what: "cluster",
                    index: cluster as usize,
                    count: n_clusters,
                })? += 1;
            }
        }
        Ok(Draws { unit, seed: None, n_clusters, multiplicity })
    }

    /// What is resampled.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Number of clusters.
    pub fn n_clusters(&self) -> usize {
        self.n_clusters
    }

    /// Number of draws.
    pub fn len(&self) -> usize {
        self.multiplicity.len().checked_div(self.n_clusters).unwrap_or(0)
    }

    /// Whether there is no draw.
    pub fn is_empty(&self) -> bool {
        self.multiplicity.is_empty()
    }

    /// How often a draw takes each cluster.
    pub fn multiplicity(&self, draw: usize) -> &[u32] {
        &self.multiplicity[draw * self.n_clusters..(draw + 1) * self.n_clusters]
    }

    /// The first `count` draws.
    pub fn first(&self, count: usize) -> Draws {
        let keep = count.min(self.len()) * self.n_clusters;
        Draws { multiplicity: self.multiplicity[..keep].to_vec(), ..*self }
    }

    /// Evaluates something in every draw, given the multiplicities, in parallel; results stand in draw order.
    ///
    /// `scratch` makes a buffer for each worker.
    pub fn map<S, T: Send>(
        &self,
        scratch: impl Fn() -> S + Sync + Send,
        evaluate: impl Fn(&mut S, &[u32]) -> T + Sync + Send,
    ) -> Vec<T> {
        if self.n_clusters == 0 {
            return Vec::new();
        }
        self.multiplicity
            .par_chunks(self.n_clusters)
            .map_init(scratch, |scratch, multiplicity| evaluate(scratch, multiplicity))
            .collect()
    }

    /// The percentile interval of a statistic's values, one per draw; undefined ones are dropped and counted.
    ///
    /// With a single cluster every draw is the sample itself, which tells nothing of its uncertainty: all draws are
    /// dropped and the interval has no ends \[choice\].
    pub fn interval(&self, values: impl IntoIterator<Item = Value>) -> Interval {
        let alone = self.n_clusters < 2;
        let values = values.into_iter().map(|value| if alone { Value::Undefined(Reason::TooFewGroups) } else { value });
        let interval = percentile_interval(values, self.unit, self.seed);
        Interval {
            no_interval: interval.no_interval.map(|why| if alone { Reason::TooFewGroups } else { why }),
            ..interval
        }
    }
}

/// The 2.5 to 97.5 percentile interval of values, undefined ones dropped and counted.
pub(crate) fn percentile_interval(values: impl IntoIterator<Item = Value>, unit: Unit, seed: Option<u64>) -> Interval {
    let mut draws = 0u32;
    let mut kept: Vec<f64> = values.into_iter().inspect(|_| draws += 1).filter_map(|value| value.defined()).collect();
    kept.sort_unstable_by(f64::total_cmp);
    Interval {
        lo: percentile(&kept, (1.0 - LEVEL) / 2.0).defined(),
        hi: percentile(&kept, (1.0 + LEVEL) / 2.0).defined(),
        level: LEVEL,
        unit,
        draws,
        dropped: draws - kept.len() as u32,
        seed,
        no_interval: kept.is_empty().then_some(Reason::AllDrawsDropped),
    }
}

/// A percentile of ascending values by linear interpolation: position (n − 1)·q, the default of NumPy.
pub fn percentile(ascending: &[f64], q: f64) -> Value {
    let Some(last) = ascending.len().checked_sub(1) else {
        return Value::Undefined(Reason::AllDrawsDropped);
    };
    let position = last as f64 * q.clamp(0.0, 1.0);
    let below = position.floor() as usize;
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    // equal neighbours stay exactly themselves
    Value::Defined(low + (high - low) * (position - position.floor()))
}
