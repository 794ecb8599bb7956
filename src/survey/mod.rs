//! What compaction cost in someone's own sessions: burden before and after each compaction, by harness and model.
//!
//! Observational throughout. A harness compacts when a context is full, late in a session and often in the middle of hard
//! work, so what follows a compaction differs from what came before it for other reasons too. The same contrast *nearby*,
//! 2k steps before and after each compaction, shows how much of it a session's course alone brings.

pub mod collect;
pub mod measure;
pub mod page;
pub mod text;

/// The first line of every output.
pub const STATEMENT: &str = "Observational: each session was compacted when its harness chose to, so what changed after a \
compaction came with it and need not come from it. Replaying the same boundaries with and without compaction (both arms of \
a corpus, `foldline evaluate`) would make it causal.";
