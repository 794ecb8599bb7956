//! Reads the reference cohort and its expected values for the tests that compare with them.

// each test file uses its own part of this module
#![expect(dead_code, reason = "shared by several test crates, none of which uses all of it")]

use flate2::read::GzDecoder;
use foldline_features::{Arm, Burden, Channel, Horizon, Rollout, RolloutStep, Target, boundary};
use foldline_frontiers::{Clusters, Interval};
use serde_json::Value as Json;
use std::io::Read;
use std::path::PathBuf;

/// A file of the shared test data, or nothing (and a line saying so) where it is absent.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let full = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(path);
    if full.exists() {
        return Some(full);
    }
    println!("skipped: {path} is not there");
    None
}

/// Parses a JSON file of the shared data.
pub(crate) fn json(path: &str) -> Option<Json> {
    Some(serde_json::from_str(&std::fs::read_to_string(shared(path)?).unwrap()).unwrap())
}

/// One boundary of the reference cohort, reduced to what estimators need.
pub(crate) struct CohortRow {
    pub(crate) boundary_id: String,
    pub(crate) task: String,
    pub(crate) stem: String,
    pub(crate) compaction_index: u64,
    pub(crate) prefix_steps: u64,
    pub(crate) functions: Vec<String>,
    pub(crate) rollouts: Vec<Rollout>,
}

/// The reference cohort and what is expected of it.
pub(crate) struct Oracle {
    pub(crate) expected: Json,
    pub(crate) rows: Vec<CohortRow>,
    pub(crate) burdens: Vec<Burden>,
    pub(crate) tasks: Clusters,
    pub(crate) stems: Clusters,
}

impl Oracle {
    pub(crate) fn load() -> Option<Oracle> {
        let expected = json("oracle/expected.json")?;
        let mut text = String::new();
        let file = std::fs::File::open(shared("oracle/cohort-1.jsonl.gz")?).unwrap();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        let rows: Vec<CohortRow> = text.lines().map(|line| row(&serde_json::from_str(line).unwrap())).collect();
        let burdens = rows.iter().map(|row| burden(&row.rollouts)).collect();
        let tasks = Clusters::new(&rows.iter().map(|row| row.task.as_str()).collect::<Vec<_>>());
        let stems = Clusters::new(&rows.iter().map(|row| row.stem.as_str()).collect::<Vec<_>>());
        Some(Oracle { expected, rows, burdens, tasks, stems })
    }

    pub(crate) fn target(&self, target: Target) -> Outcome {
        let deltas: Vec<_> = self.burdens.iter().map(|burden| burden.delta(target).unwrap()).collect();
        Outcome {
            d: deltas.iter().map(|delta| delta.value()).collect(),
            y: deltas.iter().map(|delta| delta.is_positive()).collect(),
            mass: deltas.iter().map(|delta| delta.mass()).collect(),
        }
    }

    pub(crate) fn task_scores(&self, policy: &str) -> Vec<f64> {
        numbers(&self.expected["scores_task_folds"][policy])
    }

    pub(crate) fn stem_scores(&self, cell: &str) -> Vec<Vec<f64>> {
        self.expected["scores_stem_folds"][cell].as_array().unwrap().iter().map(numbers).collect()
    }
}

/// A target's delta, label and mass, one entry per boundary.
pub(crate) struct Outcome {
    pub(crate) d: Vec<f64>,
    pub(crate) y: Vec<bool>,
    pub(crate) mass: Vec<f64>,
}

fn row(json: &Json) -> CohortRow {
    let text = |field: &str| json[field].as_str().unwrap().to_owned();
    let rollouts = json["rollouts"].as_array().unwrap().iter().map(|rollout| Rollout {
        arm: if rollout["arm"] == "pre" { Arm::Pre } else { Arm::Post },
        sample: rollout["sample"].as_u64().unwrap_or(0),
        steps: rollout["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| RolloutStep {
                exact: step["exact"].as_str().unwrap_or_default().to_owned(),
                function: step["function"].as_str().unwrap_or_default().to_owned(),
                blocked: step["blocked"].as_bool().unwrap(),
                refetch: step["refetch"].as_bool().unwrap(),
            })
            .collect(),
        completed: rollout["completed"].as_bool().unwrap_or(false),
    });
    let task = text("task_id");
    CohortRow {
        boundary_id: text("boundary_id"),
        stem: boundary::stem_of(&task).to_owned(),
        task,
        compaction_index: json["compaction_index"].as_u64().unwrap(),
        prefix_steps: json["prefix_steps"].as_u64().unwrap(),
        functions: json["historical_functions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect(),
        rollouts: rollouts.collect(),
    }
}

fn burden(rollouts: &[Rollout]) -> Burden {
    let arm = |arm: Arm| {
        rollouts.iter().filter(|rollout| rollout.arm == arm).map(foldline_features::RolloutCounts::of).collect()
    };
    Burden { pre: arm(Arm::Pre), post: arm(Arm::Post) }
}

pub(crate) fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// All nine paired targets.
pub(crate) fn targets() -> Vec<Target> {
    Channel::ALL.into_iter().flat_map(|c| Horizon::ALL.into_iter().map(move |h| Target::Paired(c, h))).collect()
}

#[track_caller]
pub(crate) fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected} within {tolerance}");
}

/// Compares an interval with an entry marked statistical: `lo` and `hi` within `tol_lo` and `tol_hi`, and one more
/// `step` for statistics that move along a frontier.
#[track_caller]
pub(crate) fn close_interval(found: &Interval, expected: &Json, step: f64, what: &str) {
    let (lo, hi) = found.ends().unwrap();
    let tolerance = |side: &str| expected.get(side).or(expected.get("tol")).unwrap().as_f64().unwrap() + step;
    close(lo, expected["lo"].as_f64().unwrap(), tolerance("tol_lo"), &format!("{what}, lower end"));
    close(hi, expected["hi"].as_f64().unwrap(), tolerance("tol_hi"), &format!("{what}, upper end"));
}
