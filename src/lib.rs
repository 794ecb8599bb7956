//! foldline decides when an agent's context may be compacted, and what of a new summary may stay.

#[cfg(feature = "study")]
pub mod analyses;
pub mod cmd;
pub mod files;
#[cfg(feature = "import")]
pub mod import;
pub mod input;
#[cfg(feature = "study")]
pub mod summary;
#[cfg(all(feature = "import", feature = "study"))]
pub mod survey;
