//! Learners of compaction triggers (protocol section 3), and the frozen policy that ships one.
//!
//! [`fit`] trains one [`Learner`] on some rows of a [`foldline_features::Table`] and gives a [`Model`], which scores
//! rows, is written to and read from files bit for bit, and says in words what it does. Nothing here knows a rollout,
//! a fold or an estimator.

pub mod boosting;
pub mod engines;
pub mod learner;
pub mod linear;
pub mod logistic;
pub mod logistic_gd;
pub mod model;
mod newton;
pub mod policy;
mod standard;
#[cfg(test)]
mod testing;
pub mod tree;

pub use learner::{Fit, Learner, ModelError, fit};
pub use model::Model;
