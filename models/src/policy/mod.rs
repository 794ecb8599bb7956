//! The frozen policy: a file that answers "compact now?" for the same reasons as in the evaluation.
//!
//! [`Policy::read`] refuses whatever could decide wrongly; [`Policy::decide`] is pure and never fails: whatever is wrong
//! with a request allows, and says so. Who may overrule the learned rule stands in [`guards`]; what a host sends in
//! [`input`]; what it gets back in [`Answer`].
//!
//! ```no_run
//! use foldline_models::policy::{Mode, Policy, Request};
//!
//! let policy = Policy::read("policy.json".as_ref())?;
//! let request = Request::parse(br#"{"ctx_tokens": 91000, "window_tokens": 200000}"#, &policy.extractor().profile);
//! let answer = policy.decide(&request, Mode::Enforce).answer;
//! if answer.is_veto() {
//!     // ask again at answer.retry_at
//! }
//! # Ok::<(), foldline_models::policy::PolicyError>(())
//! ```

pub mod answer;
mod canonical;
pub mod columns;
pub mod evidence;
pub mod explain;
pub mod format;
pub mod guards;
pub mod input;
mod load;
pub mod log;
mod used;

pub use answer::{Answer, Decided, Mode};
pub use columns::Need;
pub use evidence::{Evidence, Quantity};
pub use explain::{explain, shown};
pub use format::{FORMAT, PolicyFile};
pub use guards::{
    DecidedBy, Decision, Facts, Guards, LastCompaction, RetryAt, Share, Threshold, TokensSource, Trigger,
};
pub use input::{Given, MAX_REQUEST_BYTES, Request};
pub use load::{Parts, Policy, PolicyError};
pub use log::LogLine;
pub use used::used_columns;
