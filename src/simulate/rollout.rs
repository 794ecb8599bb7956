//! Replays drawn from the law of burden, with signatures that bear out their flags.

use super::catalogue::COMPLETE;
use super::harm::StepLaw;
use super::plan::Cell;
use foldline_features::{Arm, Prefix, Rollout, RolloutStep};
use foldline_frontiers::Stream;

/// Steps a rollout has at most.
const STEPS: usize = 5;

/// Among burden steps: the shares that are blocked only and both blocked and refetch; the rest is refetch only. From
/// the channel means of arXiv 2610.08722, Tables 6 and 7.
fn channel_shares(cell: Cell) -> (f64, f64) {
    match cell {
        Cell::NoWrite => (0.31, 0.02),
        Cell::LoginOnly => (0.55, 0.08),
        Cell::Substantive => (0.72, 0.12),
    }
}

/// Draws replays of one boundary.
pub(super) struct Replayer<'a> {
    cell: Cell,
    history: Vec<&'a str>,
    reads: Vec<&'a str>,
    /// Numbers never used in a call before.
    fresh: u64,
}

impl<'a> Replayer<'a> {
    /// Replays from a prefix.
    pub(super) fn new(cell: Cell, prefix: &'a Prefix) -> Replayer<'a> {
        let reads = prefix.historical_functions.iter().map(String::as_str);
        Replayer {
            cell,
            history: prefix.historical_exact.iter().map(String::as_str).collect(),
            reads: reads.filter(|name| !name.ends_with("login")).collect(),
            fresh: 1000,
        }
    }

    /// One rollout of an arm under its law.
    pub(super) fn rollout(&mut self, arm: Arm, sample: u64, law: StepLaw, stream: &mut Stream) -> Rollout {
        let mut steps: Vec<RolloutStep> = Vec::with_capacity(STEPS);
        let mut completed = false;
        let any = stream.unit() >= law.empty;
        while any && !completed && steps.len() < STEPS {
            completed = stream.unit() < law.completion;
            let burden = !completed && stream.unit() < law.burden;
            let (blocked, refetch) = if burden { self.channel(stream) } else { (false, false) };
            let exact = if completed {
                format!("{}(status='success')", COMPLETE.name())
            } else if refetch {
                // an own earlier call now and then, else one of the prefix
                match steps.last().filter(|_| stream.below(4) == 0) {
                    Some(step) => step.exact.clone(),
                    None => pick(&self.history, stream).to_owned(),
                }
            } else {
                self.fresh += 1;
                format!("{}(item_id={})", pick(&self.reads, stream), self.fresh)
            };
            let function = exact.split('(').next().unwrap_or_default().to_owned();
            steps.push(RolloutStep { exact, function, blocked, refetch });
        }
        Rollout { arm, sample, steps, completed }
    }

    fn channel(&self, stream: &mut Stream) -> (bool, bool) {
        let (blocked_only, both) = channel_shares(self.cell);
        let u = stream.unit();
        (u < blocked_only + both, u >= blocked_only)
    }
}

fn pick<'a>(items: &[&'a str], stream: &mut Stream) -> &'a str {
    // a prefix has at least one call, and its first calls are no logins
    items.get(stream.below(items.len() as u32) as usize).copied().unwrap_or("api_docs.show_app_descriptions")
}
