//! Scores of cells: out of fold for learners, straight from the boundary for rules.

use super::cohort::{Cohort, Outcome};
use super::protocol::{FoldPlan, Rule};
use crate::cmd::Failure;
use foldline_features::{Extractor, Profile, Representation, Table};
use foldline_frontiers::cross_fit::{CrossFit, CrossFitError, cross_fit};
use foldline_frontiers::{Folds, Streams};
use foldline_models::Learner;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a cell's boundaries were given, or why they could not be scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellScores {
    /// `[repetition][boundary]`.
    pub scores: Vec<Vec<f64>>,
    /// Models of a single repetition in words, by fold.
    pub models: Vec<String>,
    /// Warnings of the fits, each once with how many fits gave it.
    pub warnings: Vec<String>,
}

/// Design matrices and folds of a cohort, each made once.
pub struct Workshop<'a> {
    cohort: &'a Cohort<'a>,
    profile: &'a Profile,
    streams: Streams,
    tables: BTreeMap<Representation, Rc<Table>>,
    folds: BTreeMap<FoldPlan, Rc<Folds>>,
}

impl<'a> Workshop<'a> {
    /// An empty workshop. `given` are folds read from files, which stand for any plan of the same unit.
    pub fn new(cohort: &'a Cohort<'a>, profile: &'a Profile, streams: Streams) -> Workshop<'a> {
        Workshop { cohort, profile, streams, tables: BTreeMap::new(), folds: BTreeMap::new() }
    }

    /// Puts folds from a file in the place of a plan.
    pub fn give_folds(&mut self, plan: FoldPlan, folds: Folds) {
        self.folds.insert(plan, Rc::new(folds));
    }

    /// The folds of a plan.
    ///
    /// # Errors
    /// Why the cohort cannot be folded so, in a sentence.
    pub fn folds(&mut self, plan: FoldPlan) -> Result<Rc<Folds>, String> {
        if let Some(folds) = self.folds.get(&plan) {
            return Ok(Rc::clone(folds));
        }
        let folds = match plan {
            FoldPlan::None => return Err("nothing is fitted".to_owned()),
            FoldPlan::Task { k, repetitions } => {
                let ids: Vec<&str> = self.cohort.boundaries.iter().map(|boundary| boundary.task_id.as_str()).collect();
                Folds::grouped(&ids, "task", k, repetitions, &self.streams)
            }
            FoldPlan::Stem { k, repetitions } => {
                let ids: Vec<&str> = self.cohort.boundaries.iter().map(|boundary| boundary.stem.as_str()).collect();
                Folds::grouped(&ids, "stem", k, repetitions, &self.streams)
            }
        };
        let folds = Rc::new(folds.map_err(|error| error.to_string())?);
        self.folds.insert(plan, Rc::clone(&folds));
        Ok(folds)
    }

    /// All folds made or given so far, by plan.
    pub fn all_folds(&self) -> impl Iterator<Item = (FoldPlan, &Folds)> {
        self.folds.iter().map(|(plan, folds)| (*plan, folds.as_ref()))
    }

    /// The design matrix of a representation, with the cohort's vocabulary.
    ///
    /// # Errors
    /// `Failure::Data`; extraction gives finite rows, so none is expected.
    pub fn table(&mut self, representation: Representation) -> Result<Rc<Table>, Failure> {
        if let Some(table) = self.tables.get(&representation) {
            return Ok(Rc::clone(table));
        }
        let prefixes = || self.cohort.boundaries.iter().map(|boundary| &boundary.prefix);
        let extractor = Extractor::for_cohort(representation, self.profile.clone(), prefixes());
        let table = Rc::new(extractor.table(prefixes()).map_err(Failure::Data)?);
        self.tables.insert(representation, Rc::clone(&table));
        Ok(table)
    }

    /// Fits a learner on a representation under given folds.
    ///
    /// # Errors
    /// Why it cannot be done, in a sentence.
    pub fn fit(
        &mut self,
        learner: Learner,
        representation: Representation,
        folds: &Folds,
        outcome: &Outcome,
        done: impl Fn() + Sync,
    ) -> Result<CrossFit, String> {
        let table = self.table(representation).map_err(|failure| failure.to_string())?;
        let y: Vec<f64> = if learner.is_regression() {
            outcome.d.clone()
        } else {
            outcome.labels.iter().map(|&label| f64::from(u8::from(label))).collect()
        };
        cross_fit(learner, &table, folds, &y, done).map_err(|error: CrossFitError| error.to_string())
    }

    /// Scores of a rule; one repetition.
    ///
    /// # Errors
    /// What the corpus lacks for it, in a sentence.
    pub fn rule(&self, rule: Rule) -> Result<CellScores, String> {
        let boundaries = &self.cohort.boundaries;
        let scores: Vec<f64> = match rule {
            // a constant score has two points, Global ON and Global OFF; the operating point is ON, and OFF is on the frontier
            Rule::AlwaysAllow => vec![0.0; boundaries.len()],
            Rule::AlwaysBlock => vec![1.0; boundaries.len()],
            Rule::Random => {
                let mut stream = self.streams.stream("rule/random", 0);
                boundaries.iter().map(|_| stream.unit()).collect()
            }
            Rule::PrefixLength => boundaries.iter().map(|b| -(b.prefix.prefix_steps as f64)).collect(),
            Rule::CompactionIndex => boundaries.iter().map(|b| -(b.prefix.compaction_index as f64)).collect(),
            Rule::FirstCompaction => {
                boundaries.iter().map(|b| f64::from(u8::from(b.prefix.compaction_index == 1))).collect()
            }
            Rule::TokenBudget => {
                let tokens: Option<Vec<f64>> =
                    boundaries.iter().map(|b| b.context.tokens_before.map(|tokens| -(tokens as f64))).collect();
                tokens.ok_or_else(|| {
                    "`tokens_before` is missing at some boundary, so a token budget cannot be judged".to_owned()
                })?
            }
        };
        Ok(CellScores { scores: vec![scores], models: Vec::new(), warnings: Vec::new() })
    }
}

impl CellScores {
    /// Takes from a cross-fit what is recorded: scores, and the models of a single repetition in words.
    pub fn of(fitted: CrossFit, table: &Table) -> CellScores {
        let models = match fitted.models.as_slice() {
            [single] => single
                .iter()
                .map(|model| {
                    model
                        .as_ref()
                        .map_or_else(|| "no boundary in this fold".to_owned(), |model| model.describe(table.columns()))
                })
                .collect(),
            _ => Vec::new(),
        };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for warning in fitted.warnings {
            *counts.entry(warning.text).or_insert(0) += 1;
        }
        let warnings = counts.into_iter().map(|(text, count)| format!("{text} ({count} fits)")).collect();
        CellScores { scores: fitted.scores, models, warnings }
    }
}
