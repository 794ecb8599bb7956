//! The rollout counts behind a target, reduced to what resampling and splitting need.

use crate::estimate::EstimatorError;
use foldline_features::{Arm, Burden, Delta, Target};

/// Counts of one boundary's rollouts in one channel at one horizon, by arm, in file order. An arm that the target does
/// not need is empty.
pub(crate) struct TargetCounts {
    pub(crate) pre: Vec<u8>,
    pub(crate) post: Vec<u8>,
    /// The target on all rollouts.
    pub(crate) delta: Delta,
}

impl TargetCounts {
    /// The counts of every boundary; an error names one without a rollout in an arm that the target needs.
    pub(crate) fn of_all(burdens: &[Burden], target: Target) -> Result<Vec<TargetCounts>, EstimatorError> {
        let arm = |burden: &Burden, arm: Arm| -> Vec<u8> {
            let needed = match target {
                Target::Paired(..) => true,
                Target::Arm(only, ..) => only == arm,
            };
            let counts = if needed { burden.arm(arm) } else { &[] };
            counts.iter().map(|counts| counts.get(target.channel(), target.horizon())).collect()
        };
        let rows = burdens.iter().enumerate().map(|(row, burden)| {
            let delta = burden.delta(target).ok_or_else(|| {
                EstimatorError::Invalid(format!("row {row} has no rollout in an arm that {target} needs"))
            })?;
            Ok(TargetCounts { pre: arm(burden, Arm::Pre), post: arm(burden, Arm::Post), delta })
        });
        rows.collect()
    }
}

/// The target of some rollouts: (sum, number) of the PRE and of the POST ones, exact. An arm without rollouts is one
/// that the target does not need: the mean of the other is then the target. 0 where both are empty.
pub(crate) fn delta_of((sum_pre, n_pre): (i64, i64), (sum_post, n_post): (i64, i64)) -> Delta {
    match (n_pre, n_post) {
        (0, _) => Delta { numerator: sum_post, denominator: n_post.max(1) },
        (_, 0) => Delta { numerator: sum_pre, denominator: n_pre },
        _ => Delta { numerator: sum_post * n_pre - sum_pre * n_post, denominator: n_pre * n_post },
    }
}
