//! One question of a harness: read the session's state, ask the policy, note the answer, log it.

use super::state::{Event, Sidecar, State};
use crate::cmd::say;
use crate::decision_log::DecisionLog;
use foldline_models::policy::{Decided, Facts, LogLine, Mode, Policy, Request};
use serde_json::{Map, Value, json};
use std::io;
use std::path::PathBuf;

/// A harness's access to a policy.
pub struct Gate {
    /// The harness's name.
    pub harness: &'static str,
    /// The policy, or why it cannot be used.
    pub policy: Result<Policy, String>,
    /// Whether the host is to obey.
    pub mode: Mode,
    /// Folder of side-car files.
    pub state_dir: PathBuf,
    /// The decision log; absent for none.
    pub log: Option<PathBuf>,
}

/// Where side-car files go: `FOLDLINE_STATE_DIR`, else `foldline` under `XDG_STATE_HOME`, else `~/.local/state/foldline`.
///
/// # Errors
/// A sentence, when none of the three is set.
pub fn default_state_dir() -> Result<PathBuf, String> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("FOLDLINE_STATE_DIR")
        .or_else(|| folder("XDG_STATE_HOME").map(|home| home.join("foldline")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/foldline")))
        .ok_or_else(|| "no place for the session's state: give --state-dir or set FOLDLINE_STATE_DIR".to_owned())
}

impl Gate {
    /// Asks on behalf of a session. `request` names the boundary and makes the request out of the session's state; the
    /// blocks in a row are filled in here.
    ///
    /// Never fails: when the state cannot be kept, or no session is named whose state it would be, the answer is allow,
    /// since blocks could not be counted.
    pub fn ask(&self, session: Option<&str>, request: impl FnOnce(&State) -> (String, Map<String, Value>)) -> Decided {
        let asked = match session {
            Some(session) => self.ask_with_state(session, request).map_err(|error| error.to_string()),
            None => Err("the question names no session".to_owned()),
        };
        let (request, decided, ask) = asked.unwrap_or_else(|error| {
            let problem = format!("the session's state cannot be kept: {error}");
            say(&format!("foldline: {problem}"));
            let request = Request {
                session: session.map(str::to_owned),
                facts: Facts { unreadable: vec![problem], ..Facts::default() },
                ..Request::default()
            };
            let decided = self.decide(&request);
            (request, decided, 0)
        });
        self.write_log(&LogLine::new(self.harness, self.policy.as_ref().ok(), &request, &decided, ask));
        decided
    }

    fn ask_with_state(
        &self,
        session: &str,
        request: impl FnOnce(&State) -> (String, Map<String, Value>),
    ) -> io::Result<(Request, Decided, u64)> {
        let sidecar = Sidecar::new(&self.state_dir, self.harness, session)?;
        let locked = sidecar.lock()?;
        let state = locked.state()?;
        let (boundary, mut request) = request(&state);
        let compaction_index = request.get("compaction_index").and_then(Value::as_u64).unwrap_or(0);
        let (ask, consecutive_blocks) = state.asked(&boundary, compaction_index);
        request.insert("boundary_id".to_owned(), json!(boundary));
        request.insert("session".to_owned(), json!(session));
        request.insert("consecutive_blocks".to_owned(), json!(consecutive_blocks));
        let request = Request::of_object_for(self.policy.as_ref().ok(), &request);
        let decided = self.decide(&request);
        locked.append(&Event::Asked { boundary, blocked: decided.answer.is_veto(), compaction_index })?;
        Ok((request, decided, ask))
    }

    fn decide(&self, request: &Request) -> Decided {
        match &self.policy {
            Ok(policy) => policy.decide(request, self.mode),
            Err(reason) => Decided::policy_error(request, reason, self.mode),
        }
    }

    /// Notes an event of a session.
    ///
    /// # Errors
    /// When the side-car file cannot be written.
    pub fn note(&self, session: &str, event: &Event) -> io::Result<()> {
        Sidecar::new(&self.state_dir, self.harness, session)?.lock()?.append(event)
    }

    fn write_log(&self, line: &LogLine) {
        let Some(path) = &self.log else { return };
        match DecisionLog::open(path) {
            Ok(mut log) => log.write(line),
            Err(error) => say(&format!("foldline: {}: the log cannot be written: {error}", path.display())),
        }
    }
}

/// The state's steps as a request's `prefix`.
pub fn prefix_of(state: &State) -> Value {
    let steps = state
        .steps
        .iter()
        .map(|step| json!({"action": step.action, "observation": step.observation, "is_error": step.is_error}));
    steps.collect()
}
