//! The judges: embedded, recorded, and two that ask a server.

pub mod http;
pub mod jev;
pub mod lexical;
pub mod logprobs;
pub mod scores;
