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
