//! The boundaries that triggers are compared on, and the triggers' scores in their order.

use crate::cmd::Failure;
use crate::evaluate::cohort::Cohort;
use crate::evaluate::protocol::Rule;
use crate::evaluate::run_folder::{OutcomeRecord, RunFolder};
use crate::evaluate::scorers::Workshop;
use crate::results::Results;
use foldline_features::corpus::Corpus;
use foldline_features::{Burden, RolloutCounts, Target};
use foldline_frontiers::ranking::average_scores;
use foldline_frontiers::{Clusters, Retain, Streams};
use std::collections::BTreeMap;
use std::path::Path;

/// Boundaries with their outcome, parallel arrays in the order of the first run or of the corpus.
#[derive(Clone, Debug)]
pub struct Boundaries {
    /// What was recorded of each.
    pub records: Vec<OutcomeRecord>,
    /// Counts of their rollouts.
    pub burdens: Vec<Burden>,
    /// Their tasks.
    pub tasks: Clusters,
    /// The target.
    pub target: Target,
    /// Share that stays allowed.
    pub retain: Retain,
    /// The target's values.
    pub d: Vec<f64>,
    /// The label, `1[d > 0]`.
    pub labels: Vec<bool>,
    /// max(0, d).
    pub mass: Vec<f64>,
}

/// A trigger's scores on these boundaries.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Its name, unique in a comparison.
    pub name: String,
    /// A run's name, `scores` or `rule`.
    pub from: String,
    /// One score for each boundary; the mean over repetitions for a fitted cell.
    pub scores: Vec<f64>,
}

/// A run with its results.
#[derive(Debug)]
pub struct Run {
    /// How messages name it.
    pub name: String,
    folder: RunFolder,
    /// Its results.
    pub results: Results,
    outcomes: Vec<OutcomeRecord>,
}

/// Recorded scores, `[repetition][boundary]` by cell.
pub type RunScores = BTreeMap<String, Vec<Vec<f64>>>;

impl Run {
    /// Reads a run folder.
    ///
    /// # Errors
    /// `Failure::Data`.
    pub fn open(path: &Path) -> Result<Run, Failure> {
        let folder = RunFolder::open(path)?;
        let (results, outcomes) = (folder.results()?, folder.outcomes()?);
        Ok(Run { name: path.display().to_string(), folder, results, outcomes })
    }

    /// The scores of all its cells.
    ///
    /// # Errors
    /// `Failure::Data`.
    pub fn scores(&self) -> Result<RunScores, Failure> {
        self.folder.scores(&self.outcomes)
    }

    /// The averaged scores of one of its cells, in the order of `boundaries`.
    ///
    /// # Errors
    /// `Failure::Data`.
    pub fn trigger(&self, scores: &RunScores, cell: &str, boundaries: &Boundaries) -> Result<Trigger, Failure> {
        let broken = |problem: String| Failure::Data(format!("{}, scores of {cell}: {problem}", self.name));
        let scores = scores.get(cell).ok_or_else(|| broken("none is recorded".to_owned()))?;
        let averaged = average_scores(scores).map_err(|error| broken(error.to_string()))?;
        let by_id: BTreeMap<&str, f64> =
            self.outcomes.iter().zip(averaged).map(|(record, score)| (record.boundary_id.as_str(), score)).collect();
        let scores = boundaries.records.iter().map(|record| by_id.get(record.boundary_id.as_str()).copied());
        let scores = scores.collect::<Option<Vec<f64>>>().ok_or_else(|| broken("a boundary has none".to_owned()))?;
        Ok(Trigger { name: cell.to_owned(), from: self.name.clone(), scores })
    }
}

impl Boundaries {
    fn new(records: Vec<OutcomeRecord>, target: Target, retain: Retain, from: &str) -> Result<Boundaries, Failure> {
        let burdens: Vec<Burden> = records
            .iter()
            .map(|record| {
                burden(record).ok_or_else(|| {
                    Failure::Data(format!(
                        "{from}, boundary {}: recorded counts that no rollout can have",
                        record.boundary_id
                    ))
                })
            })
            .collect::<Result<_, _>>()?;
        let deltas = burdens.iter().zip(&records).map(|(burden, record)| {
            burden.delta(target).ok_or_else(|| {
                Failure::Data(format!("{from}, boundary {}: has no target {target}", record.boundary_id))
            })
        });
        let deltas = deltas.collect::<Result<Vec<_>, _>>()?;
        if records.is_empty() {
            return Err(Failure::Data(format!("{from}: holds no boundary")));
        }
        Ok(Boundaries {
            tasks: Clusters::new(&records.iter().map(|record| record.task_id.as_str()).collect::<Vec<_>>()),
            d: deltas.iter().map(|delta| delta.value()).collect(),
            labels: deltas.iter().map(|delta| delta.is_positive()).collect(),
            mass: deltas.iter().map(|delta| delta.mass()).collect(),
            records,
            burdens,
            target,
            retain,
        })
    }

    /// The boundaries of runs, which must be the same ones with the same outcomes.
    ///
    /// # Errors
    /// `Failure::Data` naming the first difference: boundaries that one run lacks, other rollouts, another target or
    /// another retained share (unless `retain` says which to take).
    pub fn of_runs(runs: &[Run], retain: Option<Retain>) -> Result<Boundaries, Failure> {
        let Some(first) = runs.first() else { return Err(Failure::Usage("no run to compare".to_owned())) };
        for other in &runs[1..] {
            if let Some(difference) = difference(first, other, retain.is_some()) {
                return Err(Failure::Data(format!(
                    "{} and {} cannot be compared: {difference}",
                    first.name, other.name
                )));
            }
        }
        let protocol = &first.results.protocol;
        Boundaries::new(first.outcomes.clone(), protocol.target, retain.unwrap_or(protocol.retain), &first.name)
    }

    /// The boundaries of a corpus that have the target.
    ///
    /// # Errors
    /// `Failure::Data` where none has it.
    pub fn of_corpus(corpus: &Corpus, target: Target, retain: Retain) -> Result<Boundaries, Failure> {
        let cohort = Cohort::new(corpus, target)?;
        let records = cohort.boundaries.iter().zip(&cohort.burdens);
        Boundaries::new(records.map(|(b, burden)| OutcomeRecord::of(b, burden)).collect(), target, retain, "the corpus")
    }

    /// Scores from a file, in the order of the boundaries.
    ///
    /// # Errors
    /// `Failure::Data` naming a boundary without a score.
    pub fn scores(&self, name: &str, given: &BTreeMap<String, f64>) -> Result<Trigger, Failure> {
        let missing: Vec<&str> = self
            .records
            .iter()
            .map(|record| record.boundary_id.as_str())
            .filter(|id| !given.contains_key(*id))
            .collect();
        if !missing.is_empty() {
            return Err(Failure::Data(format!(
                "scores {name}: {} of {} boundaries have no score: {}; every boundary needs one",
                missing.len(),
                self.records.len(),
                some(&missing)
            )));
        }
        let scores = self.records.iter().map(|record| given[&record.boundary_id]).collect();
        Ok(Trigger { name: name.to_owned(), from: "scores".to_owned(), scores })
    }
}

/// The rules that need no learning, on a corpus; with the reasons of those that cannot be judged.
///
/// # Errors
/// `Failure::Data` where no boundary has the target.
pub fn rules(corpus: &Corpus, target: Target, seed: u64) -> Result<(Vec<Trigger>, Vec<String>), Failure> {
    let cohort = Cohort::new(corpus, target)?;
    let workshop = Workshop::new(&cohort, &corpus.profile, Streams::new(seed));
    let (mut triggers, mut notes) = (Vec::new(), Vec::new());
    for (rule, name) in [
        (Rule::Random, "rule/random"),
        (Rule::PrefixLength, "rule/prefix-length"),
        (Rule::CompactionIndex, "rule/compaction-index"),
        (Rule::FirstCompaction, "rule/first-compaction"),
        (Rule::TokenBudget, "rule/token-budget"),
    ] {
        match workshop.rule(rule).map(|scores| average_scores(&scores.scores)) {
            Ok(Ok(scores)) => triggers.push(Trigger { name: name.to_owned(), from: "rule".to_owned(), scores }),
            Ok(Err(error)) => notes.push(format!("{name} left out: {error}")),
            Err(reason) => notes.push(format!("{name} left out: {reason}")),
        }
    }
    Ok((triggers, notes))
}

fn burden(record: &OutcomeRecord) -> Option<Burden> {
    let counts = |rollouts: &[[u8; 9]]| -> Option<Vec<RolloutCounts>> {
        let one = |row: &[u8; 9]| {
            let mut counts = [[0; 3]; 3];
            for (position, &count) in row.iter().enumerate() {
                // the record holds U, E, R at each horizon
                counts[position % 3][position / 3] = count;
            }
            RolloutCounts::recorded(counts)
        };
        rollouts.iter().map(one).collect()
    };
    Some(Burden { pre: counts(&record.pre)?, post: counts(&record.post)? })
}

fn counted(n: usize) -> String {
    if n == 1 { "1 boundary".to_owned() } else { format!("{n} boundaries") }
}

/// The first few names of a list.
fn some(names: &[&str]) -> String {
    let shown = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 3 { format!("{shown}, ...") } else { shown }
}

/// What makes two runs incomparable; nothing where they can be compared.
fn difference(first: &Run, other: &Run, retain_given: bool) -> Option<String> {
    let (a, b) = (&first.results.protocol, &other.results.protocol);
    if a.target != b.target {
        return Some(format!("the target is {} in one and {} in the other", a.target, b.target));
    }
    if a.retain != b.retain && !retain_given {
        return Some(format!(
            "{} must stay allowed in one and {} in the other; say which to take with --retain",
            a.retain, b.retain
        ));
    }
    let by_id = |run: &'_ Run| -> BTreeMap<String, OutcomeRecord> {
        run.outcomes.iter().map(|record| (record.boundary_id.clone(), record.clone())).collect()
    };
    let (in_first, in_other) = (by_id(first), by_id(other));
    let lacking = |has: &BTreeMap<String, OutcomeRecord>, lacks: &BTreeMap<String, OutcomeRecord>| -> Option<String> {
        let missing: Vec<&str> = has.keys().filter(|id| !lacks.contains_key(*id)).map(String::as_str).collect();
        (!missing.is_empty()).then(|| format!("{}: {}", counted(missing.len()), some(&missing)))
    };
    if let Some(missing) = lacking(&in_first, &in_other) {
        return Some(format!("{} lacks {missing}", other.name));
    }
    if let Some(missing) = lacking(&in_other, &in_first) {
        return Some(format!("{} lacks {missing}", first.name));
    }
    let changed: Vec<&str> =
        in_first.iter().filter(|(id, record)| in_other[*id] != **record).map(|(id, _)| id.as_str()).collect();
    (!changed.is_empty())
        .then(|| format!("{} with another task or other rollouts: {}", counted(changed.len()), some(&changed)))
}
