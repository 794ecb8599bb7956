//! The law of burden: how likely a step is a burden with and without compaction, in closed form.
//!
//! A rollout goes step by step. A step completes the task (probability h, no burden) or, failing that, is a burden
//! with probability q. Under PRE, logit q = a + s·u; under POST, logit q = a + (1 − r)·s·u + c + signal·x·w + t·v, where
//! x are known features of the prefix and r says how far compaction levels what boundaries had of their own. u and v stand for all that the prefix does not show: each is the sum of a
//! boundary's own part, which takes one of five equally likely values, and a task's part, which takes one of two. With
//! 100 equally likely classes, all expectations and probabilities are finite sums.

use super::catalogue::{self, Kind};
use foldline_features::{Horizon, Prefix};
use foldline_frontiers::Stream;

/// Means of the five equally likely fifths of a normal distribution, scaled to variance 1.
const FIFTHS: [f64; 5] = [-1.478_195, -0.561_832, 0.0, 0.561_832, 1.478_195];
/// The task's part takes one of these.
const HALVES: [f64; 2] = [-1.0, 1.0];

/// Parameters of the law; [`HarmModel::default`] is calibrated to the published figures at the published shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarmModel {
    /// a: logit of the burden probability of a PRE step at u = 0.
    pub base: f64,
    /// Sd of the boundary's part of s·u.
    pub base_spread: f64,
    /// Sd of the task's part of s·u.
    pub base_task_spread: f64,
    /// c: mean shift of the logit under POST.
    pub shift: f64,
    /// Sd of the boundary's part of t·v.
    pub shift_spread: f64,
    /// Sd of the task's part of t·v.
    pub shift_task_spread: f64,
    /// r: the part of s·u that compaction takes away.
    pub levelling: f64,
    /// Weight of a short history: at most 15 distinct exact calls (centred).
    pub short_history: f64,
    /// Weight of a first compaction (centred on the published share).
    pub first: f64,
    /// Weight of a short history that ends in an observation of at most 60 characters (centred).
    pub short_last: f64,
    /// Weight of any write (centred).
    pub write: f64,
    /// Weight of a substantive write (centred).
    pub substantive: f64,
    /// Weight of a call to the most frequent app (centred).
    pub main_app: f64,
    /// h where the trajectory has another boundary ahead.
    pub completion_ahead: f64,
    /// h at the last boundary of a trajectory.
    pub completion_last: f64,
    /// Factor on h under POST.
    pub completion_post: f64,
    /// Probability that a rollout has no step at all.
    pub empty: f64,
}

impl Default for HarmModel {
    fn default() -> HarmModel {
        HarmModel {
            base: -2.1,
            base_spread: 1.9,
            base_task_spread: 0.3,
            shift: 1.2,
            shift_spread: 1.06,
            shift_task_spread: 0.1,
            levelling: 0.54,
            short_history: 0.95,
            first: 0.27,
            short_last: 1.8,
            write: 0.3,
            substantive: 0.05,
            main_app: 0.2,
            completion_ahead: 0.045,
            completion_last: 0.115,
            completion_post: 0.95,
            empty: 0.001,
        }
    }
}

impl HarmModel {
    /// x·w: the score of a prefix, to which `signal` applies; larger = more harm.
    pub fn score(&self, prefix: &Prefix) -> f64 {
        let short_history = prefix.historical_exact.len() <= 15;
        let short_last = prefix.tail.last().is_none_or(|text| text.chars().count() <= 60);
        let any = |wanted: fn(&str) -> bool| prefix.historical_functions.iter().any(|name| wanted(name));
        let write = any(|name| catalogue::kind_of(name).is_some_and(|kind| kind != Kind::Read));
        let substantive = any(|name| catalogue::kind_of(name) == Some(Kind::Substantive));
        let main_app = any(|name| name.starts_with("spotify."));
        // centred on the shares of the published shape, so that `signal` leaves the mean burden about where it is
        let flag = |on: bool, share: f64| f64::from(u8::from(on)) - share;
        self.short_history * flag(short_history, 0.55)
            + self.first * flag(prefix.compaction_index == 1, 275.0 / 590.0)
            + self.short_last * flag(short_history && short_last, 0.09)
            + self.write * flag(write, 494.0 / 590.0)
            + self.substantive * flag(substantive, 126.0 / 590.0)
            + self.main_app * flag(main_app, 0.4)
    }
}

/// The unseen part of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLatents {
    base: u8,
    shift: u8,
}

impl TaskLatents {
    /// Draws a task's unseen part.
    pub fn draw(stream: &mut Stream) -> TaskLatents {
        TaskLatents { base: stream.below(2) as u8, shift: stream.below(2) as u8 }
    }
}

/// The unseen part of a boundary, its task's included: one of 100 classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latents {
    base: u8,
    shift: u8,
    task: TaskLatents,
}

impl Latents {
    /// Draws a boundary's unseen part.
    pub fn draw(task: TaskLatents, stream: &mut Stream) -> Latents {
        Latents { base: stream.below(5) as u8, shift: stream.below(5) as u8, task }
    }

    fn all() -> impl Iterator<Item = Latents> {
        (0..100u8).map(|class| Latents {
            base: class % 5,
            shift: class / 5 % 5,
            task: TaskLatents { base: class / 25 % 2, shift: class / 50 },
        })
    }
}

/// What is taken as known when the truth about a boundary is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Its prefix alone: what the best possible trigger could know.
    Prefix,
    /// Its unseen part as well: what endless replicates of the boundary would show.
    Everything,
}

/// Burden of a step, as a law: completion probability h and burden probability q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepLaw {
    /// Probability that the step completes the task.
    pub completion: f64,
    /// Probability of burden of a step that does not.
    pub burden: f64,
    /// Probability that the rollout has no step at all.
    pub empty: f64,
}

impl StepLaw {
    /// Distribution of the union count over the first `k` steps: entry m is P(count = m), m = 0..=k.
    pub fn counts(&self, k: usize) -> Vec<f64> {
        let mut ended = vec![0.0; k + 1];
        let mut running = vec![0.0; k + 1];
        (ended[0], running[0]) = (self.empty, 1.0 - self.empty);
        for _ in 0..k {
            for m in (0..=k).rev() {
                ended[m] += running[m] * self.completion;
                let clean = running[m] * (1.0 - self.completion) * (1.0 - self.burden);
                let burdened = if m > 0 { running[m - 1] * (1.0 - self.completion) * self.burden } else { 0.0 };
                running[m] = clean + burdened;
            }
        }
        ended.iter().zip(&running).map(|(ended, running)| ended + running).collect()
    }
}

/// The law at one boundary and the class it was drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    model: HarmModel,
    harm: f64,
    last: bool,
    rollouts: usize,
    latents: Latents,
}

impl Truth {
    /// The law at a boundary: `last` = no boundary of its trajectory follows; `rollouts` = an arm.
    pub fn new(model: HarmModel, signal: f64, prefix: &Prefix, last: bool, rollouts: usize, latents: Latents) -> Truth {
        Truth { model, harm: signal * model.score(prefix), last, rollouts, latents }
    }

    /// signal·x·w: the best possible ranking of boundaries of equal kind (first or later, last or not).
    pub fn harm(&self) -> f64 {
        self.harm
    }

    /// The law of a PRE and of a POST step.
    pub fn steps(&self) -> [StepLaw; 2] {
        self.steps_in(self.latents)
    }

    fn steps_in(&self, latents: Latents) -> [StepLaw; 2] {
        let model = &self.model;
        let own = model.base_spread * FIFTHS[usize::from(latents.base)]
            + model.base_task_spread * HALVES[usize::from(latents.task.base)];
        let shift = model.shift
            + self.harm
            + model.shift_spread * FIFTHS[usize::from(latents.shift)]
            + model.shift_task_spread * HALVES[usize::from(latents.task.shift)];
        let completion = if self.last { model.completion_last } else { model.completion_ahead };
        let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
        [
            StepLaw { completion, burden: logistic(model.base + own), empty: model.empty },
            StepLaw {
                completion: completion * model.completion_post,
                burden: logistic(model.base + (1.0 - model.levelling) * own + shift),
                empty: model.empty,
            },
        ]
    }

    fn mean_over(&self, given: Given, value: impl Fn([StepLaw; 2]) -> f64) -> f64 {
        match given {
            Given::Everything => value(self.steps()),
            Given::Prefix => Latents::all().map(|latents| value(self.steps_in(latents))).sum::<f64>() / 100.0,
        }
    }

    /// Expected union count of a PRE and of a POST rollout.
    pub fn expected_counts(&self, horizon: Horizon, given: Given) -> [f64; 2] {
        [0, 1].map(|arm: usize| self.mean_over(given, |laws| mean(&laws[arm].counts(horizon.k()))))
    }

    /// Expected dU@k.
    pub fn expected_delta(&self, horizon: Horizon, given: Given) -> f64 {
        let [pre, post] = self.expected_counts(horizon, given);
        post - pre
    }

    /// P(dU@k > 0) with this boundary's number of rollouts.
    pub fn positive_probability(&self, horizon: Horizon, given: Given) -> f64 {
        self.mean_over(given, |laws| {
            let [pre, post] = laws.map(|law| sum_of(&law.counts(horizon.k()), self.rollouts));
            let mut below = 0.0;
            let mut positive = 0.0;
            for (sum, probability) in post.iter().enumerate() {
                positive += probability * below;
                below += pre[sum];
            }
            positive
        })
    }
}

fn mean(counts: &[f64]) -> f64 {
    counts.iter().enumerate().map(|(m, probability)| m as f64 * probability).sum()
}

/// Distribution of the sum of `rollouts` independent counts.
fn sum_of(counts: &[f64], rollouts: usize) -> Vec<f64> {
    let mut sum = vec![1.0];
    for _ in 0..rollouts {
        let mut next = vec![0.0; sum.len() + counts.len() - 1];
        for (i, a) in sum.iter().enumerate() {
            for (j, b) in counts.iter().enumerate() {
                next[i + j] += a * b;
            }
        }
        sum = next;
    }
    sum
}
