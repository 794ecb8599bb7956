//! Boundaries of compacted agent trajectories, what is known at them, and what happened after them.
//!
//! Data flows one way: a corpus file is read into [`Boundary`] values ([`corpus`]); the part of a boundary that a
//! trigger may see, its [`Prefix`], is turned into feature rows ([`extract`]) that stand in a [`Table`]; the part
//! that only an evaluation may see, its rollouts, is counted into [`Burden`] values. `extract` takes a prefix and
//! nothing else, so that no feature can look at a rollout.

pub mod boundary;
pub mod burden;
pub mod corpus;
pub mod extract;
pub mod profile;
pub mod shell;
pub mod signature;
pub mod table;

pub use boundary::{Arm, Boundary, Context, Prefix, PrefixStep, Rollout, RolloutStep, SummarySupport};
pub use burden::{Burden, Channel, Delta, Horizon, RolloutCounts, Target};
pub use corpus::{Corpus, CorpusError};
pub use extract::{Extractor, Representation, Vocabulary};
pub use profile::{Effect, Profile};
pub use table::{Row, Table};
