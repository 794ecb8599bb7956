//! Any OpenAI-compatible server that returns token probabilities: one request per entry, one token each.
//!
//! The score is the probability of "yes" among "yes" and "no", summed over their spellings in the first token's
//! alternatives. An entry for which neither is among them has no answer and stays.

use serde_json::{Value, json};

use crate::history::Span;
use crate::judge::{Answers, Asked, FaultKind, Judge, JudgeFault, Wording};
use crate::judges::http::{Asking, Client, Link};
use crate::question;

/// The judge over token probabilities.
#[derive(Debug)]
pub struct LogProbs {
    client: Client,
}

/// Alternatives asked for: what the format allows at most.
const TOP: usize = 20;

impl LogProbs {
    /// A judge over a link whose URL ends in `/chat/completions`.
    pub fn new(link: Link) -> LogProbs {
        LogProbs { client: Client::new(link) }
    }

    fn body(&self, asking: &Asking<'_>) -> Value {
        let state = question::state(asking.clean, asking.evidence, asking.range.clone());
        let id = asking.entries[asking.range.start].id;
        let text = format!("{}\n{}", question::instructions(id), question::yes_no());
        json!({
            "model": self.client.link.model,
            "messages": [{ "role": "user", "content": format!("{state}\n\n{text}") }],
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": true,
            "top_logprobs": TOP,
        })
    }
}

impl Judge for LogProbs {
    fn name(&self) -> &'static str {
        "logprobs"
    }

    fn wording(&self) -> Wording {
        question::wording()
    }

    fn judge(&self, span: &Span<'_>, entries: &[Asked<'_>]) -> Result<Answers, JudgeFault> {
        self.client.judge(span, entries, 1, |asking| self.body(asking), |reply, _| Ok(vec![read(reply)?]))
    }
}

/// P(yes) / (P(yes) + P(no)) of the first token; `None` if neither is among the alternatives.
pub fn read(reply: &Value) -> Result<Option<f64>, JudgeFault> {
    let invalid = |detail: &str| JudgeFault::new(FaultKind::InvalidAnswer, detail);
    let top = reply
        .pointer("/choices/0/logprobs/content/0/top_logprobs")
        .and_then(Value::as_array)
        .ok_or_else(|| invalid("the server returned no `top_logprobs`; it must support them"))?;
    let [mut yes, mut no] = [0.0, 0.0];
    for alternative in top {
        let token = alternative["token"].as_str().ok_or_else(|| invalid("an alternative has no token"))?;
        let logprob =
            alternative["logprob"].as_f64().ok_or_else(|| invalid("an alternative has no log-probability"))?;
        if logprob > 1e-9 {
            return Err(invalid("a log-probability is above 0"));
        }
        match token.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase().as_str() {
            "yes" => yes += logprob.exp(),
            "no" => no += logprob.exp(),
            _ => {}
        }
    }
    Ok((yes + no > 0.0).then(|| yes / (yes + no)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_the_share_of_yes() {
        let top = |list: &[(&str, f64)]| {
            let list: Vec<Value> =
                list.iter().map(|(token, p)| json!({ "token": token, "logprob": f64::ln(*p) })).collect();
            json!({ "choices": [{ "logprobs": { "content": [{ "top_logprobs": list }] } }] })
        };
        let score = read(&top(&[("Yes", 0.5), (" yes", 0.1), ("No", 0.2), ("Maybe", 0.2)])).unwrap().unwrap();
        assert!((score - 0.75).abs() < 1e-12);
        assert_eq!(read(&top(&[("Maybe", 1.0)])).unwrap(), None);
        assert_eq!(read(&json!({ "choices": [] })).unwrap_err().kind, FaultKind::InvalidAnswer);
    }
}
