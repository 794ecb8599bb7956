//! One scored cell, judged: every estimator of protocol section 5 with its intervals.

use super::cohort::{Cohort, Outcome};
use crate::cmd::Failure;
use crate::results::{CellResult, FRONTIER_POINTS, OperatingResult, SignedParts, SubsetResult};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::cell::{Cell, Replicate, Statistic, interval};
use foldline_frontiers::frontier::signed_value;
use foldline_frontiers::ranking::{
    auroc, auroc_per_fold, auroc_per_repetition, average_precision_per_repetition, average_scores,
};
use foldline_frontiers::{Estimate, EstimatorError, Folds, FrontierPoint, Interval, Retain, Value};
use std::collections::BTreeSet;

/// A cell's scores and what they were made with.
pub struct Scored<'a> {
    /// The cell's name.
    pub name: String,
    /// Its group.
    pub group: &'a str,
    /// The fold plan in words.
    pub folds_text: String,
    /// Columns of the representation.
    pub columns: usize,
    /// `[repetition][boundary]`, out of fold.
    pub scores: &'a [Vec<f64>],
    /// The folds; `None` where nothing was fitted.
    pub folds: Option<&'a Folds>,
    /// Fitted models in words.
    pub models: Vec<String>,
    /// Warnings of the fits.
    pub warnings: Vec<String>,
}

/// The draws in which cells are judged; the same for every cell, so that differences are paired.
pub struct Judges<'a> {
    /// Task-clustered draws for AUROC and the operating point.
    pub task: &'a Draws,
    /// Task-clustered draws for the signed value (the first of `task`).
    pub task_signed: &'a Draws,
    /// Stem-clustered draws.
    pub stem: &'a Draws,
    /// Share that must stay allowed.
    pub retain: Retain,
}

/// Turns an estimator's refusal into a failure; it means a bug or an unusable score, never a property of good data.
pub fn refused(error: EstimatorError) -> Failure {
    Failure::Data(format!("an estimator refused its input: {error}"))
}

impl Judges<'_> {
    /// Judges one cell on the cohort's outcome. `nested` are the replicates of the nested bootstrap with the draws they
    /// were made in, where there are any.
    ///
    /// # Errors
    /// `Failure::Data` for scores that are not finite.
    pub fn judge(
        &self,
        scored: Scored<'_>,
        cohort: &Cohort<'_>,
        outcome: &Outcome,
        nested: Option<&dyn Fn(Statistic) -> Interval>,
    ) -> Result<CellResult, Failure> {
        let averaged = average_scores(scored.scores).map_err(refused)?;
        let (labels, mass, d) = (&outcome.labels, &outcome.mass, &outcome.d);
        let by_task = Cell::new(&averaged, labels, mass, d, &cohort.tasks, self.retain).map_err(refused)?;
        let by_stem = Cell::new(&averaged, labels, mass, d, &cohort.stems, self.retain).map_err(refused)?;
        let task: Vec<Replicate> = by_task.replicates(self.task);
        let stem: Vec<Replicate> = by_stem.replicates(self.stem);
        let task_signed = &task[..self.task_signed.len().min(task.len())];
        let point = by_task.point();
        let estimate = |statistic: Statistic| {
            let estimate = Estimate::new(point.get(statistic))
                .with(interval(&task, statistic, self.task))
                .with(interval(&stem, statistic, self.stem));
            nested.iter().fold(estimate, |estimate, nested| estimate.with(nested(statistic)))
        };
        let signed_estimate = |statistic: Statistic| {
            let estimate = Estimate::new(point.get(statistic))
                .with(interval(task_signed, statistic, self.task_signed))
                .with(interval(&stem, statistic, self.stem));
            nested.iter().fold(estimate, |estimate, nested| estimate.with(nested(statistic)))
        };
        let operating = by_task.operating_point();
        let single = scored.folds.filter(|_| scored.scores.len() == 1);
        let positive_rate =
            single.map(|folds| (0..folds.k()).map(|fold| positive_rate(&folds.test_rows(0, fold), labels)).collect());
        let pooled = match scored.scores {
            [_] => estimate(Statistic::Auroc),
            several => self.pooled(several, cohort, outcome)?,
        };
        let signed = signed_value(&averaged, d, operating.point.threshold).map_err(refused)?;
        Ok(CellResult {
            name: scored.name,
            group: scored.group.to_owned(),
            folds: scored.folds_text,
            columns: scored.columns,
            auroc_averaged: estimate(Statistic::Auroc),
            auroc_pooled: pooled,
            auroc_per_repetition: auroc_per_repetition(scored.scores, labels).map_err(refused)?,
            auroc_per_fold: single
                .map(|folds| auroc_per_fold(&scored.scores[0], labels, folds, 0))
                .transpose()
                .map_err(refused)?,
            positive_rate_per_fold: positive_rate,
            ap: estimate(Statistic::Ap),
            ap_per_repetition: average_precision_per_repetition(scored.scores, labels).map_err(refused)?,
            distinct_scores: by_task.distinct_scores(),
            operating_point: OperatingResult {
                threshold: operating.point.threshold,
                allowed: operating.point.allowed,
                blocked: operating.point.blocked,
                blocked_positives: operating.point.blocked_positives,
                hypergeometric_sd: operating.hypergeometric_sd,
            },
            retained: estimate(Statistic::Retained),
            avoided: estimate(Statistic::Avoided),
            mass: estimate(Statistic::Mass),
            advantage_count: estimate(Statistic::AdvantageCount),
            advantage_mass: estimate(Statistic::AdvantageMass),
            signed_value: signed_estimate(Statistic::V),
            signed_value_minus_e_rand: signed_estimate(Statistic::VMinusERand),
            signed_value_per_blocked: signed_estimate(Statistic::VPerBlocked),
            positive_part_minus_e_rand: signed_estimate(Statistic::PositivePartMinusERand),
            signed_parts: SignedParts {
                s_plus: signed.s_plus,
                s_minus: signed.s_minus,
                negative: signed.negative,
                total: signed.total,
                e_rand: signed.e_rand,
            },
            frontier: thinned(by_task.frontier(), &operating.point),
            subsets: subsets(&averaged, cohort, outcome)?,
            models: scored.models,
            warnings: scored.warnings,
        })
    }

    /// AUROC of the scores of all repetitions together, every repetition's boundaries drawn with their tasks.
    fn pooled(&self, scores: &[Vec<f64>], cohort: &Cohort<'_>, outcome: &Outcome) -> Result<Estimate, Failure> {
        let times = scores.len();
        let rows: Vec<usize> = (0..times).flat_map(|_| 0..cohort.n()).collect();
        let cell = Cell::new(
            &scores.concat(),
            &outcome.labels.repeat(times),
            &outcome.mass.repeat(times),
            &outcome.d.repeat(times),
            &cohort.tasks.of_rows(&rows),
            self.retain,
        )
        .map_err(refused)?;
        Ok(Estimate::new(cell.point().get(Statistic::Auroc)).with(self.task.interval(cell.aurocs(self.task))))
    }
}

/// At most [`FRONTIER_POINTS`] points, the ends and the operating point among them.
fn thinned(points: &[FrontierPoint], operating: &FrontierPoint) -> Vec<FrontierPoint> {
    if points.len() <= FRONTIER_POINTS {
        return points.to_vec();
    }
    let last = points.len() - 1;
    let even = (0..FRONTIER_POINTS - 1).map(|index| index * last / (FRONTIER_POINTS - 2));
    let chosen = points.iter().position(|point| point.threshold == operating.threshold);
    even.chain(chosen).collect::<BTreeSet<_>>().into_iter().map(|index| points[index]).collect()
}

fn positive_rate(rows: &[u32], labels: &[bool]) -> Value {
    let positive = rows.iter().filter(|&&row| labels[row as usize]).count();
    match rows.len() {
        0 => Value::Undefined(foldline_frontiers::Reason::NoRows),
        n => Value::Defined(positive as f64 / n as f64),
    }
}

/// AUROC at first and later boundaries and where |d| >= 1/5, decided in exact arithmetic.
fn subsets(scores: &[f64], cohort: &Cohort<'_>, outcome: &Outcome) -> Result<Vec<SubsetResult>, Failure> {
    let first = cohort.first();
    let keep: [(&str, &dyn Fn(usize) -> bool); 3] = [
        ("first", &|row| first[row]),
        ("later", &|row| !first[row]),
        ("|d| >= 1/5", &|row| outcome.deltas[row].abs_at_least(1, 5)),
    ];
    keep.into_iter()
        .map(|(subset, keep)| {
            let rows: Vec<usize> = (0..scores.len()).filter(|&row| keep(row)).collect();
            let scores: Vec<f64> = rows.iter().map(|&row| scores[row]).collect();
            let labels: Vec<bool> = rows.iter().map(|&row| outcome.labels[row]).collect();
            Ok(SubsetResult {
                subset: subset.to_owned(),
                n: rows.len(),
                positives: labels.iter().filter(|&&label| label).count(),
                auroc: Estimate::new(auroc(&scores, &labels).map_err(refused)?),
            })
        })
        .collect()
}
