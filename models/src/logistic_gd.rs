//! `logistic-gd`: the paper's frozen logistic regression (protocol section 3).
//!
//! Columns standardised on the training rows; start at 0; 1,500 full-batch steps of 0.05 on the mean log-loss plus
//! 0.01 / 2 |w|^2, the intercept free. It stops before the optimum by design.

use crate::learner::Training;
use crate::linear::Linear;
use crate::model::sigmoid;
use crate::standard::Design;

const STEPS: usize = 1500;
const STEP: f64 = 0.05;
const PENALTY: f64 = 0.01;

pub(crate) fn fit(training: &Training<'_>) -> Linear {
    let design = Design::new(training, true);
    let n = design.n as f64;
    let mut weights = vec![0.0; design.n_columns()];
    let mut gradient = weights.clone();
    let mut intercept = 0.0;
    let mut residual = vec![0.0; design.n];
    for _ in 0..STEPS {
        design.forward(&weights, intercept, &mut residual);
        for (f, y) in residual.iter_mut().zip(&training.y) {
            *f = sigmoid(*f) - y;
        }
        design.backward(&residual, &mut gradient);
        for (w, g) in weights.iter_mut().zip(&gradient) {
            *w -= STEP * (g / n + PENALTY * *w);
        }
        intercept -= STEP * (residual.iter().sum::<f64>() / n);
    }
    design.model(training, &weights, intercept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Learner;
    use crate::testing::{case, close, dense, numbers, rows};

    #[test]
    fn a_constant_column_has_weight_0() {
        let Some(case) = case("logistic-02-constant-column-and-scale") else { return };
        let (input, expect) = (&case["input"]["gd"], &case["expect"]["gd"]);
        let (table, y) = (dense(&rows(&input["x"])), numbers(&input["y"]));
        let all: Vec<u32> = (0..y.len() as u32).collect();
        let linear = fit(&Training::new(Learner::LogisticGd, &table, &all, &y).unwrap());
        let weights: Vec<f64> = linear.dense.iter().map(|term| term.weight).collect();
        close(&weights, &numbers(&expect["w_standardised"]), 1e-8);
        close(&[linear.intercept], &[0.0], 1e-8);
        let scores: Vec<f64> = table.rows().iter().map(|row| linear.score(row)).collect();
        close(&scores, &numbers(&expect["p"]), 1e-8);
    }
}
