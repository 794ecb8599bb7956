//! smartcore 0.7.
//!
//! `smartcore-logistic` solves the problem of `logistic` by L-BFGS on a dense copy of the standardised columns. Known:
//! it has no probabilities of its own (they are computed from its coefficients here), and it answers NaN in its input
//! with coefficients that are all 0; no NaN gets this far.
//!
//! `smartcore-tree` takes the *structure* of a depth-2 Gini tree from smartcore (read from its serialised form, the only
//! way to its nodes) and counts the leaves itself, because its `predict_proba` is the majority class as 0 or 1. Known,
//! and asserted in tests:
//! 1. a boundary between two neighbouring rows of the same label is skipped, which is right for distinct values only: a
//!    0/1 column that parts 20 % from 80 % positives is split or not by the order of the rows;
//! 2. `max_depth` counts one more than the splits on a path (3 is passed for depth 2);
//! 3. it panics on NaN; no NaN gets this far.

use serde_json::Value;
use smartcore::linalg::basic::arrays::Array;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::linear::logistic_regression::{LogisticRegression, LogisticRegressionParameters};
use smartcore::tree::decision_tree_classifier::{DecisionTreeClassifier, DecisionTreeClassifierParameters};

use super::{Structure, check_size, count_leaves, dense_matrix, logistic_fit};
use crate::learner::{Fit, Learner, ModelError, Training};
use crate::logistic::LogisticSettings;
use crate::model::Model;
use crate::standard::Design;
use crate::tree::MIN_ROWS_TO_SPLIT;

fn failed(reason: impl ToString, instead: Learner) -> ModelError {
    ModelError::Engine { library: "smartcore", reason: reason.to_string(), instead }
}

fn matrix(values: Vec<f64>, n: usize, instead: Learner) -> Result<DenseMatrix<f64>, ModelError> {
    let columns = values.len() / n;
    DenseMatrix::new(n, columns, values, false).map_err(|error| failed(error, instead))
}

pub(crate) fn logistic(training: &Training<'_>) -> Result<Fit, ModelError> {
    let instead = Learner::Logistic;
    let settings = LogisticSettings::default();
    let design = Design::new(training, settings.standardise);
    check_size("smartcore", design.n, design.n_columns(), instead)?;
    if design.n_columns() == 0 {
        let rate = training.positives() as f64 / design.n as f64;
        return Ok(logistic_fit(training, &design, "smartcore-logistic", &[], (rate / (1.0 - rate)).ln()));
    }
    let x = matrix(design.to_matrix(), design.n, instead)?;
    let labels: Vec<u32> = training.y.iter().map(|&y| u32::from(y > 0.5)).collect();
    let parameters = LogisticRegressionParameters::default().with_alpha(1.0 / settings.c);
    let fitted = LogisticRegression::fit(&x, &labels, parameters).map_err(|error| failed(error, instead))?;
    let weights: Vec<f64> = fitted.coefficients().iterator(0).copied().collect();
    let intercept = *fitted.intercept().get((0, 0));
    Ok(logistic_fit(training, &design, "smartcore-logistic", &weights, intercept))
}

pub(crate) fn tree(training: &Training<'_>) -> Result<Fit, ModelError> {
    let instead = Learner::Depth2;
    let (n, columns) = (training.n(), training.table.n_columns());
    check_size("smartcore", n, columns, instead)?;
    if columns == 0 {
        return Ok(Model::Tree(count_leaves(training, None)).into());
    }
    let x = matrix(dense_matrix(training), n, instead)?;
    let labels: Vec<u32> = training.y.iter().map(|&y| u32::from(y > 0.5)).collect();
    let parameters = DecisionTreeClassifierParameters::default()
        .with_max_depth(3)
        .with_min_samples_leaf(1)
        .with_min_samples_split(MIN_ROWS_TO_SPLIT);
    let fitted = DecisionTreeClassifier::fit(&x, &labels, parameters).map_err(|error| failed(error, instead))?;
    let written = serde_json::to_value(&fitted).map_err(|error| failed(error, instead))?;
    let nodes = written["nodes"].as_array().ok_or_else(|| failed("its tree has no list of nodes", instead))?;
    Ok(Model::Tree(count_leaves(training, structure(nodes, 0, 0))).into())
}

/// The splits of a serialised smartcore tree; `None` for a leaf.
fn structure(nodes: &[Value], at: usize, depth: usize) -> Option<Box<Structure>> {
    let node = nodes.get(at).filter(|_| depth < 2)?;
    let child = |side: &str| node[side].as_u64().map(|at| at as usize);
    let (left, right) = (child("true_child")?, child("false_child")?);
    Some(Box::new(Structure {
        column: u32::try_from(node["split_feature"].as_u64()?).ok()?,
        threshold: node["split_value"].as_f64()?,
        left: structure(nodes, left, depth + 1),
        right: structure(nodes, right, depth + 1),
    }))
}
