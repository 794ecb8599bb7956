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

use foldline_features::profile::Profile;

/// The tool profile for coding agents, as a file that users can edit.
pub const CODING_PROFILE: &str = include_str!("coding.toml");

/// Reads a profile file (TOML).
///
/// # Errors
/// What is wrong and where, as TOML tells it.
pub fn parse_profile(text: &str) -> Result<Profile, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// The tool profile for coding agents.
pub fn coding_profile() -> Profile {
    parse_profile(CODING_PROFILE).expect("the embedded profile is read by a test")
}
