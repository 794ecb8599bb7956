//! Which analyses a corpus can answer, and which field is missing for each of the others.

use foldline_features::corpus::Corpus;
use foldline_features::{Arm, Boundary};
use serde::{Deserialize, Serialize};

/// One analysis, and what the corpus lacks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The analysis in words.
    pub analysis: String,
    /// What is missing; `None` when the corpus can answer.
    pub missing: Option<String>,
}

/// Goes through the analyses of the protocol in its order.
pub fn analyses(corpus: &Corpus) -> Vec<Answer> {
    let boundaries = &corpus.boundaries;
    let any = |has: &dyn Fn(&Boundary) -> bool| boundaries.iter().any(has);
    let count = |arm: Arm, boundary: &Boundary| boundary.rollouts.iter().filter(|rollout| rollout.arm == arm).count();
    let paired = any(&|boundary| count(Arm::Pre, boundary) > 0 && count(Arm::Post, boundary) > 0);
    let replicated = any(&|boundary| count(Arm::Pre, boundary) > 1 && count(Arm::Post, boundary) > 1);
    let stems =
        boundaries.iter().map(|boundary| boundary.stem.as_str()).collect::<std::collections::BTreeSet<_>>().len();
    let tasks =
        boundaries.iter().map(|boundary| boundary.task_id.as_str()).collect::<std::collections::BTreeSet<_>>().len();
    let unless = |holds: bool, missing: &str| (!holds).then(|| missing.to_owned());
    let arms = "rollouts of both arms (`rollouts[].arm` pre and post) at one boundary at least";
    let has_any_rollout = any(&|boundary| !boundary.rollouts.is_empty());
    vec![
        Answer {
            analysis: "burden of one arm (targets pre.U@3, post.E@1, ...), frontier".to_owned(),
            missing: unless(has_any_rollout, "`rollouts`"),
        },
        Answer {
            analysis: "paired burden (targets dU@3, dE@1, ...), frontier, signed value".to_owned(),
            missing: unless(paired, arms),
        },
        Answer {
            analysis: "task-held-out folds".to_owned(),
            missing: unless(tasks >= 5, &format!("five tasks (`task_id`); there are {tasks}")),
        },
        Answer {
            analysis: "stem-grouped folds".to_owned(),
            missing: unless(stems >= 5, &format!("five stems (`stem`, or task ids that share one); there are {stems}")),
        },
        Answer {
            analysis: "split-half replicate yardstick, nested bootstrap".to_owned(),
            missing: unless(replicated, "two rollouts an arm at one boundary at least"),
        },
        Answer {
            analysis: "difficulty columns (H+T)".to_owned(),
            missing: unless(any(&|boundary| boundary.prefix.difficulty.is_some()), "`difficulty`"),
        },
        Answer {
            analysis: "hashed observations (R2, R3)".to_owned(),
            missing: unless(any(&|boundary| !boundary.prefix.tail.is_empty()), "`tail`"),
        },
        Answer {
            analysis: "token-budget rule".to_owned(),
            missing: unless(any(&|boundary| boundary.context.tokens_before.is_some()), "`tokens_before`"),
        },
        Answer {
            analysis: "tokens freed by compaction".to_owned(),
            missing: unless(
                any(&|boundary| boundary.context.tokens_before.is_some() && boundary.context.tokens_after.is_some()),
                "`tokens_before` and `tokens_after`",
            ),
        },
        Answer {
            analysis: "unsupported summary entries (H+S)".to_owned(),
            missing: unless(
                any(&|boundary| boundary.prefix.summary_support.is_some()),
                "`summary_entries` and `summary_unsupported` (from `foldline prune`)",
            ),
        },
    ]
}
