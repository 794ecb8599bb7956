//! `boosted`: histogram gradient boosting with the semantics of scikit-learn 1.9's HistGradientBoostingClassifier and
//! -Regressor (protocol section 3).
//!
//! What decides splits, as there: gradients and hessians are computed in f64 and rounded to f32, histograms are summed
//! in f64, the larger sibling's histogram is the parent's minus the smaller one's, gain = G v - Gl vl - Gr vr with the
//! root's v = 0, strict improvement, lowest column then lowest bin on ties. Never any early stopping, and no
//! subsampling of the rows that choose the bins, which scikit-learn does above 200,000 rows **[choice]**.
//!
//! What differs is the way there: a bin's histogram cell is written only for bins above a column's first, whose sums
//! follow from the node's totals, so that a 0/1 column costs its ones; and cuts that leave fewer than
//! `min_rows_per_leaf` training rows on a side can never be used and are dropped before the first tree.

mod bins;
mod ensemble;
mod grow;
mod histogram;

pub use ensemble::{Boosted, BoostedNode, Link};

use crate::learner::Training;
use crate::model::sigmoid;
use bins::Binned;
use grow::Grower;

/// Hyperparameters; the defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    /// Number of trees.
    pub(crate) rounds: usize,
    /// Depth of a tree: 3 gives at most 8 leaves.
    pub(crate) max_depth: usize,
    /// What a tree's leaves are multiplied by.
    pub(crate) learning_rate: f64,
    /// Fewest training rows in a leaf.
    pub(crate) min_rows_per_leaf: usize,
    /// L2 penalty on leaf values.
    pub(crate) l2: f64,
    /// Most bins of a column, at most 255.
    pub(crate) max_bins: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { rounds: 200, max_depth: 3, learning_rate: 0.05, min_rows_per_leaf: 20, l2: 1.0, max_bins: 255 }
    }
}

/// What is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Log-loss of 0/1 labels; scores are probabilities.
    Log,
    /// Half squared error.
    Squared,
}

pub(crate) fn fit(training: &Training<'_>, loss: Loss, settings: &Settings) -> Boosted {
    let binned = Binned::new(training, settings);
    let n = training.n();
    let mean = training.y.iter().sum::<f64>() / n as f64;
    let (baseline, link) = match loss {
        Loss::Log => ((mean / (1.0 - mean)).ln(), Link::Logit),
        Loss::Squared => (mean, Link::Identity),
    };
    let mut raw = vec![baseline; n];
    let mut gradients = vec![[0.0, 0.0]; n];
    let mut grower = Grower::new(&binned, settings);
    let trees = (0..settings.rounds)
        .map(|_| {
            for ((gradient, &raw), &y) in gradients.iter_mut().zip(&raw).zip(&training.y) {
                let (g, h) = match loss {
                    Loss::Log => log_loss_derivatives(y, raw),
                    Loss::Squared => (raw - y, 1.0),
                };
                // rounded to f32, kept in f64: sums of so few bits are exact in almost any order
                *gradient = [f64::from(g as f32), f64::from(h as f32)];
            }
            grower.grow(&gradients, &mut raw)
        })
        .collect();
    Boosted { link, baseline, trees }
}

/// First and second derivative of the log-loss in the raw score, computed as scikit-learn does.
fn log_loss_derivatives(y: f64, raw: f64) -> (f64, f64) {
    if raw > -37.0 {
        let e = (-raw).exp();
        (((1.0 - y) - y * e) / (1.0 + e), e / ((1.0 + e) * (1.0 + e)))
    } else {
        let e = raw.exp();
        (e - y, (1.0 - e) * e)
    }
}

impl Link {
    pub(crate) fn apply(self, raw: f64) -> f64 {
        match self {
            Link::Logit => sigmoid(raw),
            Link::Identity => raw,
        }
    }
}
