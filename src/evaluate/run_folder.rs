//! The folder an evaluation writes: results, recorded scores and outcomes, folds, and one manifest.
//!
//! `manifest.json` alone holds the command line, paths, thread count and times; every other file is a function of
//! input, seed and version. A folder is filled under a temporary name and appears whole; `.stages/` keeps what a stopped
//! run had finished and goes on success.

use crate::cmd::Failure;
use crate::files::{stream_whole, write_whole};
use crate::report::files::remove_earlier;
use crate::results::{FORMAT, Results};
use foldline_features::{Boundary, Burden, Channel, Horizon};
use foldline_frontiers::Folds;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The folds it was scored under; `None` where nothing was fitted.
    pub folds: Option<Folds>,
    /// `[repetition][boundary]`, in the order of `outcomes.jsonl`.
    pub scores: Vec<Vec<f64>>,
}

/// How scores are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ScoreFormat {
    /// `scores.parquet`.
    Parquet,
    /// `scores.csv`.
    #[default]
    Csv,
}

impl ScoreFormat {
    const ALL: [ScoreFormat; 2] = [ScoreFormat::Csv, ScoreFormat::Parquet];

    /// The file's name in a run folder.
    pub fn file(self) -> &'static str {
        match self {
            ScoreFormat::Parquet => "scores.parquet",
            ScoreFormat::Csv => "scores.csv",
        }
    }
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
    /// `Failure::Usage` when the path is a folder that holds something else, `Failure::Other` when it cannot be made or is
    /// no folder.
    pub fn create(path: &Path) -> Result<RunFolder, Failure> {
        let folder = RunFolder { path: path.to_owned() };
        let entries = std::fs::read_dir(path).map(|entries| entries.filter_map(Result::ok).count()).unwrap_or(0);
        let ours = || folder.stages().exists() || folder.format().is_some_and(|format| format == FORMAT);
        if entries > 0 && !ours() {
            return Err(Failure::Usage(format!(
                "{}: is not empty and is no run folder; name another --out",
                path.display()
            )));
        }
        if path.is_file() {
            return Err(Failure::Other(format!("{}: is a file; --out names a folder", path.display())));
        }
        std::fs::create_dir_all(path).map_err(|error| cannot(path, error))?;
        Ok(folder)
    }

    /// The format that its results name, whatever else they hold.
    fn format(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        self.read_json::<Head>("results.json").ok().map(|head| head.format)
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
        if results.format != FORMAT {
            return Err(unreadable(
                &self.file("results.json"),
                format!("format {:?} is unknown to this version", results.format),
            ));
        }
        // a table's number becomes part of a file's name
        match results.tables.keys().find(|key| key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        {
            Some(key) => Err(unreadable(&self.file("results.json"), format!("{key:?} is no number of a table"))),
            None => Ok(results),
        }
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
        let mut ids = BTreeSet::new();
        text.lines()
            .zip(1..)
            .map(|(line, number)| {
                let broken = |problem: String| unreadable(&path, format!("line {number}: {problem}"));
                let record: OutcomeRecord = serde_json::from_str(line).map_err(|error| broken(error.to_string()))?;
                match ids.insert(record.boundary_id.clone()) {
                    true => Ok(record),
                    false => Err(broken(format!("boundary {} stands a second time", record.boundary_id))),
                }
            })
            .collect()
    }

    /// Writes the scores of all cells in one file: `cell,boundary_id,repetition,fold,score`, scores in shortest
    /// round-trip form, the fold empty where nothing was fitted.
    ///
    /// # Errors
    /// `Failure::Other`; `Failure::Usage` for Parquet in a build without it.
    pub fn write_scores(&self, records: &[ScoreRecord], ids: &[&str], format: ScoreFormat) -> Result<(), Failure> {
        let path = self.file(format.file());
        let written = match format {
            ScoreFormat::Csv => stream_whole(&path, |out| write_score_lines(records, ids, out)),
            ScoreFormat::Parquet => write_score_table(&path, records, ids)?,
        };
        written.map_err(|error| cannot(&path, error))
    }

    /// The scores of every cell, boundaries in the order of `outcomes`.
    ///
    /// # Errors
    /// `Failure::Data` naming the line, or the cell and boundary without a score.
    pub fn scores(&self, outcomes: &[OutcomeRecord]) -> Result<BTreeMap<String, Vec<Vec<f64>>>, Failure> {
        let format = ScoreFormat::ALL.into_iter().find(|format| self.file(format.file()).is_file());
        let format = format.ok_or_else(|| unreadable(&self.path, "holds no scores.csv and no scores.parquet"))?;
        let path = self.file(format.file());
        let rows = outcomes.iter().zip(0..).map(|(record, row)| (record.boundary_id.as_str(), row)).collect();
        let mut scores = Scores { rows, cells: BTreeMap::new() };
        match format {
            ScoreFormat::Csv => read_score_lines(&path, &mut scores)?,
            ScoreFormat::Parquet => read_score_table(&path, &mut scores)?,
        }
        scores.complete().map_err(|problem| unreadable(&path, problem))
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
        let own =
            ["results.json", "folds.csv", "scores.csv", "scores.parquet", "report.html", "report.md", "report.json"];
        remove_earlier(&self.path)?;
        for path in own.iter().map(|name| self.file(name)).filter(|path| path.is_file()) {
            std::fs::remove_file(&path).map_err(|error| cannot(&path, error))?;
        }
        Ok(())
    }

    /// Removes the folder of a run that failed before it had anything to keep.
    pub fn abandon(&self) {
        // a folder that holds something is not removed
        let _ = std::fs::remove_dir(self.stages());
        let _ = std::fs::remove_dir(&self.path);
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

/// The columns of recorded scores.
const SCORE_COLUMNS: [&str; 5] = ["cell", "boundary_id", "repetition", "fold", "score"];

fn write_score_lines(records: &[ScoreRecord], ids: &[&str], out: &mut dyn Write) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(SCORE_COLUMNS)?;
    for record in records {
        for (repetition, scores) in record.scores.iter().enumerate() {
            let folds = record.folds.as_ref().map(|folds| folds.of(repetition));
            let number = repetition.to_string();
            for (row, (id, score)) in ids.iter().zip(scores).enumerate() {
                let fold = folds.map_or_else(String::new, |folds| folds[row].to_string());
                writer.write_record([record.cell.as_str(), id, &number, &fold, &score.to_string()])?;
            }
        }
    }
    writer.flush()
}

/// The most repetitions a fold plan can have, and so a scores file.
const MOST_REPETITIONS: usize = 10_000;

/// Scores as they are read: rows of a file put where they belong.
struct Scores<'a> {
    rows: BTreeMap<&'a str, usize>,
    /// `[repetition][boundary]` by cell.
    cells: BTreeMap<String, Vec<Vec<Option<f64>>>>,
}

impl Scores<'_> {
    fn put(&mut self, cell: &str, id: &str, repetition: usize, score: f64) -> Result<(), String> {
        let &row = self.rows.get(id).ok_or_else(|| format!("boundary {id} is not in outcomes.jsonl"))?;
        if repetition >= MOST_REPETITIONS {
            return Err(format!("repetition {repetition}: expected a number below {MOST_REPETITIONS}"));
        }
        if !score.is_finite() {
            return Err(format!("boundary {id}: the score is not finite"));
        }
        let n = self.rows.len();
        let repetitions = match self.cells.get_mut(cell) {
            Some(repetitions) => repetitions,
            None => self.cells.entry(cell.to_owned()).or_default(),
        };
        if repetitions.len() <= repetition {
            repetitions.resize(repetition + 1, vec![None; n]);
        }
        match repetitions[repetition][row].replace(score) {
            None => Ok(()),
            Some(_) => Err(format!("cell {cell}, boundary {id} has two scores in repetition {repetition}")),
        }
    }

    fn complete(self) -> Result<BTreeMap<String, Vec<Vec<f64>>>, String> {
        let complete = |cell: &str, scores: Vec<Option<f64>>| -> Result<Vec<f64>, String> {
            let missing = scores.iter().position(Option::is_none);
            let id = missing.and_then(|row| self.rows.iter().find(|(_, other)| **other == row)).map(|(id, _)| *id);
            match id {
                Some(id) => Err(format!("cell {cell}: boundary {id} has no score")),
                None => Ok(scores.into_iter().flatten().collect()),
            }
        };
        let cells = self.cells.into_iter().map(|(cell, repetitions)| {
            let scores = repetitions.into_iter().map(|scores| complete(&cell, scores)).collect::<Result<_, _>>()?;
            Ok((cell, scores))
        });
        cells.collect()
    }
}

fn read_score_lines(path: &Path, scores: &mut Scores<'_>) -> Result<(), Failure> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| unreadable(path, error))?;
    let header = reader.headers().map_err(|error| unreadable(path, error))?;
    if header.iter().ne(SCORE_COLUMNS) {
        return Err(unreadable(path, format!("line 1: expected the header {}", SCORE_COLUMNS.join(","))));
    }
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| unreadable(path, error))? {
        let line = record.position().map_or(1, csv::Position::line);
        let broken = |problem: String| unreadable(path, format!("line {line}: {problem}"));
        let repetition = record[2].parse().map_err(|_| broken(format!("repetition {:?} is no number", &record[2])))?;
        let score = record[4].parse().map_err(|_| broken(format!("score {:?} is no number", &record[4])))?;
        scores.put(&record[0], &record[1], repetition, score).map_err(broken)?;
    }
    Ok(())
}

#[cfg(feature = "tables")]
fn write_score_table(path: &Path, records: &[ScoreRecord], ids: &[&str]) -> Result<std::io::Result<()>, Failure> {
    use foldline_tables::{ScoreBatch, write_scores};
    let batches = records.iter().flat_map(|record| {
        record.scores.iter().enumerate().map(|(repetition, scores)| ScoreBatch {
            cell: &record.cell,
            ids,
            repetition: repetition as u32,
            folds: record.folds.as_ref().map(|folds| folds.of(repetition)),
            scores,
        })
    });
    Ok(stream_whole(path, |out| write_scores(batches, out).map_err(std::io::Error::other)))
}

#[cfg(feature = "tables")]
fn read_score_table(path: &Path, scores: &mut Scores<'_>) -> Result<(), Failure> {
    let mut put = |cell: &str, id: &str, repetition: u32, score: f64| scores.put(cell, id, repetition as usize, score);
    foldline_tables::read_scores(path, &mut put).map_err(|problem| unreadable(path, problem))
}

#[cfg(not(feature = "tables"))]
fn write_score_table(_: &Path, _: &[ScoreRecord], _: &[&str]) -> Result<std::io::Result<()>, Failure> {
    Err(Failure::Usage("--scores parquet: this build has no Parquet (feature `tables`); use --scores csv".to_owned()))
}

#[cfg(not(feature = "tables"))]
fn read_score_table(path: &Path, _: &mut Scores<'_>) -> Result<(), Failure> {
    Err(unreadable(path, "this build cannot read Parquet (feature `tables`)"))
}
