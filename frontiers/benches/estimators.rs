//! Speed of the estimators on a cohort of the paper's size: 590 boundaries, 140 tasks, 5 or 3 rollouts an arm.
//!
//! Scores are either all distinct (boosted models) or take 20 values (trees); the cost of a draw depends on it.

use divan::{Bencher, black_box};
use foldline_features::{Arm, Burden, Rollout, RolloutCounts, RolloutStep, Target};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::cell::Cell;
use foldline_frontiers::frontier::Retain;
use foldline_frontiers::nested::nested_bootstrap;
use foldline_frontiers::splits::SplitHalves;
use foldline_frontiers::yardstick::yardstick;
use foldline_frontiers::{Clusters, Streams, Unit};

fn main() {
    divan::main();
}

const BOUNDARIES: u64 = 590;
const TASKS: u64 = 140;

struct Cohort {
    burdens: Vec<Burden>,
    clusters: Clusters,
}

fn cohort() -> Cohort {
    let mut stream = Streams::new(1).stream("bench", 0);
    let mut counts = |n: usize| -> Vec<RolloutCounts> {
        let rollout = |blocked: u32| Rollout {
            arm: Arm::Pre,
            sample: 0,
            steps: (0..5)
                .map(|step| RolloutStep {
                    exact: String::new(),
                    function: String::new(),
                    blocked: step < blocked,
                    refetch: false,
                })
                .collect(),
            completed: false,
        };
        (0..n).map(|_| RolloutCounts::of(&rollout(stream.below(4)))).collect()
    };
    let burdens = (0..BOUNDARIES)
        .map(|row| if row < 275 { 5 } else { 3 })
        .map(|n| Burden { pre: counts(n), post: counts(n) })
        .collect();
    let tasks: Vec<String> = (0..BOUNDARIES).map(|row| format!("t{}", row % TASKS)).collect();
    Cohort { burdens, clusters: Clusters::new(&tasks) }
}

fn cell(cohort: &Cohort, distinct: u32) -> Cell {
    let deltas: Vec<_> = cohort.burdens.iter().filter_map(|burden| burden.delta(Target::PRIMARY)).collect();
    let mut stream = Streams::new(2).stream("bench", 0);
    Cell::new(
        &deltas.iter().map(|_| f64::from(stream.below(distinct))).collect::<Vec<_>>(),
        &deltas.iter().map(|delta| delta.is_positive()).collect::<Vec<_>>(),
        &deltas.iter().map(|delta| delta.mass()).collect::<Vec<_>>(),
        &deltas.iter().map(|delta| delta.value()).collect::<Vec<_>>(),
        &cohort.clusters,
        Retain::PAPER,
    )
    .expect("the bench's numbers are finite")
}

/// Making 10,000 draws of 140 tasks; all cells share them.
#[divan::bench]
fn draw_tasks_10_000_times() -> Draws {
    Draws::new(&Streams::new(1), Unit::Task, TASKS as usize, black_box(10_000))
}

/// AUROC, operating point and signed values of one cell in 10,000 draws.
#[divan::bench(args = [20, 1_000_000])]
fn judge_a_cell_10_000_times(bencher: Bencher, distinct: u32) {
    let cohort = cohort();
    let cell = cell(&cohort, distinct);
    let draws = Draws::new(&Streams::new(1), Unit::Task, cohort.clusters.len(), 10_000);
    bencher.bench(|| cell.replicates(black_box(&draws)));
}

/// 2,000 nested draws of seven cells.
#[divan::bench(sample_count = 10)]
fn nested_7_cells_2_000_times(bencher: Bencher) {
    let cohort = cohort();
    let cell = cell(&cohort, 1_000_000);
    bencher.bench(|| {
        nested_bootstrap(&[&cell; 7], &cohort.burdens, Target::PRIMARY, &cohort.clusters, &Streams::new(1), 2_000)
    });
}

/// 200 splits, without and with the intervals of 2,000 draws over the first 20.
#[divan::bench(args = [0, 2_000], sample_count = 10)]
fn yardstick_of_200_splits(bencher: Bencher, count: u32) {
    let cohort = cohort();
    let include = vec![true; cohort.burdens.len()];
    bencher.bench(|| {
        let splits = SplitHalves::random(&cohort.burdens, Target::PRIMARY, &Streams::new(1), 200)?;
        let draws = Draws::new(&Streams::new(1), Unit::Task, cohort.clusters.len(), count);
        let with_intervals = [(&draws, &cohort.clusters)];
        let resamples = if count > 0 { with_intervals.as_slice() } else { &[] };
        yardstick(&splits, &include, Retain::PAPER, resamples)
    });
}
