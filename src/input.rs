//! The corpus as verbs take it: path, profile, method maps, and what is refused.

use crate::cmd::{Failure, say};
use clap::Args;
use foldline_features::corpus::{Corpus, Options, Reader, read_corpus};
use foldline_features::{Arm, Boundary, Profile};
#[cfg(feature = "tables")]
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest profile or method map read, in bytes.
const LARGEST_TABLE: u64 = 64 << 20;

/// The corpus and the conventions it is read with.
#[derive(Clone, Debug, Args)]
pub struct CorpusArgs {
    /// Corpus: NDJSON, one boundary a line (.jsonl, .gz, .zst), or Parquet with the same columns
    pub corpus: PathBuf,
    /// Conventions of the environment
    #[command(flatten)]
    pub conventions: Conventions,
    /// Refuse steps whose stated flags contradict their signatures
    #[arg(long)]
    pub strict: bool,
}

/// How calls, errors and writes are recognised.
#[derive(Clone, Debug, Args)]
pub struct Conventions {
    /// Environment profile: appworld, tool, coding (tool with shell commands classed), or a TOML file
    #[arg(long, default_value = "appworld", value_name = "NAME|FILE")]
    pub profile: String,
    /// Method map, CSV `function,method`; may be given several times. The maps then decide alone what writes
    #[arg(long, value_name = "FILE")]
    pub methods: Vec<PathBuf>,
    /// Count functions that no method map knows as reads instead of refusing them
    #[arg(long)]
    pub allow_unmapped: bool,
}

impl Conventions {
    /// The profile with its method maps.
    ///
    /// # Errors
    /// `Failure::Data` naming the file that cannot be read or understood.
    pub fn profile(&self) -> Result<Profile, Failure> {
        let mut profile = match self.profile.as_str() {
            "appworld" => Profile::appworld(),
            "tool" => Profile::tool_calling(),
            "coding" => Profile::coding_agent(),
            file => profile_file(Path::new(file))?,
        };
        for path in &self.methods {
            let text = read_text(path)?;
            profile.add_methods(&text).map_err(|problem| Failure::Data(format!("{}: {problem}", path.display())))?;
        }
        Ok(profile)
    }
}

fn profile_file(path: &Path) -> Result<Profile, Failure> {
    let text = read_text(path).map_err(|failure| {
        Failure::Data(format!(
            "--profile {}: none of appworld, tool and coding, and as a file: {failure}",
            path.display()
        ))
    })?;
    Profile::from_toml(&text).map_err(|problem| Failure::Data(format!("{}: {problem}", path.display())))
}

/// Reads a text file of bounded size.
///
/// # Errors
/// `Failure::Data` naming the file.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let cannot = |problem: String| Failure::Data(format!("{}: {problem}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| cannot(format!("cannot be read: {error}")))?;
    let mut text = String::new();
    let read = file.take(LARGEST_TABLE + 1).read_to_string(&mut text);
    match read {
        Err(error) => Err(cannot(format!("cannot be read as text: {error}"))),
        Ok(_) if text.len() as u64 > LARGEST_TABLE => {
            Err(cannot(format!("is larger than {} MiB", LARGEST_TABLE >> 20)))
        }
        Ok(_) => Ok(text),
    }
}

impl CorpusArgs {
    /// A reader over the corpus file, whatever its container.
    ///
    /// # Errors
    /// `Failure::Data` when the file cannot be read.
    pub fn reader(&self, keep_steps: bool) -> Result<Reader, Failure> {
        let options = Options { profile: self.conventions.profile()?, strict: self.strict, keep_steps };
        open(&self.corpus, options)
    }

    /// The whole corpus, checked; what was noticed goes to stderr, one line each.
    ///
    /// # Errors
    /// `Failure::Data` for the first problem, or for functions that a given method map does not know.
    pub fn load(&self) -> Result<Corpus, Failure> {
        let corpus = read_corpus(self.reader(false)?).map_err(|error| Failure::Data(error.to_string()))?;
        for note in notes(&corpus) {
            say(&format!("note: {note}"));
        }
        let unmapped = corpus.unmapped();
        if !unmapped.is_empty() {
            let shown: Vec<&str> = unmapped.keys().copied().take(8).collect();
            let more = if unmapped.len() > shown.len() { ", ..." } else { "" };
            let list = format!("{} functions are in no method map: {}{more}", unmapped.len(), shown.join(", "));
            if !self.conventions.allow_unmapped {
                return Err(Failure::Data(format!(
                    "{}: {list}; add them to a --methods file, or count them as reads with --allow-unmapped",
                    self.corpus.display()
                )));
            }
            say(&format!("note: {list}; counted as reads"));
        }
        Ok(corpus)
    }
}

/// Opens a corpus file, converting Parquet on the way.
///
/// # Errors
/// `Failure::Data` when the file cannot be read.
pub fn open(path: &Path, options: Options) -> Result<Reader, Failure> {
    #[cfg(feature = "tables")]
    if is_parquet(path) {
        let name = path.display().to_string();
        let rows =
            foldline_tables::parquet_to_ndjson(path).map_err(|problem| Failure::Data(format!("{name}: {problem}")))?;
        let mut stored = Sha256::new();
        std::fs::File::open(path)
            .and_then(|mut file| std::io::copy(&mut file, &mut stored))
            .map_err(|error| Failure::Data(format!("{name}: cannot be read: {error}")))?;
        return Ok(Reader::of_table(&name, rows.lines, rows.unknown, stored, options));
    }
    Reader::open(path, options).map_err(|error| Failure::Data(error.to_string()))
}

#[cfg(feature = "tables")]
fn is_parquet(path: &Path) -> bool {
    let mut magic = [0u8; 4];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"PAR1"
}

/// What was noticed in a corpus and is no error, as sentences.
pub fn notes(corpus: &Corpus) -> Vec<String> {
    let mut notes = Vec::new();
    for (field, count) in &corpus.notes.unknown_fields {
        notes.push(format!("unknown field {field:?} ignored ({count} boundaries have it)"));
    }
    if !corpus.notes.unchecked_deltas.is_empty() {
        let names: Vec<&str> = corpus.notes.unchecked_deltas.iter().map(String::as_str).collect();
        notes.push(format!("deltas not checked, since no horizon 1, 3, 5 and channel U, E, R: {}", names.join(", ")));
    }
    if corpus.notes.contradictions > 0 {
        notes.push(format!(
            "{} rollout steps in {} boundaries state flags that contradict their signatures; the stated flags stand \
             (--strict refuses them)",
            corpus.notes.contradictions, corpus.notes.contradicting_boundaries
        ));
    }
    let lacks = |arm: Arm, boundary: &&Boundary| boundary.rollouts.iter().all(|rollout| rollout.arm != arm);
    if corpus.has_arm(Arm::Pre) && corpus.has_arm(Arm::Post) {
        let one_armed = |boundary: &&Boundary| lacks(Arm::Pre, boundary) || lacks(Arm::Post, boundary);
        let mut unpaired = corpus.boundaries.iter().filter(one_armed);
        if let Some(first) = unpaired.next() {
            let missing: Vec<&str> =
                [Arm::Pre, Arm::Post].into_iter().filter(|&arm| lacks(arm, &first)).map(Arm::name).collect();
            notes.push(format!(
                "{} of {} boundaries lack the rollouts of an arm and are left out of every paired target; first {} (no {})",
                1 + unpaired.count(),
                corpus.boundaries.len(),
                first.boundary_id,
                missing.join(" and no ")
            ));
        }
    }
    for (arm, other) in [(Arm::Pre, Arm::Post), (Arm::Post, Arm::Pre)] {
        if corpus.has_arm(arm) && !corpus.has_arm(other) {
            notes.push(format!(
                "observational: only {} rollouts; use a target such as {}.U@3, and read every figure as observational",
                arm.name(),
                arm.name()
            ));
        }
    }
    notes
}
