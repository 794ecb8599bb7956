//! Learners against values of independent implementations: `../shared/data/oracle/units.json` (scikit-learn 1.9.1 for
//! the boosted values, see its README) and hand-made cases.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests fail by panicking")]

use foldline_features::{Row, Table};
use foldline_models::tree::{Node, Tree, candidate_ranks};
use foldline_models::{Learner, Model, fit};
use serde_json::Value;

fn units() -> Option<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/oracle/units.json");
    match std::fs::read_to_string(path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            println!("skipped: no {path}");
            None
        }
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn table(rows: &Value, columns: usize) -> Table {
    let rows: Vec<Row> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| Row { dense: numbers(row)[..columns].to_vec(), ones: Vec::new() })
        .collect();
    Table::new((0..columns).map(|column| format!("x{column}")).collect(), columns, rows).unwrap()
}

fn all(table: &Table) -> Vec<u32> {
    (0..table.n_rows() as u32).collect()
}

fn model(learner: Learner, table: &Table, y: &[f64]) -> Model {
    let fitted = fit(learner, table, &all(table), y).unwrap();
    assert!(fitted.warnings.is_empty(), "{:?}", fitted.warnings);
    fitted.model
}

fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    let worst = got.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "largest difference {worst:e}");
}

fn same_tree(node: &Node, expected: &Value) {
    assert_eq!(node.n, expected["n"].as_u64().unwrap());
    assert_eq!(node.positives, expected["positives"].as_u64().unwrap());
    let Some(split) = &node.split else {
        assert!(expected.get("feature").is_none());
        return;
    };
    assert_eq!(u64::from(split.column), expected["feature"].as_u64().unwrap());
    assert!((split.threshold - expected["threshold"].as_f64().unwrap()).abs() < 1e-9);
    same_tree(&split.left, &expected["left"]);
    same_tree(&split.right, &expected["right"]);
}

fn tree(model: &Model) -> &Tree {
    match model {
        Model::Tree(tree) => tree,
        other => panic!("expected a tree, got {other:?}"),
    }
}

#[test]
fn candidate_ranks_follow_the_formula() {
    let Some(units) = units() else { return };
    for (m, ranks) in units["candidate_ranks"].as_object().unwrap() {
        let expected: Vec<usize> = serde_json::from_value(ranks.clone()).unwrap();
        assert_eq!(candidate_ranks(m.parse().unwrap()), expected, "m = {m}");
    }
    assert_eq!(candidate_ranks(3), [0, 1, 2]);
}

#[test]
fn boosted_meets_scikit_learn_on_continuous_columns() {
    let Some(units) = units() else { return };
    let case = &units["boosted_continuous"];
    let (x, new) = (table(&case["X"], 3), table(&case["X_new"], 3));
    let classifier = model(Learner::Boosted, &x, &numbers(&case["y"]));
    close(&classifier.score_rows(&x, &all(&x)), &numbers(&case["probability"]), 1e-9);
    close(&classifier.score_rows(&new, &all(&new)), &numbers(&case["probability_new"]), 1e-9);
    let regressor = model(Learner::BoostedRegression, &x, &numbers(&case["d"]));
    close(&regressor.score_rows(&x, &all(&x)), &numbers(&case["regression"]), 1e-9);
    close(&regressor.score_rows(&new, &all(&new)), &numbers(&case["regression_new"]), 1e-9);
}

#[test]
fn logistic_meets_the_optimum_on_continuous_columns() {
    let Some(units) = units() else { return };
    let (data, case) = (&units["boosted_continuous"], &units["logistic_continuous"]);
    let (x, new) = (table(&data["X"], 3), table(&data["X_new"], 3));
    for (learner, tolerance) in [(Learner::Logistic, 1e-9), (Learner::LinfaLogistic, 1e-7)] {
        let fitted = fit(learner, &x, &all(&x), &numbers(&data["y"])).unwrap().model;
        let Model::Logistic(linear) = &fitted else { panic!("no logistic model") };
        let weights: Vec<f64> = linear.dense.iter().map(|term| term.weight).collect();
        close(&weights, &numbers(&case["weights"]), tolerance * 10.0);
        close(&[linear.intercept], &[case["intercept"].as_f64().unwrap()], tolerance * 10.0);
        close(&fitted.score_rows(&new, &all(&new)), &numbers(&case["probability_new"]), tolerance);
    }
}

#[test]
fn logistic_gd_meets_its_1500_steps() {
    let Some(units) = units() else { return };
    let (data, case) = (&units["boosted_continuous"], &units["logistic_gd_continuous"]);
    let (x, new) = (table(&data["X"], 2), table(&data["X_new"], 2));
    let fitted = model(Learner::LogisticGd, &x, &numbers(&data["y"]));
    let Model::Logistic(linear) = &fitted else { panic!("no logistic model") };
    let weights: Vec<f64> = linear.dense.iter().map(|term| term.weight).collect();
    close(&weights, &numbers(&case["weights"]), 1e-12);
    close(&[linear.intercept], &[case["intercept"].as_f64().unwrap()], 1e-12);
    close(&fitted.score_rows(&new, &all(&new)), &numbers(&case["probability_new"]), 1e-12);
}

#[test]
fn trees_meet_the_reference() {
    let Some(units) = units() else { return };
    let data = &units["boosted_continuous"];
    let (x, new) = (table(&data["X"], 3), table(&data["X_new"], 3));
    for (learner, name) in [(Learner::Stump, "stump_continuous"), (Learner::Depth2, "depth2_continuous")] {
        let fitted = model(learner, &x, &numbers(&data["y"]));
        same_tree(&tree(&fitted).root, &units[name]["root"]);
        close(&fitted.score_rows(&new, &all(&new)), &numbers(&units[name]["score_new"]), 1e-12);
    }
    let ties = &units["stump_ties"];
    let x = table(&ties["X"], 3);
    same_tree(&tree(&model(Learner::Stump, &x, &numbers(&ties["y"]))).root, &ties["root"]);
}

fn column(x: &Value, copies: &Value, y: &Value) -> (Table, Vec<f64>) {
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for ((x, copies), y) in x.as_array().unwrap().iter().zip(numbers(copies)).zip(numbers(y)) {
        let dense = if x.is_array() { numbers(x) } else { vec![x.as_f64().unwrap()] };
        for _ in 0..copies as usize {
            rows.push(Row { dense: dense.clone(), ones: Vec::new() });
            labels.push(y);
        }
    }
    let columns = rows[0].dense.len();
    (Table::new((0..columns).map(|at| format!("x{at}")).collect(), columns, rows).unwrap(), labels)
}

#[test]
fn tree_cases_from_bug_reports() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/cases.jsonl");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: no {path}");
        return;
    };
    let case = text.lines().find(|line| line.contains("\"tree-02-threshold-and-limits\"")).unwrap();
    let case: Value = serde_json::from_str(case).unwrap();
    let part = |name: &str| {
        let input = &case["input"][name];
        let (table, y) = column(&input["x"], &input["copies"], &input["y"]);
        let fitted = model(Learner::Stump, &table, &y);
        let scores = fitted.score_rows(&table, &all(&table));
        let accurate = scores.iter().zip(&y).all(|(score, y)| (score - y).abs() == 0.0);
        (tree(&fitted).root.clone(), accurate, fitted)
    };
    let threshold = |node: &Node| node.split.as_ref().unwrap().threshold;

    let (root, accurate, _) = part("f64_neighbours");
    let x = numbers(&case["input"]["f64_neighbours"]["x"]);
    assert!(x[0] <= threshold(&root) && threshold(&root) < x[1] && accurate);

    let (root, accurate, fitted) = part("stump");
    assert_eq!(Some(threshold(&root)), case["expect"]["stump"]["t"].as_f64());
    assert!(accurate);
    let probes = numbers(&case["input"]["stump"]["probe"]).into_iter();
    assert_eq!(probes.map(|x| probe_of(&fitted, x)).collect::<Vec<_>>(), [0.0, 1.0]);

    let (root, accurate, _) = part("big_ints");
    assert_eq!(Some(threshold(&root)), case["expect"]["big_ints"]["t"].as_f64());
    assert!(accurate);

    let (root, _, fitted) = part("below_20_rows");
    assert!(root.split.is_none());
    close(&[probe_of(&fitted, 0.0)], &[case["expect"]["below_20_rows"]["p"].as_f64().unwrap()], 1e-15);

    let (root, _, _) = part("feature_tie");
    assert_eq!((root.split.as_ref().unwrap().column, threshold(&root)), (0, 0.5));
}

fn probe_of(model: &Model, x: f64) -> f64 {
    model.score(&Row { dense: vec![x], ones: Vec::new() })
}
