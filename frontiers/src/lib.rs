//! Folds, out-of-fold scores and the estimators that judge a trigger (protocol sections 4 and 5).
//!
//! Estimators work on plain slices, one entry per boundary: `scores` (higher is riskier), `labels` (y = 1\[d > 0\]),
//! `mass` (max(0, d)), `d` (the signed delta) and `clusters` (which task or stem). They know nothing of files.
//! [`streams`] is the only source of randomness, [`cross_fit`] the only place that fits while evaluating.

mod against_replicate;
pub mod bootstrap;
pub mod cell;
mod counts;
pub mod cross_fit;
pub mod estimate;
pub mod folds;
pub mod frontier;
pub mod groups;
pub mod icc;
pub mod importance;
pub mod nested;
pub mod ols;
pub mod placement;
pub mod ranking;
pub mod splits;
pub mod streams;
pub mod yardstick;

pub use bootstrap::{Clusters, Draws};
pub use cell::{Cell, Replicate};
pub use estimate::{Estimate, EstimatorError, Interval, Reason, Unit, Value};
pub use folds::{FoldError, Folds};
pub use frontier::{FrontierPoint, OperatingPoint, Retain, SignedValue, Threshold};
pub use ranking::{auroc, average_precision};
pub use streams::{Stream, Streams};
