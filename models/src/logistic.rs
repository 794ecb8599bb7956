//! `logistic`: L2 logistic regression at its optimum (protocol section 3).
//!
//! Minimises |w|^2 / 2 + C sum log-loss, the intercept free, by Newton's method ([`crate::newton`]) until the largest
//! entry of the gradient is at most 1e-8. Columns are standardised on the training rows **[choice]**, or not. A column
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
