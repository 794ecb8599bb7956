//! Requests to a judge: deadline, retries, at most a few at a time, answers remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::evidence::Evidence;
use crate::history::Span;
use crate::judge::{Answers, Asked, FaultKind, JudgeFault, Usage};
use crate::redact::{Clean, redact};

/// How a server is asked.
#[derive(Clone, Debug)]
pub struct Link {
    /// The whole URL of the endpoint.
    pub url: String,
    /// The model asked for.
    pub model: String,
    /// The key, sent as a bearer token; never printed.
    pub key: Option<Key>,
    /// Time for one attempt.
    pub deadline: Duration,
    /// Further attempts after 408, 429, 5xx and refused connections. An attempt that ran into the deadline is not
    /// repeated **\[choice\]**: whoever waits has waited long enough.
    pub retries: usize,
    /// Requests on their way at a time.
    pub in_flight: usize,
    /// Tokens of a request at most, by [`tokens_at_most`].
    pub limit_tokens: usize,
    /// Where answers are kept between runs.
    pub cache: Option<PathBuf>,
}

/// A secret that does not print itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Key {
        Key(secret.into())
    }
}

/// Signs in a row that are the key's rather than a word both share.
const OF_KEY: usize = 12;

impl Key {
    /// The text without the key: wherever [`OF_KEY`] signs of it stand in a row (or all, if it is shorter), so that a part
    /// of it does not stay either.
    fn hide(&self, text: &str) -> String {
        let key: Vec<char> = self.0.trim().chars().collect();
        let length = key.len().min(OF_KEY);
        if length == 0 {
            return text.to_string();
        }
        let pieces: BTreeSet<&[char]> = key.windows(length).collect();
        let signs: Vec<char> = text.chars().collect();
        let mut out = String::with_capacity(text.len());
        let mut hidden = 0;
        for (at, &sign) in signs.iter().enumerate() {
            if signs.get(at..at + length).is_some_and(|here| pieces.contains(here)) {
                if hidden <= at {
                    out.push_str("<key>");
                }
                hidden = at + length;
            }
            if at >= hidden {
                out.push(sign);
            }
        }
        out
    }

    /// An answer without the key, in strings and names of fields.
    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_in(value)),
            Value::Object(map) => {
                for (name, mut value) in std::mem::take(map) {
                    self.hide_in(&mut value);
                    map.insert(self.hide(&name), value);
                }
            }
            _ => {}
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(not shown)")
    }
}

impl Link {
    /// The defaults: 15 s, 2 retries, 4 in flight, 30,000 tokens.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Link {
        Link {
            url: url.into(),
            model: model.into(),
            key: None,
            deadline: Duration::from_secs(15),
            retries: 2,
            in_flight: 4,
            limit_tokens: 30_000,
            cache: None,
        }
    }
}

/// An upper bound of the tokens of a text that needs no vocabulary: a third of its ASCII bytes, and one for every other
/// character **\[choice\]**.
pub fn tokens_at_most(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(3) + text.chars().filter(|sign| !sign.is_ascii()).count()
}

/// Bytes of an answer that are read at most.
const MAX_ANSWER: u64 = 8 << 20;

/// A connection to a server, with its memory of answers.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) link: Link,
    agent: ureq::Agent,
    memory: Mutex<BTreeMap<String, Value>>,
}

/// Entries that one request asks about, and the evidence for them.
pub(super) struct Asking<'a> {
    pub(super) clean: &'a Clean,
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) entries: &'a [Asked<'a>],
    pub(super) range: Range<usize>,
}

/// What the check made of an answer, and whether the answer was remembered.
type Checked<T> = Result<(T, bool), JudgeFault>;

/// Signs of what a judge says of itself that are passed on at most.
const SAID: usize = 200;

/// The beginning of what a judge said of itself.
pub(super) fn said(text: &str) -> String {
    text.chars().take(SAID).collect()
}

impl Client {
    pub(super) fn new(link: Link) -> Client {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(link.deadline))
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .into();
        Client { link, agent, memory: Mutex::new(BTreeMap::new()) }
    }

    /// Asks about all entries, in requests of at most `most` entries that stay within the limit.
    ///
    /// Where a request would be too long its entries are halved; an entry that fits nowhere is not judged. `body` makes a
    /// request, `read` the scores of its reply; a malformed reply spoils the whole result.
    pub(super) fn judge(
        &self,
        span: &Span<'_>,
        entries: &[Asked<'_>],
        most: usize,
        body: impl Fn(&Asking<'_>) -> Value,
        read: impl Fn(&Value, &[Asked<'_>]) -> Result<Vec<Option<f64>>, JudgeFault> + Sync,
    ) -> Result<Answers, JudgeFault> {
        // before evidence is cut from it, so that no secret is cut in two
        let clean = Clean::new(span, entries);
        let cleaned = clean.entries();
        let texts: Vec<&str> = cleaned.iter().map(|entry| entry.text).collect();
        let evidence = Evidence::find(&clean.span(), &texts);
        let mut answers = Answers { scores: vec![None; entries.len()], ..Answers::default() };
        let mut ranges = Vec::new();
        let mut bodies = Vec::new();
        let starts = (0..entries.len()).step_by(most);
        let mut open: Vec<Range<usize>> = starts.map(|from| from..entries.len().min(from + most)).rev().collect();
        while let Some(range) = open.pop() {
            let asking = Asking { clean: &clean, evidence: &evidence, entries: &cleaned, range: range.clone() };
            let body = body(&asking);
            if tokens_at_most(&body.to_string()) <= self.link.limit_tokens {
                ranges.push(range);
                bodies.push(body);
            } else if range.len() == 1 {
                answers.source_not_shown += 1;
            } else {
                let middle = range.start.midpoint(range.end);
                open.push(middle..range.end);
                open.push(range.start..middle);
            }
        }
        let replies = self.ask_all(&bodies, |at, reply| {
            let scores = read(reply, &entries[ranges[at].clone()])?;
            Ok((scores, reply["model"].as_str().map(said), usage(reply)))
        })?;
        for (range, ((scores, model, usage), cached)) in ranges.into_iter().zip(replies) {
            answers.scores[range].copy_from_slice(&scores);
            answers.model = answers.model.or(model);
            if cached {
                answers.cached += 1;
            } else {
                answers.requests += 1;
                let sum = &mut answers.usage;
                sum.input_tokens = sum.input_tokens.saturating_add(usage.input_tokens);
                sum.output_tokens = sum.output_tokens.saturating_add(usage.output_tokens);
            }
        }
        Ok(answers)
    }

    /// Sends the bodies, a few at a time, and returns what `check` makes of the answers, in order of the bodies.
    /// Only answers that pass the check are remembered.
    fn ask_all<T: Send>(
        &self,
        bodies: &[Value],
        check: impl Fn(usize, &Value) -> Result<T, JudgeFault> + Sync,
    ) -> Result<Vec<(T, bool)>, JudgeFault> {
        let (next, sent) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Mutex<BTreeMap<usize, Checked<T>>> = Mutex::new(BTreeMap::new());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(body) = bodies.get(at) else { break };
                let text = body.to_string();
                let name = cache_name(&self.link.url, &text);
                // what was remembered and is no answer is asked again
                let remembered = self.recall(&name).and_then(|reply| check(at, &reply).ok());
                let result = match remembered {
                    Some(answer) => Ok((answer, true)),
                    None => {
                        sent.fetch_add(1, Ordering::Relaxed);
                        self.ask(&text).and_then(|reply| {
                            let answer = check(at, &reply)?;
                            self.remember(name, reply);
                            Ok((answer, false))
                        })
                    }
                };
                let failed = result.is_err();
                lock(&results).insert(at, result);
                if failed {
                    // nothing will be applied: the rest need not be asked
                    next.store(bodies.len(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.link.in_flight.clamp(1, bodies.len().max(1)) {
                scope.spawn(work);
            }
        });
        let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let answers: Result<Vec<_>, JudgeFault> = results.into_values().collect();
        answers.map_err(|fault| JudgeFault { requests: sent.into_inner(), ..fault })
    }

    fn ask(&self, text: &str) -> Result<Value, JudgeFault> {
        let mut attempt = 0;
        loop {
            match self.send(text) {
                Ok(body) => return Ok(body),
                Err(Failure { wait: Some(wait), .. }) if attempt < self.link.retries && wait <= self.link.deadline => {
                    std::thread::sleep(wait.max(Duration::from_millis(250 << attempt.min(4))));
                    attempt += 1;
                }
                Err(failure) => return Err(JudgeFault::new(failure.kind, self.without_key(&failure.detail))),
            }
        }
    }

    fn without_key(&self, text: &str) -> String {
        self.link.key.as_ref().map_or_else(|| text.to_string(), |key| key.hide(text))
    }

    /// One attempt.
    fn send(&self, text: &str) -> Result<Value, Failure> {
        let mut request = self.agent.post(&self.link.url).header("Content-Type", "application/json");
        if let Some(Key(key)) = &self.link.key {
            request = request.header("Authorization", &format!("Bearer {key}"));
        }
        let mut response = request.send(text).map_err(|error| Failure {
            kind: FaultKind::JudgeUnavailable,
            wait: matches!(error, ureq::Error::Io(_) | ureq::Error::ConnectionFailed).then_some(Duration::ZERO),
            // a malformed URL is quoted in the error
            detail: format!("the judge at {} did not answer: {}", shown(&self.link.url), redact(&error.to_string())),
        })?;
        let status = response.status().as_u16();
        let wait = matches!(status, 408 | 429 | 500..=599).then(|| {
            // a date, or anything else that is no number: as long as is allowed
            response.headers().get("Retry-After").map_or(Duration::ZERO, |value| {
                let seconds = value.to_str().ok().and_then(|seconds| seconds.trim().parse().ok());
                seconds.map_or(self.link.deadline, Duration::from_secs)
            })
        });
        let mut body = Vec::new();
        let read = response.body_mut().as_reader().take(MAX_ANSWER).read_to_end(&mut body);
        if status != 200 {
            let detail =
                format!("the judge at {} answered with status {status}{}", shown(&self.link.url), hint(status));
            return Err(Failure { kind: FaultKind::JudgeUnavailable, wait, detail });
        }
        let faulty = |kind: FaultKind, what: String| Failure {
            kind,
            wait: None,
            detail: format!("the judge at {}: {what}", shown(&self.link.url)),
        };
        let broken = |what: String| faulty(FaultKind::JudgeUnavailable, what);
        read.map_err(|error| broken(format!("its answer broke off: {error}")))?;
        let twice = serde_json::from_slice::<Distinct>(&body).is_err();
        let mut body: Value =
            serde_json::from_slice(&body).map_err(|_| broken("its answer is not JSON".to_string()))?;
        if let Some(key) = &self.link.key {
            key.hide_in(&mut body);
        }
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(broken("it answered 200 with an error document; is the URL right?".to_string()));
        }
        if twice {
            return Err(faulty(FaultKind::InvalidAnswer, "its answer names a field twice".to_string()));
        }
        Ok(body)
    }

    fn recall(&self, name: &str) -> Option<Value> {
        if let Some(body) = lock(&self.memory).get(name) {
            return Some(body.clone());
        }
        let file = std::fs::File::open(self.link.cache.as_ref()?.join(format!("{name}.json"))).ok()?;
        let mut text = Vec::new();
        file.take(MAX_ANSWER).read_to_end(&mut text).ok()?;
        let mut body = serde_json::from_slice(&text).ok()?;
        if let Some(key) = &self.link.key {
            key.hide_in(&mut body);
        }
        Some(body)
    }

    /// Remembers an answer. A cache that cannot be written is no reason to fail.
    fn remember(&self, name: String, answer: Value) {
        if let Some(dir) = &self.link.cache
            && std::fs::create_dir_all(dir).is_ok()
        {
            let part = dir.join(format!("{name}.{}.part", std::process::id()));
            if std::fs::write(&part, answer.to_string()).is_ok() {
                let _ = std::fs::rename(&part, dir.join(format!("{name}.json")));
            }
        }
        lock(&self.memory).insert(name, answer);
    }
}

/// JSON whose objects name no field twice. Of two answers to one question neither counts.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distinct, D::Error> {
        deserializer.deserialize_any(Distinct)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Distinct;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON that names no field twice")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_str<E>(self, _: &str) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_unit<E>(self) -> Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Distinct, A::Error> {
        while list.next_element::<Distinct>()?.is_some() {}
        Ok(Distinct)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distinct, A::Error> {
        let mut names = BTreeSet::new();
        while let Some((name, Distinct)) = map.next_entry::<String, Distinct>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a field is named twice"));
            }
        }
        Ok(Distinct)
    }
}

/// A URL as messages may show it: without credentials, query and what looks like a key in its path.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) =
        rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let separator = if scheme.is_empty() { "" } else { "://" };
    redact(&format!("{scheme}{separator}{host}{path}"))
}

/// SHA-256 of where and what was asked: URL, and the body with state, questions and model.
fn cache_name(url: &str, body: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(url.as_bytes());
    hash.update([0]);
    hash.update(body.as_bytes());
    crate::hex(&hash.finalize())
}

struct Failure {
    kind: FaultKind,
    /// Whether another attempt makes sense, and after how long.
    wait: Option<Duration>,
    detail: String,
}

fn hint(status: u16) -> &'static str {
    match status {
        400 => " (the model or the endpoint does not take this request)",
        401 | 403 => " (key wrong or missing; keys are read from the environment)",
        404 => " (the path does not exist; set the whole URL of the endpoint)",
        _ => "",
    }
}

/// Tokens of a reply, under the names of either format.
fn usage(reply: &Value) -> Usage {
    let tokens = |keys: [&str; 2]| keys.iter().find_map(|key| reply["usage"][key].as_u64()).unwrap_or(0);
    Usage {
        input_tokens: tokens(["input_tokens", "prompt_tokens"]),
        output_tokens: tokens(["output_tokens", "completion_tokens"]),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_key_stays() {
        let key = Key::new("sk-or-v1-0123456789abcdef");
        for (text, hidden) in [
            ("Bearer sk-or-v1-0123456789abcdef.", "Bearer <key>."),
            ("sk-or-v1-0123456789 cut", "<key> cut"),
            ("789abcdef0123456789abcdef", "789abcdef<key>"),
            ("sk-or-v1-model", "sk-or-v1-model"),
            ("", ""),
        ] {
            assert_eq!(key.hide(text), hidden);
        }
        assert_eq!(Key::new("k€y").hide("a k€y é"), "a <key> é");
        assert_eq!(Key::new("").hide("a"), "a");
    }

    #[test]
    fn messages_show_no_key_of_a_url() {
        assert_eq!(shown("http://user:pw@127.0.0.1:1/x?key=S#f"), "http://127.0.0.1:1/x");
        assert_eq!(shown("https://host"), "https://host");
    }
}
