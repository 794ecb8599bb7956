//! Session logs and replay releases, to the native corpus.
//!
//! Every format is read into the same stream of sessions ([`session`]), from which one place makes boundaries
//! ([`boundaries`]). PAIR and TRACE hold boundaries already.

pub mod account;
pub mod boundaries;
pub mod formats;
pub mod line;
pub mod pair;
pub mod redact;
pub mod run;
pub mod session;
pub mod source;
pub mod trace;
