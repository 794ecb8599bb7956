//! What is fitted while evaluating, on the reference cohort: out-of-fold scores, leave-one-stem-out, permutation
//! importance.

#![cfg(test)]

mod support;

use foldline_features::{Representation, Target};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::cross_fit::{cross_fit, leave_one_stem_out};
use foldline_frontiers::importance::{ColumnGroup, permutation_importance};
use foldline_frontiers::ranking::{RankCorrelation, auroc, average_scores};
use foldline_frontiers::{Folds, Streams, Unit};
use foldline_models::Learner;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Oracle, close, close_interval, targets};

const FROZEN: [(Learner, [Representation; 2]); 3] = [
    (Learner::Stump, [Representation::Six, Representation::SixSub]),
    (Learner::Depth2, [Representation::Six, Representation::SixSub]),
    (Learner::LogisticGd, [Representation::Pair, Representation::PairSub]),
];

fn as_numbers(labels: &[bool]) -> Vec<f64> {
    labels.iter().map(|&label| f64::from(u8::from(label))).collect()
}

/// Table 11's grid: every policy refitted to every channel and horizon, both labels.
#[test]
fn the_grid_of_frozen_policies() {
    let Some(oracle) = Oracle::load() else { return };
    let folds = oracle.folds("oracle/folds-task.csv");
    assert_eq!(folds.groups_on_both_sides(&task_ids(&oracle)), 0);
    for (learner, representations) in FROZEN {
        for (label, representation) in ["original", "post_hoc"].into_iter().zip(representations) {
            let table = oracle.table(representation);
            for target in targets() {
                let y = oracle.target(target).y;
                let fits = AtomicUsize::new(0);
                let count = || {
                    fits.fetch_add(1, Ordering::Relaxed);
                };
                let fitted = cross_fit(learner, &table, &folds, &as_numbers(&y), count).unwrap();
                assert_eq!((fits.into_inner(), fitted.warnings.len(), fitted.models[0].len()), (5, 0, 5));
                let what = format!("{learner}/{label} {target}");
                let found = auroc(&fitted.scores[0], &y).unwrap().defined().unwrap();
                let expected = &oracle.expected["policies"][label]["auroc_grid"][target.to_string()][learner.name()];
                close(found, expected.as_f64().unwrap(), 1e-9, &what);
                if target == Target::PRIMARY {
                    let expected = oracle.task_scores(&format!("{learner}/{label}"));
                    for (found, expected) in fitted.scores[0].iter().zip(expected) {
                        close(*found, expected, 1e-9, &what);
                    }
                }
            }
        }
    }
}

fn task_ids(oracle: &Oracle) -> Vec<&str> {
    oracle.boundaries().iter().map(|boundary| boundary.task_id.as_str()).collect()
}

fn stem_ids(oracle: &Oracle) -> Vec<&str> {
    oracle.boundaries().iter().map(|boundary| boundary.stem.as_str()).collect()
}

/// The regression variant: Spearman's correlation of the averaged prediction with dU@3.
#[test]
fn boosted_regression_on_the_outcome() {
    let Some(oracle) = Oracle::load() else { return };
    let d = oracle.target(Target::PRIMARY).d;
    let folds = oracle.folds("oracle/folds-stem.csv");
    let table = oracle.table(Representation::H);
    let fitted = cross_fit(Learner::BoostedRegression, &table, &folds, &d, || ()).unwrap();
    for (found, expected) in fitted.scores[0].iter().zip(&oracle.stem_scores("boosted-reg/H")[0]) {
        close(*found, *expected, 1e-6, "prediction of repetition 0");
    }
    let predicted = average_scores(&fitted.scores).unwrap();
    let draws = Draws::new(&Streams::new(20_260_901), Unit::Task, oracle.tasks.len(), 2_000);
    let found = RankCorrelation::new(&predicted, &d).unwrap().estimate(&oracle.tasks, &[&draws]).unwrap();
    let expected = &oracle.expected["ext2"]["sensitivity"]["regression"];
    // derived from boosted scores: scores closer than 1e-6 may change places
    close(found.point.defined().unwrap(), expected["spearman"].as_f64().unwrap(), 1e-4, "Spearman");
    close_interval(&found.intervals[0], &expected["interval"], 0.0, "Spearman");
}

#[test]
fn leave_one_stem_out_means() {
    let Some(oracle) = Oracle::load() else { return };
    let y = oracle.target(Target::PRIMARY).y;
    for (learner, representations) in FROZEN {
        for (label, representation) in ["original", "post_hoc"].into_iter().zip(representations) {
            let found = leave_one_stem_out(learner, &oracle.table(representation), &y, &stem_ids(&oracle)).unwrap();
            let expected = &oracle.expected["loso"][format!("{learner}/{label}")];
            let mean = expected["mean_within_stem_auroc"].as_f64().unwrap();
            close(found.mean.defined().unwrap(), mean, 1e-9, &format!("{learner}/{label}"));
            assert_eq!(Some(found.defined as u64), expected["stems_with_both_classes"].as_u64());
            assert_eq!(Some(found.folds.len() as u64), expected["stems"].as_u64());
        }
    }
}

#[test]
fn permutation_importance_of_boosted_trees() {
    let Some(oracle) = Oracle::load() else { return };
    let expected = &oracle.expected["perm"];
    let y = oracle.target(Target::PRIMARY).y;
    let table = oracle.table(Representation::HT);
    let folds = oracle.folds("oracle/folds-stem.csv").first_repetitions(5);
    assert_eq!(folds.groups_on_both_sides(&stem_ids(&oracle)), 0);
    let fitted = cross_fit(Learner::Boosted, &table, &folds, &as_numbers(&y), || ()).unwrap();
    let mut groups = ColumnGroup::each_column(&table);
    groups.push(ColumnGroup { name: "difficulty".to_owned(), columns: vec![17, 18, 19] });
    let found = permutation_importance(&table, &folds, &fitted, &y, &groups, &Streams::new(3)).unwrap();
    assert_eq!(found.len(), 21);
    for importance in found.iter().take(20) {
        let mean = expected["mean_drop"][&importance.name].as_f64().unwrap();
        let tolerance = 5.0 * expected["sd_of_mean"][&importance.name].as_f64().unwrap();
        close(importance.mean_drop.defined().unwrap(), mean, tolerance, &importance.name);
    }
    let named = |name: &str| found.iter().find(|importance| importance.name == name).unwrap();
    // constant in the cohort
    assert!(named("has_completion_call").unused);
    assert_eq!(named("has_completion_call").mean_drop.defined(), Some(0.0));

    let alone = [ColumnGroup { name: "n_exact".to_owned(), columns: vec![3] }];
    let alone = permutation_importance(&table, &folds, &fitted, &y, &alone, &Streams::new(3)).unwrap();
    assert_eq!(&alone[0], named("n_exact"), "a column's permutations do not depend on the others");
}

/// A duplicated column looks useless until the pair is permuted: x1 = x2 = y (0 0 1 1 ...), the stump splits x1.
#[test]
fn a_duplicate_hides_importance() {
    use foldline_features::{Row, Table};
    let y: Vec<bool> = (0..80).map(|row| row % 2 == 1).collect();
    let value = |row: usize| f64::from(u8::from(y[row]));
    let rows = (0..80).map(|row| Row { dense: vec![value(row), value(row)], ones: vec![] }).collect();
    let table = Table::new(vec!["x1".into(), "x2".into()], 2, rows).unwrap();
    let ids: Vec<String> = (0..80).map(|row| format!("t{row}")).collect();
    let folds = Folds::grouped(&ids, "task", 2, 20, &Streams::new(1)).unwrap();
    let fitted = cross_fit(Learner::Stump, &table, &folds, &as_numbers(&y), || ()).unwrap();
    let pair = ColumnGroup { name: "both".to_owned(), columns: vec![0, 1] };
    let groups: Vec<ColumnGroup> = ColumnGroup::each_column(&table).into_iter().chain([pair]).collect();
    let found = permutation_importance(&table, &folds, &fitted, &y, &groups, &Streams::new(2)).unwrap();
    // by permutation within a fold of 40 rows, the expected AUROC is 0.5; 5 standard errors over 20 x 2 folds
    close(found[0].mean_drop.defined().unwrap(), 0.5, 0.09, "the column used");
    assert_eq!((found[1].mean_drop.defined(), found[1].unused), (Some(0.0), true));
    close(found[2].mean_drop.defined().unwrap(), 0.5, 0.09, "the pair");
}

#[test]
fn scores_do_not_depend_on_the_thread_count() {
    let Some(oracle) = Oracle::load() else { return };
    let y = as_numbers(&oracle.target(Target::PRIMARY).y);
    let table = oracle.table(Representation::Six);
    let folds = oracle.folds("oracle/folds-stem.csv").first_repetitions(2);
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| cross_fit(Learner::Depth2, &table, &folds, &y, || ()).unwrap().scores)
    };
    assert_eq!(with_threads(1), with_threads(4));
}
