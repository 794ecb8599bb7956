//! The folder an evaluation writes: results, recorded scores and outcomes, folds, and one manifest.
//!
//! `manifest.json` alone holds the command line, paths, thread count and times; every other file is a function of
//! input, seed and version. A folder is filled under a temporary name and appears whole; `.stages/` keeps what a stopped
//! run had finished and goes on success.

use crate::cmd::Failure;
use crate::files::{stream_whole, write_whole};
use crate::results::Results;
use foldline_features::{Boundary, Burden, Channel, Horizon};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A run folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

/// Who made a run, from what, and how long it took; the one file that may differ between equal runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of foldline.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// Base seed.
    pub seed: u64,
    /// Worker threads.
    pub threads: usize,
    /// Start of the run, seconds since 1970 (UTC).
    pub started_unix_seconds: u64,
    /// Wall time in seconds.
    pub elapsed_seconds: f64,
    /// Wall time of the stages, in seconds.
    pub stages: Vec<(String, f64)>,
    /// The corpus as it was named.
    pub corpus: String,
    /// SHA-256 of the corpus.
    pub corpus_sha256: String,
}

/// One boundary's outcome as recorded beside the scores: enough to judge other triggers on the same boundaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeRecord {
    /// The boundary.
    pub boundary_id: String,
    /// Its task.
    pub task_id: String,
    /// Its stem.
    pub stem: String,
    /// 1 for the first compaction of the trajectory.
    pub compaction_index: u64,
    /// Counts of each PRE rollout: U, E, R at k = 1, then at 3, then at 5.
    pub pre: Vec<[u8; 9]>,
    /// Counts of each POST rollout.
    pub post: Vec<[u8; 9]>,
}

impl OutcomeRecord {
    /// The record of a boundary.
    pub fn of(boundary: &Boundary, burden: &Burden) -> OutcomeRecord {
        let counts = |rollouts: &[foldline_features::RolloutCounts]| {
            let of = |counts: &foldline_features::RolloutCounts| {
                let mut row = [0; 9];
                for (h, horizon) in Horizon::ALL.into_iter().enumerate() {
                    for (c, channel) in Channel::ALL.into_iter().enumerate() {
                        row[3 * h + c] = counts.get(channel, horizon);
                    }
                }
                row
            };
            rollouts.iter().map(of).collect()
        };
        OutcomeRecord {
            boundary_id: boundary.boundary_id.clone(),
            task_id: boundary.task_id.clone(),
            stem: boundary.stem.clone(),
            compaction_index: boundary.prefix.compaction_index,
            pre: counts(&burden.pre),
            post: counts(&burden.post),
        }
    }
}

/// Out-of-fold scores of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreRecord {
    /// The cell.
    pub cell: String,
    /// `[repetition][boundary]`, in the order of `outcomes.jsonl`.
    pub scores: Vec<Vec<f64>>,
}

fn cannot(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Other(format!("{}: cannot be written: {error}", path.display()))
}

fn unreadable(path: &Path, problem: impl std::fmt::Display) -> Failure {
    Failure::Data(format!("{}: {problem}; expected a run folder written by `foldline evaluate`", path.display()))
}

impl RunFolder {
    /// Opens the folder of a finished run.
    ///
    /// # Errors
    /// `Failure::Data` when it holds no results.
    pub fn open(path: &Path) -> Result<RunFolder, Failure> {
        let folder = RunFolder { path: path.to_owned() };
        if !folder.file("results.json").is_file() {
            return Err(unreadable(path, "holds no results.json"));
        }
        Ok(folder)
    }

    /// Makes (or reuses) a folder for a run.
    ///
    /// # Errors
    /// `Failure::Usage` when the path is a folder that holds something else, `Failure::Other` when it cannot be made.
    pub fn create(path: &Path) -> Result<RunFolder, Failure> {
        let folder = RunFolder { path: path.to_owned() };
        let entries = std::fs::read_dir(path).map(|entries| entries.filter_map(Result::ok).count()).unwrap_or(0);
        if entries > 0 && !folder.file("results.json").exists() && !folder.stages().exists() {
            return Err(Failure::Usage(format!(
                "{}: is not empty and is no run folder; name another --out",
                path.display()
            )));
        }
        std::fs::create_dir_all(path).map_err(|error| cannot(path, error))?;
        Ok(folder)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn stages(&self) -> PathBuf {
        self.file(".stages")
    }

    /// Writes a file of it, whole or not at all.
    ///
    /// # Errors
    /// `Failure::Other`.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.file(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| cannot(parent, error))?;
        }
        write_whole(&path, bytes).map_err(|error| cannot(&path, error))
    }

    /// Writes a value as indented JSON.
    ///
    /// # Errors
    /// `Failure::Other`.
    pub fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Failure> {
        let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| cannot(&self.file(name), error))?;
        bytes.push(b'\n');
        self.write(name, &bytes)
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        let path = self.file(name);
        let text = std::fs::read(&path).map_err(|error| unreadable(&path, error))?;
        serde_json::from_slice(&text).map_err(|error| unreadable(&path, error))
    }

    /// The results.
    ///
    /// # Errors
    /// `Failure::Data` when they cannot be read or are of another format.
    pub fn results(&self) -> Result<Results, Failure> {
        let results: Results = self.read_json("results.json")?;
        if results.format != crate::results::FORMAT {
            return Err(unreadable(
                &self.file("results.json"),
                format!("format {:?} is unknown to this version", results.format),
            ));
        }
        Ok(results)
    }

    /// The manifest.
    ///
    /// # Errors
    /// `Failure::Data`.
    pub fn manifest(&self) -> Result<Manifest, Failure> {
        self.read_json("manifest.json")
    }

    /// Writes the outcomes, one boundary a line.
    ///
    /// # Errors
    /// `Failure::Other`.
    pub fn write_outcomes(&self, records: &[OutcomeRecord]) -> Result<(), Failure> {
        let path = self.file("outcomes.jsonl");
        stream_whole(&path, |out| {
            for record in records {
                serde_json::to_writer(&mut *out, record)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })
        .map_err(|error| cannot(&path, error))
    }

    /// The outcomes.
    ///
    /// # Errors
    /// `Failure::Data` naming the line.
    pub fn outcomes(&self) -> Result<Vec<OutcomeRecord>, Failure> {
        let path = self.file("outcomes.jsonl");
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        text.lines()
            .enumerate()
            .map(|(index, line)| {
                serde_json::from_str(line).map_err(|error| unreadable(&path, format!("line {}: {error}", index + 1)))
            })
            .collect()
    }

    /// Writes one cell's scores: `boundary_id,r0,r1,...`, in shortest round-trip form.
    ///
    /// # Errors
    /// `Failure::Other`.
    pub fn write_scores(&self, record: &ScoreRecord, ids: &[&str]) -> Result<(), Failure> {
        let path = self.file(&score_file(&record.cell));
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| cannot(parent, error))?;
        }
        stream_whole(&path, |out| {
            let mut out = std::io::BufWriter::new(out);
            write!(out, "boundary_id")?;
            (0..record.scores.len()).try_for_each(|repetition| write!(out, ",r{repetition}"))?;
            writeln!(out)?;
            for (row, id) in ids.iter().enumerate() {
                write!(out, "{}", csv_field(id))?;
                record.scores.iter().try_for_each(|scores| write!(out, ",{}", scores[row]))?;
                writeln!(out)?;
            }
            out.flush()
        })
        .map_err(|error| cannot(&path, error))
    }

    /// Reads one cell's scores.
    ///
    /// # Errors
    /// `Failure::Data` naming the line.
    pub fn scores(&self, cell: &str) -> Result<ScoreRecord, Failure> {
        let path = self.file(&score_file(cell));
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        let mut lines = text.lines();
        let repetitions = lines.next().map_or(0, |head| head.split(',').count().saturating_sub(1));
        let mut scores = vec![Vec::new(); repetitions];
        for (index, line) in lines.enumerate() {
            // a boundary id may hold commas, its scores cannot: read from the right
            let mut fields: Vec<&str> = line.rsplitn(repetitions + 1, ',').collect();
            fields.reverse();
            for (repetition, field) in fields.iter().skip(1).enumerate() {
                let score: f64 = field
                    .parse()
                    .map_err(|_| unreadable(&path, format!("line {}: {field:?} is no score", index + 2)))?;
                scores[repetition].push(score);
            }
        }
        Ok(ScoreRecord { cell: cell.to_owned(), scores })
    }

    /// What a stopped run recorded under a key, or what `compute` gives, which is then recorded.
    ///
    /// The key names everything the result depends on; a record that cannot be read is computed again.
    ///
    /// # Errors
    /// Those of `compute`, and `Failure::Other` when the record cannot be written.
    pub fn resume<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        compute: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let name = format!(".stages/{key}.json");
        if let Ok(recorded) = self.read_json(&name) {
            return Ok(recorded);
        }
        let value = compute()?;
        let bytes = serde_json::to_vec(&value).map_err(|error| cannot(&self.file(&name), error))?;
        self.write(&name, &bytes)?;
        Ok(value)
    }

    /// Removes what an earlier run left in the folder, so that no stale score, fold or page stands beside new results.
    ///
    /// # Errors
    /// `Failure::Other`.
    pub fn clear(&self) -> Result<(), Failure> {
        let mut stale: Vec<PathBuf> =
            ["results.json", "report.html", "scores", "report"].iter().map(|name| self.file(name)).collect();
        for entry in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("folds-") {
                stale.push(entry.path());
            }
        }
        for path in stale.iter().filter(|path| path.exists()) {
            let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            removed.map_err(|error| cannot(path, error))?;
        }
        Ok(())
    }

    /// Removes the resume records of a run that has ended.
    ///
    /// # Errors
    /// `Failure::Other`.
    pub fn forget_stages(&self) -> Result<(), Failure> {
        let stages = self.stages();
        if stages.exists() {
            std::fs::remove_dir_all(&stages).map_err(|error| cannot(&stages, error))?;
        }
        Ok(())
    }
}

/// The longest name of a trigger, in bytes: it becomes part of a file's name.
pub const LONGEST_NAME: usize = 100;

/// The file of a cell's scores: its name with everything but letters, digits, `-`, `_` and `+` replaced.
pub fn score_file(cell: &str) -> String {
    let name: String =
        cell.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+') { c } else { '.' }).collect();
    format!("scores/{name}.csv")
}

fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
