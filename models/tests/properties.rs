//! What holds for any data: equal rows score equal, a model that was written and read scores the same bits, the tree is
//! the best there is, Newton's optimum is linfa's, malformed models are refused, bad input is an error.

#![cfg(test)]

use foldline_features::{Row, Table};
use foldline_models::tree::{Node, candidate_ranks};
use foldline_models::{Learner, Model, ModelError, fit};
use proptest::prelude::*;

const N_DENSE: usize = 3;
const N_SPARSE: u32 = 6;

fn table(rows: Vec<Row>) -> Table {
    let columns = (0..N_DENSE + N_SPARSE as usize).map(|column| format!("x{column}")).collect();
    Table::new(columns, N_DENSE, rows).expect("rows of one shape")
}

/// Rows with many ties; a label leans on the first and the last column.
fn data(most_rows: usize) -> impl Strategy<Value = (Table, Vec<f64>)> {
    let row = (
        prop::collection::vec(-3_i32..4, N_DENSE),
        prop::collection::btree_set(N_DENSE as u32..N_DENSE as u32 + N_SPARSE, 0..4),
        0_u32..100,
    );
    prop::collection::vec(row, 2..most_rows).prop_map(|rows| {
        let y = rows.iter().map(|(dense, ones, chance)| {
            let harm = 50 + 10 * dense[0] + if ones.contains(&(N_DENSE as u32)) { 20 } else { 0 };
            f64::from(i64::from(*chance) < i64::from(harm))
        });
        let y = y.collect();
        let rows = rows.into_iter().map(|(dense, ones, _)| Row {
            dense: dense.into_iter().map(|value| f64::from(value) * 0.3).collect(),
            ones: ones.into_iter().collect(),
        });
        (table(rows.collect()), y)
    })
}

fn all(table: &Table) -> Vec<u32> {
    (0..table.n_rows() as u32).collect()
}

fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|score| score.to_bits()).collect()
}

/// Impurity left by a split, times n: as an exact fraction, straight from the definition.
fn left_over(rows: &[(f64, bool)], threshold: f64) -> Option<(i128, i128)> {
    let side = |left: bool| rows.iter().filter(move |row| (row.0 <= threshold) == left);
    let count = |left: bool| (side(left).count() as i128, side(left).filter(|row| row.1).count() as i128);
    let ((nl, pl), (nr, pr)) = (count(true), count(false));
    (nl > 0 && nr > 0).then(|| (pl * (nl - pl) * nr + pr * (nr - pr) * nl, nl * nr))
}

/// The tree by trying everything in the protocol's order.
fn twin(table: &Table, y: &[f64], members: &[u32], depth: usize) -> Node {
    let positives = members.iter().filter(|&&row| y[row as usize] > 0.5).count() as u64;
    let n = members.len() as u64;
    let mut node = Node { n, positives, split: None };
    if depth == 0 || n < 20 {
        return node;
    }
    let own = (i128::from(positives) * i128::from(n - positives), i128::from(n));
    let mut best: Option<((i128, i128), usize, f64)> = None;
    for column in 0..table.n_columns() {
        let rows: Vec<(f64, bool)> =
            members.iter().map(|&row| (table.rows()[row as usize].value(column), y[row as usize] > 0.5)).collect();
        let mut values: Vec<f64> = rows.iter().map(|row| row.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let middles: Vec<f64> = values.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        for threshold in candidate_ranks(middles.len()).into_iter().map(|rank| middles[rank]) {
            let Some(left) = left_over(&rows, threshold) else { continue };
            let than = best.as_ref().map_or(own, |best| best.0);
            if left.0 * than.1 < than.0 * left.1 {
                best = Some((left, column, threshold));
            }
        }
    }
    if let Some((_, column, threshold)) = best {
        let left = |row: &u32| table.rows()[*row as usize].value(column) <= threshold;
        let (left, right): (Vec<u32>, Vec<u32>) = members.iter().partition(|row| left(row));
        node.split = Some(Box::new(foldline_models::tree::Split {
            column: column as u32,
            threshold,
            left: twin(table, y, &left, depth - 1),
            right: twin(table, y, &right, depth - 1),
        }));
    }
    node
}

fn varied(y: &[f64]) -> bool {
    y.iter().any(|&y| y > 0.5) && y.iter().any(|&y| y < 0.5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_rows_score_equal_and_models_survive_writing((table, y) in data(120), twice in 0_usize..120) {
        // the same row once more, with the other label
        let twice = twice % table.n_rows();
        let mut rows = table.rows().to_vec();
        rows.push(rows[twice].clone());
        let mut y = y;
        y.push(1.0 - y[twice]);
        let table = self::table(rows);
        for learner in Learner::ALL {
            let fitted = fit(learner, &table, &all(&table), &y).expect("fits");
            let scores = fitted.model.score_rows(&table, &all(&table));
            prop_assert_eq!(scores[twice].to_bits(), scores[table.n_rows() - 1].to_bits(), "{}", learner);
            prop_assert!(scores.iter().all(|score| learner.is_regression() || (0.0..=1.0).contains(score)));
            let one_by_one: Vec<f64> = table.rows().iter().map(|row| fitted.model.score(row)).collect();
            prop_assert_eq!(bits(&scores), bits(&one_by_one));
            let text = serde_json::to_string(&fitted.model).expect("writes");
            let read: Model = serde_json::from_str(&text).expect("reads");
            prop_assert_eq!(read.validate(table.n_columns()), Ok(()));
            prop_assert_eq!(bits(&read.score_rows(&table, &all(&table))), bits(&scores), "{}", learner);
            prop_assert!(!read.describe(table.columns()).is_empty());
            // fitting is a pure function
            prop_assert_eq!(&fit(learner, &table, &all(&table), &y).expect("fits"), &fitted, "{}", learner);
        }
    }

    #[test]
    fn the_tree_is_its_brute_force_twin((table, y) in data(150), skip in 2_u32..9) {
        let rows: Vec<u32> = all(&table).into_iter().filter(|row| row % skip != 0).collect();
        let labels: Vec<f64> = rows.iter().map(|&row| y[row as usize]).collect();
        prop_assume!(varied(&labels));
        for (learner, depth) in [(Learner::Stump, 1), (Learner::Depth2, 2)] {
            match fit(learner, &table, &rows, &y).expect("fits").model {
                Model::Tree(tree) => prop_assert_eq!(tree.root, twin(&table, &y, &rows, depth)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn newton_and_linfa_meet((table, y) in data(150)) {
        prop_assume!(varied(&y));
        let ours = fit(Learner::Logistic, &table, &all(&table), &y).expect("fits");
        prop_assert!(ours.warnings.is_empty(), "{:?}", ours.warnings);
        let theirs = fit(Learner::LinfaLogistic, &table, &all(&table), &y).expect("fits").model;
        let (ours, theirs) = (ours.model.score_rows(&table, &all(&table)), theirs.score_rows(&table, &all(&table)));
        let worst = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        prop_assert!(worst < 1e-5, "{worst:e}");
    }

    #[test]
    fn a_sparse_column_is_a_dense_column_of_zeros_and_ones((table, y) in data(120)) {
        // same table with every column dense
        let rows = table.rows().iter().map(|row| Row {
            dense: (0..table.n_columns()).map(|column| row.value(column)).collect(),
            ones: Vec::new(),
        });
        let dense = Table::new(table.columns().to_vec(), table.n_columns(), rows.collect()).expect("a table");
        for learner in Learner::ALL {
            let scores = |table: &Table| {
                fit(learner, table, &all(table), &y).expect("fits").model.score_rows(table, &all(table))
            };
            let worst = scores(&table).iter().zip(scores(&dense)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // the libraries stop short of the optimum
            let tolerance = if learner.name().starts_with("logistic") { 1e-9 } else { 1e-5 };
            prop_assert!(worst < tolerance, "{}: {:e}", learner, worst);
        }
    }

    #[test]
    fn a_damaged_model_is_refused_or_scores_without_a_panic(
        (table, y) in data(120), learner in 0..Learner::ALL.len(), at in 0.0..1.0, with in "[0-9a-z{}\\[\\]\",.:-]{0,3}",
    ) {
        let fitted = fit(Learner::ALL[learner], &table, &all(&table), &y).expect("fits");
        let text = serde_json::to_string(&fitted.model).expect("writes");
        let at = (at * text.len() as f64) as usize;
        let damaged = format!("{}{with}{}", &text[..at], text.get(at + with.len()..).unwrap_or(""));
        if let Ok(model) = serde_json::from_str::<Model>(&damaged) {
            let _ = model.validate(table.n_columns());
            let scores = model.score_rows(&table, &all(&table));
            if model.validate(table.n_columns()).is_ok() {
                prop_assert!(scores.iter().all(|score| score.is_finite()));
            }
        }
    }
}

#[test]
fn one_class_is_the_constant_rate() {
    let rows = (0..30).map(|row| Row { dense: vec![f64::from(row), 0.0, 1.0], ones: vec![3] });
    let table = table(rows.collect());
    for learner in Learner::ALL {
        for (label, other) in [(0.0, 1.0), (1.0, 0.0)] {
            // the other class is there, but not among the training rows
            let mut y = vec![label; 30];
            y[29] = other;
            let rows: Vec<u32> = (0..29).collect();
            let fitted = fit(learner, &table, &rows, &y).expect("fits");
            assert!(
                fitted
                    .model
                    .score_rows(&table, &all(&table))
                    .iter()
                    .all(|score| score.to_bits() == f64::to_bits(label))
            );
        }
    }
}

#[test]
fn bad_input_is_an_error() {
    let rows = (0..4).map(|row| Row { dense: vec![f64::from(row), 0.0, 1.0], ones: vec![] });
    let table = table(rows.collect());
    let y = [0.0, 1.0, 0.0, 1.0];
    for learner in Learner::ALL {
        assert_eq!(fit(learner, &table, &[], &y), Err(ModelError::NoRows { learner }));
        assert!(matches!(fit(learner, &table, &[0, 4], &y), Err(ModelError::RowOrder { row: 4, .. })));
        assert!(matches!(fit(learner, &table, &[1, 1], &y), Err(ModelError::RowOrder { row: 1, .. })));
        assert!(matches!(fit(learner, &table, &[0, 1], &y[1..]), Err(ModelError::LabelCount { .. })));
        let nan = [0.0, f64::NAN, 0.0, 1.0];
        assert!(matches!(fit(learner, &table, &[0, 1], &nan), Err(ModelError::Label { row: 1, .. })));
        assert!(fit(learner, &table, &[0, 2, 3], &nan).is_ok());
        let half = [0.0, 0.5, 0.0, 1.0];
        assert_eq!(fit(learner, &table, &[0, 1], &half).is_err(), !learner.is_regression());
        assert_eq!(learner.name().parse(), Ok(learner));
    }
    assert!("gbm".parse::<Learner>().expect_err("unknown").to_string().contains("logistic-gd"));
}

#[test]
fn malformed_models_are_refused() {
    let read = |text: &str| serde_json::from_str::<Model>(text);
    for text in [
        r#"{"kind":"forest"}"#,
        r#"{"kind":"constant","value":1e999,"n":1}"#,
        r#"{"kind":"constant","value":0.5,"n":1,"extra":0}"#,
        r#"{"kind":"constant","value":null,"n":1}"#,
        r#"{"kind":"tree","root":{"n":1,"positives":0,"split":{"column":0}}}"#,
        r#"{"kind":"boosted","link":"probit","baseline":0,"trees":[]}"#,
        r#"{"kind":"boosted","link":"logit","baseline":0,"trees":[[{"value":0,"column":1}]]}"#,
        r#"{"kind":"logistic","intercept":0,"dense":[{"mean":0,"sd":1,"weight":1,"unit":2}],"ones":[]}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    for text in [
        // column out of range; sides that do not add up; more positives than rows; an empty node
        r#"{"kind":"tree","root":{"n":2,"positives":1,"split":{"column":9,"threshold":0,"left":{"n":1,"positives":0},"right":{"n":1,"positives":1}}}}"#,
        r#"{"kind":"tree","root":{"n":3,"positives":1,"split":{"column":0,"threshold":0,"left":{"n":1,"positives":0},"right":{"n":1,"positives":1}}}}"#,
        r#"{"kind":"tree","root":{"n":1,"positives":2}}"#,
        r#"{"kind":"tree","root":{"n":0,"positives":0}}"#,
        // a cycle; a child out of range; nodes never reached; no node; a column out of range
        r#"{"kind":"boosted","link":"logit","baseline":0,"trees":[[{"column":0,"threshold":0,"right":0},{"value":0}]]}"#,
        r#"{"kind":"boosted","link":"logit","baseline":0,"trees":[[{"column":0,"threshold":0,"right":7},{"value":0}]]}"#,
        r#"{"kind":"boosted","link":"logit","baseline":0,"trees":[[{"value":0},{"value":0}]]}"#,
        r#"{"kind":"boosted","link":"logit","baseline":0,"trees":[[]]}"#,
        r#"{"kind":"boosted","link":"logit","baseline":0,"trees":[[{"column":9,"threshold":0,"right":2},{"value":0},{"value":0}]]}"#,
        // another number of columns; no spread
        r#"{"kind":"logistic","intercept":0,"dense":[],"ones":[1,2]}"#,
        r#"{"kind":"logistic","intercept":0,"dense":[{"mean":0,"sd":0,"weight":1}],"ones":[1,2]}"#,
    ] {
        let model = read(text).expect("well-formed JSON");
        assert!(matches!(model.validate(3), Err(ModelError::Invalid { .. })), "{text}");
        // and whoever forgets to validate gets a number, not a panic
        let row = Row { dense: vec![0.5], ones: vec![1, 2] };
        assert!(!model.score(&row).is_infinite());
    }
}

#[test]
fn a_model_says_what_it_does() {
    let rows: Vec<Row> = (0..60)
        .map(|row| Row { dense: vec![f64::from(row), 0.0, 1.0], ones: if row % 2 == 0 { vec![4] } else { vec![] } })
        .collect();
    let table = table(rows);
    let y: Vec<f64> = (0..60).map(|row| f64::from(row >= 20)).collect();
    let words = |learner| fit(learner, &table, &all(&table), &y).expect("fits").model.describe(table.columns());
    assert_eq!(
        words(Learner::Stump),
        "if x0 is at most 19.5:\n  score 0.0000: 0 of 20 training rows positive\n\
         if x0 is above 19.5:\n  score 1.0000: 40 of 40 training rows positive\n"
    );
    assert!(words(Learner::Logistic).contains("of x0 above 29.5"), "{}", words(Learner::Logistic));
    assert!(words(Learner::Boosted).contains("200 on x0"), "{}", words(Learner::Boosted));
}
