//! `logistic`: L2 logistic regression at its optimum (protocol section 3).
//!
//! Minimises |w|^2 / 2 + C sum log-loss, the intercept free, by Newton's method until the largest
//! entry of the gradient is at most 1e-8. Columns are standardised on the training rows **\[choice\]**, or not. A column
//! that is constant on the training rows has weight 0: with a free intercept that is the optimum.

use crate::learner::{Fit, Training};
use crate::model::Model;
use crate::newton;
use crate::standard::Design;

/// What can be set; the defaults are the protocol's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogisticSettings {
    /// Weight C of the summed log-loss against the penalty.
    pub(crate) c: f64,
    /// Standardise columns by mean and population sd of the training rows.
    pub(crate) standardise: bool,
    /// Largest absolute entry of the gradient (weights and intercept) at which the optimum counts as reached.
    pub(crate) tolerance: f64,
    /// Most Newton steps.
    pub(crate) max_iterations: usize,
}

impl Default for LogisticSettings {
    fn default() -> Self {
        LogisticSettings { c: 1.0, standardise: true, tolerance: 1e-8, max_iterations: 5000 }
    }
}

pub(crate) fn fit(training: &Training<'_>, settings: &LogisticSettings) -> Fit {
    let design = Design::new(training, settings.standardise);
    let optimum = newton::minimise(&design, &training.y, settings);
    let mut warnings = Vec::new();
    if optimum.gradient > settings.tolerance {
        warnings.push(format!(
            "logistic: not converged after {} steps: the gradient's largest entry is {:e}, above {:e}",
            optimum.iterations, optimum.gradient, settings.tolerance
        ));
    }
    Fit { model: Model::Logistic(design.model(training, &optimum.weights, optimum.intercept)), warnings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Learner;
    use crate::linear::Linear;
    use crate::testing::{case, close, dense, numbers, rows};

    fn linear(x: &[Vec<f64>], y: &[f64], settings: &LogisticSettings) -> Linear {
        let table = dense(x);
        let all: Vec<u32> = (0..y.len() as u32).collect();
        let fitted = fit(&Training::new(Learner::Logistic, &table, &all, y).unwrap(), settings);
        assert!(fitted.warnings.is_empty(), "{:?}", fitted.warnings);
        match fitted.model {
            Model::Logistic(linear) => linear,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_constant_column_falls_back_to_the_base_rate() {
        let Some(case) = case("logistic-02-constant-column-and-scale") else { return };
        let (input, expect) = (&case["input"]["constant"], &case["expect"]["constant"]);
        let fitted = linear(&rows(&input["x"]), &numbers(&input["y"]), &LogisticSettings::default());
        assert!(fitted.dense[0].weight.abs() == 0.0);
        close(&[fitted.intercept], &[expect["b"].as_f64().unwrap()], 1e-9);
    }

    #[test]
    fn the_penalty_stands_against_the_sum_of_losses() {
        let Some(case) = case("logistic-02-constant-column-and-scale") else { return };
        let (input, expect) = (&case["input"]["C_runs"], &case["expect"]["C_runs"]);
        let (x, y) = (rows(&input["x"]), numbers(&input["y"]));
        for (c, expected) in numbers(&input["C"]).into_iter().zip(rows(&expect["wb"])) {
            let settings = LogisticSettings { c, standardise: false, ..LogisticSettings::default() };
            let fitted = linear(&x, &y, &settings);
            close(&[fitted.dense[0].weight, fitted.intercept], &expected, expect["tol"].as_f64().unwrap());
            // every row twice is twice the C
            let twice = |of: &[f64]| [of, of].concat();
            let double = linear(&[x.clone(), x.clone()].concat(), &twice(&y), &settings);
            let settings = LogisticSettings { c: 2.0 * c, ..settings };
            let other = linear(&x, &y, &settings);
            close(&[double.dense[0].weight, double.intercept], &[other.dense[0].weight, other.intercept], 1e-12);
        }
    }

    #[test]
    fn a_badly_scaled_column_that_stays_raw_is_reported_if_it_does_not_converge() {
        // gradients of order 1e6 * 1e-16 * rows cannot be trusted below 1e-8; either they get there or it is said
        let x: Vec<Vec<f64>> = (0..40).map(|row| vec![1e9 * f64::from(row * 7 % 13), f64::from(row % 3)]).collect();
        let y: Vec<f64> = (0..40).map(|row| f64::from(row * 5 % 7 < 3)).collect();
        let table = dense(&x);
        let all: Vec<u32> = (0..40).collect();
        let settings = LogisticSettings { standardise: false, ..LogisticSettings::default() };
        let fitted = fit(&Training::new(Learner::LogisticRaw, &table, &all, &y).unwrap(), &settings);
        assert!(fitted.model.score_rows(&table, &all).iter().all(|score| (0.0..=1.0).contains(score)));
        let design = Design::new(&Training::new(Learner::LogisticRaw, &table, &all, &y).unwrap(), false);
        let Model::Logistic(linear) = &fitted.model else { panic!("no logistic model") };
        let weights: Vec<f64> = linear.dense.iter().map(|term| term.weight).collect();
        let gradient = newton::gradient_norm(&design, &y, 1.0, &weights, linear.intercept);
        assert_eq!(gradient > settings.tolerance, !fitted.warnings.is_empty(), "{gradient:e} {:?}", fitted.warnings);
    }
}
