//! The design matrix: one row a boundary, dense columns first, then sparse 0/1 columns.
//!
//! Representations R1 to R3 have up to 8,336 columns of which a row sets about a hundred; those are kept as lists of
//! ones, by row and by column. Column order is part of every fitted model.

/// One boundary's features.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Values of the dense columns, in column order.
    pub dense: Vec<f64>,
    /// Indices of the 0/1 columns that are 1, ascending; the first such column has index `dense.len()`.
    pub ones: Vec<u32>,
}

impl Row {
    /// The value of a column: a dense value, or 0 or 1.
    pub fn value(&self, column: usize) -> f64 {
        match self.dense.get(column) {
            Some(&value) => value,
            None if self.ones.binary_search(&(column as u32)).is_ok() => 1.0,
            None => 0.0,
        }
    }
}

/// A design matrix of n rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    dense: Vec<Vec<f64>>,
    ones: Vec<Vec<u32>>,
    rows: Vec<Row>,
}

impl Table {
    /// Builds a table from rows that all have the same dense columns.
    ///
    /// `columns` names every column in order, dense ones first.
    ///
    /// # Errors
    /// A sentence naming the row whose dense length, value (not finite) or column index does not fit.
    pub fn new(columns: Vec<String>, n_dense: usize, rows: Vec<Row>) -> Result<Table, String> {
        if n_dense > columns.len() {
            return Err(format!("{n_dense} dense columns, but only {} columns are named", columns.len()));
        }
        let mut dense = vec![Vec::with_capacity(rows.len()); n_dense];
        let mut ones = vec![Vec::new(); columns.len() - n_dense];
        for (index, row) in rows.iter().enumerate() {
            if row.dense.len() != n_dense {
                return Err(format!("row {index} has {} dense values, expected {n_dense}", row.dense.len()));
            }
            for (column, &value) in row.dense.iter().enumerate() {
                if !value.is_finite() {
                    return Err(format!("row {index}, column {}: {value} is not finite", columns[column]));
                }
                dense[column].push(value);
            }
            let mut last = None;
            for &column in &row.ones {
                let at = (column as usize).checked_sub(n_dense).filter(|&at| at < ones.len());
                let Some(at) = at.filter(|_| last.is_none_or(|last| last < column)) else {
                    return Err(format!(
                        "row {index}: 0/1 column {column} is out of range or out of order (columns {n_dense} to {})",
                        columns.len()
                    ));
                };
                ones[at].push(index as u32);
                last = Some(column);
            }
        }
        Ok(Table { columns, dense, ones, rows })
    }

    /// Number of rows n.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Number of columns, dense and sparse.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// Number of dense columns; the 0/1 columns follow.
    pub fn n_dense(&self) -> usize {
        self.dense.len()
    }

    /// Names of all columns, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, in corpus order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The n values of dense column `column`.
    pub fn dense_column(&self, column: usize) -> &[f64] {
        &self.dense[column]
    }

    /// The rows, ascending, in which 0/1 column `column` (an absolute column index) is 1.
    pub fn ones_of(&self, column: usize) -> &[u32] {
        &self.ones[column - self.dense.len()]
    }
}
