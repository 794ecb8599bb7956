//! foldline decides when an agent's context may be compacted, and what of a new summary may stay.

pub mod cmd;
pub mod files;
#[cfg(feature = "import")]
pub mod import;
