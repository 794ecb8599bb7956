//! Learners of other libraries, for comparison.
//!
//! They solve (logistic) or are said to solve (trees) the problems of our own learners, and their known defects are
//! part of the documentation and asserted in tests. No number of a report rests on them unless it is asked for.

pub mod linfa;
pub mod smartcore;

use crate::learner::{Fit, Learner, ModelError, Training};
use crate::logistic::LogisticSettings;
use crate::model::Model;
use crate::newton::gradient_norm;
use crate::standard::Design;
use crate::tree::{Node, Split, Tree};

/// Both libraries want dense columns; beyond this many cells (512 MiB) that is refused.
const MAX_CELLS: usize = 1 << 26;

fn check_size(library: &'static str, rows: usize, columns: usize, instead: Learner) -> Result<(), ModelError> {
    match rows.checked_mul(columns) {
        Some(cells) if cells <= MAX_CELLS => Ok(()),
        _ => Err(ModelError::Engine {
            library,
            reason: format!("it needs a dense copy of {rows} rows x {columns} columns, more than {MAX_CELLS} cells"),
            instead,
        }),
    }
}

/// The training rows, dense, row after row.
fn dense_matrix(training: &Training<'_>) -> Vec<f64> {
    let columns = training.table.n_columns();
    let mut values = vec![0.0; training.n() * columns];
    for (values, &row) in values.chunks_exact_mut(columns).zip(training.rows) {
        let row = &training.table.rows()[row as usize];
        values[..row.dense.len()].copy_from_slice(&row.dense);
        row.ones.iter().for_each(|&column| values[column as usize] = 1.0);
    }
    values
}

/// The model of weights a library found, with a warning where they are not the optimum.
fn logistic_fit(training: &Training<'_>, design: &Design, learner: &str, weights: &[f64], intercept: f64) -> Fit {
    let settings = LogisticSettings::default();
    let gradient = gradient_norm(design, &training.y, settings.c, weights, intercept);
    let mut warnings = Vec::new();
    if gradient > settings.tolerance {
        warnings.push(format!(
            "{learner}: not converged: the gradient's largest entry is {gradient:e}, above {:e}",
            settings.tolerance
        ));
    }
    Fit { model: Model::Logistic(design.model(training, weights, intercept)), warnings }
}

/// The splits of a library's tree.
struct Structure {
    column: u32,
    threshold: f64,
    left: Option<Box<Structure>>,
    right: Option<Box<Structure>>,
}

/// Routes the training rows through a library's tree; a split with an empty side becomes a leaf.
fn count_leaves(training: &Training<'_>, structure: Option<Box<Structure>>) -> Tree {
    Tree { root: count(training, structure.as_deref(), (0..training.n()).collect()) }
}

fn count(training: &Training<'_>, structure: Option<&Structure>, members: Vec<usize>) -> Node {
    let positives = members.iter().filter(|&&at| training.y[at] > 0.5).count() as u64;
    let mut node = Node { n: members.len() as u64, positives, split: None };
    let Some(structure) = structure else { return node };
    let rows = training.table.rows();
    let value = |at: usize| rows[training.rows[at] as usize].value(structure.column as usize);
    let (left, right): (Vec<_>, Vec<_>) = members.into_iter().partition(|&at| value(at) <= structure.threshold);
    if !left.is_empty() && !right.is_empty() {
        node.split = Some(Box::new(Split {
            column: structure.column,
            threshold: structure.threshold,
            left: count(training, structure.left.as_deref(), left),
            right: count(training, structure.right.as_deref(), right),
        }));
    }
    node
}
