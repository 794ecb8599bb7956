//! Training columns standardised without making 0/1 columns dense.

use crate::learner::Training;
use crate::linear::{DenseTerm, Linear};

/// The training rows of a table as standardised columns z = (x - mean) / sd.
///
/// Columns that are constant on the training rows are left out (weight 0). Columns of the design are numbered: dense
/// ones first, then 0/1 ones, both in column order.
pub(crate) struct Design {
    pub(crate) n: usize,
    /// Dense standardised values, row after row.
    pub(crate) dense: Vec<f64>,
    pub(crate) dense_columns: Vec<Moments>,
    pub(crate) sparse_columns: Vec<Moments>,
    /// Per row the 0/1 columns (numbered within `sparse_columns`) that are 1: `ones[start[r]..start[r + 1]]`.
    pub(crate) start: Vec<usize>,
    pub(crate) ones: Vec<u32>,
}

/// A column of the table with the moments it is standardised by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) column: usize,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

/// Mean and population sd; `None` for a column whose values are all equal.
#[expect(clippy::float_cmp, reason = "a column is constant if its values are equal bit for bit")]
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.iter().all(|&value| value == values[0]) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
    // spread below the resolution of the mean, or beyond the range of f64: nothing to learn from
    (sd > 0.0 && sd.is_finite()).then_some((mean, sd))
}

impl Design {
    /// `standardise` off leaves mean 0 and sd 1 in place of the moments.
    pub(crate) fn new(training: &Training<'_>, standardise: bool) -> Design {
        let n = training.n();
        let choose = |column, mean, sd| {
            if standardise { Moments { column, mean, sd } } else { Moments { column, mean: 0.0, sd: 1.0 } }
        };
        let mut dense_columns = Vec::new();
        let mut by_column = Vec::new();
        for column in 0..training.table.n_dense() {
            let values = training.dense(column);
            if let Some((mean, sd)) = moments(&values) {
                dense_columns.push(choose(column, mean, sd));
                by_column.push(values);
            }
        }
        let mut dense = Vec::with_capacity(n * dense_columns.len());
        for row in 0..n {
            dense.extend(
                dense_columns.iter().zip(&by_column).map(|(moments, values)| (values[row] - moments.mean) / moments.sd),
            );
        }
        let mut number = vec![u32::MAX; training.table.n_columns()];
        let mut sparse_columns = Vec::new();
        for column in training.sparse_columns() {
            let count = training.ones(column).count();
            if count > 0 && count < n {
                number[column] = sparse_columns.len() as u32;
                let mean = count as f64 / n as f64;
                sparse_columns.push(choose(column, mean, (mean * (1.0 - mean)).sqrt()));
            }
        }
        let mut start = vec![0];
        let mut ones = Vec::new();
        for &row in training.rows {
            let all = &training.table.rows()[row as usize].ones;
            ones.extend(all.iter().map(|&column| number[column as usize]).filter(|&number| number != u32::MAX));
            start.push(ones.len());
        }
        Design { n, dense, dense_columns, sparse_columns, start, ones }
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.dense_columns.len() + self.sparse_columns.len()
    }

    pub(crate) fn dense_row(&self, row: usize) -> &[f64] {
        let width = self.dense_columns.len();
        &self.dense[row * width..(row + 1) * width]
    }

    pub(crate) fn ones_row(&self, row: usize) -> &[u32] {
        &self.ones[self.start[row]..self.start[row + 1]]
    }

    /// Z, dense, row after row.
    pub(crate) fn to_matrix(&self) -> Vec<f64> {
        let zeros: Vec<f64> = self.sparse_columns.iter().map(|moments| -moments.mean / moments.sd).collect();
        let mut values = Vec::with_capacity(self.n * self.n_columns());
        for row in 0..self.n {
            values.extend_from_slice(self.dense_row(row));
            let at = values.len();
            values.extend_from_slice(&zeros);
            for &column in self.ones_row(row) {
                let moments = &self.sparse_columns[column as usize];
                values[at + column as usize] = (1.0 - moments.mean) / moments.sd;
            }
        }
        values
    }

    /// f = Z w + b, for every training row.
    pub(crate) fn forward(&self, weights: &[f64], intercept: f64, f: &mut [f64]) {
        let (dense, sparse) = weights.split_at(self.dense_columns.len());
        let per_one: Vec<f64> = sparse.iter().zip(&self.sparse_columns).map(|(w, moments)| w / moments.sd).collect();
        let shift: f64 = per_one.iter().zip(&self.sparse_columns).map(|(w, moments)| w * moments.mean).sum();
        for (row, f) in f.iter_mut().enumerate() {
            let dense: f64 = self.dense_row(row).iter().zip(dense).map(|(z, w)| z * w).sum();
            let sparse: f64 = self.ones_row(row).iter().map(|&column| per_one[column as usize]).sum();
            *f = dense + (sparse - shift) + intercept;
        }
    }

    /// g = Z^T r, for every column.
    pub(crate) fn backward(&self, r: &[f64], g: &mut [f64]) {
        g.fill(0.0);
        let (dense, sparse) = g.split_at_mut(self.dense_columns.len());
        for (row, &r) in r.iter().enumerate() {
            for (g, z) in dense.iter_mut().zip(self.dense_row(row)) {
                *g += z * r;
            }
            for &column in self.ones_row(row) {
                sparse[column as usize] += r;
            }
        }
        let total: f64 = r.iter().sum();
        for (g, moments) in sparse.iter_mut().zip(&self.sparse_columns) {
            *g = (*g - moments.mean * total) / moments.sd;
        }
    }

    /// The model with these weights on the standardised columns.
    pub(crate) fn model(&self, training: &Training<'_>, weights: &[f64], intercept: f64) -> Linear {
        let (dense, sparse) = weights.split_at(self.dense_columns.len());
        let mut terms: Vec<DenseTerm> = (0..training.table.n_dense())
            .map(|column| DenseTerm { mean: training.dense(column)[0], sd: 1.0, weight: 0.0 })
            .collect();
        for (moments, &weight) in self.dense_columns.iter().zip(dense) {
            terms[moments.column] = DenseTerm { mean: moments.mean, sd: moments.sd, weight };
        }
        let mut ones = vec![0.0; training.sparse_columns().len()];
        let mut shift = 0.0;
        for (moments, &weight) in self.sparse_columns.iter().zip(sparse) {
            let per_one = weight / moments.sd;
            ones[moments.column - training.table.n_dense()] = per_one;
            shift += per_one * moments.mean;
        }
        Linear { intercept: intercept - shift, dense: terms, ones }
    }
}
