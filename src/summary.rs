//! The data card of a corpus: what is in it, counted.

use foldline_features::corpus::Corpus;
use foldline_features::{Arm, Boundary, Burden, Target};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Counts of a corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorpusSummary {
    /// Boundaries n.
    pub boundaries: usize,
    /// Distinct tasks.
    pub tasks: usize,
    /// Distinct stems.
    pub stems: usize,
    /// Distinct trajectories.
    pub trajectories: usize,
    /// Boundaries that are the first compaction of their trajectory.
    pub first: usize,
    /// The others.
    pub later: usize,
    /// PRE rollouts.
    pub rollouts_pre: usize,
    /// POST rollouts.
    pub rollouts_post: usize,
    /// Rollout steps of both arms.
    pub steps: usize,
    /// Rollouts an arm, as `pre/post`, with the number of boundaries that have it.
    pub rollouts_per_arm: BTreeMap<String, usize>,
    /// Distinct functions in the prefixes.
    pub functions: usize,
    /// Functions that the method map does not know.
    pub unmapped_functions: Vec<String>,
    /// Boundaries without a write in the prefix.
    pub no_write: usize,
    /// Boundaries whose only writes are session calls.
    pub session_only_write: usize,
    /// Boundaries with a substantive write.
    pub substantive_write: usize,
    /// Length of the longest last observation, in Unicode scalar values.
    pub longest_last_observation: usize,
    /// Last observations of that length: many of them mean that the corpus caps observations.
    pub last_observations_at_longest: usize,
    /// Last observations of at most 60 characters.
    pub last_observations_at_most_60: usize,
    /// Boundaries with a difficulty.
    pub with_difficulty: usize,
    /// Boundaries with `tokens_before`.
    pub with_tokens: usize,
    /// Boundaries with a summary.
    pub with_summary: usize,
    /// By target that some boundary has: boundaries with it, positive ones, and the mean.
    pub targets: BTreeMap<String, TargetSummary>,
    /// Rollout steps whose stated flags contradict their signatures.
    pub contradictions: u64,
}

/// One target over a corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// Boundaries that have it.
    pub n: usize,
    /// Boundaries on which it is positive.
    pub positive: usize,
    /// Its mean, in burdened steps.
    pub mean: f64,
}

impl CorpusSummary {
    /// Counts a corpus.
    pub fn of(corpus: &Corpus) -> CorpusSummary {
        let boundaries = &corpus.boundaries;
        let distinct = |of: fn(&Boundary) -> &str| boundaries.iter().map(of).collect::<BTreeSet<_>>().len();
        let count = |holds: &dyn Fn(usize) -> bool| (0..boundaries.len()).filter(|&index| holds(index)).count();
        let arm = |arm: Arm| {
            boundaries.iter().flat_map(|boundary| &boundary.rollouts).filter(|rollout| rollout.arm == arm).count()
        };
        let last: Vec<usize> = boundaries
            .iter()
            .map(|boundary| boundary.prefix.tail.last().map_or(0, |observation| observation.chars().count()))
            .collect();
        let longest = last.iter().copied().max().unwrap_or(0);
        let profile = &corpus.profile;
        let writes = |index: usize| boundaries[index].prefix.historical_functions.iter().any(|f| profile.is_write(f));
        let substantive = |index: usize| {
            let functions = &boundaries[index].prefix.historical_functions;
            functions.iter().any(|function| profile.is_write(function) && !profile.is_session(function))
        };
        let mut rollouts_per_arm = BTreeMap::new();
        for boundary in boundaries {
            let burden = Burden::of(boundary);
            *rollouts_per_arm.entry(format!("{}/{}", burden.pre.len(), burden.post.len())).or_insert(0) += 1;
        }
        let first = count(&|index| boundaries[index].prefix.compaction_index == 1);
        CorpusSummary {
            boundaries: boundaries.len(),
            tasks: distinct(|boundary| &boundary.task_id),
            stems: distinct(|boundary| &boundary.stem),
            trajectories: distinct(|boundary| &boundary.trajectory_id),
            first,
            later: boundaries.len() - first,
            rollouts_pre: arm(Arm::Pre),
            rollouts_post: arm(Arm::Post),
            steps: boundaries.iter().flat_map(|boundary| &boundary.rollouts).map(|rollout| rollout.steps.len()).sum(),
            rollouts_per_arm,
            functions: boundaries
                .iter()
                .flat_map(|boundary| &boundary.prefix.historical_functions)
                .collect::<BTreeSet<_>>()
                .len(),
            unmapped_functions: corpus.unmapped().keys().map(|&function| function.to_owned()).collect(),
            no_write: count(&|index| !writes(index)),
            session_only_write: count(&|index| writes(index) && !substantive(index)),
            substantive_write: count(&substantive),
            longest_last_observation: longest,
            last_observations_at_longest: last.iter().filter(|&&length| length == longest).count(),
            last_observations_at_most_60: last.iter().filter(|&&length| length <= 60).count(),
            with_difficulty: count(&|index| boundaries[index].prefix.difficulty.is_some()),
            with_tokens: count(&|index| boundaries[index].context.tokens_before.is_some()),
            with_summary: count(&|index| boundaries[index].context.summary.is_some()),
            targets: targets(corpus),
            contradictions: corpus.notes.contradictions,
        }
    }

    /// The counts as names and values, for people.
    pub fn lines(&self) -> Vec<(String, String)> {
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
        add("boundaries", self.boundaries.to_string());
        add("tasks / stems / trajectories", format!("{} / {} / {}", self.tasks, self.stems, self.trajectories));
        add("first / later compactions", format!("{} / {}", self.first, self.later));
        add("rollouts pre / post", format!("{} / {}", self.rollouts_pre, self.rollouts_post));
        let per_arm: Vec<String> = self.rollouts_per_arm.iter().map(|(arms, n)| format!("{arms}: {n}")).collect();
        add("rollouts an arm (pre/post: n)", per_arm.join(", "));
        add("rollout steps", self.steps.to_string());
        add("functions in prefixes", self.functions.to_string());
        if !self.unmapped_functions.is_empty() {
            add("functions in no method map", self.unmapped_functions.join(", "));
        }
        let cells = format!("{} / {} / {}", self.no_write, self.session_only_write, self.substantive_write);
        add("no / session-only / substantive write", cells);
        add(
            "longest last observation",
            format!(
                "{} characters, at {} boundaries",
                self.longest_last_observation, self.last_observations_at_longest
            ),
        );
        add("last observation <= 60 characters", self.last_observations_at_most_60.to_string());
        let recorded = format!("{} / {} / {}", self.with_difficulty, self.with_tokens, self.with_summary);
        add("with difficulty / tokens / summary", recorded);
        add("steps with contradicting flags", self.contradictions.to_string());
        for (target, summary) in &self.targets {
            let text = format!("n {}, positive {}, mean {:.4}", summary.n, summary.positive, summary.mean);
            add(&format!("target {target}"), text);
        }
        lines
    }
}

/// All paired targets, or where an arm is missing throughout those of the other.
fn targets(corpus: &Corpus) -> BTreeMap<String, TargetSummary> {
    let burdens: Vec<Burden> = corpus.boundaries.iter().map(Burden::of).collect();
    let mut targets = BTreeMap::new();
    for target in Target::all() {
        let deltas: Vec<_> = burdens.iter().filter_map(|burden| burden.delta(target)).collect();
        let paired = corpus.has_arm(Arm::Pre) && corpus.has_arm(Arm::Post);
        if deltas.is_empty() || target.is_paired() != paired {
            continue;
        }
        let sum: f64 = deltas.iter().map(|delta| delta.value()).sum();
        let summary = TargetSummary {
            n: deltas.len(),
            positive: deltas.iter().filter(|delta| delta.is_positive()).count(),
            mean: sum / deltas.len() as f64,
        };
        targets.insert(target.to_string(), summary);
    }
    targets
}
