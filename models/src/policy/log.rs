//! The decision log: one JSON line a decision, and what can be read back from it.

use super::answer::{Answer, Decided, Mode};
use super::explain::explain;
use super::guards::{DecidedBy, Decision, Facts, RetryAt, Threshold, TokensSource, Trigger};
use super::input::Request;
use super::load::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `format` says in every line.
pub const LOG_FORMAT: &str = "foldline.log/1";

/// One decision, as logged. Unknown fields of later versions are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// `foldline.log/1`.
    pub format: String,
    /// Which adapter asked.
    #[serde(default)]
    pub harness: String,
    /// The host's session.
    #[serde(default)]
    pub session: Option<String>,
    /// The boundary asked about.
    #[serde(default)]
    pub boundary: Option<String>,
    /// How often this boundary was asked about, this time included; 0 where nobody counts.
    #[serde(default)]
    pub ask: u64,
    /// Why the host asked.
    pub trigger: Trigger,
    /// Where in its loop the host asked.
    #[serde(default)]
    pub call_site: Option<String>,
    /// Context size in tokens.
    #[serde(default)]
    pub ctx_tokens: Option<u64>,
    /// The model's window in tokens.
    #[serde(default)]
    pub window_tokens: Option<u64>,
    /// Where the count comes from.
    #[serde(default)]
    pub tokens_source: Option<TokensSource>,
    /// Blocks in a row before this boundary.
    #[serde(default)]
    pub consecutive_blocks: u64,
    /// The columns the score was computed from, by name.
    #[serde(default)]
    pub features: BTreeMap<String, f64>,
    /// The score.
    pub score: Option<f64>,
    /// The threshold.
    pub threshold: Option<Threshold>,
    /// The answer.
    pub decision: Decision,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// Everybody who had something to say, strongest first.
    #[serde(default)]
    pub would_fire: Vec<DecidedBy>,
    /// When to ask again.
    pub retry_at: Option<RetryAt>,
    /// Whether the host was to obey.
    pub mode: Mode,
    /// The policy's hash.
    pub policy_sha: Option<String>,
    /// What the host was told.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl LogLine {
    /// The line of a decision; `policy` is absent when it could not be read.
    pub fn new(harness: &str, policy: Option<&Policy>, request: &Request, decided: &Decided, ask: u64) -> LogLine {
        let answer = &decided.answer;
        let facts = &request.facts;
        let features = match (policy, &decided.row) {
            (Some(policy), Some(row)) => policy.features_used(row),
            _ => BTreeMap::new(),
        };
        LogLine {
            format: LOG_FORMAT.to_owned(),
            harness: harness.to_owned(),
            session: request.session.clone(),
            boundary: request.boundary_id.clone(),
            ask,
            trigger: facts.trigger.unwrap_or_default(),
            call_site: facts.call_site.clone(),
            ctx_tokens: facts.ctx_tokens,
            window_tokens: facts.window_tokens,
            tokens_source: facts.tokens_source,
            consecutive_blocks: facts.consecutive_blocks.unwrap_or(0),
            features,
            score: answer.score,
            threshold: answer.threshold,
            decision: answer.decision,
            decided_by: answer.decided_by,
            would_fire: decided.would_fire.clone(),
            retry_at: answer.retry_at,
            mode: answer.mode,
            policy_sha: answer.policy_sha.clone(),
            warnings: answer.warnings.clone(),
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// A sentence, when it is no line of this format.
    pub fn parse(line: &[u8]) -> Result<LogLine, String> {
        let line: LogLine = serde_json::from_slice(line).map_err(|error| format!("no decision ({error})"))?;
        if line.format == LOG_FORMAT {
            Ok(line)
        } else {
            Err(format!("its format is {:?}, expected {LOG_FORMAT:?}", line.format))
        }
    }

    /// The decision as a sentence; with the policy that decided, its numbers are named.
    pub fn explain(&self, policy: Option<&Policy>) -> String {
        let facts = Facts {
            ctx_tokens: self.ctx_tokens,
            window_tokens: self.window_tokens,
            consecutive_blocks: Some(self.consecutive_blocks),
            ..Facts::default()
        };
        let answer = Answer {
            boundary_id: None,
            decision: self.decision,
            decided_by: self.decided_by,
            score: self.score,
            threshold: self.threshold,
            retry_at: self.retry_at,
            mode: self.mode,
            policy_sha: self.policy_sha.clone(),
            warnings: self.warnings.clone(),
            explain: None,
        };
        explain(policy, &facts, &answer)
    }

    /// The line's text, with its line break.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("a log line has string keys and finite numbers");
        text.push('\n');
        text
    }
}
