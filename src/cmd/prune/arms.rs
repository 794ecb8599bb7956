//! Run records of one or two arms: the table by difficulty, and paired differences with task-clustered intervals.

use super::Failure;
use super::validate::Ranged;
use crate::input::read_text;
use foldline_frontiers::estimate::{Reason, Unit, Value as Stat};
use foldline_frontiers::{Clusters, Draws, Streams};
use foldline_pruner::report::runs::{ArmRow, Measure, Run, difficulties, read_run, table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One arm.
#[derive(Debug, Serialize)]
pub struct Arm {
    /// Records without `success`, left out.
    left_out: usize,
    /// Rows: `all`, and the difficulties that are recorded.
    rows: BTreeMap<String, ArmRow>,
}

/// One or two arms.
#[derive(Debug, Serialize)]
pub struct Arms {
    /// The arm of `--runs`.
    runs: Arm,
    /// The arm of `--against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Arm>,
    /// `runs` minus `against`, by group and measure: mean over the tasks that both hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<BTreeMap<String, BTreeMap<&'static str, Difference>>>,
}

/// A paired difference.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Tasks that both arms hold.
    tasks: usize,
    #[serde(flatten)]
    ranged: Ranged,
}

/// Reads and compares the arms.
///
/// # Errors
/// `Failure::Data` naming the file and line that cannot be read.
pub fn arms(runs: &[PathBuf], against: &[PathBuf], draws: u32, seed: u64) -> Result<Arms, Failure> {
    let (runs, left_out) = read(runs)?;
    let arm = Arm { left_out, rows: table(&runs) };
    if against.is_empty() {
        return Ok(Arms { runs: arm, against: None, differences: None });
    }
    let (other, left_out) = read(against)?;
    let differences = differences(&runs, &other, draws, seed);
    Ok(Arms { runs: arm, against: Some(Arm { left_out, rows: table(&other) }), differences: Some(differences) })
}

fn read(paths: &[PathBuf]) -> Result<(Vec<Run>, usize), Failure> {
    let mut runs = Vec::new();
    let mut left_out = 0;
    for path in paths {
        let file = if path.is_dir() { path.join("run_records.jsonl") } else { path.clone() };
        let (run, missing) = one(&file)?;
        runs.push(run);
        left_out += missing;
    }
    Ok((runs, left_out))
}

fn one(file: &Path) -> Result<(Run, usize), Failure> {
    read_run(&read_text(file)?).map_err(|problem| Failure::Data(format!("{}: {problem}", file.display())))
}

fn differences(
    runs: &[Run],
    against: &[Run],
    draws: u32,
    seed: u64,
) -> BTreeMap<String, BTreeMap<&'static str, Difference>> {
    let groups = difficulties(runs);
    let mut names: Vec<String> = groups.values().flatten().cloned().collect();
    names.push("all".to_owned());
    names.sort_unstable();
    names.dedup();
    let in_group = |name: &str, task: &str| name == "all" || groups[task].as_deref() == Some(name);
    let of_group = |name: String| {
        let measures = Measure::ALL.iter().map(|measure| {
            let pairs: Vec<(&str, f64)> = groups
                .keys()
                .filter(|task| in_group(&name, task))
                .filter_map(|task| Some((task.as_str(), measure.of(runs, task)? - measure.of(against, task)?)))
                .collect();
            (measure.name(), difference(&pairs, draws, seed))
        });
        let measures = measures.collect();
        (name, measures)
    };
    names.into_iter().map(of_group).collect()
}

fn difference(pairs: &[(&str, f64)], draws: u32, seed: u64) -> Difference {
    let tasks: Vec<&str> = pairs.iter().map(|(task, _)| *task).collect();
    let clusters = Clusters::new(&tasks);
    let draws = Draws::new(&Streams::new(seed), Unit::Task, clusters.len(), draws);
    let mean = |times: &[u32]| {
        let [mut sum, mut count] = [0.0; 2];
        for (row, (_, value)) in pairs.iter().enumerate() {
            let times = f64::from(times[clusters.of()[row] as usize]);
            sum += times * value;
            count += times;
        }
        if count > 0.0 { Stat::Defined(sum / count) } else { Stat::Undefined(Reason::NoRows) }
    };
    let drawn = draws.map(|| (), |(), times| mean(times));
    Difference { tasks: tasks.len(), ranged: Ranged::new(mean(&vec![1; clusters.len()]), &draws.interval(drawn)) }
}
