//! From paths to files to lines, with nothing trusted: no link is followed, no file is read beyond the limits, and what
//! is left out is counted by kind.

use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// How much is read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Larger files are left out; databases are not, since they are read by queries.
    pub file_bytes: u64,
    /// Longer lines are left out.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { file_bytes: 512 << 20, line_bytes: 64 << 20 }
    }
}

/// What was left out, by reason, with the first few places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    reasons: BTreeMap<String, (u64, Vec<String>)>,
}

/// How many places are kept per reason.
const EXAMPLES: usize = 3;

impl LeftOut {
    /// Counts `count` times a reason, at a place.
    pub fn add(&mut self, reason: impl Into<String>, count: u64, place: Option<String>) {
        let entry = self.reasons.entry(reason.into()).or_default();
        entry.0 += count;
        entry.1.extend(place.filter(|_| entry.1.len() < EXAMPLES));
    }

    /// Adds what another part left out.
    pub fn merge(&mut self, other: LeftOut) {
        for (reason, (count, places)) in other.reasons {
            let entry = self.reasons.entry(reason).or_default();
            entry.0 += count;
            let room = EXAMPLES - entry.1.len();
            entry.1.extend(places.into_iter().take(room));
        }
    }

    /// Reason, count and first places, sorted by reason.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64, &[String])> {
        self.reasons.iter().map(|(reason, (count, places))| (reason.as_str(), *count, places.as_slice()))
    }

    /// The count of one reason.
    pub fn count(&self, reason: &str) -> u64 {
        self.reasons.get(reason).map_or(0, |(count, _)| *count)
    }
}

/// Why a whole file is left out.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system refuses.
    #[error("unreadable file")]
    Unreadable(#[source] std::io::Error),
    /// It begins like no text.
    #[error("binary file")]
    Binary,
    /// Larger than the limit.
    #[error("file larger than the limit (raise it with --max-file-mb)")]
    TooLarge,
    /// Readable, but not of the kind.
    #[error("file that is not of this kind: {0}")]
    OtherKind(String),
}

/// Files and folders below the given paths, sorted, for which `wanted` says yes. A folder that is wanted is not entered.
/// The given paths themselves may be links; links below them are not followed.
pub fn discover(paths: &[PathBuf], wanted: &dyn Fn(&Path, bool) -> bool, left_out: &mut LeftOut) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => walk(path, wanted, 0, &mut found, left_out),
            Ok(meta) if meta.is_file() => found.push(path.clone()),
            Ok(_) => left_out.add("neither file nor folder", 1, Some(path.display().to_string())),
            Err(error) => left_out.add("unreadable file", 1, Some(format!("{}: {error}", path.display()))),
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Deeper folders are left out.
const DEEPEST: usize = 64;

fn walk(
    folder: &Path,
    wanted: &dyn Fn(&Path, bool) -> bool,
    depth: usize,
    found: &mut Vec<PathBuf>,
    left_out: &mut LeftOut,
) {
    if wanted(folder, true) {
        found.push(folder.to_owned());
        return;
    }
    if depth >= DEEPEST {
        return left_out.add("folder nested too deeply", 1, Some(folder.display().to_string()));
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return left_out.add("unreadable folder", 1, Some(format!("{}: {error}", folder.display()))),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let place = || Some(path.display().to_string());
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => left_out.add("symbolic link (not followed)", 1, place()),
            Ok(meta) if meta.is_dir() => walk(&path, wanted, depth + 1, found, left_out),
            Ok(meta) if meta.is_file() => {
                if wanted(&path, false) {
                    found.push(path);
                } else {
                    left_out.add("file of another kind", 1, place());
                }
            }
            Ok(_) => left_out.add("neither file nor folder", 1, place()),
            Err(error) => left_out.add("unreadable file", 1, Some(format!("{}: {error}", path.display()))),
        }
    }
}

/// Whether a path has one of these extensions.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| extensions.contains(&extension))
}

/// A file of one JSON value a line. Lines that cannot be used are counted and passed over.
pub struct JsonLines {
    lines: BufReader<File>,
    limits: Limits,
    buffer: Vec<u8>,
    number: u64,
    name: String,
}

impl std::fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JsonLines({}:{})", self.name, self.number)
    }
}

impl JsonLines {
    /// Opens a file.
    ///
    /// # Errors
    /// When it is unreadable, binary or larger than the limit.
    pub fn open(path: &Path, limits: Limits) -> Result<JsonLines, FileError> {
        let file = open_text(path, limits)?;
        Ok(JsonLines {
            lines: BufReader::with_capacity(1 << 16, file),
            limits,
            buffer: Vec::new(),
            number: 0,
            name: path.display().to_string(),
        })
    }

    /// The next line that can be read as `T`, with its number.
    pub fn next<T: DeserializeOwned>(&mut self, left_out: &mut LeftOut) -> Option<(u64, T)> {
        loop {
            let ended = self.read_line(left_out)?;
            let mut line = self.buffer.as_slice();
            if self.number == 1 {
                line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(value) => return Some((self.number, value)),
                Err(error) => {
                    let reason = if !ended {
                        "half-written last line"
                    } else if error.is_data() {
                        "line of an unknown shape"
                    } else {
                        "line that is no JSON"
                    };
                    left_out.add(reason, 1, Some(format!("{}:{}", self.name, self.number)));
                }
            }
        }
    }

    /// Reads the next line that is within the limit; whether it had an end.
    fn read_line(&mut self, left_out: &mut LeftOut) -> Option<bool> {
        loop {
            self.buffer.clear();
            let limit = self.limits.line_bytes as u64 + 1;
            self.number += 1;
            match (&mut self.lines).take(limit).read_until(b'\n', &mut self.buffer) {
                Ok(0) => return None,
                Ok(_) if self.buffer.last() == Some(&b'\n') => return Some(true),
                Ok(read) if (read as u64) < limit => return Some(false),
                Ok(_) => {
                    left_out.add("line longer than the limit", 1, Some(format!("{}:{}", self.name, self.number)));
                    self.buffer = Vec::new();
                    self.skip_line();
                }
                Err(error) => {
                    left_out.add("read error", 1, Some(format!("{}:{}: {error}", self.name, self.number)));
                    return None;
                }
            }
        }
    }

    fn skip_line(&mut self) {
        while let Ok(bytes) = self.lines.fill_buf() {
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(bytes.len(), |at| at + 1);
            if used == 0 {
                return;
            }
            self.lines.consume(used);
            if end.is_some() {
                return;
            }
        }
    }
}

/// A whole JSON document.
///
/// # Errors
/// When the file is unreadable, binary, too large, or no JSON of this shape.
pub fn read_document<T: DeserializeOwned>(path: &Path, limits: Limits) -> Result<T, FileError> {
    let file = open_text(path, limits)?;
    let mut bytes = Vec::new();
    BufReader::new(file).read_to_end(&mut bytes).map_err(FileError::Unreadable)?;
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    serde_json::from_slice(text).map_err(|error| FileError::OtherKind(error.to_string()))
}

/// Opens a text file within the limit.
fn open_text(path: &Path, limits: Limits) -> Result<File, FileError> {
    let meta = fs::metadata(path).map_err(FileError::Unreadable)?;
    if !meta.is_file() {
        return Err(FileError::OtherKind("it is no regular file".to_owned()));
    }
    if meta.len() > limits.file_bytes {
        return Err(FileError::TooLarge);
    }
    let start = first_bytes(path, 4096)?;
    // a crash leaves zeros in a log, mostly at its end: what begins as JSON stays a log, and its lines are counted one by one
    let text = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start).trim_ascii_start();
    let is_json = matches!(text.first(), Some(b'{' | b'['));
    if (start.contains(&0) && !is_json)
        || start.starts_with(&[0x1f, 0x8b])
        || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
    {
        return Err(FileError::Binary);
    }
    File::open(path).map_err(FileError::Unreadable)
}

/// The first bytes of a file.
///
/// # Errors
/// What the file system says.
pub fn first_bytes(path: &Path, count: u64) -> Result<Vec<u8>, FileError> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(FileError::Unreadable)?;
    file.take(count).read_to_end(&mut start).map_err(FileError::Unreadable)?;
    Ok(start)
}
