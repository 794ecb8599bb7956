//! foldline decides when an agent's context may be compacted, and what of a new summary may stay.

#[cfg(feature = "study")]
pub mod analyses;
pub mod cmd;
pub mod files;
pub mod hook;
pub mod input;
pub mod lines;
#[cfg(feature = "study")]
pub mod summary;

pub use foldline_models::policy;
