//! Jev, or any server that speaks the System One format: one request for all entries.
//!
//! Entries are split over several requests only where one would exceed the limit; each then brings the evidence of its
//! own entries. An entry that does not fit by itself is not judged and stays. A malformed answer spoils the whole result:
//! nothing is removed on it.

use serde_json::{Map, Value, json};

use crate::history::Span;
use crate::judge::{Answers, Asked, FaultKind, Judge, JudgeFault, Wording};
use crate::judges::http::{Asking, Client, Link, said};
use crate::question;
use crate::redact::redact;

/// The System One judge.
#[derive(Debug)]
pub struct Jev {
    client: Client,
}

/// Where a service listens, what it calls the model, and where its key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Endpoint.
    pub url: &'static str,
    /// Model.
    pub model: &'static str,
    /// Environment variable of the key.
    pub key_variable: &'static str,
}

/// The vendor's own service.
pub const TYPESAFE: Service =
    Service { url: "https://api.typesafe.ai/v1/systemone", model: "jev-latest", key_variable: "TYPESAFE_API_KEY" };

/// The same model through OpenRouter. Its path is an alpha and may move.
pub const OPENROUTER: Service = Service {
    url: "https://openrouter.ai/api/alpha/decisions",
    model: "typesafe/jev-1.13",
    key_variable: "OPENROUTER_API_KEY",
};

impl Jev {
    /// A judge over a link.
    pub fn new(link: Link) -> Jev {
        Jev { client: Client::new(link) }
    }

    fn body(&self, asking: &Asking<'_>) -> Value {
        let entries = &asking.entries[asking.range.clone()];
        let questions: Map<String, Value> =
            entries.iter().map(|entry| (entry.id.to_string(), question::noul(entry.id))).collect();
        json!({
            "model": self.client.link.model,
            "state": question::state(asking.clean, asking.evidence, asking.range.clone()),
            "questions": questions,
        })
    }
}

impl Judge for Jev {
    fn name(&self) -> &'static str {
        "jev"
    }

    fn wording(&self) -> Wording {
        question::wording()
    }

    fn judge(&self, span: &Span<'_>, entries: &[Asked<'_>]) -> Result<Answers, JudgeFault> {
        self.client.judge(span, entries, entries.len().max(1), |asking| self.body(asking), read)
    }
}

/// The scores of a reply, if it is whole: an object of answers that holds every asked id and no other, each of the asked type (or
/// without a type) and with a number in 0..=1.
pub fn read(reply: &Value, entries: &[Asked<'_>]) -> Result<Vec<Option<f64>>, JudgeFault> {
    let invalid = |detail: &str| JudgeFault::new(FaultKind::InvalidAnswer, detail);
    let answers = reply.get("answers").ok_or_else(|| invalid("the judge's reply holds no `answers`"))?;
    let answers = answers.as_object().ok_or_else(|| invalid("`answers` is no object"))?;
    let read = |entry: &Asked<'_>| {
        let id = entry.id;
        let answer = answers
            .get(id)
            .filter(|answer| !answer.is_null())
            .ok_or_else(|| JudgeFault::new(FaultKind::MissingAnswer, format!("the judge left {id} unanswered")))?;
        let answer = answer.as_object().ok_or_else(|| invalid(&format!("the answer to {id} is no object")))?;
        if let Some(kind) = answer.get("type")
            && kind != "noul"
        {
            let kind = said(&redact(&kind.to_string()));
            let detail = format!("the answer to {id} is of type {kind}, asked was \"noul\"");
            return Err(JudgeFault::new(FaultKind::TypeMismatch, detail));
        }
        match answer.get("noul").and_then(Value::as_f64) {
            Some(score) if (0.0..=1.0).contains(&score) => Ok(Some(score)),
            _ => Err(invalid(&format!("the answer to {id} is no number between 0 and 1"))),
        }
    };
    let scores = entries.iter().map(read).collect::<Result<_, _>>()?;
    // every asked id is there: one more was not asked, and which question it answers is not known
    if answers.len() > entries.len() {
        return Err(invalid("the judge answered questions that were not asked"));
    }
    Ok(scores)
}
