//! The fitted logistic model, whichever way its weights were found.

use std::fmt::Write as _;

use foldline_features::Row;
use serde::{Deserialize, Serialize};

use crate::model::{all_finite, column_name, finite, sigmoid};

/// A logistic regression: score = 1 / (1 + exp(-z)), z linear in the columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// Log-odds of a row whose dense columns are at their means and whose 0/1 columns are 0.
    #[serde(deserialize_with = "finite")]
    pub intercept: f64,
    /// One term per dense column.
    pub dense: Vec<DenseTerm>,
    /// What a 1 adds to the log-odds, one number per 0/1 column.
    #[serde(deserialize_with = "all_finite")]
    pub ones: Vec<f64>,
}

/// The part of a dense column in the log-odds: weight * (x - mean) / sd.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DenseTerm {
    /// Mean on the training rows (0 if the columns were not standardised).
    #[serde(deserialize_with = "finite")]
    pub mean: f64,
    /// Population standard deviation on the training rows (1 if constant or not standardised).
    #[serde(deserialize_with = "finite")]
    pub sd: f64,
    /// Log-odds per sd; 0 for a column that was constant on the training rows.
    #[serde(deserialize_with = "finite")]
    pub weight: f64,
}

/// Keeps the sum of terms finite whatever finite values a row holds; no trained term comes near it.
const TERM_LIMIT: f64 = 1e150;

impl Linear {
    /// The probability of label 1.
    pub fn score(&self, row: &Row) -> f64 {
        let mut z = self.intercept;
        for (term, x) in self.dense.iter().zip(&row.dense) {
            // 0 * infinity would be NaN
            if term.weight.abs() > 0.0 {
                z += (term.weight * ((x - term.mean) / term.sd)).clamp(-TERM_LIMIT, TERM_LIMIT);
            }
        }
        for &column in &row.ones {
            let at = (column as usize).checked_sub(self.dense.len());
            z += at.and_then(|at| self.ones.get(at)).copied().unwrap_or(0.0);
        }
        sigmoid(z)
    }

    pub(crate) fn validate(&self, n_columns: usize) -> Result<(), String> {
        let own = self.dense.len() + self.ones.len();
        if own != n_columns {
            return Err(format!("the logistic model has {own} columns, expected {n_columns}"));
        }
        if let Some(at) = self.dense.iter().position(|term| !(term.sd > 0.0 && term.sd.is_finite())) {
            return Err(format!("column {at} has the standard deviation {}", self.dense[at].sd));
        }
        let mut numbers = self.dense.iter().flat_map(|term| [term.mean, term.weight]).chain(self.ones.iter().copied());
        if !self.intercept.is_finite() || numbers.any(|number| number.abs() > TERM_LIMIT || !number.is_finite()) {
            return Err("a coefficient of the logistic model is not finite, or beyond 1e150".to_owned());
        }
        Ok(())
    }

    pub(crate) fn describe(&self, columns: &[String]) -> String {
        let dense = self.dense.iter().enumerate().map(|(column, term)| (column, term.weight));
        let ones = self.ones.iter().enumerate().map(|(at, &weight)| (at + self.dense.len(), weight));
        let mut terms: Vec<(usize, f64)> = dense.chain(ones).filter(|term| term.1.abs() > 0.0).collect();
        // largest effect first, equal ones in column order
        terms.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let mut text = format!("log-odds {:+.4}, and\n", self.intercept);
        for &(column, weight) in terms.iter().take(DESCRIBED) {
            let name = column_name(columns, column);
            // writing to a String cannot fail
            let _ = match self.dense.get(column) {
                Some(term) => writeln!(
                    text,
                    "  {weight:+.4} for each {} of {name} above {} ({:+.4} a unit)",
                    term.sd,
                    term.mean,
                    weight / term.sd
                ),
                None => writeln!(text, "  {weight:+.4} if {name}"),
            };
        }
        if terms.len() > DESCRIBED {
            let _ = writeln!(text, "  and {} smaller coefficients", terms.len() - DESCRIBED);
        }
        text
    }
}

/// Coefficients beyond this many are counted, not listed.
const DESCRIBED: usize = 40;
