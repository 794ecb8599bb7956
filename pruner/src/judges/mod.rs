//! The judges.

pub mod lexical;
