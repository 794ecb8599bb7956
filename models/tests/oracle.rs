//! Out-of-fold scores of the reference cohort against an independent implementation, with the tolerances of its README
//! (trees and logistic-gd 1e-9, logistic 1e-7, boosted 1e-6). No fit may warn.

#![cfg(test)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use foldline_features::corpus::{Corpus, Options, Reader, read_corpus};
use foldline_features::{Burden, Extractor, Profile, Representation, Table, Target};
use foldline_models::tree::Node;
use foldline_models::{Learner, Model, fit};
use serde_json::Value;

fn data(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/oracle")).join(path);
    if path.exists() {
        Some(path)
    } else {
        println!("skipped: {} is not there", path.display());
        None
    }
}

struct Oracle {
    corpus: Corpus,
    expected: Value,
    /// (repetition, boundary) -> fold, per fold file.
    stem: Vec<Vec<u32>>,
    task: Vec<Vec<u32>>,
}

fn folds(path: PathBuf, corpus: &Corpus) -> Vec<Vec<u32>> {
    let mut assigned: BTreeMap<usize, BTreeMap<String, u32>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).expect("folds").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let repetition = assigned.entry(fields[1].parse().expect("repetition")).or_default();
        repetition.insert(fields[0].to_owned(), fields[2].parse().expect("fold"));
    }
    let fold = |of: &BTreeMap<String, u32>| corpus.boundaries.iter().map(|b| of[&b.boundary_id]).collect();
    assigned.values().map(fold).collect()
}

fn oracle() -> Option<Oracle> {
    let mut profile = Profile::appworld();
    profile.add_methods(&std::fs::read_to_string(data("functions.csv")?).expect("functions")).expect("a method map");
    let reader = Reader::open(&data("cohort-1.jsonl.gz")?, Options::new(profile)).expect("opens");
    let corpus = read_corpus(reader).expect("reads");
    let expected = serde_json::from_str(&std::fs::read_to_string(data("expected.json")?).expect("expected"));
    let (stem, task) = (folds(data("folds-stem.csv")?, &corpus), folds(data("folds-task.csv")?, &corpus));
    Some(Oracle { corpus, expected: expected.expect("JSON"), stem, task })
}

impl Oracle {
    fn table(&self, representation: Representation) -> Table {
        let prefixes = || self.corpus.boundaries.iter().map(|boundary| &boundary.prefix);
        let extractor = Extractor::for_cohort(representation, self.corpus.profile.clone(), prefixes());
        extractor.table(prefixes()).expect("a table")
    }

    fn outcome(&self, learner: Learner) -> Vec<f64> {
        let target: Target = "dU@3".parse().expect("a target");
        let delta = |b| Burden::of(b).delta(target).expect("both arms");
        let y = |b| if learner.is_regression() { delta(b).value() } else { f64::from(delta(b).is_positive()) };
        self.corpus.boundaries.iter().map(y).collect()
    }

    /// Fits the five folds of one repetition.
    fn cross_fit(&self, learner: Learner, table: &Table, fold_of: &[u32]) -> (Vec<Model>, Vec<f64>) {
        let y = self.outcome(learner);
        let mut scores = vec![f64::NAN; y.len()];
        let mut models = Vec::new();
        for fold in 0..5 {
            let part = |inside: bool| -> Vec<u32> {
                (0..y.len() as u32).filter(|&row| (fold_of[row as usize] == fold) == inside).collect()
            };
            let fitted = fit(learner, table, &part(false), &y).expect("fits");
            assert!(fitted.warnings.is_empty(), "{:?}", fitted.warnings);
            fitted.model.validate(table.n_columns()).expect("valid");
            for (row, score) in part(true).into_iter().zip(fitted.model.score_rows(table, &part(true))) {
                scores[row as usize] = score;
            }
            models.push(fitted.model);
        }
        (models, scores)
    }
}

fn assert_close(what: &str, got: &[f64], expected: &Value, tolerance: f64) -> f64 {
    let expected = expected.as_array().unwrap_or_else(|| panic!("{what}: no expected scores"));
    assert_eq!(got.len(), expected.len());
    let difference = |(got, expected): (&f64, &Value)| (got - expected.as_f64().expect("number")).abs();
    let worst = got.iter().zip(expected).map(difference).fold(0.0, f64::max);
    assert!(worst <= tolerance, "{what}: largest difference {worst:e}");
    worst
}

/// All repetitions of one cell of the stem-grouped study.
fn cell(name: &str, learner: Learner, representation: Representation, tolerance: f64) {
    let Some(oracle) = oracle() else { return };
    let table = oracle.table(representation);
    let expected = oracle.expected["scores_stem_folds"][name].as_array().expect("scores");
    let mut worst = 0.0_f64;
    for (repetition, expected) in expected.iter().enumerate() {
        let (_, scores) = oracle.cross_fit(learner, &table, &oracle.stem[repetition]);
        worst = worst.max(assert_close(&format!("{name}, repetition {repetition}"), &scores, expected, tolerance));
    }
    println!("{name}: {} repetitions, largest difference {worst:e}", expected.len());
}

macro_rules! cells {
    ($($test:ident: $name:literal, $learner:ident, $representation:ident, $tolerance:literal;)*) => {
        $(#[test]
        fn $test() {
            cell($name, Learner::$learner, Representation::$representation, $tolerance);
        })*
    };
}

cells! {
    boosted_h: "boosted/H", Boosted, H, 1e-6;
    boosted_ht: "boosted/HT", Boosted, HT, 1e-6;
    boosted_pair: "boosted/pair", Boosted, Pair, 1e-6;
    boosted_pair_sub: "boosted/pair_sub", Boosted, PairSub, 1e-6;
    boosted_r1: "boosted/R1", Boosted, R1, 1e-6;
    boosted_r2: "boosted/R2", Boosted, R2, 1e-6;
    boosted_r3: "boosted/R3", Boosted, R3, 1e-6;
    boosted_regression_h: "boosted-reg/H", BoostedRegression, H, 1e-6;
    logistic_h: "logistic/H", Logistic, H, 1e-7;
    logistic_ht: "logistic/HT", Logistic, HT, 1e-7;
    logistic_pair: "logistic/pair", Logistic, Pair, 1e-7;
    logistic_pair_sub: "logistic/pair_sub", Logistic, PairSub, 1e-7;
    logistic_r1: "logistic/R1", Logistic, R1, 1e-7;
    logistic_r2: "logistic/R2", Logistic, R2, 1e-7;
    logistic_r3: "logistic/R3", Logistic, R3, 1e-7;
}

fn same_tree(what: &str, node: &Node, expected: &Value, columns: &[String]) {
    assert_eq!(Some(node.n), expected["n"].as_u64(), "{what}");
    assert_eq!(Some(node.positives), expected["positives"].as_u64(), "{what}");
    assert_eq!(node.split.as_ref().map(|split| columns[split.column as usize].as_str()), expected["feature"].as_str());
    let Some(split) = &node.split else { return };
    assert!((split.threshold - expected["threshold"].as_f64().expect("threshold")).abs() <= 1e-9, "{what}");
    same_tree(what, &split.left, &expected["left"], columns);
    same_tree(what, &split.right, &expected["right"], columns);
}

#[test]
fn frozen_policies_under_task_folds() {
    let Some(oracle) = oracle() else { return };
    for (label, six, pair) in [
        ("original", Representation::Six, Representation::Pair),
        ("post_hoc", Representation::SixSub, Representation::PairSub),
    ] {
        for learner in [Learner::Stump, Learner::Depth2, Learner::LogisticGd] {
            let what = format!("{learner}/{label}");
            let table = oracle.table(if learner == Learner::LogisticGd { pair } else { six });
            let (models, scores) = oracle.cross_fit(learner, &table, &oracle.task[0]);
            assert_close(&what, &scores, &oracle.expected["scores_task_folds"][&what], 1e-9);
            let expected = &oracle.expected["policies"][label][learner.name()]["fold_models"];
            for (fold, model) in models.iter().enumerate() {
                match model {
                    Model::Tree(tree) => same_tree(&what, &tree.root, &expected[fold], table.columns()),
                    Model::Logistic(linear) => {
                        let weights: Vec<f64> = linear.dense.iter().map(|term| term.weight).collect();
                        assert_close(&what, &weights, &expected[fold]["weights"], 1e-9);
                        let intercept = expected[fold]["intercept"].as_f64().expect("intercept");
                        assert!((linear.intercept - intercept).abs() <= 1e-9, "{what}");
                    }
                    other => panic!("{what}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn raw_columns_converge_too_and_libraries_find_the_same_optimum() {
    let Some(oracle) = oracle() else { return };
    for representation in [Representation::H, Representation::R3] {
        let (_, scores) = oracle.cross_fit(Learner::LogisticRaw, &oracle.table(representation), &oracle.stem[0]);
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
    }
    let table = oracle.table(Representation::H);
    let y = oracle.outcome(Learner::Logistic);
    let training: Vec<u32> = (0..y.len() as u32).filter(|&row| oracle.stem[0][row as usize] != 0).collect();
    let scores = |learner| fit(learner, &table, &training, &y).expect("fits").model.score_rows(&table, &training);
    let ours = scores(Learner::Logistic);
    for learner in [Learner::LinfaLogistic, Learner::SmartcoreLogistic] {
        let worst = ours.iter().zip(scores(learner)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{learner}: largest difference {worst:e}");
        assert!(worst < 1e-6, "{learner}: {worst:e}");
    }
}
