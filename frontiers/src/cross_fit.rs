//! Out-of-fold scores: the only place that fits while evaluating.
//!
//! A boundary is scored by a model that saw no boundary of its fold. Whatever is fitted (scaling, bins, splits) is
//! fitted inside `foldline_models::fit`, which is given the training rows alone.

use crate::estimate::EstimatorError;
use crate::folds::{FoldError, Folds};
use crate::ranking::{PerFold, auroc_per_fold};
use foldline_features::Table;
use foldline_models::{Learner, Model, ModelError, fit};
use rayon::prelude::*;

/// Out-of-fold scores and the models behind them.
#[derive(Clone, Debug)]
pub struct CrossFit {
    /// `[repetition][row]`: the score of each boundary from the model of its fold.
    pub scores: Vec<Vec<f64>>,
    /// `[repetition][fold]`: the fitted models; nothing for a fold without a boundary.
    pub models: Vec<Vec<Option<Model>>>,
    /// What the learners had to say, in (repetition, fold) order.
    pub warnings: Vec<FitWarning>,
}

/// A learner's warning about one fold's model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitWarning {
    /// The repetition.
    pub repetition: usize,
    /// The fold whose boundaries the model scores.
    pub fold: usize,
    /// The sentence.
    pub text: String,
}

/// Why out-of-fold scores could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrossFitError {
    /// The folds do not fit the rows, or leave nothing to train on.
    #[error(transparent)]
    Folds(#[from] FoldError),
    /// A slice of another length than the table.
    #[error(transparent)]
    Input(#[from] EstimatorError),
    /// A learner refused its training rows.
    #[error("repetition {repetition}, fold {fold}: {source}")]
    Fit {
        /// The repetition.
        repetition: usize,
        /// The fold.
        fold: usize,
        /// What the learner says.
        source: ModelError,
    },
}

/// Fits a learner once for each repetition and fold on the rows outside the fold, and scores the rows inside.
///
/// `y` has one entry per row of the table: 0 or 1, or the outcome for a regression. `done` is called after each fit
/// (for a progress bar), from any thread. Fits run in parallel; results stand in (repetition, fold) order and do not
/// depend on the number of threads.
///
/// # Errors
/// The first failing fit in (repetition, fold) order, or folds that do not fit the table.
pub fn cross_fit(
    learner: Learner,
    table: &Table,
    folds: &Folds,
    y: &[f64],
    done: impl Fn() + Sync,
) -> Result<CrossFit, CrossFitError> {
    crate::estimate::same_length("folds", table.n_rows(), folds.n_rows())?;
    let jobs: Vec<(usize, usize)> =
        (0..folds.repetitions()).flat_map(|repetition| (0..folds.k()).map(move |fold| (repetition, fold))).collect();
    let fitted: Vec<Result<Option<FoldFit>, CrossFitError>> = jobs
        .par_iter()
        .map(|&(repetition, fold)| {
            let result = fit_fold(learner, table, folds, y, repetition, fold);
            done();
            result
        })
        .collect();

    let mut out = CrossFit {
        scores: vec![vec![0.0; table.n_rows()]; folds.repetitions()],
        models: vec![Vec::with_capacity(folds.k()); folds.repetitions()],
        warnings: Vec::new(),
    };
    for ((repetition, fold), result) in jobs.into_iter().zip(fitted) {
        let Some(fit) = result? else {
            out.models[repetition].push(None);
            continue;
        };
        for (&row, score) in fit.rows.iter().zip(fit.scores) {
            out.scores[repetition][row as usize] = score;
        }
        out.models[repetition].push(Some(fit.model));
        out.warnings.extend(fit.warnings.into_iter().map(|text| FitWarning { repetition, fold, text }));
    }
    Ok(out)
}

/// One fold's model with the scores of the fold's rows.
struct FoldFit {
    rows: Vec<u32>,
    scores: Vec<f64>,
    model: Model,
    warnings: Vec<String>,
}

fn fit_fold(
    learner: Learner,
    table: &Table,
    folds: &Folds,
    y: &[f64],
    repetition: usize,
    fold: usize,
) -> Result<Option<FoldFit>, CrossFitError> {
    let test = folds.test_rows(repetition, fold);
    if test.is_empty() {
        return Ok(None);
    }
    let training = folds.training_rows(repetition, fold);
    if training.is_empty() {
        return Err(FoldError::NoTrainingRows { repetition, fold, rows: test.len() }.into());
    }
    let fitted = fit(learner, table, &training, y).map_err(|source| CrossFitError::Fit { repetition, fold, source })?;
    let scores = fitted.model.score_rows(table, &test);
    Ok(Some(FoldFit { rows: test, scores, model: fitted.model, warnings: fitted.warnings }))
}

/// Leave-one-stem-out: the learner is refitted on all other stems and ranks the boundaries within the stem left out.
///
/// `labels` and `stems` have one entry per row of the table. The result holds one AUROC per stem, stems in bytewise
/// order; its mean is over the stems with both classes, whose number is `defined`. A mean of within-stem AUROCs is
/// another estimator than the pooled AUROC and not comparable to it.
///
/// # Errors
/// As [`cross_fit`]; `TooFewGroups` with a single stem.
///
/// Source: protocol section 5; the paper's Appendix E.
pub fn leave_one_stem_out<S: AsRef<str>>(
    learner: Learner,
    table: &Table,
    labels: &[bool],
    stems: &[S],
) -> Result<PerFold, CrossFitError> {
    let folds = Folds::leave_one_out(stems, "stem")?;
    let y: Vec<f64> = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
    let fitted = cross_fit(learner, table, &folds, &y, || ())?;
    Ok(auroc_per_fold(&fitted.scores[0], labels, &folds, 0)?)
}
