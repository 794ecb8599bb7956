//! `foldline compare`: triggers on the same boundaries, paired.
//!
//! All triggers are judged in the same bootstrap draws, so that an interval of a difference is one of the difference
//! itself. [`boundaries`] aligns what runs, corpora and score files hold, [`matched`] judges at one retained share.

pub mod boundaries;
pub mod matched;

use crate::cmd::Failure;
use boundaries::{Boundaries, Trigger};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::cell::{Cell, Replicate, Statistic, difference, interval};
use foldline_frontiers::splits::SplitHalves;
use foldline_frontiers::yardstick::{AgainstReplicate, Reading, ReplicateRanking, Yardstick, yardstick};
use foldline_frontiers::{Clusters, Estimate, EstimatorError, FrontierPoint, Retain, Streams, Threshold, Unit, Value};
use matched::{Matched, MatchedValues};
use serde::{Deserialize, Serialize};

/// The format of `compare.json`.
pub const FORMAT: &str = "foldline.compare/1";

/// Random splits of the yardstick, as in the protocol.
const SPLITS: u32 = 200;

/// A comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// `foldline.compare/1`.
    pub format: String,
    /// Version of foldline.
    pub version: String,
    /// Base seed of the draws.
    pub seed: u64,
    /// Bootstrap draws.
    pub draws: u32,
    /// The target.
    pub target: String,
    /// One arm only.
    pub observational: bool,
    /// Share of opportunities that stays allowed where triggers are matched.
    pub retain: Retain,
    /// Boundaries.
    pub n: usize,
    /// Positive ones.
    pub positives: usize,
    /// Tasks.
    pub tasks: usize,
    /// Sum of the target.
    pub sum: f64,
    /// Sum of max(0, target).
    pub mass: f64,
    /// The trigger that the others are compared with.
    pub reference: String,
    /// Every trigger, the reference first.
    pub triggers: Vec<TriggerResult>,
    /// Every other trigger less the reference.
    pub differences: Vec<Difference>,
    /// The replicate, where it was asked for.
    pub yardstick: Option<YardstickComparison>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// One trigger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerResult {
    /// Its name.
    pub name: String,
    /// Where its scores come from: a run's name, `scores` or `rule`.
    pub from: String,
    /// AUROC.
    pub auroc: Estimate,
    /// Share of positives blocked when exactly the matched share is retained.
    pub avoided: Estimate,
    /// Share of burden mass blocked there.
    pub mass: Estimate,
    /// avoided − (1 − retain).
    pub advantage_count: Estimate,
    /// mass − (1 − retain).
    pub advantage_mass: Estimate,
    /// Sum of the target over what is blocked there, the blocked set held fixed.
    pub v: Estimate,
    /// Its own operating point (protocol section 5).
    pub operating_point: OwnPoint,
    /// Every threshold at which the allowed set changes.
    pub frontier: Vec<FrontierPoint>,
}

/// A trigger's own operating point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnPoint {
    /// The threshold.
    pub threshold: Threshold,
    /// Boundaries blocked.
    pub blocked: u64,
    /// Share retained.
    pub retained: Estimate,
    /// Share of positives blocked.
    pub avoided: Estimate,
    /// Share of burden mass blocked.
    pub mass: Estimate,
    /// avoided − (1 − retained).
    pub advantage_count: Estimate,
    /// mass − (1 − retained).
    pub advantage_mass: Estimate,
}

/// A trigger less the reference; positive favours the trigger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The trigger.
    pub trigger: String,
    /// The reference.
    pub reference: String,
    /// Of AUROC.
    pub auroc: Estimate,
    /// Of the share avoided at the matched share retained.
    pub avoided: Estimate,
    /// Of the burden mass avoided there.
    pub mass: Estimate,
    /// Of V there.
    pub v: Estimate,
    /// Of the advantage over the random rule, each at its own operating point.
    pub advantage_count: Estimate,
    /// The same by burden mass.
    pub advantage_mass: Estimate,
}

/// The replicate beside the triggers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct YardstickComparison {
    /// The replicate's statistics.
    pub statistics: Yardstick,
    /// Each trigger against it, on the same half-sample labels.
    pub triggers: Vec<AgainstYardstick>,
}

/// One trigger against the replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgainstYardstick {
    /// The trigger.
    pub trigger: String,
    /// Differences and the share recovered.
    pub comparison: AgainstReplicate,
    /// The overlap rule's sentence.
    pub reading: String,
}

/// What to compare and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Base seed.
    pub seed: u64,
    /// Bootstrap draws.
    pub draws: u32,
    /// Name of the reference; the first trigger when absent.
    pub reference: Option<String>,
    /// Whether the replicate is asked for.
    pub yardstick: bool,
}

/// A trigger judged in all draws.
struct Judged {
    point: Replicate,
    replicates: Vec<Replicate>,
    matched: MatchedValues,
    matched_draws: Vec<MatchedValues>,
    result: TriggerResult,
}

fn refused(error: EstimatorError) -> Failure {
    Failure::Data(error.to_string())
}

/// Compares triggers on the same boundaries.
///
/// # Errors
/// `Failure::Usage` for an unknown reference, `Failure::Data` for input that no estimator takes.
pub fn compare(boundaries: &Boundaries, triggers: &[Trigger], plan: &Plan) -> Result<Comparison, Failure> {
    let streams = Streams::new(plan.seed);
    let draws = Draws::new(&streams, Unit::Task, boundaries.tasks.len(), plan.draws);
    let first = reference_position(triggers, plan.reference.as_deref())?;
    let mut order: Vec<&Trigger> = vec![&triggers[first]];
    order.extend(triggers.iter().enumerate().filter(|(index, _)| *index != first).map(|(_, trigger)| trigger));
    let judged: Vec<Judged> =
        order.iter().map(|trigger| judge(trigger, boundaries, &draws)).collect::<Result<_, _>>()?;
    let reference = &judged[0];
    let differences =
        judged[1..].iter().map(|other| paired(other, reference, &draws)).collect::<Result<Vec<_>, Failure>>()?;
    let mut notes = Vec::new();
    let yardstick = if plan.yardstick {
        match against_the_replicate(boundaries, &order, &judged, &streams, &draws) {
            Ok(found) => Some(found),
            Err(reason) => {
                notes.push(format!("no yardstick: {reason}"));
                None
            }
        }
    } else {
        None
    };
    Ok(Comparison {
        format: FORMAT.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: plan.seed,
        draws: plan.draws,
        target: boundaries.target.to_string(),
        observational: !boundaries.target.is_paired(),
        retain: boundaries.retain,
        n: boundaries.d.len(),
        positives: boundaries.labels.iter().filter(|&&label| label).count(),
        tasks: boundaries.tasks.len(),
        sum: boundaries.d.iter().sum(),
        mass: boundaries.mass.iter().sum(),
        reference: reference.result.name.clone(),
        triggers: judged.iter().map(|judged| judged.result.clone()).collect(),
        differences,
        yardstick,
        notes,
    })
}

fn reference_position(triggers: &[Trigger], name: Option<&str>) -> Result<usize, Failure> {
    if triggers.len() < 2 {
        return Err(Failure::Usage("a comparison needs at least two triggers".to_owned()));
    }
    let Some(name) = name else { return Ok(0) };
    triggers.iter().position(|trigger| trigger.name == name).ok_or_else(|| {
        let known: Vec<&str> = triggers.iter().map(|trigger| trigger.name.as_str()).collect();
        Failure::Usage(format!("--against {name}: is none of the triggers: {}", known.join(", ")))
    })
}

fn judge(trigger: &Trigger, boundaries: &Boundaries, draws: &Draws) -> Result<Judged, Failure> {
    let Boundaries { labels, mass, d, tasks, retain, .. } = boundaries;
    let cell = Cell::new(&trigger.scores, labels, mass, d, tasks, *retain).map_err(refused)?;
    let replicates = cell.replicates(draws);
    let point = cell.point();
    let at = Matched::new(&trigger.scores, labels, mass, d, tasks, *retain).map_err(refused)?;
    let matched = at.values(|_| 1);
    let matched_draws = draws.map(|| (), |(), times| at.values(|cluster| times[cluster as usize]));
    let own = |statistic: Statistic| Estimate::new(point.get(statistic)).with(interval(&replicates, statistic, draws));
    let there = |of: fn(&MatchedValues) -> Value| {
        Estimate::new(of(&matched)).with(draws.interval(matched_draws.iter().map(of)))
    };
    let operating = cell.operating_point().point;
    let result = TriggerResult {
        name: trigger.name.clone(),
        from: trigger.from.clone(),
        auroc: own(Statistic::Auroc),
        avoided: there(|values| values.avoided),
        mass: there(|values| values.mass),
        advantage_count: there(|values| values.advantage_count),
        advantage_mass: there(|values| values.advantage_mass),
        v: there(|values| values.v),
        operating_point: OwnPoint {
            threshold: operating.threshold,
            blocked: operating.blocked,
            retained: own(Statistic::Retained),
            avoided: own(Statistic::Avoided),
            mass: own(Statistic::Mass),
            advantage_count: own(Statistic::AdvantageCount),
            advantage_mass: own(Statistic::AdvantageMass),
        },
        frontier: cell.frontier().to_vec(),
    };
    Ok(Judged { point, replicates, matched, matched_draws, result })
}

/// `other − reference` in the same draws.
fn paired(other: &Judged, reference: &Judged, draws: &Draws) -> Result<Difference, Failure> {
    let own = |statistic: Statistic| -> Result<Estimate, Failure> {
        let point = other.point.get(statistic).minus(reference.point.get(statistic));
        let interval = difference(&other.replicates, &reference.replicates, statistic, draws).map_err(refused)?;
        Ok(Estimate::new(point).with(interval))
    };
    let there = |of: fn(&MatchedValues) -> Value| {
        let pairs = other.matched_draws.iter().zip(&reference.matched_draws);
        Estimate::new(of(&other.matched).minus(of(&reference.matched)))
            .with(draws.interval(pairs.map(|(a, b)| of(a).minus(of(b)))))
    };
    Ok(Difference {
        trigger: other.result.name.clone(),
        reference: reference.result.name.clone(),
        auroc: own(Statistic::Auroc)?,
        avoided: there(|values| values.avoided),
        mass: there(|values| values.mass),
        v: there(|values| values.v),
        advantage_count: own(Statistic::AdvantageCount)?,
        advantage_mass: own(Statistic::AdvantageMass)?,
    })
}

fn against_the_replicate(
    boundaries: &Boundaries,
    triggers: &[&Trigger],
    judged: &[Judged],
    streams: &Streams,
    draws: &Draws,
) -> Result<YardstickComparison, String> {
    let words = |error: EstimatorError| error.to_string();
    let splits = SplitHalves::random(&boundaries.burdens, boundaries.target, streams, SPLITS).map_err(words)?;
    let resamples: [(&Draws, &Clusters); 1] = [(draws, &boundaries.tasks)];
    let all = vec![true; boundaries.d.len()];
    let statistics = yardstick(&splits, &all, boundaries.retain, &resamples).map_err(words)?;
    let replicate = statistics.auroc.mean.interval(Unit::Task).copied();
    let ranking = ReplicateRanking::new(&splits, &resamples).map_err(words)?;
    let triggers = triggers
        .iter()
        .zip(judged)
        .map(|(trigger, judged)| {
            let comparison = ranking.against(&trigger.scores, &boundaries.labels).map_err(words)?;
            let own = judged.result.auroc.interval(Unit::Task);
            let reading = match (&replicate, own) {
                (Some(replicate), Some(own)) => Reading::of(replicate, own),
                _ => Reading::Unknown,
            };
            Ok(AgainstYardstick { trigger: trigger.name.clone(), comparison, reading: reading.sentence().to_owned() })
        })
        .collect::<Result<_, String>>()?;
    Ok(YardstickComparison { statistics, triggers })
}
