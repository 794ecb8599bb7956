//! A problem in a corpus, with its place and its remedy.

use std::fmt;

/// Where in a file: text has lines, a table has rows; both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line of a text file.
    Line(u64),
    /// Row of a table.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(number) => write!(f, "line {number}"),
            Place::Row(number) => write!(f, "row {number}"),
        }
    }
}

/// What is wrong with a corpus, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusError {
    /// The file as it was named.
    pub file: String,
    /// Its line or row; `None` when the file itself is the problem.
    pub place: Option<Place>,
    /// The boundary, where its id could be read.
    pub boundary: Option<String>,
    /// Path of the field, such as `rollouts[0].steps[2].exact`.
    pub field: Option<String>,
    /// What was found, what was expected, and what to do.
    pub problem: String,
}

impl CorpusError {
    pub(crate) fn of_file(file: &str, problem: impl Into<String>) -> CorpusError {
        CorpusError { file: file.to_owned(), place: None, boundary: None, field: None, problem: problem.into() }
    }
}

impl fmt::Display for CorpusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = self.place {
            write!(f, ", {place}")?;
        }
        if let Some(boundary) = &self.boundary {
            write!(f, ", boundary {boundary}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field {field}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for CorpusError {}
