//! From a cohort to a frozen policy: the model file that `fit` writes, and what `export` makes of it.

pub mod evidence;
pub mod model_file;

use crate::cmd::Failure;
use evidence::HeldOut;
use foldline_features::{Extractor, Representation};
use foldline_frontiers::{Retain, Threshold as FrontierThreshold};
use foldline_models::policy::{Guards, Parts, Policy, Threshold};
use model_file::ModelFile;

/// The threshold of a policy: in each repetition the operating point of the held-out scores (protocol section 5), then
/// the median over the repetitions; with an even number the mean of the two middle ones, and never where one of them is
/// never **\[choice\]**.
///
/// # Errors
/// `Failure::Data` when the model file's arrays do not fit one another.
pub fn median_threshold(held_out: &HeldOut, retain: Retain) -> Result<Threshold, Failure> {
    let mut thresholds = Vec::new();
    for scores in &held_out.scores {
        let frontier = foldline_frontiers::frontier::frontier(scores, &held_out.labels, &held_out.mass);
        let point = frontier.map(|frontier| foldline_frontiers::frontier::operating_point(&frontier, retain));
        let point = point.map_err(|error| Failure::Data(format!("the model file: {error}")))?;
        let point = point.ok_or_else(|| Failure::Data("the model file holds no held-out score".to_owned()))?;
        thresholds.push(match point.point.threshold {
            FrontierThreshold::At(threshold) => threshold,
            FrontierThreshold::Never => f64::INFINITY,
        });
    }
    thresholds.sort_by(f64::total_cmp);
    let n = thresholds.len();
    let (low, high) = match n {
        0 => return Err(Failure::Data("the model file holds no held-out score".to_owned())),
        _ => (thresholds[(n - 1) / 2], thresholds[n / 2]),
    };
    // halves first: the sum of two large scores may not be finite
    let middle = if low.to_bits() == high.to_bits() { low } else { low / 2.0 + high / 2.0 };
    Ok(if middle.is_finite() { Threshold::AtLeast(middle) } else { Threshold::Never })
}

/// Freezes a model with its threshold, guards and evidence.
///
/// # Errors
/// `Failure::Data` when the parts do not fit one another.
pub fn freeze(
    model: &ModelFile,
    name: String,
    threshold: Threshold,
    guards: Guards,
    evidence: foldline_models::policy::Evidence,
) -> Result<Policy, Failure> {
    let representation: Representation =
        model.representation.parse().map_err(|problem| Failure::Data(format!("the model file: {problem}")))?;
    let extractor = Extractor {
        representation,
        profile: model.profile.clone(),
        vocabulary: model.vocabulary.clone().unwrap_or_default(),
    };
    let parts = Parts {
        name,
        created_by: format!("foldline {}", env!("CARGO_PKG_VERSION")),
        extractor,
        learner: model.learner.clone(),
        model: model.model.clone(),
        threshold,
        guards,
        evidence: Some(evidence),
        rows: model.samples.iter().map(model_file::Sample::row).collect(),
    };
    Policy::freeze(parts).map_err(|error| Failure::Data(format!("the model cannot be frozen: {error}")))
}
