//! Which learners there are, and the one door to fitting them.

use std::fmt;
use std::str::FromStr;

use foldline_features::Table;

use crate::boosting::{self, Settings};
use crate::logistic::{self, LogisticSettings};
use crate::model::{Constant, Model};
use crate::{engines, logistic_gd, tree};

/// A learner of protocol section 3, or a library's implementation kept for comparison.
///
/// Hyperparameters are fixed by the paper; there is nothing to tune.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Learner {
    /// `stump`: one Gini split.
    Stump,
    /// `depth2`: a Gini tree of depth 2.
    Depth2,
    /// `logistic-gd`: the paper's frozen logistic, 1,500 steps of gradient descent.
    LogisticGd,
    /// `logistic`: L2 logistic regression (C = 1) at its optimum, columns standardised on the training rows.
    Logistic,
    /// `logistic-raw`: the same without standardising **\[choice\]** (the protocol makes it switchable).
    LogisticRaw,
    /// `boosted`: histogram gradient boosting, log-loss.
    Boosted,
    /// `boosted-reg`: the same with squared error, for an outcome such as dU@3.
    BoostedRegression,
    /// `linfa-logistic`: the optimisation problem of `logistic`, solved by linfa-logistic.
    LinfaLogistic,
    /// `linfa-tree`: depth-2 tree of linfa-trees; see [`engines::linfa`] for its known defects.
    LinfaTree,
    /// `smartcore-logistic`: the optimisation problem of `logistic`, solved by smartcore.
    SmartcoreLogistic,
    /// `smartcore-tree`: depth-2 tree of smartcore; see [`engines::smartcore`] for its known defects.
    SmartcoreTree,
}

impl Learner {
    /// All learners, in the order in which help texts list them.
    pub const ALL: [Learner; 11] = [
        Learner::Stump,
        Learner::Depth2,
        Learner::LogisticGd,
        Learner::Logistic,
        Learner::LogisticRaw,
        Learner::Boosted,
        Learner::BoostedRegression,
        Learner::LinfaLogistic,
        Learner::LinfaTree,
        Learner::SmartcoreLogistic,
        Learner::SmartcoreTree,
    ];

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Learner::Stump => "stump",
            Learner::Depth2 => "depth2",
            Learner::LogisticGd => "logistic-gd",
            Learner::Logistic => "logistic",
            Learner::LogisticRaw => "logistic-raw",
            Learner::Boosted => "boosted",
            Learner::BoostedRegression => "boosted-reg",
            Learner::LinfaLogistic => "linfa-logistic",
            Learner::LinfaTree => "linfa-tree",
            Learner::SmartcoreLogistic => "smartcore-logistic",
            Learner::SmartcoreTree => "smartcore-tree",
        }
    }

    /// Whether the learner predicts an outcome (any finite number) and not a 0/1 label.
    pub fn is_regression(self) -> bool {
        self == Learner::BoostedRegression
    }
}

impl fmt::Display for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Learner {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Learner, ModelError> {
        Learner::ALL
            .into_iter()
            .find(|learner| learner.name() == name)
            .ok_or_else(|| ModelError::UnknownLearner { name: name.to_owned() })
    }
}

/// A fitted model and what the reader of its results must know.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The model.
    pub model: Model,
    /// Sentences such as that the optimum was not reached; empty if all is well.
    pub warnings: Vec<String>,
}

impl From<Model> for Fit {
    fn from(model: Model) -> Fit {
        Fit { model, warnings: Vec::new() }
    }
}

/// Why a model could not be fitted, read or used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// No learner has this name.
    #[error("unknown learner `{name}`; known are {}", Learner::ALL.map(Learner::name).join(", "))]
    UnknownLearner {
        /// What was asked for.
        name: String,
    },
    /// There is nothing to learn from.
    #[error("{learner}: no training rows")]
    NoRows {
        /// The learner.
        learner: Learner,
    },
    /// Labels and table do not belong together.
    #[error("{labels} labels for a table of {rows} rows; there must be one for every row of the table")]
    LabelCount {
        /// Number of labels given.
        labels: usize,
        /// Number of rows of the table.
        rows: usize,
    },
    /// Training rows out of order or out of range.
    #[error("training row {row} is repeated, out of order or not below {rows}; rows must ascend")]
    RowOrder {
        /// The offending row index.
        row: u32,
        /// Number of rows of the table.
        rows: usize,
    },
    /// A label is no label, or an outcome no number.
    #[error("{learner}: the label of row {row} is {value}; expected {expected}")]
    Label {
        /// The learner.
        learner: Learner,
        /// Row of the table.
        row: u32,
        /// The value found.
        value: f64,
        /// What the learner takes.
        expected: &'static str,
    },
    /// More training rows than exact integer comparison of impurities allows.
    #[error("{rows} training rows; a tree's exact comparison of impurities allows at most {limit}")]
    TooManyRows {
        /// Number of training rows.
        rows: usize,
        /// The limit.
        limit: usize,
    },
    /// A library used as an engine failed.
    #[error("{library} failed: {reason}; use the learner `{instead}`, which solves the same problem")]
    Engine {
        /// The library.
        library: &'static str,
        /// What it said.
        reason: String,
        /// Our own learner for the same problem.
        instead: Learner,
    },
    /// A model (read from a file) does not hold together.
    #[error("invalid model: {reason}")]
    Invalid {
        /// What is wrong, naming the part.
        reason: String,
    },
}

/// Training rows with their labels, checked.
pub(crate) struct Training<'a> {
    pub(crate) table: &'a Table,
    pub(crate) rows: &'a [u32],
    /// Parallel to `rows`.
    pub(crate) y: Vec<f64>,
    /// Table row -> position in `rows`, or `ABSENT`.
    position: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<'a> Training<'a> {
    pub(crate) fn new(
        learner: Learner,
        table: &'a Table,
        rows: &'a [u32],
        y: &[f64],
    ) -> Result<Training<'a>, ModelError> {
        if y.len() != table.n_rows() {
            return Err(ModelError::LabelCount { labels: y.len(), rows: table.n_rows() });
        }
        if rows.is_empty() {
            return Err(ModelError::NoRows { learner });
        }
        let mut position = vec![ABSENT; table.n_rows()];
        let mut labels = Vec::with_capacity(rows.len());
        let mut last = None;
        for (at, &row) in rows.iter().enumerate() {
            if row as usize >= y.len() || last.is_some_and(|last| last >= row) {
                return Err(ModelError::RowOrder { row, rows: y.len() });
            }
            last = Some(row);
            let value = y[row as usize];
            let (good, expected) = if learner.is_regression() {
                (value.is_finite(), "a finite outcome")
            } else {
                #[expect(clippy::float_cmp, reason = "labels are exactly 0 or 1")]
                let label = value == 0.0 || value == 1.0;
                (label, "0 or 1")
            };
            if !good {
                return Err(ModelError::Label { learner, row, value, expected });
            }
            position[row as usize] = at as u32;
            labels.push(value);
        }
        Ok(Training { table, rows, y: labels, position })
    }

    /// Number of training rows.
    pub(crate) fn n(&self) -> usize {
        self.rows.len()
    }

    /// Number of training rows with label 1.
    pub(crate) fn positives(&self) -> usize {
        self.y.iter().filter(|&&y| y > 0.5).count()
    }

    /// The training rows' values of a dense column.
    pub(crate) fn dense(&self, column: usize) -> Vec<f64> {
        let values = self.table.dense_column(column);
        self.rows.iter().map(|&row| values[row as usize]).collect()
    }

    /// Positions (ascending, in `rows`) of the training rows in which a 0/1 column is 1.
    pub(crate) fn ones(&self, column: usize) -> impl Iterator<Item = u32> + '_ {
        self.table.ones_of(column).iter().map(|&row| self.position[row as usize]).filter(|&at| at != ABSENT)
    }

    /// Indices of the 0/1 columns.
    pub(crate) fn sparse_columns(&self) -> std::ops::Range<usize> {
        self.table.n_dense()..self.table.n_columns()
    }
}

/// Fits `learner` on the rows `rows` (ascending) of `table`.
///
/// `y` has one entry for **every** row of the table: a label 0 or 1, or, for a regression, an outcome; entries outside
/// `rows` are not looked at. If the training labels are all of one class, every classifier is the constant rate 0 or 1.
/// A fit runs on the calling thread alone; its result depends on nothing else than its arguments.
///
/// # Errors
/// No training rows, rows out of order, a label that is none, or a failing library.
pub fn fit(learner: Learner, table: &Table, rows: &[u32], y: &[f64]) -> Result<Fit, ModelError> {
    let training = Training::new(learner, table, rows, y)?;
    if !learner.is_regression() {
        let (n, positives) = (training.n(), training.positives());
        if positives == 0 || positives == n {
            let value = if positives == 0 { 0.0 } else { 1.0 };
            return Ok(Model::Constant(Constant { value, n: n as u64 }).into());
        }
    }
    match learner {
        Learner::Stump => tree::fit(&training, 1).map(|tree| Model::Tree(tree).into()),
        Learner::Depth2 => tree::fit(&training, 2).map(|tree| Model::Tree(tree).into()),
        Learner::LogisticGd => Ok(Model::Logistic(logistic_gd::fit(&training)).into()),
        Learner::Logistic => Ok(logistic::fit(&training, &LogisticSettings::default())),
        Learner::LogisticRaw => {
            Ok(logistic::fit(&training, &LogisticSettings { standardise: false, ..LogisticSettings::default() }))
        }
        Learner::Boosted => {
            Ok(Model::Boosted(boosting::fit(&training, boosting::Loss::Log, &Settings::default())).into())
        }
        Learner::BoostedRegression => {
            Ok(Model::Boosted(boosting::fit(&training, boosting::Loss::Squared, &Settings::default())).into())
        }
        Learner::LinfaLogistic => engines::linfa::logistic(&training),
        Learner::LinfaTree => engines::linfa::tree(&training),
        Learner::SmartcoreLogistic => engines::smartcore::logistic(&training),
        Learner::SmartcoreTree => engines::smartcore::tree(&training),
    }
}
