//! linfa-logistic and linfa-trees 0.8.
//!
//! `linfa-logistic` solves the problem of `logistic` (sum of log-losses + |w|^2 / 2, intercept free) by L-BFGS on a
//! dense copy of the standardised columns. Known: its positive class is the *more frequent* one, not the larger label
//! (linfa issue #393), so the weights are turned round here where needed. Its line search (argmin's, by Moré and Thuente) has
//! no limit of its own and was seen to go on for ever where a step can no longer lower the loss by what a float shows, so
//! it is asked for a gradient of 1e-7 a row only, ten times what that is; that it stops short is reported as a warning.
//!
//! `linfa-tree` takes the *structure* of a depth-2 Gini tree from linfa-trees and counts the leaves itself, because
//! linfa keeps no leaf probabilities. Known, and asserted in tests:
//! 1. below the root, splits are missed when a row outside the node has the same value as the last row inside;
//! 2. sibling leaves with the same majority class are merged, so a difference in rates is lost;
//! 3. values closer than 1e-5 count as equal, and gains are compared in f32;
//! 4. it is fitted with `x <= threshold` to the left but predicts with `x < threshold`; we route as it was fitted;
//! 5. a tie between classes is broken by the order of a hash map, different in each process. Rows of label 1 weigh
//!    1 + 2^-14 here, so that there are no such ties.

use linfa::DatasetBase;
use linfa::traits::Fit as _;
use linfa_logistic::LogisticRegression;
use linfa_trees::{DecisionTree, SplitQuality, TreeNode};
use ndarray16::{Array1, Array2};

use super::{Structure, check_size, count_leaves, dense_matrix, logistic_fit};
use crate::learner::{Fit, Learner, ModelError, Training};
use crate::logistic::LogisticSettings;
use crate::model::Model;
use crate::standard::Design;
use crate::tree::MIN_ROWS_TO_SPLIT;

/// Breaks ties between classes in favour of label 1, and nothing else.
const WEIGHT_OF_ONE: f32 = 1.0 + 1.0 / 16384.0;

/// Gradient at which linfa-logistic stops, per row: sqrt(2 · H · eps · loss) with H about n/4 and a loss of about 0.7 n is
/// 1e-8 a row, below which no step can be told to be better.
const REACHABLE_A_ROW: f64 = 1e-7;

fn failed(reason: impl ToString, instead: Learner) -> ModelError {
    ModelError::Engine { library: "linfa", reason: reason.to_string(), instead }
}

fn matrix(values: Vec<f64>, n: usize, instead: Learner) -> Result<Array2<f64>, ModelError> {
    let columns = values.len() / n;
    Array2::from_shape_vec((n, columns), values).map_err(|error| failed(error, instead))
}

pub(crate) fn logistic(training: &Training<'_>) -> Result<Fit, ModelError> {
    let instead = Learner::Logistic;
    let settings = LogisticSettings::default();
    let design = Design::new(training, settings.standardise);
    check_size("linfa", design.n, design.n_columns(), instead)?;
    if design.n_columns() == 0 {
        // nothing varies: the rate is the model, and linfa wants at least one column
        let rate = training.positives() as f64 / design.n as f64;
        return Ok(logistic_fit(training, &design, "linfa-logistic", &[], (rate / (1.0 - rate)).ln()));
    }
    let records = matrix(design.to_matrix(), design.n, instead)?;
    let labels: Array1<bool> = training.y.iter().map(|&y| y > 0.5).collect();
    let fitted = LogisticRegression::default()
        .alpha(1.0 / settings.c)
        .gradient_tolerance(REACHABLE_A_ROW * design.n as f64)
        .max_iterations(settings.max_iterations as u64)
        .fit(&DatasetBase::new(records, labels))
        .map_err(|error| failed(error, instead))?;
    let sign = if fitted.labels().pos.class { 1.0 } else { -1.0 };
    let weights: Vec<f64> = fitted.params().iter().map(|w| sign * w).collect();
    Ok(logistic_fit(training, &design, "linfa-logistic", &weights, sign * fitted.intercept()))
}

pub(crate) fn tree(training: &Training<'_>) -> Result<Fit, ModelError> {
    let instead = Learner::Depth2;
    let (n, columns) = (training.n(), training.table.n_columns());
    check_size("linfa", n, columns, instead)?;
    if columns == 0 {
        return Ok(Model::Tree(count_leaves(training, None)).into());
    }
    let records = matrix(dense_matrix(training), n, instead)?;
    let labels: Array1<bool> = training.y.iter().map(|&y| y > 0.5).collect();
    let weights: Array1<f32> = labels.iter().map(|&one| if one { WEIGHT_OF_ONE } else { 1.0 }).collect();
    let fitted = DecisionTree::params()
        .split_quality(SplitQuality::Gini)
        .max_depth(Some(2))
        .min_weight_split(MIN_ROWS_TO_SPLIT as f32)
        .min_weight_leaf(1.0)
        .fit(&DatasetBase::new(records, labels).with_weights(weights))
        .map_err(|error| failed(error, instead))?;
    Ok(Model::Tree(count_leaves(training, structure(fitted.root_node()))).into())
}

/// The splits of a fitted linfa tree; `None` for a leaf.
fn structure(node: &TreeNode<f64, bool>) -> Option<Box<Structure>> {
    if node.is_leaf() {
        return None;
    }
    let (column, threshold, _) = node.split();
    let child = |at: usize| node.children().get(at).and_then(|child| child.as_deref()).and_then(structure);
    Some(Box::new(Structure { column: column as u32, threshold, left: child(0), right: child(1) }))
}
