//! The common stream: whatever a harness wrote, as sessions of steps, requests and compactions.

use foldline_features::signature::tool_call;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where a token count comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenSource {
    /// Growth of the provider's prompt size from one request to the next.
    Provider,
    /// A count per step that the format itself holds.
    Recorded,
    /// o200k tokens of action and observation, counted here.
    Estimate,
}

impl TokenSource {
    /// The word used in files.
    pub fn name(self) -> &'static str {
        match self {
            TokenSource::Provider => "provider",
            TokenSource::Recorded => "recorded",
            TokenSource::Estimate => "estimate",
        }
    }
}

/// Whether actions are tool calls or code, which decides how calls are found in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actions {
    /// `{"name", "arguments"}` as JSON text.
    ToolCalls,
    /// AppWorld code.
    Code,
}

/// One tool call with its result, or one piece of code with its output.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The tool's name; empty for code.
    pub tool: String,
    /// The action as it stands in a corpus.
    pub action: String,
    /// The environment's answer.
    pub observation: String,
    /// The error flag, `None` where the format has none.
    pub is_error: Option<bool>,
    /// Tokens of the step and their source; `None` until counted.
    pub tokens: Option<(u64, TokenSource)>,
    /// Which of the session's requests made the call.
    pub request: Option<usize>,
}

/// Tokens of one model request as the provider counted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Tokens read, cached ones included.
    pub prompt: u64,
    /// Tokens written.
    pub output: u64,
    /// Compactions that came before it.
    pub after_compactions: usize,
}

/// A compaction that the harness carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Steps before it.
    pub after_steps: usize,
    /// Context size just before, where recorded or seen by the provider.
    pub tokens_before: Option<u64>,
    /// Context size just after.
    pub tokens_after: Option<u64>,
    /// `auto`, `manual`, ... where recorded.
    pub trigger: Option<String>,
    /// The summary that replaced the history.
    pub summary: Option<String>,
}

/// One agent session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The harness that wrote it, such as `pi`.
    pub harness: &'static str,
    /// The session's own id.
    pub id: String,
    /// The task, where the format has one that several sessions may share.
    pub task: Option<String>,
    /// 1 to 3, where recorded.
    pub difficulty: Option<u8>,
    /// The model, the last one named.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// How calls are found in actions.
    pub actions: Actions,
    /// Steps in order.
    pub steps: Vec<Step>,
    /// Model requests in order.
    pub requests: Vec<Request>,
    /// Compactions in order.
    pub compactions: Vec<Compaction>,
    /// No boundary may be made of it, and why (texts cut, worked under compaction).
    pub no_boundaries: Option<&'static str>,
    /// What was left out while reading it, by reason.
    pub left_out: BTreeMap<String, u64>,
}

/// Collects a session from a format's entries, in order.
#[derive(Debug)]
pub struct Builder {
    session: Session,
    /// Steps whose result has not come, by call id, oldest first.
    open: Vec<(String, usize)>,
    answered: Vec<bool>,
}

impl Builder {
    /// An empty session.
    pub fn new(harness: &'static str, id: String) -> Builder {
        let session = Session {
            harness,
            id,
            task: None,
            difficulty: None,
            model: None,
            cwd: None,
            actions: Actions::ToolCalls,
            steps: Vec::new(),
            requests: Vec::new(),
            compactions: Vec::new(),
            no_boundaries: None,
            left_out: BTreeMap::new(),
        };
        Builder { session, open: Vec::new(), answered: Vec::new() }
    }

    /// The session so far, for its plain fields.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Counts something that is left out.
    pub fn leave_out(&mut self, reason: impl Into<String>) {
        *self.session.left_out.entry(reason.into()).or_default() += 1;
    }

    /// A model request; the calls that follow are its own.
    pub fn request(&mut self, prompt: u64, output: u64) {
        let after_compactions = self.session.compactions.len();
        self.session.requests.push(Request { prompt, output, after_compactions });
    }

    /// A model request whose calls have already been given (formats that write usage last).
    pub fn request_of_past_calls(&mut self, prompt: u64, output: u64) {
        let number = self.session.requests.len();
        let floor = self.session.compactions.last().map_or(0, |compaction| compaction.after_steps);
        for step in self.session.steps[floor..].iter_mut().rev() {
            if step.request.is_some() {
                break;
            }
            step.request = Some(number);
        }
        self.request(prompt, output);
    }

    /// A tool call.
    pub fn call(&mut self, id: &str, tool: &str, arguments: &Value) {
        let request = self.session.requests.len().checked_sub(1);
        self.call_of(id, tool, arguments, request);
    }

    /// A tool call of no known request.
    pub fn call_before_its_request(&mut self, id: &str, tool: &str, arguments: &Value) {
        self.call_of(id, tool, arguments, None);
    }

    fn call_of(&mut self, id: &str, tool: &str, arguments: &Value, request: Option<usize>) {
        self.open.push((id.to_owned(), self.session.steps.len()));
        self.answered.push(false);
        self.session.steps.push(Step {
            tool: tool.to_owned(),
            action: json!({"name": tool, "arguments": arguments}).to_string(),
            observation: String::new(),
            is_error: None,
            tokens: None,
            request,
        });
    }

    /// Whether a call still waits for its result.
    pub fn is_open(&self, id: &str) -> bool {
        self.open.iter().any(|(open, _)| open == id)
    }

    /// The result of a call; one without a call is left out and counted.
    pub fn result(&mut self, id: &str, observation: String, is_error: Option<bool>) {
        let Some(at) = self.open.iter().position(|(open, _)| open == id) else {
            return self.leave_out("result without a call");
        };
        let (_, index) = self.open.remove(at);
        let step = &mut self.session.steps[index];
        step.observation = observation;
        // a flag given before the result (Codex) stands
        step.is_error = step.is_error.or(is_error);
        self.answered[index] = true;
    }

    /// The error flag of a call whose result is given elsewhere.
    pub fn flag(&mut self, id: &str, is_error: bool) {
        if let Some((_, index)) = self.open.iter().rev().find(|(open, _)| open == id) {
            self.session.steps[*index].is_error = Some(is_error);
        }
    }

    /// A step that is whole in the format.
    pub fn step(&mut self, step: Step) {
        self.answered.push(true);
        self.session.steps.push(step);
    }

    /// A compaction at this place.
    pub fn compaction(&mut self, compaction: Compaction) {
        let after_steps = self.session.steps.len();
        self.session.compactions.push(Compaction { after_steps, ..compaction });
    }

    /// The last compaction, for what a format gives in a later entry.
    pub fn last_compaction(&mut self) -> Option<&mut Compaction> {
        self.session.compactions.last_mut()
    }

    /// The session: calls without a result are left out, token counts of compactions are filled in from the requests
    /// around them.
    pub fn finish(mut self) -> Session {
        let unanswered = self.answered.iter().filter(|&&answered| !answered).count() as u64;
        if unanswered > 0 {
            *self.session.left_out.entry("call without a result".to_owned()).or_default() += unanswered;
            let mut kept_before = Vec::with_capacity(self.answered.len() + 1);
            let mut kept = 0;
            for &answered in &self.answered {
                kept_before.push(kept);
                kept += usize::from(answered);
            }
            kept_before.push(kept);
            for compaction in &mut self.session.compactions {
                compaction.after_steps = kept_before[compaction.after_steps];
            }
            let mut answered = self.answered.iter();
            self.session.steps.retain(|_| answered.next().copied().unwrap_or(true));
        }
        let Session { requests, compactions, .. } = &mut self.session;
        for (index, compaction) in compactions.iter_mut().enumerate() {
            let split = requests.partition_point(|request| request.after_compactions <= index);
            if let (None, Some(before)) = (compaction.tokens_before, split.checked_sub(1)) {
                compaction.tokens_before = Some(requests[before].prompt + requests[before].output);
            }
            if let (None, Some(after)) = (compaction.tokens_after, requests.get(split))
                && after.after_compactions == index + 1
            {
                compaction.tokens_after = Some(after.prompt);
            }
        }
        self.session
    }
}

impl Session {
    /// Counts the tokens of every step that has none: growth of the provider's prompt size until the next request where
    /// both are known (divided over the calls of one request as their o200k counts are), else o200k tokens of action
    /// and observation.
    pub fn count_tokens(&mut self) {
        let mut at = 0;
        while at < self.steps.len() {
            let request = self.steps[at].request;
            let end =
                self.steps[at..].iter().position(|step| step.request != request).map_or(self.steps.len(), |n| at + n);
            let group = at..if request.is_some() { end } else { at + 1 };
            at = group.end;
            let steps = &mut self.steps[group];
            if steps.iter().all(|step| step.tokens.is_some()) {
                continue;
            }
            let growth = request.and_then(|request| growth(&self.requests, request));
            let estimates: Vec<u64> = match (steps.len(), growth) {
                // one call takes the whole growth: its text needs no count
                (1, Some(_)) => vec![1],
                _ => steps.iter().map(estimate).collect(),
            };
            match growth {
                Some(growth) => {
                    let total: u64 = estimates.iter().sum::<u64>().max(1);
                    let (mut given, mut seen) = (0, 0);
                    for (step, estimate) in steps.iter_mut().zip(&estimates) {
                        seen += estimate;
                        let upto = (u128::from(growth) * u128::from(seen) / u128::from(total)) as u64;
                        step.tokens = Some((upto - given, TokenSource::Provider));
                        given = upto;
                    }
                }
                None => {
                    for (step, estimate) in steps.iter_mut().zip(&estimates) {
                        step.tokens = Some((*estimate, TokenSource::Estimate));
                    }
                }
            }
        }
    }
}

/// How much the prompt grew from a request to the next one under the same history; `None` where it did not grow.
fn growth(requests: &[Request], index: usize) -> Option<u64> {
    let (this, next) = (requests.get(index)?, requests.get(index + 1)?);
    (this.after_compactions == next.after_compactions)
        .then(|| next.prompt.checked_sub(this.prompt))
        .flatten()
        .filter(|&n| n > 0)
}

/// o200k tokens of a step's action and observation.
pub fn estimate(step: &Step) -> u64 {
    text_tokens(&step.action) + text_tokens(&step.observation)
}

/// o200k tokens of a text.
pub fn text_tokens(text: &str) -> u64 {
    bpe_openai::o200k_base().count(text) as u64
}

/// An action's JSON text for a call whose arguments are not recorded: no two are the same call.
pub fn unrecorded_arguments(id: &str) -> Value {
    json!({"unrecorded": id})
}

/// Arguments given as a string of JSON; a string that is no JSON stays a string.
pub fn arguments_of(value: Option<&Value>) -> Value {
    match value {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

/// The text of a message's content: a string, or the text blocks of a list joined by line ends. Other blocks (images)
/// stand as `[TYPE]`.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(block_text).collect();
            texts.join("\n")
        }
        Value::Object(_) => block_text(content),
        other => other.to_string(),
    }
}

fn block_text(block: &Value) -> String {
    if let Value::String(text) = block {
        return text.clone();
    }
    if let Some(text) = ["text", "content"].iter().find_map(|field| block.get(field).and_then(Value::as_str)) {
        return text.to_owned();
    }
    match block.get("type").and_then(Value::as_str) {
        Some(kind) => format!("[{kind}]"),
        None => block.to_string(),
    }
}

/// The exact signature of a tool call, for tests and labels.
pub fn exact_of(tool: &str, arguments: &Value) -> String {
    tool_call(tool, arguments).exact
}
