//! Streaming corpus files line by line, with bounded memory for one line.

use super::error::{CorpusError, Place};
use super::line::{self, LineNotes};
use crate::boundary::{Arm, Boundary};
use crate::profile::Profile;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Longest line read, in bytes: far above any real boundary, far below what exhausts a machine.
const LONGEST_LINE: usize = 64 << 20;

/// How a corpus is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The environment's conventions.
    pub profile: Profile,
    /// Refuse boundaries whose stated flags contradict their signatures.
    pub strict: bool,
    /// Keep the ordered steps of prefixes in memory.
    pub keep_steps: bool,
}

impl Options {
    /// Lenient reading without ordered steps.
    pub fn new(profile: Profile) -> Options {
        Options { profile, strict: false, keep_steps: false }
    }
}

/// What was noticed while reading, beyond errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Unknown fields that were ignored, with the number of boundaries that have them.
    pub unknown_fields: BTreeMap<String, u64>,
    /// Rollout steps whose stated flags contradict their signatures or observations.
    pub contradictions: u64,
    /// Boundaries with such steps.
    pub contradicting_boundaries: u64,
    /// Released deltas whose name is none of `dU@1` to `dR@5` and that were not checked.
    pub unchecked_deltas: BTreeSet<String>,
}

/// Streams the boundaries of one file.
///
/// After an error in a line, the next call goes on with the next line; after an error of the file there is nothing more.
pub struct Reader {
    file: String,
    lines: Box<dyn BufRead + Send>,
    options: Options,
    line: u64,
    /// A line stands for a row of a table.
    is_table: bool,
    ended: bool,
    seen: BTreeMap<String, u64>,
    /// Stem of every task, with the line that gave it first.
    stems: BTreeMap<String, (String, u64)>,
    notes: Notes,
    hash: Arc<Mutex<Sha256>>,
}

impl Reader {
    /// Opens a file: plain, gzip or zstd NDJSON.
    ///
    /// # Errors
    /// When the path is no readable file or is a Parquet table, which the tables crate converts.
    pub fn open(path: &Path, options: Options) -> Result<Reader, CorpusError> {
        let name = path.display().to_string();
        let cannot = |error: io::Error| CorpusError::of_file(&name, format!("cannot be read: {error}"));
        if std::fs::metadata(path).map_err(cannot)?.is_dir() {
            return Err(CorpusError::of_file(
                &name,
                "is a directory; expected a corpus file (.jsonl, .gz, .zst or .parquet)",
            ));
        }
        let file = File::open(path).map_err(cannot)?;
        Reader::new(&name, file, options)
    }

    /// Reads NDJSON, plain or compressed, from any source; `name` stands in errors.
    ///
    /// # Errors
    /// When the first bytes cannot be read or are those of a Parquet table.
    pub fn new(name: &str, source: impl Read + Send + 'static, options: Options) -> Result<Reader, CorpusError> {
        let hash = Arc::new(Mutex::new(Sha256::new()));
        let mut raw = BufReader::with_capacity(1 << 16, Hashed { source, hash: Arc::clone(&hash) });
        let start = raw.fill_buf().map_err(|error| CorpusError::of_file(name, format!("cannot be read: {error}")))?;
        let lines: Box<dyn BufRead + Send> = if start.starts_with(&[0x1f, 0x8b]) {
            Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(raw)))
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let decoder = zstd::Decoder::with_buffer(raw)
                .map_err(|error| CorpusError::of_file(name, format!("is no readable zstd file: {error}")))?;
            Box::new(BufReader::with_capacity(1 << 16, decoder))
        } else if start.starts_with(b"PAR1") {
            return Err(CorpusError::of_file(
                name,
                "is a Parquet file, and this build has no Parquet reader (feature `tables`)",
            ));
        } else {
            Box::new(raw)
        };
        Ok(Reader::over(name, lines, options, hash))
    }

    /// Reads a table that was converted to one line a row: problems then name rows. `stored` has hashed the table's own
    /// file, and `unknown` are its columns that were not converted.
    pub fn of_table(name: &str, rows: Vec<u8>, unknown: Vec<String>, stored: Sha256, options: Options) -> Reader {
        let count = rows.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let reader = Reader::over(name, Box::new(io::Cursor::new(rows)), options, Arc::new(Mutex::new(stored)));
        let unknown_fields = unknown.into_iter().map(|field| (field, count)).collect();
        Reader { is_table: true, notes: Notes { unknown_fields, ..Notes::default() }, ..reader }
    }

    fn over(name: &str, lines: Box<dyn BufRead + Send>, options: Options, hash: Arc<Mutex<Sha256>>) -> Reader {
        Reader {
            file: name.to_owned(),
            lines,
            options,
            line: 0,
            is_table: false,
            ended: false,
            seen: BTreeMap::new(),
            stems: BTreeMap::new(),
            notes: Notes::default(),
            hash,
        }
    }

    /// What was noticed so far.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// SHA-256 of the file's bytes as stored, in hexadecimal; the whole file's once the reader has ended.
    pub fn sha256(&self) -> String {
        let hash = self.hash.lock().map(|hash| hash.clone()).unwrap_or_default();
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn error(&self, boundary: Option<String>, field: Option<String>, problem: String) -> CorpusError {
        CorpusError { file: self.file.clone(), place: Some(self.place(self.line)), boundary, field, problem }
    }

    fn place(&self, line: u64) -> Place {
        if self.is_table { Place::Row(line) } else { Place::Line(line) }
    }

    /// What is wrong with a sound boundary beside the earlier ones: the field, and the problem.
    fn clash(&self, boundary: &Boundary) -> Option<(&'static str, String)> {
        if let Some(&first) = self.seen.get(&boundary.boundary_id) {
            let first = self.place(first);
            let problem = format!("duplicate boundary_id, first on {first}; ids must be unique in a corpus");
            return Some(("boundary_id", problem));
        }
        let (stem, first) = self.stems.get(&boundary.task_id).filter(|(stem, _)| *stem != boundary.stem)?;
        let problem = format!(
            "task {} has stem {:?} here and {stem:?} on {}; a task belongs to one stem, since folds keep stems whole",
            boundary.task_id,
            boundary.stem,
            self.place(*first)
        );
        Some(("stem", problem))
    }

    /// The next line's bytes without its end; `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, CorpusError> {
        let mut bytes = Vec::new();
        let read = (&mut self.lines).take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut bytes);
        self.line += 1;
        if let Err(error) = read {
            self.ended = true;
            let hint = "; the file is cut short or damaged: fetch or write it again";
            return Err(self.error(None, None, format!("cannot be read: {error}{hint}")));
        }
        if bytes.is_empty() {
            self.ended = true;
            return Ok(None);
        }
        if bytes.len() > LONGEST_LINE {
            self.ended = true;
            return Err(self.error(
                None,
                None,
                format!(
                    "is longer than {} MiB; expected one boundary a line (NDJSON, not one JSON document)",
                    LONGEST_LINE >> 20
                ),
            ));
        }
        while matches!(bytes.last(), Some(b'\n' | b'\r')) {
            bytes.pop();
        }
        Ok(Some(bytes))
    }

    fn take_notes(&mut self, notes: LineNotes) {
        for field in notes.unknown_fields {
            *self.notes.unknown_fields.entry(field).or_default() += 1;
        }
        self.notes.contradictions += notes.contradictions;
        self.notes.contradicting_boundaries += u64::from(notes.contradictions > 0);
        self.notes.unchecked_deltas.extend(notes.unchecked_deltas);
    }
}

impl Iterator for Reader {
    type Item = Result<Boundary, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.ended {
                return None;
            }
            let bytes = match self.next_line() {
                Ok(bytes) => bytes?,
                Err(error) => return Some(Err(error)),
            };
            let text = match std::str::from_utf8(&bytes) {
                Ok(text) => {
                    if self.line == 1 {
                        text.trim_start_matches('\u{feff}')
                    } else {
                        text
                    }
                }
                Err(error) => {
                    let problem = format!("is not UTF-8 at byte {} of the line", error.valid_up_to() + 1);
                    return Some(Err(self.error(None, None, problem)));
                }
            };
            if text.trim().is_empty() {
                continue;
            }
            let (boundary, id, notes) = line::parse(text, &self.options.profile, self.options.keep_steps);
            let contradictions = notes.contradictions;
            self.take_notes(notes);
            let boundary = match boundary {
                Ok(boundary) => boundary,
                Err(error) => return Some(Err(self.error(id, error.field, error.problem))),
            };
            if let Some((field, problem)) = self.clash(&boundary) {
                return Some(Err(self.error(id, Some(field.to_owned()), problem)));
            }
            self.seen.insert(boundary.boundary_id.clone(), self.line);
            self.stems.entry(boundary.task_id.clone()).or_insert_with(|| (boundary.stem.clone(), self.line));
            if self.options.strict && contradictions > 0 {
                let problem = format!(
                    "{contradictions} steps state flags that contradict their signatures or observations (refused under --strict)"
                );
                return Some(Err(self.error(id, Some("rollouts".to_owned()), problem)));
            }
            return Some(Ok(boundary));
        }
    }
}

/// A source that hashes what is read from it.
struct Hashed<R> {
    source: R,
    hash: Arc<Mutex<Sha256>>,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        if let Ok(mut hash) = self.hash.lock() {
            hash.update(&buffer[..read]);
        }
        Ok(read)
    }
}

/// A corpus in memory.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The boundaries, in file order.
    pub boundaries: Vec<Boundary>,
    /// SHA-256 of the file as stored, in hexadecimal.
    pub sha256: String,
    /// What was noticed while reading.
    pub notes: Notes,
    /// The conventions it was read with.
    pub profile: Profile,
}

impl Corpus {
    /// Functions of the prefixes that the method map does not know, each with the number of boundaries that have it.
    pub fn unmapped(&self) -> BTreeMap<&str, u64> {
        let mut unmapped = BTreeMap::new();
        for function in self.boundaries.iter().flat_map(|boundary| &boundary.prefix.historical_functions) {
            if self.profile.effect(function).is_none() {
                *unmapped.entry(function.as_str()).or_insert(0) += 1;
            }
        }
        unmapped
    }

    /// Whether any boundary lacks any rollout of an arm; such a corpus, or the part of it, is observational.
    pub fn has_arm(&self, arm: Arm) -> bool {
        self.boundaries.iter().any(|boundary| boundary.rollouts.iter().any(|rollout| rollout.arm == arm))
    }
}

/// Reads a whole corpus, stopping at the first problem.
///
/// # Errors
/// The first problem, or that the corpus holds no boundary.
pub fn read_corpus(mut reader: Reader) -> Result<Corpus, CorpusError> {
    let mut boundaries = Vec::new();
    for boundary in &mut reader {
        boundaries.push(boundary?);
    }
    if boundaries.is_empty() {
        return Err(CorpusError::of_file(&reader.file, "holds no boundary"));
    }
    Ok(Corpus { boundaries, sha256: reader.sha256(), notes: reader.notes, profile: reader.options.profile })
}
