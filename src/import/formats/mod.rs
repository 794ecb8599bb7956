//! One reader per format, each from files to [`Session`]s.

mod anthropic;
mod appworld;
mod atif;
mod claude_code;
mod codex;
mod hermes;
mod inspect;
mod openai;
mod openhands;
mod pair_sessions;
mod pi;

use super::session::Session;
use super::source::{FileError, LeftOut, Limits, first_bytes, has_extension};
use clap::ValueEnum;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::Path;

/// Where finished sessions go.
pub type Sink<'a> = &'a mut dyn FnMut(Session);

/// A format of session logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Format {
    /// pi session files (versions 1 and 3)
    Pi,
    /// Claude Code transcripts
    ClaudeCode,
    /// Hermes state databases, or rows of `messages` as JSON lines
    Hermes,
    /// OpenHands SDK conversations (a folder with `events`), or events as JSON lines
    Openhands,
    /// Codex rollout files
    Codex,
    /// ATIF trajectories
    Atif,
    /// Inspect logs (`.eval`, `.json`)
    Inspect,
    /// OpenAI chat message lists
    Openai,
    /// Anthropic message lists
    Anthropic,
    /// Trajectories of the PAIR evaluation runs
    #[value(name = "pair")]
    PairTrajectory,
    /// AppWorld trajectories with recorded step tokens
    Appworld,
}

impl Format {
    /// All formats.
    pub fn all() -> &'static [Format] {
        Format::value_variants()
    }

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Format::Pi => "pi",
            Format::ClaudeCode => "claude-code",
            Format::Hermes => "hermes",
            Format::Openhands => "openhands",
            Format::Codex => "codex",
            Format::Atif => "atif",
            Format::Inspect => "inspect",
            Format::Openai => "openai",
            Format::Anthropic => "anthropic",
            Format::PairTrajectory => "pair",
            Format::Appworld => "appworld",
        }
    }

    /// Whether a path is one of this format's units, by its name alone. Database side files and lock files are not.
    pub fn wants(self, path: &Path, is_folder: bool) -> bool {
        if is_folder {
            return self == Format::Openhands && path.join("events").is_dir();
        }
        match self {
            Format::Hermes => has_extension(path, &["db", "sqlite", "sqlite3", "jsonl"]),
            Format::Inspect => has_extension(path, &["eval", "json"]),
            Format::Atif | Format::PairTrajectory => has_extension(path, &["json"]),
            Format::Openai | Format::Anthropic => has_extension(path, &["json", "jsonl", "ndjson"]),
            _ => has_extension(path, &["jsonl", "ndjson"]),
        }
    }

    /// Reads one unit and gives every session of it to `sink`, in file order.
    ///
    /// # Errors
    /// When the whole unit has to be left out.
    pub fn read(self, path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
        match self {
            Format::Pi => pi::read(path, limits, left_out, sink),
            Format::ClaudeCode => claude_code::read(path, limits, left_out, sink),
            Format::Hermes => hermes::read(path, limits, left_out, sink),
            Format::Openhands => openhands::read(path, limits, left_out, sink),
            Format::Codex => codex::read(path, limits, left_out, sink),
            Format::Atif => atif::read(path, limits, left_out, sink),
            Format::Inspect => inspect::read(path, limits, left_out, sink),
            Format::Openai => openai::read(path, limits, left_out, sink),
            Format::Anthropic => anthropic::read(path, limits, left_out, sink),
            Format::PairTrajectory => pair_sessions::read(path, limits, left_out, sink),
            Format::Appworld => appworld::read(path, limits, left_out, sink),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The format of a unit by its first bytes; `None` when no format claims it. Message lists of OpenAI and Anthropic are told
/// apart by their blocks and need their own kind named when the first entries do not show it.
pub fn detect(path: &Path) -> Option<Format> {
    if path.is_dir() {
        return Format::Openhands.wants(path, true).then_some(Format::Openhands);
    }
    let start = first_bytes(path, 64 << 10).ok()?;
    if start.starts_with(b"SQLite format 3\0") {
        return Some(Format::Hermes);
    }
    if start.starts_with(b"PK\x03\x04") {
        return Some(Format::Inspect);
    }
    let text = String::from_utf8_lossy(&start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // a line may be longer than what was read: then its first keys decide
    let has = |name: &str| text.contains(&format!("\"{name}\""));
    let Some(first) = text.lines().find_map(|line| serde_json::from_str::<Value>(line).ok()).filter(Value::is_object)
    else {
        return detect_document(&has);
    };
    let is = |name: &str| !first[name].is_null();
    match first["type"].as_str() {
        Some("session") => return Some(Format::Pi),
        Some("session_meta") => return Some(Format::Codex),
        _ => {}
    }
    if is("uuid") || is("sessionId") || (is("type") && has("parentUuid")) {
        Some(Format::ClaudeCode)
    } else if is("kind") && is("source") {
        Some(Format::Openhands)
    } else if is("session_id") && is("role") || (is("messages") && is("source") && has("started_at")) {
        Some(Format::Hermes)
    } else if is("trajectory_id") && is("steps") {
        Some(Format::Appworld)
    } else {
        detect_document(&has)
    }
}

fn detect_document(has: &dyn Fn(&str) -> bool) -> Option<Format> {
    if has("schema_version") && has("agent") {
        Some(Format::Atif)
    } else if has("eval") && has("status") {
        Some(Format::Inspect)
    } else if has("num_steps") && has("events") {
        Some(Format::PairTrajectory)
    } else if has("tool_use") || has("tool_result") {
        Some(Format::Anthropic)
    } else if has("role") && has("content") {
        Some(Format::Openai)
    } else if has("trajectory_id") && has("step_tokens") {
        Some(Format::Appworld)
    } else {
        None
    }
}

/// Counts an entry of an unknown type.
fn note_unknown(kind: &str, left_out: &mut LeftOut) {
    // the type is the log's own text: shown, but not at any length
    let kind: String = kind.chars().take(40).collect();
    left_out.add(format!("entry of unknown type {kind:?}"), 1, None);
}

/// The id of a session that does not name itself: the file's name with a hash of its path, since files in different folders
/// may share a name and a path need not go into a corpus.
fn fallback_id(path: &Path) -> String {
    let hash = Sha256::digest(path.to_string_lossy().as_bytes());
    format!("{}-{:02x}{:02x}{:02x}{:02x}", file_stem(path), hash[0], hash[1], hash[2], hash[3])
}

/// A file's name without its extension.
fn file_stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
