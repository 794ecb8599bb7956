//! AUROC, AP, frontiers, operating points and signed values of the reference cohort, from its out-of-fold scores.

#![cfg(test)]

mod support;

use foldline_features::Target;
use foldline_frontiers::frontier::{Retain, Threshold, frontier, operating_point, signed_value};
use foldline_frontiers::ranking::{
    auroc, auroc_per_fold, auroc_per_repetition, average_precision, average_precision_per_repetition, average_scores,
    best_cell,
};
use foldline_frontiers::{Reason, Value};
use serde_json::Value as Json;
use support::{Oracle, Outcome, close, numbers, shared};

/// Ranking statistics of given scores: only float addition order differs.
const EXACT: f64 = 1e-9;

fn check_cell(scores: &[f64], outcome: &Outcome, expected: &Json, what: &str) {
    let number = |path: &[&str]| path.iter().fold(expected, |json, key| &json[key]).as_f64().unwrap();
    close(auroc(scores, &outcome.y).unwrap().defined().unwrap(), number(&["auroc"]), EXACT, what);
    close(average_precision(scores, &outcome.y).unwrap().defined().unwrap(), number(&["ap"]), EXACT, what);

    let points = frontier(scores, &outcome.y, &outcome.mass).unwrap();
    assert_eq!(points.len() as u64 - 1, expected["distinct_scores"].as_u64().unwrap(), "{what}");
    if let Some(rows) = expected["frontier"].as_array() {
        assert_eq!(points.len(), rows.len());
        for (point, row) in points.iter().zip(rows) {
            assert_eq!(point.allowed, row[0].as_u64().unwrap(), "{what}");
            assert_eq!(point.blocked_positives, row[1].as_u64().unwrap(), "{what}");
            close(point.mass.defined().unwrap(), row[2].as_f64().unwrap(), EXACT, what);
        }
    }
    let operating = operating_point(&points, Retain::PAPER).unwrap();
    let point = operating.point;
    match expected["operating_point"]["threshold"].as_f64() {
        // the printed average may differ in its last bit; the set it blocks is compared below
        Some(threshold) => match point.threshold {
            Threshold::At(found) => close(found, threshold, EXACT, what),
            Threshold::Never => panic!("{what}: never, expected {threshold}"),
        },
        None => assert_eq!(point.threshold, Threshold::Never),
    }
    for (name, count) in
        [("allowed", point.allowed), ("blocked", point.blocked), ("blocked_positives", point.blocked_positives)]
    {
        assert_eq!(expected["operating_point"][name].as_u64(), Some(count), "{what}: {name}");
    }
    for (name, value) in [
        ("retained", point.retained),
        ("avoided", point.avoided.defined().unwrap()),
        ("mass", point.mass.defined().unwrap()),
        ("advantage_count", point.advantage_count.defined().unwrap()),
        ("advantage_mass", point.advantage_mass.defined().unwrap()),
        ("hypergeometric_sd", operating.hypergeometric_sd.defined().unwrap()),
    ] {
        close(value, number(&["operating_point", name]), EXACT, &format!("{what}: {name}"));
    }
    let signed = signed_value(scores, &outcome.d, point.threshold).unwrap();
    assert_eq!(expected["signed"]["blocked"].as_u64(), Some(signed.blocked));
    assert_eq!(expected["signed"]["negative"].as_u64(), Some(signed.negative));
    for (name, value) in [
        ("V", signed.v),
        ("S_plus", signed.s_plus),
        ("S_minus", signed.s_minus),
        ("E_rand", signed.e_rand),
        ("V_minus_E_rand", signed.v_minus_e_rand),
        ("V_per_blocked", signed.v_per_blocked.defined().unwrap()),
    ] {
        close(value, number(&["signed", name]), EXACT, &format!("{what}: {name}"));
    }
}

#[test]
fn task_fold_policies() {
    let Some(oracle) = Oracle::load() else { return };
    let outcome = oracle.target(Target::PRIMARY);
    let folds = oracle.folds("oracle/folds-task.csv");
    let ids: Vec<&str> = oracle.boundaries().iter().map(|boundary| boundary.boundary_id.as_str()).collect();
    let text = std::fs::read_to_string(shared("oracle/folds-task.csv").unwrap()).unwrap();
    assert_eq!(folds.to_csv(&ids), text);
    for label in ["original", "post_hoc"] {
        for policy in ["stump", "depth2", "logistic-gd"] {
            let what = format!("{policy}/{label}");
            let expected = &oracle.expected["policies"][label][policy];
            let scores = oracle.task_scores(&what);
            check_cell(&scores, &outcome, expected, &what);
            let per_fold = auroc_per_fold(&scores, &outcome.y, &folds, 0).unwrap();
            for (found, expected) in per_fold.folds.iter().zip(numbers(&expected["per_fold_auroc"])) {
                close(found.defined().unwrap(), expected, EXACT, &what);
            }
            close(per_fold.mean.defined().unwrap(), expected["per_fold_mean"].as_f64().unwrap(), EXACT, &what);

            // |d| >= 0.2 in exact arithmetic
            let far: Vec<usize> = (0..scores.len())
                .filter(|&row| oracle.burdens[row].delta(Target::PRIMARY).unwrap().abs_at_least(1, 5))
                .collect();
            let expected = &expected["auroc_abs_d_at_least_0.2"];
            assert_eq!(expected["n"].as_u64(), Some(far.len() as u64));
            let found = auroc(
                &far.iter().map(|&row| scores[row]).collect::<Vec<_>>(),
                &far.iter().map(|&row| outcome.y[row]).collect::<Vec<_>>(),
            );
            close(found.unwrap().defined().unwrap(), expected["auroc"].as_f64().unwrap(), EXACT, &what);
        }
    }
}

#[test]
fn stem_fold_cells() {
    let Some(oracle) = Oracle::load() else { return };
    let outcome = oracle.target(Target::PRIMARY);
    for family in ["ext2", "ext3"] {
        for (name, expected) in oracle.expected[family]["cells"].as_object().unwrap() {
            let scores = oracle.stem_scores(name);
            check_cell(&average_scores(&scores).unwrap(), &outcome, expected, name);
            let per_repetition = auroc_per_repetition(&scores, &outcome.y).unwrap();
            for (found, expected) in per_repetition.repetitions.iter().zip(numbers(&expected["per_rep_auroc"])) {
                close(found.defined().unwrap(), expected, EXACT, name);
            }
            for (key, value) in [
                ("per_rep_mean", per_repetition.mean),
                ("per_rep_min", per_repetition.min),
                ("per_rep_max", per_repetition.max),
                ("per_rep_ap_mean", average_precision_per_repetition(&scores, &outcome.y).unwrap().mean),
            ] {
                close(value.defined().unwrap(), expected[key].as_f64().unwrap(), EXACT, &format!("{name}: {key}"));
            }
        }
    }
    // the four H and HT cells are eligible, in table order
    let eligible = ["boosted/H", "logistic/H", "boosted/HT", "logistic/HT"];
    let means = eligible.map(|name| auroc_per_repetition(&oracle.stem_scores(name), &outcome.y).unwrap().mean);
    let best = best_cell(&means).unwrap();
    assert_eq!(oracle.expected["ext2"]["best_by_per_rep_mean"], eligible[best]);
    assert_eq!(best_cell(&[means[best], means[best], Value::Undefined(Reason::OneClass)]), Some(0));
}
