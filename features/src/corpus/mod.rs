//! The native corpus, format version 1: reading, checking and writing (protocol section 1).
//!
//! One boundary a line, plain, gzip or zstd (told apart by their first bytes, not by the file's name). A byte-order mark
//! before the first line, CRLF line ends and blank lines are tolerated; nothing else is. Every problem names file, line,
//! boundary and field.

mod error;
mod json;
mod line;
mod read;
mod write;

use crate::boundary::Prefix;
use crate::profile::Profile;
pub use error::{CorpusError, Place};
pub use line::{FIELDS, derive_prefix};
pub use read::{Corpus, Notes, Options, Reader, read_corpus};
pub use write::boundary_line;

/// Reads the prefix of a live boundary: a JSON object with the native format's prefix fields (`compaction_index`, and
/// `prefix` or the four fields derived from it); identifiers and rollouts are not needed and other fields are left alone.
/// The same code reads corpora, so that a live boundary has the features it would have had in one.
///
/// # Errors
/// Names the field, what was found and what was expected; file `name`, no line.
pub fn live_prefix(name: &str, text: &str, profile: &Profile) -> Result<Prefix, CorpusError> {
    line::live_prefix(text, profile)
        .map_err(|error| CorpusError { field: error.field, ..CorpusError::of_file(name, error.problem) })
}
