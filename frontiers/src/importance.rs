//! Permutation importance: how much AUROC is lost when a column is shuffled inside each test fold, models fixed
//! (protocol section 5).

use crate::cross_fit::CrossFit;
use crate::estimate::{EstimatorError, Value, mean_of_defined, same_length};
use crate::folds::Folds;
use crate::ranking::auroc;
use crate::streams::Streams;
use foldline_features::{Row, Table};
use foldline_models::Model;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Columns that are permuted together: one column, or a named group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGroup {
    /// Its name in the report.
    pub name: String,
    /// Column indices of the table.
    pub columns: Vec<usize>,
}

impl ColumnGroup {
    /// Every column of a table by itself.
    pub fn each_column(table: &Table) -> Vec<ColumnGroup> {
        let named = table.columns().iter().enumerate();
        named.map(|(column, name)| ColumnGroup { name: name.clone(), columns: vec![column] }).collect()
    }
}

/// Importance of one column or group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// The column's or group's name.
    pub name: String,
    /// Mean over repetitions of pooled AUROC before minus after; near 0, also negative, for a column of no use. A column
    /// that another one duplicates looks useless too: permute such columns as a group.
    pub mean_drop: Value,
    /// The drop of each repetition.
    pub drops: Vec<Value>,
    /// Whether no score changed in any repetition, so that every drop is exactly 0.
    pub unused: bool,
}

/// Permutes each group of columns once per repetition and test fold and scores the rows again with the fold's model.
///
/// All columns of a group move with the same permutation. The permutation of a group in repetition r and fold f comes
/// from stream `(seed, "importance/NAME", r·k + f)`, so it does not depend on which other groups are asked for. Values
/// move between rows of one test fold only; columns equal in all its rows change nothing.
///
/// `fitted` are models and scores from [`crate::cross_fit::cross_fit`] on the same table and folds.
///
/// # Errors
/// `LengthMismatch`, or `OutOfRange` for a column that the table does not have.
pub fn permutation_importance(
    table: &Table,
    folds: &Folds,
    fitted: &CrossFit,
    labels: &[bool],
    groups: &[ColumnGroup],
    streams: &Streams,
) -> Result<Vec<Importance>, EstimatorError> {
    same_length("folds", table.n_rows(), folds.n_rows())?;
    same_length("labels", table.n_rows(), labels.len())?;
    same_length("repetitions of the fitted models", folds.repetitions(), fitted.models.len())?;
    for &column in groups.iter().flat_map(|group| &group.columns) {
        if column >= table.n_columns() {
            return Err(EstimatorError::OutOfRange { what: "column", index: column, count: table.n_columns() });
        }
    }
    let base: Vec<Value> =
        fitted.scores.iter().map(|scores| auroc(scores, labels)).collect::<Result<_, EstimatorError>>()?;
    groups
        .par_iter()
        .map(|group| {
            let columns: BTreeSet<usize> = group.columns.iter().copied().collect();
            let stage = format!("importance/{}", group.name);
            let mut drops = Vec::with_capacity(base.len());
            let mut unused = true;
            for (repetition, (&before, scores)) in base.iter().zip(&fitted.scores).enumerate() {
                let mut permuted = scores.clone();
                let mut changed = false;
                for (fold, model) in fitted.models[repetition].iter().enumerate() {
                    let Some(model) = model else { continue };
                    let mut source = folds.test_rows(repetition, fold);
                    let rows = source.clone();
                    streams.stream(&stage, (repetition * folds.k() + fold) as u64).shuffle(&mut source);
                    changed |= rescore(table, model, &columns, &rows, &source, &mut permuted);
                }
                unused &= !changed;
                let after = if changed { auroc(&permuted, labels)? } else { before };
                drops.push(before.minus(after));
            }
            Ok(Importance { name: group.name.clone(), mean_drop: mean_of_defined(&drops).0, drops, unused })
        })
        .collect()
}

/// Scores `rows` with the values of `columns` taken from the rows `source`; tells whether any score changed.
fn rescore(
    table: &Table,
    model: &Model,
    columns: &BTreeSet<usize>,
    rows: &[u32],
    source: &[u32],
    scores: &mut [f64],
) -> bool {
    let mut changed = false;
    for (&row, &from) in rows.iter().zip(source) {
        let (own, other) = (&table.rows()[row as usize], &table.rows()[from as usize]);
        if let Some(mixed) = with_columns_of(own, other, columns) {
            let score = model.score(&mixed);
            changed |= score.to_bits() != scores[row as usize].to_bits();
            scores[row as usize] = score;
        }
    }
    changed
}

/// `own` with the values of `columns` taken from `other`; nothing where they are equal already.
fn with_columns_of(own: &Row, other: &Row, columns: &BTreeSet<usize>) -> Option<Row> {
    let differs = |&column: &usize| own.value(column).to_bits() != other.value(column).to_bits();
    if !columns.iter().any(differs) {
        return None;
    }
    let mut mixed = own.clone();
    for &column in columns {
        if let Some(value) = mixed.dense.get_mut(column) {
            *value = other.dense[column];
        } else {
            let column = column as u32;
            match (mixed.ones.binary_search(&column), other.ones.binary_search(&column)) {
                (Ok(at), Err(_)) => drop(mixed.ones.remove(at)),
                (Err(at), Ok(_)) => mixed.ones.insert(at, column),
                _ => {}
            }
        }
    }
    Some(mixed)
}
