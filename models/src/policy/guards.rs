//! The order of authority: what may overrule the learned rule, and what it decides.
//!
//! From strongest to weakest: a pending tool result (block until it lands) > overflow or manual (allow) > an implausible
//! token count (allow) > the hard ceiling (allow) > the block cap (allow) > a feature that is missing (allow) > the fill
//! floor (block) > a last compaction too recent or without effect (block) > the learned rule. Everything that is wrong
//! allows, so that a harness is never stranded.
//!
//! All comparisons of shares are exact: a share is the decimal fraction that stands in the policy file, and tokens are
//! integers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// May the context be compacted now?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Compact now.
    Allow,
    /// Not now: ask again at the retry point.
    Block,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A tool call has no result yet: blocked until it lands.
    ToolInFlight,
    /// The provider refused the context as too long: allowed.
    Overflow,
    /// A person asked: allowed.
    Manual,
    /// A token count that cannot be: allowed.
    ImplausibleUsage,
    /// The context is too full to wait: allowed.
    HardCeiling,
    /// Too many blocks in a row: allowed.
    MaxBlocks,
    /// Something the policy needs is absent or unreadable: allowed.
    MissingFeature,
    /// The context is too empty to be worth it: blocked.
    MinFill,
    /// Too little was added since the last compaction: blocked.
    Cooldown,
    /// The last compaction freed too little: blocked.
    IneffectiveLast,
    /// The learned rule.
    Rule,
    /// The policy cannot be read: allowed.
    PolicyError,
}

impl DecidedBy {
    /// The word used in answers and logs.
    pub fn name(self) -> &'static str {
        match self {
            DecidedBy::ToolInFlight => "tool_in_flight",
            DecidedBy::Overflow => "overflow",
            DecidedBy::Manual => "manual",
            DecidedBy::ImplausibleUsage => "implausible_usage",
            DecidedBy::HardCeiling => "hard_ceiling",
            DecidedBy::MaxBlocks => "max_blocks",
            DecidedBy::MissingFeature => "missing_feature",
            DecidedBy::MinFill => "min_fill",
            DecidedBy::Cooldown => "cooldown",
            DecidedBy::IneffectiveLast => "ineffective_last",
            DecidedBy::Rule => "rule",
            DecidedBy::PolicyError => "policy_error",
        }
    }
}

/// When a blocked host should ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAt {
    /// As soon as the pending tool result has landed.
    AfterToolResult,
    /// At the next boundary between a tool result and a model request.
    NextTurnEnd,
}

/// Why the host asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The host's own threshold.
    #[default]
    Auto,
    /// A person.
    Manual,
    /// The provider refused the request as too long.
    Overflow,
}

/// Where a token count comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokensSource {
    /// Counted by the model's provider.
    Provider,
    /// Estimated by the host.
    Estimate,
}

/// What is known of the session's last compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastCompaction {
    /// The host did not say: the cooldown is off.
    #[default]
    Unknown,
    /// There was none.
    None,
    /// Context size in tokens before and after it, where known.
    Was {
        /// Just before.
        tokens_before: Option<u64>,
        /// Just after.
        tokens_after: Option<u64>,
    },
}

/// What the host knows at the moment it asks; every fact is optional, and an absent one switches off its guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Context size in tokens.
    pub ctx_tokens: Option<u64>,
    /// The model's window in tokens.
    pub window_tokens: Option<u64>,
    /// Where `ctx_tokens` comes from; recorded, never decisive.
    pub tokens_source: Option<TokensSource>,
    /// A tool call has no result yet. Absent: no.
    pub tool_in_flight: Option<bool>,
    /// Why the host asks. Absent: auto.
    pub trigger: Option<Trigger>,
    /// Where in its loop the host asks, in its own words; recorded, never decisive.
    pub call_site: Option<String>,
    /// Blocks in a row before this boundary. Absent: 0.
    pub consecutive_blocks: Option<u64>,
    /// The session's last compaction.
    pub last_compaction: LastCompaction,
    /// What is wrong with the token counts as given (negative, fractional, not a number), in words.
    pub implausible: Vec<String>,
    /// What else could not be read, in words.
    pub unreadable: Vec<String>,
}

/// A share of the window: a decimal fraction in [0, 1] with at most nine places, compared exactly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Share {
    billionths: u64,
}

impl Share {
    const ONE: u64 = 1_000_000_000;

    /// The share that a number's shortest decimal form names.
    ///
    /// # Errors
    /// A sentence, when it is outside [0, 1] or has more than nine places.
    pub fn new(value: f64) -> Result<Share, String> {
        if !(0.0..=1.0).contains(&value) {
            return Err(format!("{value} is no share: expected a number from 0 to 1"));
        }
        // exact for every decimal of at most nine places: the nearest double of k/10^9, times 10^9, is within 1e-6 of k
        let billionths = (value * Self::ONE as f64).round();
        if (billionths / Self::ONE as f64).to_bits() != value.to_bits() && value != 0.0 {
            return Err(format!("the share {value} has more than nine decimal places"));
        }
        Ok(Share { billionths: billionths as u64 })
    }

    /// The share as a number.
    pub fn value(self) -> f64 {
        self.billionths as f64 / Self::ONE as f64
    }

    /// The least number of tokens that is at least this share of a window: the share times the window, rounded up.
    pub fn tokens(self, window: u64) -> u64 {
        let exact = u128::from(self.billionths) * u128::from(window);
        u64::try_from(exact.div_ceil(u128::from(Self::ONE))).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        Share::new(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The guards of a policy, with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// Allow when `ctx_tokens` + `summary_reserve_tokens` reaches this share of the window.
    #[cfg_attr(feature = "schema", schemars(with = "f64", range(min = 0.0, max = 1.0)))]
    pub hard_ceiling_share: Share,
    /// Tokens that the compaction itself needs below the ceiling.
    pub summary_reserve_tokens: u64,
    /// From this many blocks in a row on, the floor, the cooldown and the rule no longer block.
    pub max_consecutive_blocks: u64,
    /// Block below this share of the window; 0 never does.
    #[cfg_attr(feature = "schema", schemars(with = "f64", range(min = 0.0, max = 1.0)))]
    pub min_fill_share: Share,
    /// Block until the context has grown by this share of the window since the last compaction, and while the last
    /// compaction freed less than this share; 0 never does.
    #[cfg_attr(feature = "schema", schemars(with = "f64", range(min = 0.0, max = 1.0)))]
    pub cooldown_growth_share: Share,
}

impl Default for Guards {
    fn default() -> Guards {
        Guards {
            hard_ceiling_share: Share { billionths: 900_000_000 },
            summary_reserve_tokens: 0,
            max_consecutive_blocks: 3,
            min_fill_share: Share { billionths: 0 },
            cooldown_growth_share: Share { billionths: 100_000_000 },
        }
    }
}

impl Guards {
    /// Whether the guards can hold together.
    ///
    /// # Errors
    /// A sentence: a ceiling of 0 would allow everything, and a floor at or above the ceiling leaves the rule nothing.
    pub fn check(&self) -> Result<(), String> {
        if self.hard_ceiling_share.billionths == 0 {
            return Err("guards.hard_ceiling_share is 0: it must be above 0".to_owned());
        }
        if self.min_fill_share.billionths >= self.hard_ceiling_share.billionths {
            return Err(format!(
                "guards.min_fill_share {:?} is not below guards.hard_ceiling_share {:?}",
                self.min_fill_share, self.hard_ceiling_share
            ));
        }
        Ok(())
    }

    /// The context size in tokens from which compaction is always allowed, for a window.
    pub fn ceiling_tokens(&self, window: u64) -> u64 {
        self.hard_ceiling_share.tokens(window).saturating_sub(self.summary_reserve_tokens)
    }
}

/// The number a score is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Block when the score is at least this.
    AtLeast(f64),
    /// The rule never blocks.
    Never,
}

impl Threshold {
    /// Whether a score blocks.
    pub fn blocks(self, score: f64) -> bool {
        match self {
            Threshold::AtLeast(threshold) => score >= threshold,
            Threshold::Never => false,
        }
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Threshold::AtLeast(value) => serializer.serialize_f64(*value),
            Threshold::Never => serializer.serialize_str("never"),
        }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Threshold, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(f64),
            Word(String),
        }
        let wrong = "a threshold is a finite number or the word \"never\"";
        match Form::deserialize(deserializer).map_err(|_| serde::de::Error::custom(wrong))? {
            Form::Number(value) if value.is_finite() => Ok(Threshold::AtLeast(value)),
            Form::Word(word) if word == "never" => Ok(Threshold::Never),
            _ => Err(serde::de::Error::custom(wrong)),
        }
    }
}

/// A decision with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The answer.
    pub decision: Decision,
    /// The strongest authority that had something to say.
    pub decided_by: DecidedBy,
    /// When to ask again; absent when allowed.
    pub retry_at: Option<RetryAt>,
    /// Every authority that had something to say, strongest first; the rule is among them only when it blocks.
    pub would_fire: Vec<DecidedBy>,
    /// Guards that an absent fact switched off, in words.
    pub warnings: Vec<String>,
}

/// Decides: a pure function of what stands in the policy, what the host knows, and the score.
///
/// `score` is the learned score, or the names of what it would need and does not have.
pub fn decide(guards: &Guards, threshold: Threshold, facts: &Facts, score: Result<f64, &[String]>) -> Verdict {
    let mut warnings = absent_facts(guards, facts);
    let mut would_fire = Vec::new();
    let mut note = |fires: bool, by: DecidedBy| {
        if fires {
            would_fire.push(by);
        }
    };
    let ctx = facts.ctx_tokens;
    let window = facts.window_tokens;
    let trigger = facts.trigger.unwrap_or_default();
    let (cooldown, ineffective) = last_compaction_guards(guards, facts);

    note(facts.tool_in_flight == Some(true), DecidedBy::ToolInFlight);
    note(trigger == Trigger::Overflow, DecidedBy::Overflow);
    note(trigger == Trigger::Manual, DecidedBy::Manual);
    let beyond = matches!((ctx, window), (Some(ctx), Some(window)) if ctx > window);
    if beyond {
        warnings.push("ctx_tokens is above window_tokens, which cannot be".to_owned());
    }
    if window == Some(0) {
        warnings.push("window_tokens is 0, which cannot be".to_owned());
    }
    note(beyond || window == Some(0) || !facts.implausible.is_empty(), DecidedBy::ImplausibleUsage);
    warnings.extend(facts.implausible.iter().cloned());
    let above_ceiling = matches!((ctx, window), (Some(ctx), Some(window))
        if ctx.saturating_add(guards.summary_reserve_tokens) >= guards.hard_ceiling_share.tokens(window));
    note(above_ceiling, DecidedBy::HardCeiling);
    note(facts.consecutive_blocks.unwrap_or(0) >= guards.max_consecutive_blocks, DecidedBy::MaxBlocks);
    note(score.is_err() || !facts.unreadable.is_empty(), DecidedBy::MissingFeature);
    warnings.extend(facts.unreadable.iter().cloned());
    if let Err(missing) = score {
        warnings.push(format!("the rule cannot be asked without {}", missing.join(", ")));
    }
    let below_floor = matches!((ctx, window), (Some(ctx), Some(window)) if ctx < guards.min_fill_share.tokens(window));
    note(below_floor, DecidedBy::MinFill);
    note(cooldown, DecidedBy::Cooldown);
    note(ineffective, DecidedBy::IneffectiveLast);
    note(score.is_ok_and(|score| threshold.blocks(score)), DecidedBy::Rule);

    // the rule decides where nothing stronger fires, whichever way it decides
    let rule_blocks = would_fire.contains(&DecidedBy::Rule);
    let decided_by = would_fire.first().copied().unwrap_or(DecidedBy::Rule);
    let (decision, retry_at) = match decided_by {
        DecidedBy::ToolInFlight => (Decision::Block, Some(RetryAt::AfterToolResult)),
        DecidedBy::MinFill | DecidedBy::Cooldown | DecidedBy::IneffectiveLast => {
            (Decision::Block, Some(RetryAt::NextTurnEnd))
        }
        DecidedBy::Rule if rule_blocks => (Decision::Block, Some(RetryAt::NextTurnEnd)),
        _ => (Decision::Allow, None),
    };
    Verdict { decision, decided_by, retry_at, would_fire, warnings }
}

/// Whether the last compaction is too recent, and whether it was without effect.
fn last_compaction_guards(guards: &Guards, facts: &Facts) -> (bool, bool) {
    let (LastCompaction::Was { tokens_before, tokens_after }, Some(window)) =
        (facts.last_compaction, facts.window_tokens)
    else {
        return (false, false);
    };
    let wanted = i128::from(guards.cooldown_growth_share.tokens(window));
    let below = |from: Option<u64>, to: Option<u64>| {
        matches!((from, to), (Some(from), Some(to)) if i128::from(to) - i128::from(from) < wanted) && wanted > 0
    };
    (below(tokens_after, facts.ctx_tokens), below(tokens_after, tokens_before))
}

/// One sentence for every absent fact that switches a guard off.
fn absent_facts(guards: &Guards, facts: &Facts) -> Vec<String> {
    let floor = if guards.min_fill_share.billionths > 0 { ", the floor" } else { "" };
    let mut warnings = Vec::new();
    for (absent, name) in [(facts.ctx_tokens.is_none(), "ctx_tokens"), (facts.window_tokens.is_none(), "window_tokens")]
    {
        if absent {
            warnings.push(format!("{name} is absent: the hard ceiling{floor} and the cooldown are off"));
        }
    }
    let mut say = |absent: bool, sentence: &str| {
        if absent {
            warnings.push(sentence.to_owned());
        }
    };
    say(facts.tool_in_flight.is_none(), "tool_in_flight is absent: taken as false");
    say(facts.trigger.is_none(), "trigger is absent: taken as auto");
    say(facts.consecutive_blocks.is_none(), "consecutive_blocks is absent: taken as 0");
    let unknown = match facts.last_compaction {
        LastCompaction::Unknown => true,
        LastCompaction::None => false,
        LastCompaction::Was { tokens_before, tokens_after } => tokens_before.is_none() || tokens_after.is_none(),
    };
    say(unknown, "last_compaction is absent or incomplete: the cooldown is off");
    warnings
}
