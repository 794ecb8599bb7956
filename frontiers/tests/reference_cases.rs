//! Small cases with known answers: the shared unit cases and cases taken from public bug reports.

#![cfg(test)]

mod support;

use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::folds::{FoldError, Folds};
use foldline_frontiers::frontier::{Retain, Threshold, frontier, operating_point, signed_value};
use foldline_frontiers::ranking::{auroc, auroc_per_fold, auroc_per_repetition, average_precision, average_scores};
use foldline_frontiers::{Clusters, Reason, Streams, Unit, Value};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use support::{close, json, numbers, shared};

fn labels(json: &Json) -> Vec<bool> {
    numbers(json).into_iter().map(|y| y > 0.0).collect()
}

fn case(id: &str) -> Option<Json> {
    let text = std::fs::read_to_string(shared("cases.jsonl")?).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    Some(cases.into_iter().find(|case| case["id"] == id).unwrap())
}

#[test]
fn auroc_cases() {
    // (scores, labels, expected, where the number comes from)
    let by_hand: &[(&[f64], &[u8], f64, &str)] = &[
        (&[0.1, 0.4, 0.35, 0.8], &[0, 0, 1, 1], 0.75, "scikit-learn's docstring; 3 of 4 pairs"),
        (&[0.6, 0.4, 0.4, 0.4, 0.1], &[1, 1, 0, 0, 0], 5.0 / 6.0, "ties count one half"),
        (&[0.4, 0.4, 0.1, 0.6, 0.4], &[0, 1, 0, 1, 0], 5.0 / 6.0, "the same in another row order"),
        (&[-0.0, 0.0], &[1, 0], 0.5, "-0.0 equals 0.0"),
        (&[0.1, 0.6, 0.7, 0.9], &[0, 0, 1, 1], 1.0, "scores, not their rounded labels"),
    ];
    for &(scores, y, expected, source) in by_hand {
        let y: Vec<bool> = y.iter().map(|&y| y > 0).collect();
        close(auroc(scores, &y).unwrap().defined().unwrap(), expected, 1e-15, source);
    }
    assert_eq!(auroc(&[0.1, 0.2], &[true, true]), Ok(Value::Undefined(Reason::OneClass)));
    let message = auroc(&[0.1, 0.2, f64::NAN], &[true, false, true]).unwrap_err().to_string();
    assert_eq!(message, "score of row 2 is NaN: expected a finite number");

    let Some(tiny) = case("auroc-03-tiny-scores") else { return };
    for (case, expected) in tiny["input"]["cases"].as_array().unwrap().iter().zip(numbers(&tiny["expect"]["auroc"])) {
        let found = auroc(&numbers(&case["score"]), &labels(&case["y"])).unwrap();
        close(found.defined().unwrap(), expected, 1e-12, "auroc-03");
    }

    let one_class = case("auroc-01-one-class").unwrap();
    let mut csv = String::from("boundary_id,repetition,fold\n");
    let (mut scores, mut y, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for (fold, rows) in one_class["input"]["folds"].as_array().unwrap().iter().enumerate() {
        scores.extend(numbers(&rows["score"]));
        y.extend(labels(&rows["y"]));
        while ids.len() < scores.len() {
            csv += &format!("b{},0,{fold}\n", ids.len());
            ids.push(format!("b{}", ids.len()));
        }
    }
    let per_fold = auroc_per_fold(&scores, &y, &Folds::from_csv(&csv, &ids).unwrap(), 0).unwrap();
    assert_eq!(per_fold.folds, [Value::Defined(0.75), Value::Undefined(Reason::OneClass), Value::Defined(1.0)]);
    assert_eq!((per_fold.mean, per_fold.defined), (Value::Defined(0.875), 2));

    let four = case("auroc-05-pooled-vs-fold-mean").unwrap();
    let rows = four["input"]["rows"].as_array().unwrap();
    let column = |name: &str| rows.iter().map(|row| row[name].as_f64().unwrap()).collect::<Vec<_>>();
    let y: Vec<bool> = column("y").into_iter().map(|y| y > 0.0).collect();
    let folds =
        Folds::from_csv("boundary_id,repetition,fold\na,0,0\nb,0,0\nc,0,1\nd,0,1\n", &["a", "b", "c", "d"]).unwrap();
    assert_eq!(auroc(&column("score"), &y), Ok(Value::Defined(0.75)));
    assert_eq!(auroc_per_fold(&column("score"), &y, &folds, 0).unwrap().mean, Value::Defined(1.0));
    let repetitions: Vec<Vec<f64>> =
        four["input"]["repetitions"]["scores"].as_array().unwrap().iter().map(numbers).collect();
    let y = labels(&four["input"]["repetitions"]["y"]);
    assert_eq!(auroc_per_repetition(&repetitions, &y).unwrap().mean, Value::Defined(0.75));
    assert_eq!(auroc(&average_scores(&repetitions).unwrap(), &y), Ok(Value::Defined(1.0)));
}

#[test]
fn average_precision_cases() {
    assert_eq!(
        average_precision(&[0.8, 0.8, 0.3, 0.3], &[true, false, true, false]),
        Ok(Value::Defined(0.5)),
        "ties enter together, and no point at recall 0 is made up"
    );
    assert_eq!(average_precision(&[0.1], &[false]), Ok(Value::Undefined(Reason::NoPositive)));
    let Some(constant) = case("ap-01-constant-score") else { return };
    let expected = numbers(&constant["expect"]["average_precision"]);
    for (case, expected) in constant["input"]["cases"].as_array().unwrap().iter().zip(expected) {
        let found = average_precision(&numbers(&case["score"]), &labels(&case["y"])).unwrap();
        close(found.defined().unwrap(), expected, 1e-12, "ap-01");
    }
}

fn outcome(d: &[f64]) -> (Vec<bool>, Vec<f64>) {
    (d.iter().map(|&d| d > 0.0).collect(), d.iter().map(|&d| d.max(0.0)).collect())
}

#[test]
fn frontier_cases() {
    let Some(whole) = case("frontier-01-whole-frontier") else { return };
    let (scores, d) = (numbers(&whole["input"]["score"]), numbers(&whole["input"]["d"]));
    let (y, mass) = outcome(&d);
    let points = frontier(&scores, &y, &mass).unwrap();
    let expected = whole["expect"]["points"].as_array().unwrap();
    assert_eq!(points.len(), expected.len());
    // the case lists thresholds descending
    for (point, expected) in points.iter().rev().zip(expected) {
        let threshold = match point.threshold {
            Threshold::At(threshold) => Some(threshold),
            Threshold::Never => None,
        };
        assert_eq!(expected["t"].as_f64(), threshold);
        assert_eq!(expected["allowed"].as_u64(), Some(point.allowed));
        let signed = signed_value(&scores, &d, point.threshold).unwrap();
        for (name, value) in [
            ("retained", point.retained),
            ("avoided", point.avoided.defined().unwrap()),
            ("mass", point.mass.defined().unwrap()),
            ("advantage_count", point.advantage_count.defined().unwrap()),
            ("advantage_mass", point.advantage_mass.defined().unwrap()),
            ("V", signed.v),
            ("E_rand", signed.e_rand),
            ("V_minus_E_rand", signed.v_minus_e_rand),
        ] {
            close(value, expected[name].as_f64().unwrap(), 1e-9, name);
        }
    }
    let chosen = operating_point(&points, "0.8".parse().unwrap()).unwrap();
    assert_eq!((chosen.min_allowed, chosen.point.threshold), (7, Threshold::At(0.9)));

    let limits = case("frontier-03-operating-point").unwrap();
    for (name, threshold, allowed) in [("tie_at_limit", 1.0, 9), ("exact_limit", 0.9, 8)] {
        let input = &limits["input"][name];
        let (y, mass) = outcome(&numbers(&input["d"]));
        let points = frontier(&numbers(&input["score"]), &y, &mass).unwrap();
        let chosen = operating_point(&points, Retain::PAPER).unwrap();
        assert_eq!((chosen.min_allowed, chosen.point.allowed), (8, allowed), "{name}");
        assert_eq!(chosen.point.threshold, Threshold::At(threshold), "{name}");
        let expected = &limits["expect"][name];
        close(chosen.point.avoided.defined().unwrap(), expected["avoided"].as_f64().unwrap(), 1e-9, name);
        if let Some(sd) = expected["hypergeometric_sd"].as_f64() {
            close(chosen.hypergeometric_sd.defined().unwrap(), sd, 1e-9, name);
        }
    }
}

/// uber/causalml#798: a constant score can only switch everything on or off, at an advantage of exactly 0.
#[test]
fn a_constant_score_has_no_advantage() {
    let d = [2.0, 0.0, -1.0, 0.0, 1.0];
    let (y, mass) = outcome(&d);
    let points = frontier(&[0.5; 5], &y, &mass).unwrap();
    assert_eq!(points.len(), 2);
    assert!(points.iter().all(|point| point.advantage_count == Value::Defined(0.0)));
    let off = signed_value(&[0.5; 5], &d, Threshold::At(0.5)).unwrap();
    assert_eq!((off.v, off.e_rand, off.v_minus_e_rand), (2.0, 2.0, 0.0));
    let on = signed_value(&[0.5; 5], &d, Threshold::Never).unwrap();
    assert_eq!((on.v, on.e_rand, on.v_per_blocked), (0.0, 0.0, Value::Undefined(Reason::NothingBlocked)));

    // without a positive, avoided is undefined and the signed value is not
    let negative = [0.0, -1.0];
    let points = frontier(&[0.1, 0.2], &[false, false], &[0.0, 0.0]).unwrap();
    assert!(points.iter().all(|point| point.avoided == Value::Undefined(Reason::NoPositive)));
    assert_eq!(operating_point(&points, Retain::PAPER).unwrap().point.threshold, Threshold::Never);
    close(signed_value(&[0.1, 0.2], &negative, Threshold::At(0.2)).unwrap().v, -1.0, 0.0, "V");
}

#[test]
fn unit_cases() {
    let Some(units) = json("oracle/units.json") else { return };
    let small = &units["frontier_small"];
    let scores = numbers(&small["score"]);
    let y = labels(&small["y"]);
    let d: Vec<f64> = numbers(&small["numerator"])
        .into_iter()
        .zip(numbers(&small["denominator"]))
        .map(|(numerator, denominator)| numerator / denominator)
        .collect();
    let mass: Vec<f64> = d.iter().map(|d| d.max(0.0)).collect();
    close(auroc(&scores, &y).unwrap().defined().unwrap(), small["auroc"].as_f64().unwrap(), 1e-9, "auroc");
    close(average_precision(&scores, &y).unwrap().defined().unwrap(), small["ap"].as_f64().unwrap(), 1e-9, "ap");
    let points = frontier(&scores, &y, &mass).unwrap();
    let rows = small["rows"].as_array().unwrap();
    assert_eq!(points.len(), rows.len());
    let total: f64 = mass.iter().sum();
    for (point, row) in points.iter().zip(rows) {
        assert_eq!((point.allowed, point.blocked_positives), (row[1].as_u64().unwrap(), row[2].as_u64().unwrap()));
        close(point.mass.defined().unwrap() * total, row[3].as_f64().unwrap(), 1e-9, "mass");
    }
    let chosen = operating_point(&points, Retain::PAPER).unwrap();
    let expected = &small["operating_point"];
    assert_eq!(chosen.point.threshold, Threshold::At(0.5));
    for (name, value) in [
        ("avoided", chosen.point.avoided),
        ("mass", chosen.point.mass),
        ("advantage_count", chosen.point.advantage_count),
        ("advantage_mass", chosen.point.advantage_mass),
        ("hypergeometric_sd", chosen.hypergeometric_sd),
    ] {
        close(value.defined().unwrap(), expected[name].as_f64().unwrap(), 1e-9, name);
    }
    for (blocked, sd) in units["hypergeometric_sd_590_344"].as_object().unwrap() {
        let found = foldline_frontiers::frontier::hypergeometric_sd(590, 344, blocked.parse().unwrap());
        close(found.defined().unwrap(), sd.as_f64().unwrap(), 1e-9, blocked);
    }
}

/// dmlc/xgboost#87: a budget taken in floats loses a row.
#[test]
fn retain_is_an_exact_fraction() {
    for text in ["0.8", ".8", "0.80", "4/5", "80%", "80.0%", "8/10"] {
        let retain: Retain = text.parse().unwrap();
        assert_eq!(retain.min_allowed(10), 8, "{text}");
        assert_eq!(retain.min_allowed(590), 472, "{text}");
        assert_eq!(retain.min_allowed(591), 473, "{text}");
        let again: Retain = retain.to_string().parse().unwrap();
        assert_eq!(again.min_allowed(1_000_000_007), retain.min_allowed(1_000_000_007), "{text}");
    }
    assert_eq!(Retain::PAPER.to_string(), "0.8");
    assert_eq!("1/3".parse::<Retain>().unwrap().to_string(), "1/3");
    assert_eq!("0.1".parse::<Retain>().unwrap().min_allowed(10), 1);
    for wrong in ["1.1", "-0.5", "", ".", "nan", "1/0", "3/2", "0.8x", "+0.8", "101%"] {
        assert!(wrong.parse::<Retain>().is_err(), "{wrong:?}");
    }
}

#[test]
fn fold_cases() {
    let Some(round_robin) = case("folds-01-round-robin") else { return };
    let rows: Vec<&str> = round_robin["input"]["rows_per_task"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(task, rows)| vec![task.as_str(); rows.as_u64().unwrap() as usize])
        .collect();
    let mut maps = std::collections::BTreeSet::new();
    for seed in 0..5 {
        let folds = Folds::grouped(&rows, "task", 5, 2, &Streams::new(seed)).unwrap();
        assert_ne!(folds.of(0), folds.of(1), "repetitions differ");
        assert_eq!(folds.groups_on_both_sides(&rows), 0);
        assert_eq!(folds.rows_per_fold(0).iter().sum::<usize>(), rows.len());
        let fold_of: BTreeMap<&str, u32> = rows.iter().copied().zip(folds.of(0).iter().copied()).collect();
        let mut tasks_per_fold = [0; 5];
        fold_of.values().for_each(|&fold| tasks_per_fold[fold as usize] += 1);
        tasks_per_fold.sort_unstable();
        assert_eq!(tasks_per_fold, [2, 2, 2, 2, 3]);
        maps.insert(folds.of(0).to_vec());
    }
    assert!(maps.len() >= 2, "seeds differ");
}

/// scikit-learn#29495: the map depends on the set of ids, not on row order.
#[test]
fn folds_do_not_depend_on_row_order() {
    let map = |ids: &[&'static str]| -> BTreeMap<&str, u32> {
        let folds = Folds::grouped(ids, "task", 2, 1, &Streams::new(3)).unwrap();
        ids.iter().copied().zip(folds.of(0).iter().copied()).collect()
    };
    assert_eq!(map(&["t2", "t1", "t10", "t1"]), map(&["t1", "t10", "t1", "t2"]));
    assert_eq!(Clusters::new(&["t2", "t1", "t10", "t1"]).ids(), ["t1", "t10", "t2"]);
}

#[test]
fn fold_refusals_name_their_numbers() {
    let few = Folds::grouped(&["x9", "x9", "y3"], "stem", 5, 20, &Streams::new(1)).unwrap_err();
    assert_eq!(few, FoldError::TooFewGroups { folds: 5, groups: 2, unit: "stem".to_owned() });
    assert!(few.to_string().contains("5 folds need at least 5 stems, and the corpus has 2"));

    let ids = ["a", "b", "c,\"d\""];
    let read = |body: &str| Folds::from_csv(&format!("boundary_id,repetition,fold\n{body}"), &ids);
    let complete = "a,0,0\r\nb,0,1\n\"c,\"\"d\"\"\",0,1\n";
    let folds = read(complete).unwrap();
    assert_eq!((folds.k(), folds.of(0)), (2, [0, 1, 1].as_slice()));
    assert_eq!(Folds::from_csv(&folds.to_csv(&ids), &ids).as_ref(), Ok(&folds));
    for (body, message) in [
        ("a,0,0\nb,0,1\n", "boundary \"c,\\\"d\\\"\" has no fold in repetition 0 (1 missing in all)"),
        ("", "boundary \"a\" has no fold in repetition 0 (3 missing in all)"),
        ("a,0,0\na,0,1\n", "line 3: boundary \"a\" has a second line for repetition 0 (the first says fold 0)"),
        ("z,0,0\n", "line 2: boundary \"z\" is not in the corpus"),
        ("a,0,x\n", "line 2: fold \"x\": expected a whole number from 0 to 2"),
        ("a,0,9\n", "line 2: fold \"9\": expected a whole number from 0 to 2"),
        ("a,0\n", "line 2: 2 fields, expected 3"),
        ("a,0,1\nb,0,1\n\"c,\"\"d\"\"\",0,1\n", "repetition 0: all 3 boundaries are in fold 1"),
    ] {
        let found = read(body).unwrap_err().to_string();
        assert!(found.starts_with(message), "{found}");
    }
    let other = Folds::from_csv("boundary_id,repetition,fold\na,0,1\nb,0,1\n\"c,\"\"d\"\"\",0,0\n", &ids).unwrap();
    let both = Folds::several_to_csv(&[("task:2x1".to_owned(), &folds), ("stem:2x1".to_owned(), &other)], &ids);
    assert_eq!(Folds::of_plan(&both, &ids, "stem:2x1"), Ok(other));
    assert_eq!(Folds::of_plan(&both, &ids, "task:2x1"), Ok(folds));
    let ambiguous = Folds::from_csv(&both, &ids).unwrap_err().to_string();
    assert!(ambiguous.contains("holds the plans stem:2x1, task:2x1"), "{ambiguous}");
    let header = Folds::from_csv("id,fold\n", &ids).unwrap_err().to_string();
    assert!(header.contains("expected the header boundary_id,repetition,fold"), "{header}");
}

/// The exact law of the mean of two tasks (t1: 1 1 1, t2: 0) is {0: 1/4, 3/4: 1/2, 1: 1/4}.
#[test]
fn the_bootstrap_resamples_tasks() {
    let tasks = Clusters::new(&["t1", "t1", "t1", "t2"]);
    let values = [1.0, 1.0, 1.0, 0.0];
    let draws = Draws::new(&Streams::new(7), Unit::Task, tasks.len(), 20_000);
    let means = draws.map(
        || (),
        |(), times| {
            let weight = |row: usize| f64::from(times[tasks.of()[row] as usize]);
            let n: f64 = (0..4).map(weight).sum();
            Value::Defined((0..4).map(|row| weight(row) * values[row]).sum::<f64>() / n)
        },
    );
    let share = |value: f64| {
        means.iter().filter(|mean| (mean.defined().unwrap() - value).abs() < 1e-12).count() as f64 / 20_000.0
    };
    // five standard errors of a share of 1/2 or 1/4 in 20,000 draws
    close(share(0.0), 0.25, 0.0153, "law at 0");
    close(share(0.75), 0.5, 0.0177, "law at 3/4");
    close(share(1.0), 0.25, 0.0153, "law at 1");
    assert_eq!(draws.interval(means).ends(), Some((0.0, 1.0)));
}

/// scipy#14351: draws without a positive or a negative are dropped and counted, and equal draws give a point.
#[test]
fn undefined_draws_are_dropped_and_counted() {
    use foldline_frontiers::cell::{Cell, Statistic, interval};
    let tasks = Clusters::new(&["p1", "p2", "n1"]);
    let draws = Draws::new(&Streams::new(7), Unit::Task, 3, 20_000);
    let cell =
        Cell::new(&[0.9, 0.8, 0.1], &[true, true, false], &[1.0, 1.0, 0.0], &[1.0, 1.0, 0.0], &tasks, Retain::PAPER)
            .unwrap();
    let found = interval(&cell.replicates(&draws), Statistic::Auroc, &draws);
    assert_eq!(found.ends(), Some((1.0, 1.0)));
    close(f64::from(found.dropped) / 20_000.0, 1.0 / 3.0, 0.0167, "share of draws without both classes");
}
