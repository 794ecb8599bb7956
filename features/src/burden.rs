//! Burden: what the next actions cost, counted per channel and horizon, and compared between arms.
//!
//! Counts are integers and a delta is one division of two exact integers, so that equal rationals are equal
//! floats and every sign or bound is decided without rounding (protocol section 1, *Channels*).

use crate::boundary::{Arm, Boundary, Rollout};
use std::fmt;
use std::str::FromStr;

/// A way in which a step can be a burden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Blocked or refetch.
    Union,
    /// The environment returned an error.
    Blocked,
    /// A call already made was made again.
    Refetch,
}

impl Channel {
    /// All channels, in the paper's order.
    pub const ALL: [Channel; 3] = [Channel::Union, Channel::Blocked, Channel::Refetch];

    /// The letter used in target names: U, E or R.
    pub fn letter(self) -> char {
        match self {
            Channel::Union => 'U',
            Channel::Blocked => 'E',
            Channel::Refetch => 'R',
        }
    }

    fn index(self) -> usize {
        match self {
            Channel::Union => 0,
            Channel::Blocked => 1,
            Channel::Refetch => 2,
        }
    }
}

/// How many of the next actions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Horizon {
    /// The first action.
    One,
    /// The first three actions: the primary horizon.
    Three,
    /// The first five actions.
    Five,
}

impl Horizon {
    /// All horizons, ascending.
    pub const ALL: [Horizon; 3] = [Horizon::One, Horizon::Three, Horizon::Five];

    /// The number of actions k.
    pub fn k(self) -> usize {
        match self {
            Horizon::One => 1,
            Horizon::Three => 3,
            Horizon::Five => 5,
        }
    }

    fn index(self) -> usize {
        match self {
            Horizon::One => 0,
            Horizon::Three => 1,
            Horizon::Five => 2,
        }
    }
}

/// Burden counts of one rollout: for each channel and horizon the number of counted steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolloutCounts {
    counts: [[u8; 3]; 3],
}

impl RolloutCounts {
    /// Counts the first min(k, L) steps of a rollout of L steps.
    pub fn of(rollout: &Rollout) -> RolloutCounts {
        let mut counts = [[0u8; 3]; 3];
        for horizon in Horizon::ALL {
            for step in rollout.steps.iter().take(horizon.k()) {
                let flags = [step.blocked || step.refetch, step.blocked, step.refetch];
                for (channel, flag) in flags.into_iter().enumerate() {
                    counts[channel][horizon.index()] += u8::from(flag);
                }
            }
        }
        RolloutCounts { counts }
    }

    /// Counts that were recorded, `[channel][horizon]` in the orders of [`Channel::ALL`] and [`Horizon::ALL`].
    ///
    /// `None` where no rollout has them: more counted steps than the horizon, a count that falls with the horizon, or a
    /// union that is less than one of its parts or more than their sum.
    pub fn recorded(counts: [[u8; 3]; 3]) -> Option<RolloutCounts> {
        let [union, blocked, refetch] = counts;
        let possible = (0..3).all(|h| {
            let rises = h == 0 || counts.iter().all(|channel| channel[h] >= channel[h - 1]);
            let parts = blocked[h].max(refetch[h]) <= union[h] && union[h] <= blocked[h].saturating_add(refetch[h]);
            rises && parts && usize::from(union[h]) <= Horizon::ALL[h].k()
        });
        possible.then_some(RolloutCounts { counts })
    }

    /// The count of one channel at one horizon, 0 to k.
    pub fn get(&self, channel: Channel, horizon: Horizon) -> u8 {
        self.counts[channel.index()][horizon.index()]
    }
}

/// What is predicted at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// `dU@3`: mean of POST minus mean of PRE; needs both arms.
    Paired(Channel, Horizon),
    /// `pre.U@3`: mean of one arm; observational.
    Arm(Arm, Channel, Horizon),
}

impl Target {
    /// The primary outcome of the paper, dU@3.
    pub const PRIMARY: Target = Target::Paired(Channel::Union, Horizon::Three);

    /// All targets: the nine paired ones, then nine of each arm; horizons outermost, as in the paper's Table 11.
    pub fn all() -> Vec<Target> {
        let grid = || Horizon::ALL.into_iter().flat_map(|horizon| Channel::ALL.map(|channel| (channel, horizon)));
        let paired = grid().map(|(channel, horizon)| Target::Paired(channel, horizon));
        let of = |arm: Arm| grid().map(move |(channel, horizon)| Target::Arm(arm, channel, horizon));
        paired.chain(of(Arm::Pre)).chain(of(Arm::Post)).collect()
    }

    /// The channel counted.
    pub fn channel(self) -> Channel {
        match self {
            Target::Paired(channel, _) | Target::Arm(_, channel, _) => channel,
        }
    }

    /// The horizon counted.
    pub fn horizon(self) -> Horizon {
        match self {
            Target::Paired(_, horizon) | Target::Arm(_, _, horizon) => horizon,
        }
    }

    /// Whether the target is a difference between arms.
    pub fn is_paired(self) -> bool {
        matches!(self, Target::Paired(..))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Paired(channel, horizon) => write!(f, "d{}@{}", channel.letter(), horizon.k()),
            Target::Arm(arm, channel, horizon) => {
                write!(f, "{}.{}@{}", arm.name(), channel.letter(), horizon.k())
            }
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let wrong = || {
            format!(
                "{text:?} is not a target: expected d or pre. or post., a channel U, E or R, @ and a horizon 1, 3 or 5, \
                 such as dU@3 or pre.U@3"
            )
        };
        let (arm, rest) = if let Some(rest) = text.strip_prefix("pre.") {
            (Some(Arm::Pre), rest)
        } else if let Some(rest) = text.strip_prefix("post.") {
            (Some(Arm::Post), rest)
        } else {
            (None, text.strip_prefix('d').ok_or_else(wrong)?)
        };
        let (channel, horizon) = rest.split_once('@').ok_or_else(wrong)?;
        let channel = match channel {
            "U" => Channel::Union,
            "E" => Channel::Blocked,
            "R" => Channel::Refetch,
            _ => return Err(wrong()),
        };
        let horizon = match horizon {
            "1" => Horizon::One,
            "3" => Horizon::Three,
            "5" => Horizon::Five,
            _ => return Err(wrong()),
        };
        Ok(match arm {
            Some(arm) => Target::Arm(arm, channel, horizon),
            None => Target::Paired(channel, horizon),
        })
    }
}

/// An exact difference or mean of counts: numerator over a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Signed numerator.
    pub numerator: i64,
    /// Positive denominator (n_pre·n_post, or the one arm's number of rollouts).
    pub denominator: i64,
}

impl Delta {
    /// The value: one division, so that equal rationals give equal floats.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The label y = `1[d > 0]`, decided on integers.
    pub fn is_positive(self) -> bool {
        self.numerator > 0
    }

    /// Positive burden mass max(0, d).
    pub fn mass(self) -> f64 {
        if self.numerator > 0 { self.value() } else { 0.0 }
    }

    /// Whether |d| >= numerator/denominator, decided on integers.
    pub fn abs_at_least(self, numerator: i64, denominator: i64) -> bool {
        i128::from(self.numerator.abs()) * i128::from(denominator)
            >= i128::from(numerator) * i128::from(self.denominator)
    }
}

/// Burden of one boundary: the counts of every rollout, by arm, in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Burden {
    /// Counts of the PRE rollouts.
    pub pre: Vec<RolloutCounts>,
    /// Counts of the POST rollouts.
    pub post: Vec<RolloutCounts>,
}

impl Burden {
    /// Counts all rollouts of a boundary.
    pub fn of(boundary: &Boundary) -> Burden {
        let mut burden = Burden::default();
        for rollout in &boundary.rollouts {
            burden.arm_mut(rollout.arm).push(RolloutCounts::of(rollout));
        }
        burden
    }

    /// The counts of one arm.
    pub fn arm(&self, arm: Arm) -> &[RolloutCounts] {
        match arm {
            Arm::Pre => &self.pre,
            Arm::Post => &self.post,
        }
    }

    fn arm_mut(&mut self, arm: Arm) -> &mut Vec<RolloutCounts> {
        match arm {
            Arm::Pre => &mut self.pre,
            Arm::Post => &mut self.post,
        }
    }

    /// The exact value of a target; `None` where an arm it needs has no rollout.
    pub fn delta(&self, target: Target) -> Option<Delta> {
        let (channel, horizon) = (target.channel(), target.horizon());
        let sum = |arm: Arm| -> (i64, i64) {
            let counts = self.arm(arm);
            (counts.iter().map(|c| i64::from(c.get(channel, horizon))).sum(), counts.len() as i64)
        };
        match target {
            Target::Paired(..) => {
                let (sum_pre, n_pre) = sum(Arm::Pre);
                let (sum_post, n_post) = sum(Arm::Post);
                (n_pre > 0 && n_post > 0)
                    .then(|| Delta { numerator: sum_post * n_pre - sum_pre * n_post, denominator: n_pre * n_post })
            }
            Target::Arm(arm, ..) => {
                let (sum, n) = sum(arm);
                (n > 0).then_some(Delta { numerator: sum, denominator: n })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_counts_are_those_some_rollout_has() {
        // union, blocked, refetch at horizons 1, 3, 5
        assert!(RolloutCounts::recorded([[1, 2, 4], [1, 1, 3], [0, 1, 1]]).is_some());
        for impossible in [
            [[2, 2, 2], [2, 2, 2], [0, 0, 0]],
            [[1, 0, 0], [1, 0, 0], [0, 0, 0]],
            [[0, 1, 1], [0, 2, 2], [0, 0, 0]],
            [[0, 3, 3], [0, 1, 1], [0, 1, 1]],
        ] {
            assert_eq!(RolloutCounts::recorded(impossible), None);
        }
    }
}
