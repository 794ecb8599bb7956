//! A fitted model: scoring, reading and writing, words.

use foldline_features::{Row, Table};
use serde::{Deserialize, Deserializer, Serialize};

use crate::ModelError;
use crate::boosting::Boosted;
use crate::linear::Linear;
use crate::tree::Tree;

/// A fitted model, self-contained but for the names of its columns.
///
/// Written as an object with the field `kind` and the kind's own fields; numbers in their shortest form that reads
/// back equal. Reading refuses unknown kinds and fields and numbers that are not finite; call [`Model::validate`] on
/// what was read before scoring with it. Scores of a model that was written and read are bit-equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Model {
    /// The training rows had one class only.
    Constant(Constant),
    /// A Gini tree (`stump`, `depth2`, `linfa-tree`, `smartcore-tree`).
    Tree(Tree),
    /// A logistic regression, however it was fitted.
    Logistic(Linear),
    /// Boosted trees, classifier or regression.
    Boosted(Boosted),
}

/// The same score for every row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// The score.
    #[serde(deserialize_with = "finite")]
    pub value: f64,
    /// Number of training rows.
    pub n: u64,
}

impl Model {
    /// The score of one row: a probability of harm, or for a regression the expected outcome.
    ///
    /// The row must have the columns the model was fitted on (see [`Model::validate`]); the score is a pure function
    /// of its values, so equal rows get bit-equal scores. Never panics; a column that is not there counts as 0.
    pub fn score(&self, row: &Row) -> f64 {
        match self {
            Model::Constant(constant) => constant.value,
            Model::Tree(tree) => tree.score(row),
            Model::Logistic(linear) => linear.score(row),
            Model::Boosted(boosted) => boosted.score(row),
        }
    }

    /// The scores of the named rows of a table, each bit-equal to [`Model::score`].
    pub fn score_rows(&self, table: &Table, rows: &[u32]) -> Vec<f64> {
        rows.iter().map(|&row| self.score(&table.rows()[row as usize])).collect()
    }

    /// Checks that a model, perhaps from an untrusted file, holds together and fits `n_columns` columns.
    ///
    /// # Errors
    /// [`ModelError::Invalid`], naming the part that is wrong.
    pub fn validate(&self, n_columns: usize) -> Result<(), ModelError> {
        let checked = match self {
            Model::Constant(constant) if constant.value.is_finite() => Ok(()),
            Model::Constant(constant) => Err(format!("the constant {} is not finite", constant.value)),
            Model::Tree(tree) => tree.validate(n_columns),
            Model::Logistic(linear) => linear.validate(n_columns),
            Model::Boosted(boosted) => boosted.validate(n_columns),
        };
        checked.map_err(|reason| ModelError::Invalid { reason })
    }

    /// What the model does, in words: splits with the counts of their leaves, coefficients, or a summary of many trees.
    ///
    /// `columns` names the columns in order; a column without a name is called by its number.
    pub fn describe(&self, columns: &[String]) -> String {
        match self {
            Model::Constant(constant) => format!(
                "Every row scores {}: the {} training rows were all of one class or outcome.\n",
                constant.value, constant.n
            ),
            Model::Tree(tree) => tree.describe(columns),
            Model::Logistic(linear) => linear.describe(columns),
            Model::Boosted(boosted) => boosted.describe(columns),
        }
    }
}

/// The name of a column, or its number.
pub(crate) fn column_name(columns: &[String], column: usize) -> String {
    columns.get(column).cloned().unwrap_or_else(|| format!("column {column}"))
}

/// Reads a number and refuses one that is not finite.
pub(crate) fn finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if value.is_finite() { Ok(value) } else { Err(serde::de::Error::custom(format!("{value} is not a finite number"))) }
}

/// Reads a list of numbers and refuses one that is not finite.
pub(crate) fn all_finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<f64>::deserialize(deserializer)?;
    match values.iter().find(|value| !value.is_finite()) {
        None => Ok(values),
        Some(value) => Err(serde::de::Error::custom(format!("{value} is not a finite number"))),
    }
}

/// 1 / (1 + exp(-z)), without overflow.
pub(crate) fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}
