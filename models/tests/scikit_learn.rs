//! Values of scikit-learn 1.9.1 and numpy 2.4.6 on data made by a fixed sequence, with columns that tie: one is a copy
//! of another, one its mirror image. The values stand here, so that these tests need no file.
//!
//! ```python
//! import numpy as np
//! from sklearn.ensemble import HistGradientBoostingClassifier as C, HistGradientBoostingRegressor as R
//! from sklearn.linear_model import LogisticRegression
//! from sklearn.preprocessing import StandardScaler
//! s = 5
//! def u():
//!     global s
//!     s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
//!     return (s >> 11) / 2**53
//! X, y, d = [], [], []
//! for _ in range(460):
//!     x = [u() * 9 - 3, u()]
//!     b = [u() < 0.4, u() < 0.5, u() < 0.15, u() < 0.9]
//!     x += [float(v) for v in b] + [float(b[0]), 1.0 - b[1]]
//!     h = 0.2 + 0.3 * b[0] + 0.2 * (x[0] > 2) + 0.2 * b[1] * x[1]
//!     y.append(float(u() < h)); d.append(h + u() - 0.5); X.append(x)
//! X, y, d = np.array(X), np.array(y), np.array(d)
//! A, B, y, d = X[:400], X[400:405], y[:400], d[:400]
//! kw = dict(max_depth=3, learning_rate=0.05, max_iter=200, min_samples_leaf=20, l2_regularization=1.0,
//!           early_stopping=False)
//! C(**kw).fit(A, y).predict_proba(B)[:, 1]  # BOOSTED
//! R(**kw).fit(A, d).predict(B)              # BOOSTED_REGRESSION
//! Z = StandardScaler().fit(A)
//! lr = lambda: LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-14, max_iter=1000)
//! lr().fit(Z.transform(A), y).predict_proba(Z.transform(B))[:, 1]  # LOGISTIC
//! lr().fit(A, y).predict_proba(B)[:, 1]                            # LOGISTIC_RAW
//! Zt, w, c = Z.transform(A), np.zeros(8), 0.0
//! for _ in range(1500):
//!     r = 1 / (1 + np.exp(-(Zt @ w + c))) - y
//!     w, c = w - 0.05 * (Zt.T @ r / 400 + 0.01 * w), c - 0.05 * r.mean()
//! 1 / (1 + np.exp(-(Z.transform(B) @ w + c)))  # LOGISTIC_GD
//! ```

#![cfg(test)]

use foldline_features::{Row, Table};
use foldline_models::{Learner, fit};

const BOOSTED: [f64; 5] =
    [0.11526932690684105, 0.062489091899939626, 0.8139897780355188, 0.8028322482182819, 0.3021594049636181];
const BOOSTED_REGRESSION: [f64; 5] =
    [0.19328487652891313, 0.3888178687989011, 0.4822550149004641, 0.4165995481989011, 0.4336743759182358];
const LOGISTIC: [f64; 5] =
    [0.2906731399416359, 0.2557728621007967, 0.6571110851114011, 0.5804126963409544, 0.457016627238848];
const LOGISTIC_RAW: [f64; 5] =
    [0.2913552364644702, 0.25894176009916525, 0.652320332201905, 0.5768916706320852, 0.45940133194412613];
const LOGISTIC_GD: [f64; 5] =
    [0.2939149811556988, 0.26002400307836876, 0.6543614573780262, 0.5798711537576474, 0.45466147187565514];

const TRAINING: usize = 400;

/// Rows of eight values, labels, outcomes.
fn data() -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
    let mut state = 5_u64;
    let mut u = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut x, mut y, mut d) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..460 {
        let (a, b) = (u() * 9.0 - 3.0, u());
        let ones = [u() < 0.4, u() < 0.5, u() < 0.15, u() < 0.9].map(f64::from);
        let h = 0.2 + 0.3 * ones[0] + 0.2 * f64::from(a > 2.0) + 0.2 * ones[1] * b;
        y.push(f64::from(u() < h));
        d.push(h + u() - 0.5);
        x.push(vec![a, b, ones[0], ones[1], ones[2], ones[3], ones[0], 1.0 - ones[1]]);
    }
    (x, y, d)
}

/// The table with its first `n_dense` columns dense and the others as lists of ones.
fn table(x: &[Vec<f64>], n_dense: usize) -> Table {
    let rows = x.iter().map(|x| Row {
        dense: x[..n_dense].to_vec(),
        ones: (n_dense..x.len()).filter(|&column| x[column] > 0.5).map(|column| column as u32).collect(),
    });
    Table::new((0..8).map(|column| format!("x{column}")).collect(), n_dense, rows.collect()).expect("a table")
}

#[test]
fn learners_meet_scikit_learn() {
    let (x, y, d) = data();
    assert!((y[..TRAINING].iter().sum::<f64>() - 185.0).abs() == 0.0, "the sequence is the one above");
    let training: Vec<u32> = (0..TRAINING as u32).collect();
    let held_out: Vec<u32> = (400..405).collect();
    for n_dense in [8, 2] {
        let table = table(&x, n_dense);
        for (learner, outcome, expected, tolerance) in [
            (Learner::Boosted, &y, BOOSTED, 1e-12),
            (Learner::BoostedRegression, &d, BOOSTED_REGRESSION, 1e-12),
            (Learner::Logistic, &y, LOGISTIC, 1e-11),
            (Learner::LogisticRaw, &y, LOGISTIC_RAW, 1e-11),
            (Learner::LogisticGd, &y, LOGISTIC_GD, 1e-12),
        ] {
            let scores = fit(learner, &table, &training, outcome).expect("fits").model.score_rows(&table, &held_out);
            for (score, expected) in scores.iter().zip(expected) {
                assert!((score - expected).abs() <= tolerance, "{learner}, {n_dense} dense: {score} is not {expected}");
            }
        }
    }
}
