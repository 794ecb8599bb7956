//! Folds, out-of-fold scores and the estimators that judge a trigger (protocol sections 4 and 5).

pub mod streams;

pub use streams::{Stream, Streams};
