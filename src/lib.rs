//! foldline decides when an agent's context may be compacted, and what of a new summary may stay.

#[cfg(feature = "study")]
pub mod analyses;
#[cfg(feature = "study")]
pub mod clock;
pub mod cmd;
#[cfg(feature = "study")]
pub mod evaluate;
pub mod files;
pub mod input;
#[cfg(feature = "study")]
pub mod progress;
#[cfg(feature = "study")]
pub mod report;
#[cfg(feature = "study")]
pub mod results;
#[cfg(feature = "study")]
pub mod summary;
