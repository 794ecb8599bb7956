//! `foldline evaluate`: from a corpus to a judged trigger.
//!
//! The stages run in order: cells are scored out of fold, every cell is judged in the same bootstrap draws, then come
//! the analyses that build on them. What a corpus cannot answer is recorded with its reason and the rest goes on.

pub mod cohort;
pub mod fold_files;
pub mod judge;
pub mod placement;
pub mod protocol;
pub mod run_folder;
pub mod scorers;
pub mod stages;
pub mod tables;

use crate::analyses::analyses;
use crate::cmd::Failure;
use crate::foreign::{ForeignScores, strangers};
use crate::progress::Progress;
use crate::results::{Best, CellResult, CorpusCard, FOREIGN, FORMAT, OutcomeCard, Refused, Results};
use crate::summary::CorpusSummary;
use cohort::{Cohort, Outcome};
use fold_files::{FoldFile, give_folds};
use foldline_features::corpus::Corpus;
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::cell::{Cell, Statistic, interval};
use foldline_frontiers::nested::nested_bootstrap;
use foldline_frontiers::ranking::average_scores;
use foldline_frontiers::{Folds, Retain, Streams, Unit, Value};
use judge::{Judges, Scored, refused};
use protocol::{CellName, FoldPlan, Protocol, Rule, Scorer};
use run_folder::{OutcomeRecord, RunFolder, ScoreRecord};
use scorers::{CellScores, Workshop};
use sha2::{Digest, Sha256};
use stages::Stages;
use std::collections::{BTreeMap, BTreeSet};

/// A part of an evaluation that can be run without the others (cells are always scored).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Stage {
    /// Scores and judged cells only.
    Cells,
    /// Best cells refitted to other targets, folds and as a regression.
    Sensitivity,
    /// Horizon x channel grid and leave-one-stem-out of the frozen policies.
    Grid,
    /// Split-half replicate yardstick.
    Yardstick,
    /// Cells, contrasts and regressions by prefix placement.
    Placement,
    /// Permutation importance.
    Importance,
}

/// What to evaluate and how.
pub struct Plan {
    /// The protocol.
    pub protocol: Protocol,
    /// Base seed.
    pub seed: u64,
    /// Draws of every bootstrap, in place of the protocol's numbers.
    pub draws: Option<u32>,
    /// Folds from files, in the place of the protocol's plans of their unit.
    pub fold_files: Vec<FoldFile>,
    /// Foreign scores by name: one per boundary of the cohort.
    pub foreign: Vec<ForeignScores>,
    /// Cells to refit in place of the best ones.
    pub sensitivity_cells: Vec<CellName>,
    /// Stages to run; all when empty.
    pub stages: BTreeSet<Stage>,
}

/// What an evaluation leaves: results, and what it recorded beside them.
pub struct Evaluation {
    /// The results.
    pub results: Results,
    /// Scores of every cell.
    pub scores: Vec<ScoreRecord>,
    /// Outcomes of every boundary.
    pub outcomes: Vec<OutcomeRecord>,
    /// The folds of all plans as CSV.
    pub folds: String,
    /// What its user should know and results do not say.
    pub notes: Vec<String>,
}

/// A scored cell before it is judged.
struct ScoredCell {
    name: String,
    /// `None` for foreign scores.
    cell: Option<CellName>,
    group: usize,
    folds: Option<FoldPlan>,
    columns: usize,
    /// Share that must stay allowed: the protocol's, or none for the rule that blocks everything.
    retain: Retain,
    scores: CellScores,
}

/// Runs a plan on a corpus. With a folder, finished parts are recorded there and taken up again.
///
/// # Errors
/// `Failure::Data` when no boundary has the target or a fold file does not fit, `Failure::Other` when a record cannot
/// be written.
pub fn evaluate(
    corpus: &Corpus,
    plan: &Plan,
    folder: Option<&RunFolder>,
    progress: &Progress,
) -> Result<Evaluation, Failure> {
    let mut protocol = effective(plan);
    let cohort = Cohort::new(corpus, protocol.target)?;
    let outcome = cohort.outcome(protocol.target)?;
    let streams = Streams::new(plan.seed);
    let mut workshop = Workshop::new(&cohort, &corpus.profile, streams);
    let mut notes = give_folds(&plan.fold_files, &mut workshop, &mut protocol, &cohort)?;
    let foreign = foreign_cells(plan, &protocol, &cohort, corpus, &mut notes)?;
    let key = Key::new(corpus, plan, &protocol);
    let mut absent = Vec::new();

    let mut scored =
        score_cells(&mut workshop, &protocol, &outcome, &mut absent, &Recorder { folder, key: &key }, progress)?;
    scored.extend(foreign);
    let (cells, nested) = judge_cells(&scored, &mut workshop, &protocol, &cohort, &outcome, &streams, progress)?;
    let best = best_cells(&protocol, &scored, &cells, &plan.sensitivity_cells);
    let averaged = scored
        .iter()
        .map(|cell| Ok((cell.name.clone(), average_scores(&cell.scores.scores).map_err(refused)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let wants = |stage: Stage| plan.stages.is_empty() || plan.stages.contains(&stage);
    let mut stages = Stages {
        workshop: &mut workshop,
        protocol: &protocol,
        cohort: &cohort,
        outcome: &outcome,
        streams,
        progress,
        absent: &mut absent,
    };
    let sensitivity = if wants(Stage::Sensitivity) { stages.sensitivity(&best)? } else { Vec::new() };
    let (grid, leave_one_stem_out) = if wants(Stage::Grid) { stages.grid()? } else { Default::default() };
    let yardstick = if wants(Stage::Yardstick) { stages.yardstick(&cells, &averaged, nested)? } else { None };
    let placement = if wants(Stage::Placement) { stages.placement(&corpus.profile)? } else { None };
    let importance = if wants(Stage::Importance) { stages.importance()? } else { None };

    let plans: Vec<(String, &Folds)> =
        workshop.all_folds().map(|(fold_plan, folds)| (fold_plan.to_string(), folds)).collect();
    let folds = match plans.as_slice() {
        [(_, single)] => single.to_csv(&cohort.ids()),
        several => Folds::several_to_csv(several, &cohort.ids()),
    };
    let mut results = Results {
        format: FORMAT.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: plan.seed,
        corpus: corpus_card(corpus),
        outcome: outcome_card(&cohort, &outcome),
        protocol,
        cells,
        best,
        sensitivity,
        grid,
        leave_one_stem_out,
        yardstick,
        placement,
        importance,
        tables: BTreeMap::new(),
        refused: absent,
    };
    results.tables = tables::tables(&results);
    let record = |cell: ScoredCell| {
        let folds = cell.folds.map(|plan| workshop.folds(plan)).transpose().map_err(Failure::Data)?;
        Ok(ScoreRecord { cell: cell.name, folds: folds.map(|folds| (*folds).clone()), scores: cell.scores.scores })
    };
    Ok(Evaluation {
        results,
        scores: scored.into_iter().map(record).collect::<Result<_, Failure>>()?,
        outcomes: cohort
            .boundaries
            .iter()
            .zip(&cohort.burdens)
            .map(|(b, burden)| OutcomeRecord::of(b, burden))
            .collect(),
        folds,
        notes,
    })
}

/// The protocol with `--draws` applied.
fn effective(plan: &Plan) -> Protocol {
    let mut protocol = plan.protocol.clone();
    if let Some(draws) = plan.draws {
        protocol.groups.iter_mut().for_each(|group| group.draws = Some(draws));
        protocol.draws.extension = draws;
        protocol.draws.placement = draws;
    }
    protocol
}

/// What a recorded part depends on beside its own name: version, corpus, conventions, target, folds and seed.
struct Key(String);

impl Key {
    fn new(corpus: &Corpus, plan: &Plan, protocol: &Protocol) -> Key {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(env!("CARGO_PKG_VERSION"));
        add(&corpus.sha256);
        add(&serde_json::to_string(&corpus.profile).unwrap_or_default());
        add(&protocol.target.to_string());
        add(&plan.seed.to_string());
        plan.fold_files.iter().for_each(|file| add(&file.text));
        Key(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Records finished parts, where there is a folder for them.
struct Recorder<'a> {
    folder: Option<&'a RunFolder>,
    key: &'a Key,
}

impl Recorder<'_> {
    fn part<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        name: &str,
        compute: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self.folder {
            Some(folder) => folder.resume(&format!("{}-{}", self.key.0, name.replace(['/', ':'], ".")), compute),
            None => compute(),
        }
    }
}

fn score_cells(
    workshop: &mut Workshop<'_>,
    protocol: &Protocol,
    outcome: &Outcome,
    absent: &mut Vec<Refused>,
    recorder: &Recorder<'_>,
    progress: &Progress,
) -> Result<Vec<ScoredCell>, Failure> {
    let mut scored: Vec<ScoredCell> = Vec::new();
    for (index, group) in protocol.groups.iter().enumerate() {
        for cell in &group.cells {
            // the key of a cell in results and scores
            let name = match scored.iter().any(|other| other.name == cell.to_string()) {
                true => format!("{cell}@{}", group.name),
                false => cell.to_string(),
            };
            let (scores, folds, columns) = match cell.0 {
                Scorer::Rule(rule) => (workshop.rule(rule), None, 0),
                Scorer::Fitted(learner, representation) => {
                    let table = workshop.table(representation)?;
                    let scores = match workshop.folds(group.folds) {
                        Err(reason) => Err(reason),
                        Ok(folds) => {
                            let bar = progress.stage(&cell.to_string(), folds.k() * folds.repetitions());
                            let name = format!("scores-{cell}-{}", group.folds);
                            let part = recorder.part(&name, || {
                                let fitted = workshop.fit(learner, representation, &folds, outcome, || bar.tick());
                                Ok(fitted.map(|fitted| CellScores::of(fitted, &table)))
                            })?;
                            bar.done();
                            part
                        }
                    };
                    (scores, Some(group.folds), table.n_columns())
                }
            };
            // Global OFF has one operating point, (0, 1), and no share of opportunities to keep
            let retain = match cell.0 {
                Scorer::Rule(Rule::AlwaysBlock) => Retain::new(0, 1).map_err(refused)?,
                _ => protocol.retain,
            };
            let no_point = cell.0 == Scorer::Rule(Rule::AlwaysBlock) && !outcome.labels.contains(&true);
            match scores {
                // without a positive boundary no threshold avoids more than another, and the one that blocks is not chosen
                Ok(_) if no_point => absent.push(Refused {
                    analysis: format!("cell {cell} ({})", group.name),
                    reason: "no boundary is positive, so that its point (0, 1) does not exist".to_owned(),
                }),
                Ok(scores) => {
                    scored.push(ScoredCell { name, cell: Some(*cell), group: index, folds, columns, retain, scores });
                }
                Err(reason) => absent.push(Refused { analysis: format!("cell {cell} ({})", group.name), reason }),
            }
        }
    }
    Ok(scored)
}

/// Scores of foreign triggers as cells, checked before anything is fitted.
fn foreign_cells(
    plan: &Plan,
    protocol: &Protocol,
    cohort: &Cohort<'_>,
    corpus: &Corpus,
    notes: &mut Vec<String>,
) -> Result<Vec<ScoredCell>, Failure> {
    let known = corpus.boundaries.iter().map(|boundary| boundary.boundary_id.as_str()).collect();
    notes.extend(strangers(&plan.foreign, &known));
    let mut cells: Vec<ScoredCell> = Vec::new();
    for (name, given) in &plan.foreign {
        if cells.iter().any(|cell| cell.name == *name) {
            return Err(Failure::Usage(format!("--foreign {name}: stands twice; give the second one another name")));
        }
        let scores: Option<Vec<f64>> = cohort.ids().iter().map(|id| given.get(*id).copied()).collect();
        let Some(scores) = scores else {
            let missing = cohort.ids().into_iter().find(|id| !given.contains_key(*id)).unwrap_or_default();
            return Err(Failure::Data(format!(
                "--foreign {name}: boundary {missing} has no score; every boundary of the run needs one"
            )));
        };
        cells.push(ScoredCell {
            name: name.clone(),
            cell: None,
            group: usize::MAX,
            folds: None,
            columns: 0,
            retain: protocol.retain,
            scores: CellScores { scores: vec![scores], models: Vec::new(), warnings: Vec::new() },
        });
    }
    Ok(cells)
}

fn judge_cells(
    scored: &[ScoredCell],
    workshop: &mut Workshop<'_>,
    protocol: &Protocol,
    cohort: &Cohort<'_>,
    outcome: &Outcome,
    streams: &Streams,
    progress: &Progress,
) -> Result<(Vec<CellResult>, (Value, Value)), Failure> {
    let bar = progress.stage("judging cells", scored.len() + 1);
    let draws_of = |cell: &ScoredCell| {
        let given = protocol.groups.get(cell.group).and_then(|group| group.draws);
        given.unwrap_or_else(|| protocol.draws.of_cell(cell.cell))
    };
    let most = scored.iter().map(draws_of).max().unwrap_or(0).max(protocol.draws.extension);
    let all_task = Draws::new(streams, Unit::Task, cohort.tasks.len(), most);
    let stem = Draws::new(streams, Unit::Stem, cohort.stems.len(), protocol.draws.extension);
    let task_signed = all_task.first(protocol.draws.extension as usize);
    let nested_cells: Vec<Cell> = scored
        .iter()
        .map(|cell| {
            let averaged = average_scores(&cell.scores.scores).map_err(refused)?;
            Cell::new(&averaged, &outcome.labels, &outcome.mass, &outcome.d, &cohort.tasks, cell.retain)
                .map_err(refused)
        })
        .collect::<Result<_, Failure>>()?;
    let nested = nested_bootstrap(
        &nested_cells.iter().collect::<Vec<_>>(),
        &cohort.burdens,
        protocol.target,
        &cohort.tasks,
        streams,
        protocol.draws.extension,
    )
    .map_err(refused)?;
    bar.tick();
    let mut results = Vec::with_capacity(scored.len());
    for (cell, replicates) in scored.iter().zip(&nested.replicates) {
        let task = all_task.first(draws_of(cell) as usize);
        let judges = Judges { task: &task, task_signed: &task_signed, stem: &stem, retain: cell.retain };
        let folds = cell.folds.map(|plan| workshop.folds(plan)).transpose().map_err(Failure::Data)?;
        let record = Scored {
            name: cell.name.clone(),
            group: protocol.groups.get(cell.group).map_or(FOREIGN, |group| group.name.as_str()),
            folds_text: match (cell.folds, &folds) {
                (Some(plan), Some(folds)) => format!("{}:{}x{}", plan.unit(), folds.k(), folds.repetitions()),
                _ => "none".to_owned(),
            },
            columns: cell.columns,
            scores: &cell.scores.scores,
            folds: folds.as_deref(),
            models: cell.scores.models.clone(),
            warnings: cell.scores.warnings.clone(),
        };
        let nested_interval = |statistic: Statistic| interval(replicates, statistic, nested.draws());
        results.push(judges.judge(record, cohort, outcome, Some(&nested_interval))?);
        bar.tick();
    }
    bar.done();
    Ok((results, (nested.positive_rate, nested.sign_changes)))
}

/// The best cell of each group with eligible cells: largest per-repetition mean AUROC; ties: earlier in the protocol's
/// order (protocol section 5). A cell named by the user takes the place of its group's best.
///
/// `scored` and `cells` are parallel.
fn best_cells(protocol: &Protocol, scored: &[ScoredCell], cells: &[CellResult], named: &[CellName]) -> Vec<Best> {
    let groups = protocol.groups.iter().enumerate().filter(|(_, group)| !group.eligible.is_empty());
    groups
        .map(|(index, group)| {
            let place = |cell: CellName| scored.iter().position(|s| s.group == index && s.cell == Some(cell));
            let named = named.iter().find(|cell| group.cells.contains(cell)).copied();
            let mut best: Option<(CellName, f64)> = None;
            for &cell in &group.eligible {
                let mean = place(cell).and_then(|place| cells[place].auroc_per_repetition.mean.defined());
                if let Some(mean) = mean.filter(|mean| best.is_none_or(|(_, other)| *mean > other)) {
                    best = Some((cell, mean));
                }
            }
            let cell = named.or(best.map(|(cell, _)| cell));
            Best {
                group: group.name.clone(),
                cell,
                key: cell.and_then(place).map(|place| cells[place].name.clone()),
                chosen_from: group.eligible.len(),
                overridden: named.is_some(),
            }
        })
        .collect()
}

fn corpus_card(corpus: &Corpus) -> CorpusCard {
    let methods = corpus.profile.effects.as_ref().map(|effects| {
        let text = serde_json::to_string(effects).unwrap_or_default();
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    });
    CorpusCard {
        sha256: corpus.sha256.clone(),
        methods_sha256: methods,
        profile: corpus.profile.name.clone(),
        summary: CorpusSummary::of(corpus),
        notes: crate::input::notes(corpus),
        analyses: analyses(corpus),
    }
}

fn outcome_card(cohort: &Cohort<'_>, outcome: &Outcome) -> OutcomeCard {
    let sum: f64 = outcome.d.iter().sum();
    OutcomeCard {
        target: outcome.target.to_string(),
        observational: !outcome.target.is_paired(),
        n: cohort.n(),
        left_out: cohort.left_out,
        positives: outcome.labels.iter().filter(|&&label| label).count(),
        sum,
        mean: sum / cohort.n() as f64,
        mass: outcome.mass.iter().sum(),
    }
}
