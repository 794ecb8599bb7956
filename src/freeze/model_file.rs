//! The file that `fit` writes, format `foldline.model/1.0`: the final model, and what a threshold can be chosen from.

use crate::cmd::Failure;
use crate::evaluate::cohort::{Cohort, Outcome};
use crate::evaluate::protocol::{CellName, FoldPlan, Scorer};
use crate::evaluate::scorers::Workshop;
use crate::progress::Progress;
use foldline_features::corpus::Corpus;
use foldline_features::{Extractor, Profile, Row, Vocabulary};
use foldline_frontiers::Streams;
use foldline_models::{Model, fit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// What `format` says.
pub const FORMAT: &str = "foldline.model/1.0";
/// Folds and repetitions of the held-out scores.
pub const FOLDS: FoldPlan = FoldPlan::Stem { k: 5, repetitions: 20 };
/// Rows kept for the conformance vectors of a policy.
const SAMPLES: usize = 16;
/// Largest model file read, in bytes: the scores of some half a million boundaries.
const MAX_BYTES: u64 = 256 << 20;

/// A fitted model with its out-of-fold scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// `foldline.model/1.0`.
    pub format: String,
    /// Program and version.
    pub created_by: String,
    /// `LEARNER/REPRESENTATION`.
    pub cell: String,
    /// The target.
    pub target: String,
    /// SHA-256 of the corpus file.
    pub corpus_sha256: String,
    /// Base seed of the folds.
    pub seed: u64,
    /// How the held-out scores came about, such as `stem:5x20`.
    pub folds: String,
    /// Boundaries of the corpus without the target.
    pub left_out: usize,
    /// The conventions; of a method map only the functions seen in the corpus.
    pub profile: Profile,
    /// The representation's name.
    pub representation: String,
    /// Functions and apps with a column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<Vocabulary>,
    /// The learner's name.
    pub learner: String,
    /// The model, fitted on all rows.
    pub model: Model,
    /// What the learner had to say, of the final model and of the held-out ones.
    pub warnings: Vec<String>,
    /// Task of each boundary.
    pub tasks: Vec<String>,
    /// Stem of each boundary.
    pub stems: Vec<String>,
    /// Target value of each boundary.
    pub d: Vec<f64>,
    /// Scores of the final model on the rows it was fitted on.
    pub training_scores: Vec<f64>,
    /// `[repetition][boundary]`: scores of models that had not seen the boundary's stem.
    pub held_out_scores: Vec<Vec<f64>>,
    /// Rows over the whole range of training scores.
    pub samples: Vec<Sample>,
}

/// A row as it stands in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Values of the dense columns.
    pub dense: Vec<f64>,
    /// Indices of the 0/1 columns that are 1.
    pub ones: Vec<u32>,
}

impl Sample {
    /// The row.
    pub fn row(&self) -> Row {
        Row { dense: self.dense.clone(), ones: self.ones.clone() }
    }
}

/// Fits a cell on all rows, and out of fold.
///
/// # Errors
/// `Failure::Usage` for a rule, which has nothing to fit; `Failure::Data` when the cohort cannot be folded or fitted.
pub fn fit_cell(
    corpus: &Corpus,
    cohort: &Cohort<'_>,
    outcome: &Outcome,
    cell: CellName,
    seed: u64,
    progress: &Progress,
) -> Result<ModelFile, Failure> {
    let Scorer::Fitted(learner, representation) = cell.0 else {
        return Err(Failure::Usage(format!("{cell} is a rule: there is nothing to fit or freeze")));
    };
    let cannot = |problem: String| Failure::Data(format!("{cell}: {problem}"));
    let profile = seen_profile(corpus, cohort);
    let prefixes = || cohort.boundaries.iter().map(|boundary| &boundary.prefix);
    let extractor = Extractor::for_cohort(representation, profile.clone(), prefixes());
    let mut workshop = Workshop::new(cohort, &profile, Streams::new(seed));
    let table = workshop.table(representation)?;
    let folds = workshop.folds(FOLDS).map_err(cannot)?;
    let bar = progress.stage(&cell.to_string(), folds.repetitions() * folds.k());
    let held_out = workshop.fit(learner, representation, &folds, outcome, || bar.tick()).map_err(cannot)?;
    bar.done();
    let y: Vec<f64> = if learner.is_regression() {
        outcome.d.clone()
    } else {
        outcome.labels.iter().map(|&label| f64::from(u8::from(label))).collect()
    };
    let all: Vec<u32> = (0..cohort.n() as u32).collect();
    let fitted = fit(learner, &table, &all, &y).map_err(|error| cannot(error.to_string()))?;
    let training_scores = fitted.model.score_rows(&table, &all);
    let warnings: BTreeSet<String> =
        fitted.warnings.into_iter().chain(held_out.warnings.into_iter().map(|warning| warning.text)).collect();
    let samples = spread(&training_scores).into_iter().map(|row| {
        let row = &table.rows()[row];
        Sample { dense: row.dense.clone(), ones: row.ones.clone() }
    });
    Ok(ModelFile {
        format: FORMAT.to_owned(),
        created_by: format!("foldline {}", env!("CARGO_PKG_VERSION")),
        cell: cell.to_string(),
        target: outcome.target.to_string(),
        corpus_sha256: corpus.sha256.clone(),
        seed,
        folds: FOLDS.to_string(),
        left_out: cohort.left_out,
        representation: representation.name().to_owned(),
        vocabulary: representation.has_vocabulary().then(|| extractor.vocabulary.clone()),
        learner: learner.name().to_owned(),
        model: fitted.model,
        warnings: warnings.into_iter().collect(),
        tasks: cohort.boundaries.iter().map(|boundary| boundary.task_id.clone()).collect(),
        stems: cohort.boundaries.iter().map(|boundary| boundary.stem.clone()).collect(),
        d: outcome.d.clone(),
        training_scores,
        held_out_scores: held_out.scores,
        samples: samples.collect(),
        profile,
    })
}

/// The profile with a method map cut down to the functions seen in the cohort: maps are not ours to pass on, and the
/// features of the cohort do not change.
fn seen_profile(corpus: &Corpus, cohort: &Cohort<'_>) -> Profile {
    let seen: BTreeSet<&str> =
        cohort.boundaries.iter().flat_map(|b| b.prefix.historical_functions.iter().map(String::as_str)).collect();
    let mut profile = corpus.profile.clone();
    if let Some(effects) = &mut profile.effects {
        effects.retain(|function, _| seen.contains(function.as_str()));
    }
    profile
}

/// Rows at even ranks of the scores, the lowest and the highest among them.
fn spread(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
    let last = order.len().saturating_sub(1);
    (0..SAMPLES).filter_map(|at| order.get(at * last / (SAMPLES - 1)).copied()).collect()
}

impl ModelFile {
    /// Reads a model file.
    ///
    /// # Errors
    /// `Failure::Data` naming the file and what is wrong with it.
    pub fn read(path: &Path) -> Result<ModelFile, Failure> {
        let cannot = |problem: String| Failure::Data(format!("{}: {problem}", path.display()));
        let bytes = read_bounded(path).map_err(cannot)?;
        let stated: Stated = serde_json::from_slice(&bytes).map_err(|error| cannot(format!("is no JSON: {error}")))?;
        if stated.format != FORMAT {
            return Err(cannot(format!("its format is {:?}, expected {FORMAT:?}", stated.format)));
        }
        let model: ModelFile =
            serde_json::from_slice(&bytes).map_err(|error| cannot(format!("is no model file: {error}")))?;
        let n = model.d.len();
        let parallel = [model.tasks.len(), model.stems.len(), model.training_scores.len()];
        if parallel.iter().chain(model.held_out_scores.iter().map(Vec::len).collect::<Vec<_>>().iter()).any(|&m| m != n)
        {
            return Err(cannot("its arrays are not of one length; it was cut or edited".to_owned()));
        }
        Ok(model)
    }
}

/// The bytes of a file that is no larger than a model file may be: by its size if it states one, and by what is read.
fn read_bounded(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let large = || format!("is larger than {} MiB, the most a model file may have; is it one?", MAX_BYTES >> 20);
    let file = std::fs::File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.len() > MAX_BYTES {
        return Err(large());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES { Err(large()) } else { Ok(bytes) }
}

/// The format alone, read first so that another version is named as such.
#[derive(Deserialize)]
struct Stated {
    #[serde(default)]
    format: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_larger_than_any_model_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MAX_BYTES + 1).unwrap();
        let Err(Failure::Data(reason)) = ModelFile::read(file.path()) else { panic!("it was read") };
        assert!(reason.contains("larger than 256 MiB"), "{reason}");
    }

    #[test]
    fn samples_span_the_scores() {
        let scores: Vec<f64> = (0..100).map(|n| f64::from((n * 37) % 100)).collect();
        let picked: Vec<f64> = spread(&scores).into_iter().map(|row| scores[row]).collect();
        assert_eq!((picked.len(), picked[0], picked[15]), (16, 0.0, 99.0));
        assert!(picked.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(spread(&[0.5]), vec![0; 16]);
        assert!(spread(&[]).is_empty());
    }
}
