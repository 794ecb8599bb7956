//! foldline decides when an agent's context may be compacted, and what of a new summary may stay.

#[cfg(feature = "study")]
pub mod analyses;
#[cfg(feature = "study")]
pub mod clock;
pub mod cmd;
#[cfg(feature = "study")]
pub mod compare;
pub mod decision_log;
#[cfg(feature = "study")]
pub mod evaluate;
pub mod files;
#[cfg(feature = "study")]
pub mod foreign;
#[cfg(feature = "study")]
pub mod freeze;
pub mod hook;
#[cfg(feature = "import")]
pub mod import;
pub mod input;
pub mod lines;
#[cfg(feature = "study")]
pub mod progress;
pub mod replay;
#[cfg(feature = "study")]
pub mod report;
#[cfg(feature = "study")]
pub mod results;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "study")]
pub mod simulate;
#[cfg(feature = "study")]
pub mod summary;

pub use foldline_models::policy;
#[cfg(all(feature = "import", feature = "study"))]
pub mod survey;
