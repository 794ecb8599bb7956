//! The analyses that build on judged cells: sensitivity, grid, yardstick, importance.

use super::cohort::{Cohort, Outcome};
use super::judge::refused;
use super::protocol::{CellName, FoldPlan, Protocol, Scorer};
use super::scorers::Workshop;
use crate::cmd::Failure;
use crate::progress::Progress;
use crate::results::{
    Best, CellResult, GridResult, ImportanceResult, LeaveOneOutResult, NamedEstimate, Refused, SensitivityResult,
    TriggerAgainstReplicate, YardstickResult, YardstickRow,
};
use foldline_features::{Arm, Channel, Horizon, Representation, Target};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::cell::{Cell, Statistic};
use foldline_frontiers::cross_fit::leave_one_stem_out;
use foldline_frontiers::icc::{GroupedValues, icc_by_cluster, icc_of_rollouts};
use foldline_frontiers::importance::{ColumnGroup, permutation_importance};
use foldline_frontiers::ranking::{RankCorrelation, auroc, auroc_per_repetition, average_scores};
use foldline_frontiers::splits::SplitHalves;
use foldline_frontiers::yardstick::{Reading, ReplicateRanking, yardstick};
use foldline_frontiers::{Estimate, Streams, Unit, Value};
use foldline_models::Learner;

/// What every stage needs.
pub struct Stages<'a, 'c> {
    /// Tables and folds.
    pub workshop: &'a mut Workshop<'c>,
    /// The protocol, draws applied.
    pub protocol: &'a Protocol,
    /// The cohort.
    pub cohort: &'a Cohort<'c>,
    /// The primary outcome.
    pub outcome: &'a Outcome,
    /// Randomness.
    pub streams: Streams,
    /// Bars.
    pub progress: &'a Progress,
    /// What could not be computed.
    pub absent: &'a mut Vec<Refused>,
}

impl Stages<'_, '_> {
    pub(super) fn refuse(&mut self, analysis: impl Into<String>, reason: impl Into<String>) {
        self.absent.push(Refused { analysis: analysis.into(), reason: reason.into() });
    }

    /// A protocol target on this cohort: for an observational run the same channel and horizon of its arm.
    pub(super) fn target_here(&self, target: Target) -> Target {
        match self.protocol.target {
            Target::Arm(arm, ..) => Target::Arm(arm, target.channel(), target.horizon()),
            Target::Paired(..) => target,
        }
    }

    /// Refits each best cell to the other targets, under task-grouped folds, and as a regression.
    ///
    /// # Errors
    /// `Failure` for input no estimator takes; what the corpus cannot answer is recorded instead.
    pub fn sensitivity(&mut self, best: &[Best]) -> Result<Vec<SensitivityResult>, Failure> {
        let Some(plan) = self.protocol.sensitivity.clone() else { return Ok(Vec::new()) };
        let task = Draws::new(&self.streams, Unit::Task, self.cohort.tasks.len(), self.protocol.draws.extension);
        let stem = Draws::new(&self.streams, Unit::Stem, self.cohort.stems.len(), self.protocol.draws.extension);
        let mut results = Vec::new();
        for best in best {
            let Some(CellName(Scorer::Fitted(learner, representation))) = best.cell else { continue };
            let group = self.protocol.groups.iter().find(|group| group.name == best.group);
            let Some(folds) = group.map(|group| group.folds) else { continue };
            let mut refits: Vec<(Learner, Target, FoldPlan)> =
                plan.targets.iter().map(|target| (learner, self.target_here(*target), folds)).collect();
            refits.push((learner, self.protocol.target, plan.task_folds));
            if plan.regression && learner == Learner::Boosted {
                refits.push((Learner::BoostedRegression, self.protocol.target, folds));
            }
            for (learner, target, folds) in refits {
                let name = CellName(Scorer::Fitted(learner, representation)).to_string();
                match self.refit(learner, representation, target, folds, &task, &stem)? {
                    Ok(result) => {
                        results.push(SensitivityResult { cell: name, group: best.group.clone(), ..result });
                    }
                    Err(reason) => self.refuse(format!("sensitivity of {name}: {target}, {folds}"), reason),
                }
            }
        }
        Ok(results)
    }

    fn refit(
        &mut self,
        learner: Learner,
        representation: Representation,
        target: Target,
        fold_plan: FoldPlan,
        task: &Draws,
        stem: &Draws,
    ) -> Result<Result<SensitivityResult, String>, Failure> {
        let outcome = self.cohort.outcome(target)?;
        let folds = match self.workshop.folds(fold_plan) {
            Ok(folds) => folds,
            Err(reason) => return Ok(Err(reason)),
        };
        let bar = self.progress.stage(&format!("{learner}/{representation} {target}"), folds.k() * folds.repetitions());
        let fitted = self.workshop.fit(learner, representation, &folds, &outcome, || bar.tick());
        bar.done();
        let fitted = match fitted {
            Ok(fitted) => fitted,
            Err(reason) => return Ok(Err(reason)),
        };
        let averaged = average_scores(&fitted.scores).map_err(refused)?;
        let mut result = SensitivityResult {
            cell: String::new(),
            group: String::new(),
            target: target.to_string(),
            folds: fold_plan.to_string(),
            auroc: None,
            auroc_per_repetition: None,
            spearman: None,
        };
        if learner.is_regression() {
            let correlation = RankCorrelation::new(&averaged, &outcome.d).map_err(refused)?;
            let over = |draws: &Draws, clusters: &[u32]| {
                let values = draws.map(Vec::new, |times: &mut Vec<u32>, multiplicity| {
                    times.clear();
                    times.extend(clusters.iter().map(|&cluster| multiplicity[cluster as usize]));
                    correlation.with_weights(times)
                });
                draws.interval(values)
            };
            let point = correlation.with_weights(&vec![1; averaged.len()]);
            result.spearman = Some(
                Estimate::new(point).with(over(task, self.cohort.tasks.of())).with(over(stem, self.cohort.stems.of())),
            );
        } else {
            let cell = |clusters| {
                Cell::new(&averaged, &outcome.labels, &outcome.mass, &outcome.d, clusters, self.protocol.retain)
                    .map_err(refused)
            };
            let (by_task, by_stem) = (cell(&self.cohort.tasks)?, cell(&self.cohort.stems)?);
            result.auroc = Some(
                Estimate::new(by_task.point().get(Statistic::Auroc))
                    .with(task.interval(by_task.aurocs(task)))
                    .with(stem.interval(by_stem.aurocs(stem))),
            );
            result.auroc_per_repetition = Some(auroc_per_repetition(&fitted.scores, &outcome.labels).map_err(refused)?);
        }
        Ok(Ok(result))
    }

    /// The frozen policies refitted to every horizon and channel under the same folds (the paper's Table 11), and
    /// refitted with each stem left out.
    ///
    /// # Errors
    /// As [`Stages::sensitivity`].
    pub fn grid(&mut self) -> Result<(Vec<GridResult>, Vec<LeaveOneOutResult>), Failure> {
        let (mut grid, mut left_out) = (Vec::new(), Vec::new());
        let Some(group) = self.protocol.groups.iter().find(|group| group.name == "frozen").cloned() else {
            return Ok((grid, left_out));
        };
        let bar = self.progress.stage("grid, leave one stem out", group.cells.len() * 10);
        for name in &group.cells {
            let Scorer::Fitted(learner, representation) = name.0 else { continue };
            for (horizon, channel) in Horizon::ALL.into_iter().flat_map(|h| Channel::ALL.map(|c| (h, c))) {
                let target = self.target_here(Target::Paired(channel, horizon));
                let outcome = self.cohort.outcome(target)?;
                let fitted = self
                    .workshop
                    .folds(group.folds)
                    .and_then(|folds| self.workshop.fit(learner, representation, &folds, &outcome, || ()));
                match fitted {
                    Ok(fitted) => grid.push(GridResult {
                        cell: name.to_string(),
                        target: target.to_string(),
                        auroc: auroc(&average_scores(&fitted.scores).map_err(refused)?, &outcome.labels)
                            .map_err(refused)?,
                    }),
                    Err(reason) => self.refuse(format!("grid: {name}, {target}"), reason),
                }
                bar.tick();
            }
            let table = self.workshop.table(representation)?;
            let stems: Vec<&str> = self.cohort.boundaries.iter().map(|boundary| boundary.stem.as_str()).collect();
            match leave_one_stem_out(learner, &table, &self.outcome.labels, &stems) {
                Ok(result) => left_out.push(LeaveOneOutResult {
                    cell: name.to_string(),
                    mean: result.mean,
                    defined: result.defined,
                    stems: result.folds.len(),
                }),
                Err(error) => self.refuse(format!("leave one stem out: {name}"), error.to_string()),
            }
            bar.tick();
        }
        bar.done();
        Ok((grid, left_out))
    }

    /// The split-half replicate yardstick, alone and against every recorded trigger.
    ///
    /// # Errors
    /// As [`Stages::sensitivity`].
    pub fn yardstick(
        &mut self,
        cells: &[CellResult],
        averaged: &[(String, Vec<f64>)],
        nested: (Value, Value),
    ) -> Result<Option<YardstickResult>, Failure> {
        let Some(plan) = self.protocol.yardstick else { return Ok(None) };
        let first = self.cohort.first();
        let n = self.cohort.n();
        let subsets: [(&str, Vec<bool>); 3] =
            [("all", vec![true; n]), ("first", first.clone()), ("later", first.iter().map(|first| !first).collect())];
        let task = Draws::new(&self.streams, Unit::Task, self.cohort.tasks.len(), self.protocol.draws.extension);
        let stem = Draws::new(&self.streams, Unit::Stem, self.cohort.stems.len(), self.protocol.draws.extension);
        let resamples = [(&task, &self.cohort.tasks), (&stem, &self.cohort.stems)];
        let primary = self.protocol.target;
        let mut targets: Vec<Target> = vec![primary];
        targets.extend(
            Horizon::ALL
                .into_iter()
                .map(|horizon| self.target_here(Target::Paired(primary.channel(), horizon)))
                .filter(|target| *target != primary),
        );
        let bar = self.progress.stage("replicate yardstick", 3 * (targets.len() + 1) + averaged.len());
        let (mut rows, mut triggers) = (Vec::new(), Vec::new());
        for target in targets {
            let splits =
                SplitHalves::random(&self.cohort.burdens, target, &self.streams, plan.splits).map_err(refused)?;
            if target == primary && splits.left_out() == n {
                bar.done();
                let reason = "no boundary has two rollouts in each arm that the target needs: replay boundaries again";
                self.refuse(format!("yardstick: {target}"), reason.to_owned());
                return Ok(None);
            }
            let mut roles = vec![(false, splits)];
            if target == primary {
                roles.push((true, roles[0].1.mirrored()));
            }
            for (mirrored, splits) in &roles {
                for (subset, include) in &subsets {
                    match yardstick(splits, include, self.protocol.retain, &resamples) {
                        Ok(statistics) => rows.push(YardstickRow {
                            target: target.to_string(),
                            subset: (*subset).to_owned(),
                            mirrored: *mirrored,
                            statistics,
                        }),
                        Err(error) => self.refuse(format!("yardstick: {target}, {subset}"), error.to_string()),
                    }
                    bar.tick();
                }
            }
            if target != primary {
                continue;
            }
            let replicate = rows.first().and_then(|row| row.statistics.auroc.mean.interval(Unit::Task).copied());
            let ranking = ReplicateRanking::new(&roles[0].1, &resamples).map_err(refused)?;
            for (name, scores) in averaged {
                bar.tick();
                let trigger = cells
                    .iter()
                    .find(|cell| cell.name == *name)
                    .and_then(|cell| cell.auroc_averaged.interval(Unit::Task));
                let compared = ranking.against(scores, &self.outcome.labels);
                let reading = match (replicate, trigger) {
                    (Some(replicate), Some(trigger)) => Reading::of(&replicate, trigger),
                    _ => Reading::Unknown,
                };
                match compared {
                    Ok(comparison) => triggers.push(TriggerAgainstReplicate {
                        cell: name.clone(),
                        comparison,
                        reading: reading.sentence().to_owned(),
                    }),
                    Err(error) => self.refuse(format!("{name} against the replicate"), error.to_string()),
                }
            }
        }
        bar.done();
        if rows.is_empty() {
            return Ok(None);
        }
        Ok(Some(YardstickResult {
            rows,
            triggers,
            icc: self.icc(&task)?,
            nested_positive_rate: nested.0,
            nested_sign_changes: nested.1,
        }))
    }

    /// Intraclass correlations: per-rollout counts across boundaries by arm, and d by task and by stem.
    fn icc(&self, task: &Draws) -> Result<Vec<NamedEstimate>, Failure> {
        let target = self.protocol.target;
        let mut rows = Vec::new();
        for arm in [Arm::Pre, Arm::Post] {
            let counts: Vec<Vec<f64>> = self
                .cohort
                .burdens
                .iter()
                .map(|burden| {
                    burden
                        .arm(arm)
                        .iter()
                        .map(|counts| f64::from(counts.get(target.channel(), target.horizon())))
                        .collect()
                })
                .collect();
            if counts.iter().all(Vec::is_empty) {
                continue;
            }
            let estimate = icc_of_rollouts(&counts, &self.cohort.tasks, task).map_err(refused)?;
            rows.push(NamedEstimate { name: format!("{} rollouts by boundary", arm.name()), estimate });
        }
        let d = &self.outcome.d;
        let by_task = icc_by_cluster(d, &self.cohort.tasks, task).map_err(refused)?;
        rows.push(NamedEstimate { name: format!("{target} by task"), estimate: by_task });
        // point only: an interval that resamples tasks is not valid for a grouping by stem (the paper's Appendix F)
        let stems = &self.cohort.stems;
        let by_stem = GroupedValues::new(d, stems.of(), stems.len()).map_err(refused)?.icc();
        rows.push(NamedEstimate { name: format!("{target} by stem"), estimate: Estimate::new(by_stem) });
        Ok(rows)
    }

    /// Permutation importance of the protocol's cell, by column and by named group.
    ///
    /// # Errors
    /// As [`Stages::sensitivity`].
    pub fn importance(&mut self) -> Result<Option<ImportanceResult>, Failure> {
        let Some(plan) = self.protocol.importance.clone() else { return Ok(None) };
        let (CellName(Scorer::Fitted(learner, representation)), Some(group)) =
            (plan.cell, self.protocol.groups.iter().find(|group| group.cells.contains(&plan.cell)))
        else {
            self.refuse("permutation importance", format!("{} is no fitted cell of the protocol", plan.cell));
            return Ok(None);
        };
        let folds = match self.workshop.folds(group.folds) {
            Ok(folds) => folds.first_repetitions(plan.repetitions.unwrap_or(usize::MAX)),
            Err(reason) => {
                self.refuse("permutation importance", reason);
                return Ok(None);
            }
        };
        let bar = self.progress.stage("permutation importance", folds.k() * folds.repetitions());
        let fitted = self.workshop.fit(learner, representation, &folds, self.outcome, || bar.tick());
        let fitted = match fitted {
            Ok(fitted) => fitted,
            Err(reason) => {
                self.refuse("permutation importance", reason);
                return Ok(None);
            }
        };
        let table = self.workshop.table(representation)?;
        let mut groups = ColumnGroup::each_column(&table);
        for (name, columns) in &plan.groups {
            let found: Option<Vec<usize>> =
                columns.iter().map(|column| table.columns().iter().position(|other| other == column)).collect();
            match found {
                Some(columns) => groups.push(ColumnGroup { name: format!("group:{name}"), columns }),
                None => self
                    .refuse(format!("importance of group {name}"), format!("{} lacks one of its columns", plan.cell)),
            }
        }
        let mut columns = permutation_importance(&table, &folds, &fitted, &self.outcome.labels, &groups, &self.streams)
            .map_err(refused)?;
        bar.done();
        let groups = columns.split_off(table.n_columns());
        Ok(Some(ImportanceResult { cell: plan.cell.to_string(), repetitions: folds.repetitions(), columns, groups }))
    }
}
