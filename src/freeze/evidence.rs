//! What the frozen threshold does on rows that the scoring model had not seen.
//!
//! A boundary has one held-out score a repetition, so the threshold blocks it in a share of the repetitions. Every share
//! and value below is the mean over the repetitions, which is the same as counting that share of the boundary.

use super::model_file::ModelFile;
use crate::cmd::Failure;
use crate::results::{CellResult, FOREIGN, Results};
use foldline_frontiers::bootstrap::{Clusters, Draws};
use foldline_frontiers::cell::{Cell, Statistic, interval};
use foldline_frontiers::ranking::average_scores;
use foldline_frontiers::{Estimate, EstimatorError, Interval, Reason, Retain, Streams, Unit, Value};
use foldline_models::policy::evidence::RunEvidence;
use foldline_models::policy::{Evidence, Quantity, Threshold};

/// Draws of the stem-clustered bootstrap.
const DRAWS: u32 = 2000;

/// The held-out rows of a model file.
pub struct HeldOut {
    /// `[repetition][boundary]`.
    pub scores: Vec<Vec<f64>>,
    /// The label, `1[d > 0]`.
    pub labels: Vec<bool>,
    /// max(0, d).
    pub mass: Vec<f64>,
    /// The target.
    pub d: Vec<f64>,
}

impl HeldOut {
    /// The held-out rows of a model file.
    pub fn of(model: &ModelFile) -> HeldOut {
        HeldOut {
            scores: model.held_out_scores.clone(),
            labels: model.d.iter().map(|&d| d > 0.0).collect(),
            mass: model.d.iter().map(|&d| d.max(0.0)).collect(),
            d: model.d.clone(),
        }
    }

    /// The share of repetitions in which each boundary is blocked.
    fn blocked(&self, threshold: Threshold) -> Vec<f64> {
        let repetitions = self.scores.len().max(1) as f64;
        let count = |row: usize| self.scores.iter().filter(|scores| threshold.blocks(scores[row])).count();
        (0..self.d.len()).map(|row| count(row) as f64 / repetitions).collect()
    }
}

/// What a threshold does on (weighted) rows.
struct Worth {
    retained: Value,
    avoided: Value,
    advantage_count: Value,
    advantage_mass: Value,
    signed: Value,
}

impl Worth {
    /// `times` says how often each row counts.
    fn of(held_out: &HeldOut, blocked: &[f64], times: impl Fn(usize) -> u32) -> Worth {
        let [mut n, mut b, mut positives, mut hit, mut mass, mut mass_hit, mut d, mut d_hit] = [0.0; 8];
        for (row, &share) in blocked.iter().enumerate() {
            let weight = f64::from(times(row));
            let y = f64::from(u8::from(held_out.labels[row]));
            n += weight;
            b += weight * share;
            positives += weight * y;
            hit += weight * y * share;
            mass += weight * held_out.mass[row];
            mass_hit += weight * held_out.mass[row] * share;
            d += weight * held_out.d[row];
            d_hit += weight * held_out.d[row] * share;
        }
        let ratio = |part: f64, whole: f64, reason: Reason| {
            if whole > 0.0 { Value::Defined(part / whole) } else { Value::Undefined(reason) }
        };
        let share = ratio(b, n, Reason::NoRows);
        let avoided = ratio(hit, positives, Reason::NoPositive);
        Worth {
            retained: share.map(|share| 1.0 - share),
            avoided,
            advantage_count: avoided.minus(share),
            advantage_mass: ratio(mass_hit, mass, Reason::NoMass).minus(share),
            signed: share.map(|share| d_hit - share * d),
        }
    }
}

fn quantity(point: Value, interval: Option<&Interval>, method: &str) -> Quantity {
    let quantity = match point {
        Value::Defined(value) => Quantity::defined(value, method),
        Value::Undefined(reason) => Quantity::undefined(reason.to_string(), method),
    };
    let Some((interval, (low, high))) = interval.and_then(|interval| Some((interval, interval.ends()?))) else {
        return quantity;
    };
    let how = format!(
        "{}-clustered percentile bootstrap, {} draws, {:.0} %",
        interval.unit.name(),
        interval.draws,
        100.0 * interval.level
    );
    quantity.with_interval(low, high, &how)
}

/// Measures the frozen threshold on the held-out rows of its model file.
///
/// # Errors
/// `Failure::Data` when the file's arrays do not fit one another.
pub fn measure(model: &ModelFile, threshold: Threshold, retain: Retain) -> Result<Evidence, Failure> {
    let refused = |error: EstimatorError| Failure::Data(format!("the model file: {error}"));
    let held_out = HeldOut::of(model);
    let stems = Clusters::new(&model.stems);
    let draws = Draws::new(&Streams::new(model.seed), Unit::Stem, stems.len(), DRAWS);
    let averaged = average_scores(&held_out.scores).map_err(refused)?;
    let cell = Cell::new(&averaged, &held_out.labels, &held_out.mass, &held_out.d, &stems, retain).map_err(refused)?;
    let auroc_interval = interval(&cell.replicates(&draws), Statistic::Auroc, &draws);

    let blocked = held_out.blocked(threshold);
    let worth = Worth::of(&held_out, &blocked, |_| 1);
    let drawn = draws
        .map(|| (), |(), multiplicity| Worth::of(&held_out, &blocked, |row| multiplicity[stems.of()[row] as usize]));
    let of = |pick: fn(&Worth) -> Value, method: &str| {
        quantity(pick(&worth), Some(&draws.interval(drawn.iter().map(pick))), method)
    };
    let at = "held-out rows at the frozen threshold, mean over repetitions, threshold held fixed";
    let advantage_count = of(|worth| worth.advantage_count, at);
    let training = model.training_scores.iter().filter(|&&score| threshold.blocks(score)).count();
    let training_share = training as f64 / model.d.len().max(1) as f64;
    Ok(Evidence {
        corpus_sha256: model.corpus_sha256.clone(),
        cell: model.cell.clone(),
        target: model.target.clone(),
        seed: model.seed,
        folds: format!(
            "{}: stems held out; each boundary scored once a repetition by a model that had not seen its stem",
            model.folds
        ),
        boundaries: model.d.len() as u64,
        tasks: Clusters::new(&model.tasks).len() as u64,
        stems: stems.len() as u64,
        positives: held_out.labels.iter().filter(|&&label| label).count() as u64,
        retain: retain.value(),
        threshold_note: "The threshold is the median over repetitions of the operating point of each repetition's \
                         held-out scores; it was chosen on the rows it is measured on here, and it is no point of a \
                         frontier pooled over folds, which mixes several models and cannot be deployed."
            .to_owned(),
        auroc: quantity(
            cell.point().get(Statistic::Auroc),
            Some(&auroc_interval),
            "repetition-averaged held-out score",
        ),
        retained: of(|worth| worth.retained, at),
        avoided: of(|worth| worth.avoided, at),
        advantage_mass: of(|worth| worth.advantage_mass, at),
        signed_value: of(|worth| worth.signed, at),
        blocked_share_of_training_rows: training_share,
        run: None,
        verdict: verdict(threshold, &advantage_count, worth.retained, training_share),
        advantage_count,
    })
}

/// How far the share that the final model blocks may be from the held-out one before the verdict says so.
const SHARES_APART: f64 = 0.1;

/// The plain sentences, by fixed rules: on the advantage by count and its interval, and on whether the final model blocks
/// about as often as the held-out ones, without which the figures are not the policy's own.
fn verdict(threshold: Threshold, advantage: &Quantity, retained: Value, training_share: f64) -> String {
    if threshold == Threshold::Never {
        return "Never blocks: at this share retained no threshold avoids more than allowing everything.".to_owned();
    }
    let first = match (advantage.value, advantage.low, advantage.high) {
        (None, ..) => format!(
            "Cannot be judged: {}.",
            advantage.undefined.as_deref().unwrap_or("the advantage over the random rule is undefined")
        ),
        (Some(_), Some(low), _) if low > 0.0 => {
            "Better than the random rule that blocks as often: the interval of the advantage lies above zero."
                .to_owned()
        }
        (Some(_), _, Some(high)) if high < 0.0 => {
            "Worse than the random rule that blocks as often: the interval of the advantage lies below zero.".to_owned()
        }
        (Some(_), Some(_), Some(_)) => {
            "No better than the random rule that blocks as often: the interval of the advantage includes zero."
                .to_owned()
        }
        _ => "Cannot be judged: the advantage over the random rule has no interval.".to_owned(),
    };
    let blocked = retained.defined().map(|retained| 1.0 - retained);
    match blocked {
        Some(blocked)
            if (blocked - training_share).abs() > SHARES_APART || (training_share <= 0.0 && blocked > 0.0) =>
        {
            format!(
                "{first} But the final model blocks {:.1} % of its training rows, and the held-out models {:.1} % of theirs: \
                 these figures may not be the policy's own.",
                100.0 * training_share,
                100.0 * blocked
            )
        }
        _ => first,
    }
}

/// What a run says of the same cell.
///
/// # Errors
/// `Failure::Data` when the run is of another corpus, cell or target.
pub fn of_run(model: &ModelFile, results: &Results) -> Result<RunEvidence, Failure> {
    let differs = |what: &str, run: &str, ours: &str| {
        Failure::Data(format!("--evidence: the {what} of the run: {run}; of the model: {ours}; give a run that has it"))
    };
    if results.corpus.sha256 != model.corpus_sha256 {
        return Err(differs("corpus", &results.corpus.sha256, &model.corpus_sha256));
    }
    if results.outcome.target != model.target {
        return Err(differs("target", &results.outcome.target, &model.target));
    }
    // a cell may stand in several groups; a model is cross-fitted with stems held out
    let own = || results.cells.iter().filter(|cell| cell.group != FOREIGN && cell.is(&cell.group, &model.cell));
    let found = own().find(|cell| cell.folds.starts_with("stem")).or_else(|| own().next());
    let cell: &CellResult = found.ok_or_else(|| {
        let names: Vec<&str> = results.cells.iter().map(|cell| cell.name.as_str()).collect();
        differs("cells", &names.join(", "), &model.cell)
    })?;
    let of = |estimate: &Estimate, method: &str| quantity(estimate.point, estimate.intervals.first(), method);
    let point = "operating point of the pooled held-out frontier, reselected in every draw; not deployable as such";
    let yardstick = results.yardstick.as_ref().and_then(|yardstick| {
        let row =
            yardstick.rows.iter().find(|row| row.target == model.target && row.subset == "all" && !row.mirrored)?;
        Some(of(&row.statistics.auroc.mean, "split-half replicate yardstick"))
    });
    Ok(RunEvidence {
        folds: cell.folds.clone(),
        seed: results.seed,
        auroc: of(&cell.auroc_averaged, "repetition-averaged held-out score"),
        retained: of(&cell.retained, point),
        avoided: of(&cell.avoided, point),
        advantage_count: of(&cell.advantage_count, point),
        advantage_mass: of(&cell.advantage_mass, point),
        signed_value: of(
            &cell.signed_value_minus_e_rand,
            "V minus its expectation under a random rule, threshold held fixed",
        ),
        yardstick,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worth_by_hand() {
        // two repetitions; at 0.5 boundary 0 is blocked in both, 1 in one, 2 and 3 in none
        let held_out = HeldOut {
            scores: vec![vec![0.9, 0.6, 0.1, 0.2], vec![0.5, 0.4, 0.1, 0.3]],
            labels: vec![true, false, true, false],
            mass: vec![2.0, 0.0, 1.0, 0.0],
            d: vec![2.0, -1.0, 1.0, 0.0],
        };
        let blocked = held_out.blocked(Threshold::AtLeast(0.5));
        assert_eq!(blocked, [1.0, 0.5, 0.0, 0.0]);
        let worth = Worth::of(&held_out, &blocked, |_| 1);
        let close = |value: Value, expected: f64| {
            assert!((value.defined().unwrap() - expected).abs() < 1e-12, "{value:?} {expected}");
        };
        close(worth.retained, 1.0 - 1.5 / 4.0);
        close(worth.avoided, 0.5);
        close(worth.advantage_count, 0.5 - 0.375);
        close(worth.advantage_mass, 2.0 / 3.0 - 0.375);
        close(worth.signed, 1.5 - 0.375 * 2.0);
        let empty = Worth::of(&held_out, &blocked, |row| u32::from(row == 1));
        assert_eq!(empty.avoided, Value::Undefined(Reason::NoPositive));
    }

    #[test]
    fn the_median_of_operating_points() {
        let held_out = HeldOut {
            scores: vec![vec![0.9, 0.1, 0.2, 0.3, 0.4], vec![0.7, 0.1, 0.2, 0.3, 0.4]],
            labels: vec![true, false, false, false, false],
            mass: vec![1.0, 0.0, 0.0, 0.0, 0.0],
            d: vec![1.0, 0.0, 0.0, 0.0, 0.0],
        };
        // each repetition blocks its one positive and nothing else: 0.9 and 0.7
        let threshold = crate::freeze::median_threshold(&held_out, Retain::PAPER).unwrap();
        assert_eq!(threshold, Threshold::AtLeast(0.8));
        let none = HeldOut { labels: vec![false; 5], ..held_out };
        assert_eq!(crate::freeze::median_threshold(&none, Retain::PAPER).unwrap(), Threshold::Never);
    }

    #[test]
    fn verdicts_follow_the_interval() {
        let with = |low: f64, high: f64| Quantity::defined(0.1, "x").with_interval(low, high, "y");
        let says = |quantity: &Quantity| verdict(Threshold::AtLeast(0.5), quantity, Value::Defined(0.8), 0.2);
        assert!(says(&with(0.01, 0.2)).starts_with("Better"));
        assert!(says(&with(-0.01, 0.2)).starts_with("No better"));
        assert!(says(&with(-0.3, -0.01)).starts_with("Worse"));
        assert!(says(&Quantity::undefined("no boundary is positive", "x")).contains("no boundary is positive"));
        assert!(!says(&with(0.01, 0.2)).contains("But"));
        assert!(verdict(Threshold::Never, &with(0.0, 0.0), Value::Defined(1.0), 0.0).starts_with("Never blocks"));
        let silent = verdict(Threshold::AtLeast(0.5), &with(0.01, 0.2), Value::Defined(0.93), 0.0);
        assert!(silent.contains("blocks 0.0 % of its training rows, and the held-out models 7.0 %"), "{silent}");
    }
}
