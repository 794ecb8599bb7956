//! What a host sends: a boundary in the native format without rollouts, or features by name, and the live facts.
//!
//! Reading never fails: whatever cannot be read becomes a sentence in [`Facts::unreadable`] or [`Facts::implausible`],
//! and the guards then allow. `null` counts as absent, except for `last_compaction`, where it says that there was none.

use super::Policy;
use super::columns::Need;
use super::guards::{Facts, LastCompaction, TokensSource, Trigger};
use foldline_features::corpus::derive_prefix;
use foldline_features::profile::Syntax;
use foldline_features::{Prefix, PrefixStep, Profile, SummarySupport};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Largest request that is read, in bytes; a longer one is answered with allow.
pub const MAX_REQUEST_BYTES: usize = 8 << 20;
/// Token counts beyond this are no counts.
const MAX_TOKENS: f64 = 9_007_199_254_740_992.0;

/// What the learned rule is to be computed from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Given {
    /// Nothing.
    #[default]
    Nothing,
    /// Values by column name.
    Features(BTreeMap<String, f64>),
    /// A prefix, and which of its parts the host gave.
    Prefix(Box<Prefix>, BTreeSet<Need>),
}

/// A request, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The host's name for this boundary.
    pub boundary_id: Option<String>,
    /// The host's name for the session.
    pub session: Option<String>,
    /// The live facts.
    pub facts: Facts,
    /// What the rule is computed from.
    pub given: Given,
    /// Sentences that change nothing.
    pub warnings: Vec<String>,
}

impl Request {
    /// A request for a prefix that is wholly known, as a corpus has it.
    pub fn of_prefix(prefix: Prefix, facts: Facts) -> Request {
        let mut given: BTreeSet<Need> = [
            Need::PrefixSteps,
            Need::CompactionIndex,
            Need::HistoricalExact,
            Need::HistoricalFunctions,
            Need::Tail,
            Need::TailErrors,
            Need::Difficulty,
        ]
        .into();
        if prefix.summary_support.is_some() {
            given.insert(Need::SummarySupport);
        }
        Request { facts, given: Given::Prefix(Box::new(prefix), given), ..Request::default() }
    }

    /// Reads a request for a policy with this profile. Never fails; see the module.
    pub fn parse(bytes: &[u8], profile: &Profile) -> Request {
        let unreadable = |text: String| Request {
            facts: Facts { unreadable: vec![text], ..Facts::default() },
            ..Request::default()
        };
        if bytes.len() > MAX_REQUEST_BYTES {
            return unreadable(format!("the request has {} bytes; at most {MAX_REQUEST_BYTES} are read", bytes.len()));
        }
        match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Object(map)) => Request::of_object(&map, profile),
            Ok(_) => unreadable("the request is no JSON object".to_owned()),
            Err(error) => unreadable(format!("the request is not JSON: {error}")),
        }
    }

    /// Reads a request for a policy, or for none when it could not be read: the identifiers then are all that counts.
    pub fn parse_for(policy: Option<&Policy>, bytes: &[u8]) -> Request {
        match policy {
            Some(policy) => Request::parse(bytes, &policy.extractor().profile),
            None => Request::parse(bytes, &Profile::appworld()),
        }
    }

    /// As [`Request::parse_for`], for a request that is already parsed.
    pub fn of_object_for(policy: Option<&Policy>, map: &Map<String, Value>) -> Request {
        match policy {
            Some(policy) => Request::of_object(map, &policy.extractor().profile),
            None => Request::of_object(map, &Profile::appworld()),
        }
    }

    /// Reads a request that is already parsed.
    pub fn of_object(map: &Map<String, Value>, profile: &Profile) -> Request {
        let mut read = Reader { map, nested: map.get("boundary").and_then(Value::as_object), wrong: Vec::new() };
        if read.nested.is_none() && map.get("boundary").is_some_and(|value| !value.is_null()) {
            read.wrong.push("boundary is no object".to_owned());
        }
        let mut warnings = Vec::new();
        for field in ["rollouts", "deltas"] {
            if read.get(field).is_some() {
                warnings.push(format!("{field} is never read when deciding"));
            }
        }
        let boundary_id = read.text("boundary_id");
        let session = read.text("session");
        // an adapter knows the call syntax, a host of its own perhaps the profile's name
        if let Some(stated) = read.text("profile")
            && stated != profile.name
            && stated != syntax_name(profile.syntax)
        {
            read.wrong.push(format!("the request has profile {stated}, and the policy {}", profile.name));
        }
        let mut facts = read.facts();
        let given = read.given(profile);
        facts.unreadable.append(&mut read.wrong);
        Request { boundary_id, session, facts, given, warnings }
    }
}

/// Reads fields, from the request itself or from its `boundary`, and collects what is wrong.
struct Reader<'a> {
    map: &'a Map<String, Value>,
    nested: Option<&'a Map<String, Value>>,
    wrong: Vec<String>,
}

impl<'a> Reader<'a> {
    fn get(&self, field: &str) -> Option<&'a Value> {
        let nested = || self.nested.and_then(|nested| nested.get(field));
        self.map.get(field).or_else(nested).filter(|value| !value.is_null())
    }

    /// The field, converted; a value that does not convert is noted as wrong.
    fn read<T>(&mut self, field: &str, expected: &str, convert: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.get(field)?;
        let converted = convert(value);
        if converted.is_none() {
            self.wrong.push(format!("{field} is {}, expected {expected}", shown(value)));
        }
        converted
    }

    fn text(&mut self, field: &str) -> Option<String> {
        self.read(field, "text", |value| value.as_str().map(str::to_owned))
    }

    fn count(&mut self, field: &str) -> Option<u64> {
        self.read(field, "a whole number of at least 0", count)
    }

    fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        self.read(field, "a list of texts", |value| {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    fn facts(&mut self) -> Facts {
        let mut facts = Facts::default();
        let mut tokens = |name: &str, value: Option<&Value>| {
            let value = value.filter(|value| !value.is_null())?;
            let tokens = count(value);
            if tokens.is_none() {
                facts.implausible.push(format!("{name} is {}, which is no number of tokens", shown(value)));
            }
            tokens
        };
        let ctx_tokens = tokens("ctx_tokens", self.get("ctx_tokens"));
        let window_tokens = tokens("window_tokens", self.get("window_tokens"));
        let stated = self.map.get("last_compaction").or_else(|| self.nested.and_then(|n| n.get("last_compaction")));
        let last_compaction = match stated {
            None => LastCompaction::Unknown,
            Some(Value::Null) => LastCompaction::None,
            Some(Value::Object(last)) => LastCompaction::Was {
                tokens_before: tokens("last_compaction.tokens_before", last.get("tokens_before")),
                tokens_after: tokens("last_compaction.tokens_after", last.get("tokens_after")),
            },
            Some(other) => {
                self.wrong.push(format!("last_compaction is {}, expected an object or null", shown(other)));
                LastCompaction::Unknown
            }
        };
        Facts {
            ctx_tokens,
            window_tokens,
            last_compaction,
            tokens_source: self.read("tokens_source", "provider or estimate", |value| match value.as_str()? {
                "provider" => Some(TokensSource::Provider),
                "estimate" => Some(TokensSource::Estimate),
                _ => None,
            }),
            tool_in_flight: self.read("tool_in_flight", "true or false", Value::as_bool),
            trigger: self.read("trigger", "auto, manual or overflow", |value| match value.as_str()? {
                "auto" | "threshold" => Some(Trigger::Auto),
                "manual" => Some(Trigger::Manual),
                "overflow" => Some(Trigger::Overflow),
                _ => None,
            }),
            call_site: self.text("call_site"),
            consecutive_blocks: self.count("consecutive_blocks"),
            ..facts
        }
    }

    fn given(&mut self, profile: &Profile) -> Given {
        if self.get("features").is_some() {
            let features = self.read("features", "an object of finite numbers", |value| {
                let number = |value: &Value| match value {
                    Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
                    other => other.as_f64().filter(|number| number.is_finite()),
                };
                value.as_object()?.iter().map(|(name, value)| Some((name.clone(), number(value)?))).collect()
            });
            return features.map_or(Given::Nothing, Given::Features);
        }
        let (prefix, given) = self.prefix(profile);
        if given.is_empty() { Given::Nothing } else { Given::Prefix(Box::new(prefix), given) }
    }

    fn prefix(&mut self, profile: &Profile) -> (Prefix, BTreeSet<Need>) {
        let mut given = BTreeSet::new();
        let mut prefix = Prefix::default();
        if let Some(steps) = self.steps() {
            prefix = derive_prefix(prefix, &steps, profile);
            self.check_syntax(profile, &steps, &prefix);
            given.extend([
                Need::PrefixSteps,
                Need::HistoricalExact,
                Need::HistoricalFunctions,
                Need::Tail,
                Need::TailErrors,
            ]);
        }
        let derived = given.contains(&Need::PrefixSteps);
        let mut differs = Vec::new();
        let mut settle = |need: Need, differing: bool| {
            given.insert(need);
            if derived && differing {
                differs.push(format!("{need} differs from what the prefix's steps say"));
            }
        };
        if let Some(steps) = self.count("prefix_steps") {
            settle(Need::PrefixSteps, steps != prefix.prefix_steps);
            prefix.prefix_steps = steps;
        }
        if let Some(exact) = self.texts("historical_exact") {
            let exact = exact.into_iter().collect();
            settle(Need::HistoricalExact, exact != prefix.historical_exact);
            prefix.historical_exact = exact;
        }
        if let Some(functions) = self.texts("historical_functions") {
            let functions = functions.into_iter().collect();
            settle(Need::HistoricalFunctions, functions != prefix.historical_functions);
            prefix.historical_functions = functions;
        }
        if let Some(tail) = self.texts("tail") {
            settle(Need::Tail, tail != prefix.tail);
            prefix.tail = tail;
        }
        self.wrong.append(&mut differs);
        if prefix.tail.len() > 3 {
            self.wrong.push(format!("tail holds {} observations, at most 3 are expected", prefix.tail.len()));
        }
        let flags = self.read("tail_errors", "a list of true, false or null, as long as tail", |value| {
            let flags = value.as_array()?.iter().map(|flag| match flag {
                Value::Null => Some(None),
                other => other.as_bool().map(Some),
            });
            flags.collect::<Option<Vec<Option<bool>>>>()
        });
        if let Some(flags) = flags {
            if flags.len() == prefix.tail.len() {
                given.insert(Need::TailErrors);
                prefix.tail_errors = flags;
            } else {
                self.wrong.push("tail_errors is not as long as tail".to_owned());
            }
        }
        if given.contains(&Need::Tail) && prefix.tail.is_empty() {
            // no observation, so no flag is missing
            given.insert(Need::TailErrors);
        }
        if let Some(index) = self
            .read("compaction_index", "a whole number of at least 1", |value| count(value).filter(|&index| index >= 1))
        {
            given.insert(Need::CompactionIndex);
            prefix.compaction_index = index;
        }
        if self.map.contains_key("difficulty") || self.nested.is_some_and(|n| n.contains_key("difficulty")) {
            // null is an answer: the task has no recorded difficulty
            given.insert(Need::Difficulty);
            prefix.difficulty = self.read("difficulty", "1, 2, 3, easy, medium, hard or null", difficulty);
        }
        if let (Some(entries), Some(unsupported)) = (self.count("summary_entries"), self.count("summary_unsupported")) {
            given.insert(Need::SummarySupport);
            prefix.summary_support = Some(SummarySupport { entries, unsupported });
        }
        (prefix, given)
    }

    fn steps(&mut self) -> Option<Vec<PrefixStep>> {
        self.read("prefix", "a list of steps with action, observation and, where known, is_error", |value| {
            value.as_array()?.iter().map(step).collect()
        })
    }

    /// Actions written in the other syntax would silently give an empty history.
    fn check_syntax(&mut self, profile: &Profile, steps: &[PrefixStep], prefix: &Prefix) {
        if !prefix.historical_functions.is_empty() {
            return;
        }
        let other = Profile {
            syntax: match profile.syntax {
                Syntax::Appworld => Syntax::Tool,
                Syntax::Tool => Syntax::Appworld,
            },
            ..profile.clone()
        };
        if steps.iter().any(|step| !other.calls(&step.action).is_empty()) {
            self.wrong.push(format!(
                "the actions are written in another call syntax than the policy's profile {} reads",
                profile.name
            ));
        }
    }
}

fn step(value: &Value) -> Option<PrefixStep> {
    let text = |field: &str| value.get(field)?.as_str().map(str::to_owned);
    let is_error = match value.get("is_error") {
        None | Some(Value::Null) => None,
        Some(flag) => Some(flag.as_bool()?),
    };
    let tokens = value.get("tokens").and_then(count);
    let action = match value.get("action")? {
        Value::String(text) => text.clone(),
        call @ (Value::Object(_) | Value::Array(_)) => call.to_string(),
        _ => return None,
    };
    Some(PrefixStep { action, observation: text("observation")?, tokens, is_error })
}

fn difficulty(value: &Value) -> Option<u8> {
    match value {
        Value::String(word) => ["easy", "medium", "hard"].iter().position(|w| w == word).map(|at| at as u8 + 1),
        other => other.as_u64().filter(|level| (1..=3).contains(level)).map(|level| level as u8),
    }
}

fn syntax_name(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Appworld => "appworld",
        Syntax::Tool => "tool",
    }
}

/// A whole number of at least 0, also when written with a decimal point.
fn count(value: &Value) -> Option<u64> {
    if let Some(count) = value.as_u64() {
        return Some(count).filter(|&count| count as f64 <= MAX_TOKENS);
    }
    let number = value.as_f64()?;
    ((0.0..=MAX_TOKENS).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// A value for a message, cut short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
