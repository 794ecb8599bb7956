//! `boosted`: histogram gradient boosting with the semantics of scikit-learn 1.9's HistGradientBoostingClassifier and
//! -Regressor (protocol section 3).
//!
//! What decides splits, as there: gradients and hessians are computed in f64 and rounded to f32, histograms are summed
//! in f64, the larger sibling's histogram is the parent's minus the smaller one's, gain = G v - Gl vl - Gr vr with the
//! root's v = 0, strict improvement, lowest column then lowest bin on ties. Never any early stopping, and no
//! subsampling of the rows that choose the bins, which scikit-learn does above 200,000 rows **\[choice\]**.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Learner;
    use crate::testing::{case, close, dense, numbers, rows};
    use foldline_features::Row;

    #[test]
    fn four_values_of_twenty_rows_each() {
        let Some(case) = case("boosted-01-hist-gradient") else { return };
        let (input, expect) = (&case["input"], &case["expect"]);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let per_value = input["rows_per_value"].as_u64().unwrap();
        for (value, positives) in numbers(&input["x_values"]).into_iter().zip(numbers(&input["positives_per_value"])) {
            for row in 0..per_value {
                x.push(vec![value]);
                y.push(f64::from((row as f64) < positives));
            }
        }
        let table = dense(&x);
        let all: Vec<u32> = (0..y.len() as u32).collect();
        let training = Training::new(Learner::Boosted, &table, &all, &y).unwrap();
        for (rounds, expected) in numbers(&input["rounds"]).into_iter().zip(rows(&expect["p"])) {
            let settings = Settings { rounds: rounds as usize, ..Settings::default() };
            let boosted = fit(&training, Loss::Log, &settings);
            let probe = |x: f64| boosted.score(&Row { dense: vec![x], ones: Vec::new() });
            let scores: Vec<f64> = numbers(&input["probe"]).into_iter().map(probe).collect();
            close(&scores, &expected, expect["tol"].as_f64().unwrap());
        }
        // by hand, one round: 39 of 80 positive, and a leaf adds 0.05 sum(y - p) / (sum p (1 - p) + 1)
        let boosted = fit(&training, Loss::Log, &Settings { rounds: 1, ..Settings::default() });
        let p = 39.0 / 80.0;
        let leaf = |positives: f64| 0.05 * (positives - 20.0 * p) / (20.0 * p * (1.0 - p) + 1.0);
        let by_hand = |positives| sigmoid((39.0_f64 / 41.0).ln() + leaf(positives));
        let score = |x: f64| boosted.score(&Row { dense: vec![x], ones: Vec::new() });
        close(&[score(0.0), score(1.0), score(2.0), score(3.0)], &[4.0, 8.0, 15.0, 12.0].map(by_hand), 1e-7);
    }

    #[test]
    fn a_node_below_40_rows_is_a_leaf_and_a_constant_outcome_is_its_mean() {
        let table = dense(&(0..39).map(|row| vec![f64::from(row)]).collect::<Vec<_>>());
        let all: Vec<u32> = (0..39).collect();
        let y: Vec<f64> = (0..39).map(|row| f64::from(row > 20)).collect();
        let boosted = fit(&Training::new(Learner::Boosted, &table, &all, &y).unwrap(), Loss::Log, &Settings::default());
        assert!(boosted.trees.iter().all(|tree| tree == &[BoostedNode::Leaf { value: 0.0 }]));
        close(&[boosted.score(&table.rows()[0])], &[18.0 / 39.0], 1e-15);
        let training = Training::new(Learner::BoostedRegression, &table, &all, &[0.25; 39]).unwrap();
        let constant = fit(&training, Loss::Squared, &Settings::default());
        close(&[constant.score(&table.rows()[3])], &[0.25], 0.0);
    }

    #[test]
    fn the_derivatives_hold_at_both_ends() {
        // d/df of ln(1 + exp(f)) - y f; far below 0 both are exp(f), far above 1 - y and 0
        let (g, h) = log_loss_derivatives(0.0, -40.0);
        close(&[g / (-40.0_f64).exp(), h / (-40.0_f64).exp()], &[1.0, 1.0], 1e-12);
        let (g, h) = log_loss_derivatives(1.0, 0.0);
        close(&[g, h], &[-0.5, 0.25], 0.0);
        let (g, h) = log_loss_derivatives(0.0, 800.0);
        close(&[g, h], &[1.0, 0.0], 0.0);
    }
}
