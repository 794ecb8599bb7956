//! How long one fit and one score take, on synthetic matrices of the shapes of H, R1 and R3 (472 training rows).
//!
//! `cargo bench -p foldline-models`. One thread: studies run folds in parallel, fits do not.

use divan::{Bencher, black_box};
use foldline_features::{Row, Table};
use foldline_models::{Fit, Learner, fit};

fn main() {
    divan::main();
}

const ROWS: usize = 472;

/// A fixed sequence of numbers in [0, 1).
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Seventeen dense columns like those of H, then `sparse` 0/1 columns, most of them rare.
fn table(sparse: usize) -> (Table, Vec<u32>, Vec<f64>) {
    let mut sequence = Sequence(7);
    // from every second row down to one in hundreds
    let rates: Vec<f64> = (0..sparse).map(|_| 0.5 * sequence.next().powi(if sparse > 1000 { 12 } else { 4 })).collect();
    let mut y = Vec::new();
    let rows = (0..ROWS)
        .map(|_| {
            let dense: Vec<f64> = (0..17)
                .map(|column| match column % 4 {
                    // counts, flags, logarithms, shares
                    0 => (sequence.next() * 40.0).floor(),
                    1 => (sequence.next() * 2.0).floor(),
                    2 => (1.0 + (sequence.next() * 60.0).floor()).ln(),
                    _ => (sequence.next() * 30.0).floor() / (10.0 + (sequence.next() * 30.0).floor()),
                })
                .collect();
            let harm = 0.3 * f64::from(dense[0] > 20.0) + 0.2 * dense[1] + 0.3 * dense[3].min(1.0);
            y.push(f64::from(sequence.next() < harm));
            let ones = (0..sparse).filter(|&column| sequence.next() < rates[column]);
            let ones = ones.map(|column| (17 + column) as u32).collect();
            Row { dense, ones }
        })
        .collect();
    let columns = (0..17 + sparse).map(|column| format!("x{column}")).collect();
    let table = Table::new(columns, 17, rows).expect("rows of one shape");
    (table, (0..ROWS as u32).collect(), y)
}

/// Numbers of 0/1 columns of H, R1 and R3.
const SHAPES: [usize; 3] = [0, 127, 8319];

fn bench_fit(bencher: Bencher<'_, '_>, learner: Learner, sparse: usize) {
    let (table, rows, y) = table(sparse);
    bencher.bench(|| -> Fit { fit(learner, black_box(&table), &rows, &y).expect("fits") });
}

#[divan::bench(args = SHAPES, max_time = 3)]
fn boosted(bencher: Bencher<'_, '_>, sparse: usize) {
    bench_fit(bencher, Learner::Boosted, sparse);
}

#[divan::bench(args = SHAPES, max_time = 3)]
fn logistic(bencher: Bencher<'_, '_>, sparse: usize) {
    bench_fit(bencher, Learner::Logistic, sparse);
}

#[divan::bench(args = [0, 127], max_time = 3)]
fn logistic_by_linfa(bencher: Bencher<'_, '_>, sparse: usize) {
    bench_fit(bencher, Learner::LinfaLogistic, sparse);
}

#[divan::bench(args = SHAPES, max_time = 3)]
fn depth2(bencher: Bencher<'_, '_>, sparse: usize) {
    bench_fit(bencher, Learner::Depth2, sparse);
}

#[divan::bench(args = SHAPES)]
fn boosted_score_of_one_row(bencher: Bencher<'_, '_>, sparse: usize) {
    let (table, rows, y) = table(sparse);
    let model = fit(Learner::Boosted, &table, &rows, &y).expect("fits").model;
    let mut at = 0;
    bencher.bench_local(|| {
        at = (at + 1) % ROWS;
        model.score(black_box(&table.rows()[at]))
    });
}
