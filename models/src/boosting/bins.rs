//! Columns cut into bins, and rows as lists of histogram cells.

use super::Settings;
use crate::learner::Training;

/// The training rows, binned.
pub(super) struct Binned {
    /// Columns that can be split at all, in column order.
    pub(super) columns: Vec<BinnedColumn>,
    /// Total number of histogram cells.
    pub(super) n_cells: usize,
    /// Cells of row r: `cells[start[r]..start[r + 1]]`, one per column in which the row is above the first bin.
    pub(super) start: Vec<usize>,
    pub(super) cells: Vec<u32>,
}

/// A column with k cuts has bins 0 to k; the cell of bin b >= 1 is `first_cell + b - 1`.
pub(super) struct BinnedColumn {
    pub(super) column: u32,
    pub(super) first_cell: usize,
    /// Ascending; a value's bin is the number of cuts below it.
    pub(super) cuts: Vec<f64>,
    pub(super) rows: Members,
}

/// Which bin each training row is in.
pub(super) enum Members {
    /// Bin by row.
    Bins(Vec<u8>),
    /// Rows in bin 1, ascending; all others are in bin 0.
    Ones(Vec<u32>),
}

impl Binned {
    pub(super) fn new(training: &Training<'_>, settings: &Settings) -> Binned {
        let n = training.n();
        let usable = |right: usize| right >= settings.min_rows_per_leaf && n - right >= settings.min_rows_per_leaf;
        let mut columns = Vec::new();
        let mut n_cells = 0;
        for column in 0..training.table.n_dense() {
            let values = training.dense(column);
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let mut cuts = cut_points(&sorted, settings.max_bins);
            cuts.retain(|cut| usable(n - sorted.partition_point(|value| value <= cut)));
            if cuts.is_empty() {
                continue;
            }
            let bins = values.iter().map(|value| cuts.partition_point(|cut| cut < value) as u8).collect();
            let first_cell = n_cells;
            n_cells += cuts.len();
            columns.push(BinnedColumn { column: column as u32, first_cell, cuts, rows: Members::Bins(bins) });
        }
        for column in training.sparse_columns() {
            let ones: Vec<u32> = training.ones(column).collect();
            if usable(ones.len()) {
                let column = column as u32;
                columns.push(BinnedColumn { column, first_cell: n_cells, cuts: vec![0.5], rows: Members::Ones(ones) });
                n_cells += 1;
            }
        }
        let mut by_row = vec![Vec::new(); n];
        for column in &columns {
            match &column.rows {
                Members::Bins(bins) => {
                    for (row, &bin) in bins.iter().enumerate().filter(|bin| *bin.1 > 0) {
                        by_row[row].push((column.first_cell + usize::from(bin) - 1) as u32);
                    }
                }
                Members::Ones(ones) => ones.iter().for_each(|&row| by_row[row as usize].push(column.first_cell as u32)),
            }
        }
        let mut start = vec![0];
        let mut cells = Vec::with_capacity(by_row.iter().map(Vec::len).sum());
        for row in by_row {
            cells.extend(row);
            start.push(cells.len());
        }
        Binned { columns, n_cells, start, cells }
    }
}

/// Where a column is cut: between its distinct values if there are at most `max_bins`, else at percentiles.
fn cut_points(sorted: &[f64], max_bins: usize) -> Vec<f64> {
    let mut distinct = sorted.to_vec();
    distinct.dedup();
    if distinct.len() <= max_bins {
        return distinct.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
    }
    // numpy.percentile(method="averaged_inverted_cdf"), operation by operation
    let n = sorted.len();
    let step = 100.0 / max_bins as f64;
    let mut cuts: Vec<f64> = (1..max_bins)
        .map(|i| {
            let at = n as f64 * (i as f64 * step / 100.0) - 1.0;
            let below = at.floor();
            let (a, b) = (sorted[below as usize], sorted[(below as usize + 1).min(n - 1)]);
            if at - below == 0.0 { b - (b - a) * 0.5 } else { b }
        })
        .collect();
    cuts.dedup();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_cut_in_the_middle_and_many_at_percentiles() {
        assert_eq!(cut_points(&[1.0, 1.0, 2.0, 10.0], 255), [1.5, 6.0]);
        assert!(cut_points(&[3.0, 3.0], 255).is_empty());
        // np.percentile(np.arange(512.), np.linspace(0, 100, 5)[1:-1], method="averaged_inverted_cdf")
        let many: Vec<f64> = (0..512).map(f64::from).collect();
        assert_eq!(cut_points(&many, 4), [127.5, 255.5, 383.5]);
        // np.percentile(np.arange(510.), np.linspace(0, 100, 5)[1:-1], method="averaged_inverted_cdf")
        assert_eq!(cut_points(&many[..510], 4), [127.0, 254.5, 382.0]);
    }
}
