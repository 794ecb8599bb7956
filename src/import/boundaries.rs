//! From a session to boundaries: one place for every format.
//!
//! - A recorded compaction is a boundary; its rollout, arm `post`, is what the session did next. A later compaction may fall
//!   within those steps **\[choice\]**.
//! - `--every N` adds would-be boundaries: when the tokens since the last boundary exceed N and a later step exists, one
//!   follows that step; its rollout, arm `pre`, is what the session did next and ends before the next compaction. Counting
//!   starts anew at a compaction, and a would-be boundary at the place of a compaction gives way to it.
//! - `compaction_index` of a recorded compaction is its number among the recorded ones; of a would-be boundary it is one more
//!   than the recorded compactions before it and the would-be ones since **\[choice\]**.
//! - A rollout is at most five steps long; a step without a call ends it and is not listed, an unblocked completion call ends
//!   it and sets `completed`.

use super::account::Account;
use super::line::{Draft, DraftRollout, History};
use super::redact::Redactor;
use super::session::{Actions, Session, Step, TokenSource, estimate};
use foldline_features::boundary::stem_of;
use foldline_features::profile::Profile;
use foldline_features::signature::Call;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ops::Range;

/// Steps of a rollout: the longest horizon of the protocol.
pub const ROLLOUT_STEPS: usize = 5;

/// What the boundaries are to look like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Would-be boundaries every so many tokens.
    pub every: Option<u64>,
    /// Conventions of tool-calling sessions.
    pub profile: Profile,
    /// Write the ordered steps of the prefix; without them only the four fields derived from them.
    pub with_prefix: bool,
    /// Use counts of the text where the log has its own.
    pub recount: bool,
    /// The stem of a session without a task is its working directory.
    pub stem_is_folder: bool,
    /// Replace texts by hashes.
    pub redactor: Option<Redactor>,
}

/// A session with what is derived from it step by step.
struct Walk<'a> {
    session: &'a Session,
    profile: &'a Profile,
    calls: Vec<Vec<Call>>,
    failed: Vec<bool>,
}

/// One place where a boundary stands.
struct Place {
    at: usize,
    /// The recorded compaction, by its number.
    recorded: Option<usize>,
    index: u64,
}

/// Gives the trajectory's id and its boundaries' lines to `sink`, and counts.
pub fn of_session(
    mut session: Session,
    options: &Options,
    account: &mut Account,
    sink: &mut dyn FnMut(&Draft),
) -> String {
    let profile = match session.actions {
        Actions::Code => Profile::appworld(),
        Actions::ToolCalls => options.profile.clone(),
    };
    if options.recount {
        recount(&mut session, account);
    }
    count_session(&session, &profile, account);
    if let Some(reason) = session.no_boundaries {
        account.left_out.add(format!("session without boundaries: {reason}"), 1, Some(session.id.clone()));
    }
    let may_have_boundaries = session.no_boundaries.is_none();
    let has_recorded = session.compactions.iter().any(|compaction| compaction.after_steps > 0);
    if may_have_boundaries && (options.every.is_some() || (has_recorded && options.with_prefix)) {
        // before redaction: hashes have other tokens
        session.count_tokens();
    }
    if let Some(redactor) = &options.redactor {
        redactor.session(&mut session, &profile);
    }
    let id = trajectory_id(&session);
    if !may_have_boundaries {
        return id;
    }
    for step in &session.steps {
        if let Some((_, source)) = step.tokens {
            account.token_source(source);
        }
    }
    let walk = Walk {
        calls: session.steps.iter().map(|step| profile.calls(&step.action)).collect(),
        failed: session.steps.iter().map(|step| profile.failure.is_failure(&step.observation, step.is_error)).collect(),
        session: &session,
        profile: &profile,
    };
    for place in places(&session, options.every, account) {
        let draft = walk.draft(&place, &id, options, account);
        sink(&draft);
    }
    id
}

fn recount(session: &mut Session, account: &mut Account) {
    for step in &mut session.steps {
        let counted = estimate(step);
        account.recounted += 1;
        account.recounted_differently += u64::from(step.tokens.is_some_and(|(tokens, _)| tokens != counted));
        step.tokens = Some((counted, TokenSource::Estimate));
    }
}

fn count_session(session: &Session, profile: &Profile, account: &mut Account) {
    account.sessions += 1;
    account.steps += session.steps.len() as u64;
    account.compactions += session.compactions.len() as u64;
    for step in &session.steps {
        account.failed_steps += u64::from(profile.failure.is_failure(&step.observation, step.is_error));
        account.steps_without_flag += u64::from(step.is_error.is_none() && session.actions == Actions::ToolCalls);
    }
    for (reason, count) in &session.left_out {
        account.left_out.add(reason.clone(), *count, Some(session.id.clone()));
    }
}

/// The id that the boundaries of a session share.
pub fn trajectory_id(session: &Session) -> String {
    match session.harness {
        // these ids are unique as they are, and are those of the published files
        "appworld" | "pair" => session.id.clone(),
        harness => format!("{harness}:{}", session.id),
    }
}

fn places(session: &Session, every: Option<u64>, account: &mut Account) -> Vec<Place> {
    let mut places = Vec::new();
    let mut recorded = session.compactions.iter().enumerate().peekable();
    let (mut since, mut would_be, mut done) = (0u64, 0u64, 0u64);
    for at in 0..=session.steps.len() {
        let mut is_taken = false;
        while let Some((number, _)) = recorded.next_if(|(_, compaction)| compaction.after_steps == at) {
            (since, would_be) = (0, 0);
            done += 1;
            if at == 0 {
                account.left_out.add("compaction before the first step", 1, Some(session.id.clone()));
            } else if is_taken {
                account.left_out.add("compaction right behind another", 1, Some(session.id.clone()));
            } else {
                is_taken = true;
                places.push(Place { at, recorded: Some(number), index: done });
            }
        }
        let Some(step) = session.steps.get(at) else { break };
        if let Some(every) = every
            && since > every
        {
            since = 0;
            would_be += 1;
            places.push(Place { at, recorded: None, index: done + would_be });
        }
        since += step.tokens.map_or(0, |(tokens, _)| tokens);
    }
    places
}

impl Walk<'_> {
    fn draft(&self, place: &Place, trajectory_id: &str, options: &Options, account: &mut Account) -> Draft {
        let session = self.session;
        let (task_id, stem) = self.task(trajectory_id, options);
        let compaction = place.recorded.map(|number| &session.compactions[number]);
        let end = match compaction {
            Some(_) => session.steps.len(),
            None => session
                .compactions
                .iter()
                .map(|c| c.after_steps)
                .find(|&at| at > place.at)
                .unwrap_or(session.steps.len()),
        };
        let rollout = self.rollout(place.at, end, compaction.is_some(), options.with_prefix);
        account.boundary(compaction.is_some(), rollout.as_ref().map(|rollout| rollout.steps.len() as u64));
        let (tokens, source) = self.tokens_before(place.at);
        let tokens_before = match compaction {
            Some(compaction) => compaction.tokens_before.or(tokens),
            None => tokens,
        };
        let boundary_id = match compaction {
            Some(_) => format!("{trajectory_id}#real{}", place.index),
            None => format!("{trajectory_id}#{}", self.number_of_would_be(place, options.every)),
        };
        Draft {
            boundary_id,
            task_id,
            stem: Some(stem),
            trajectory_id: trajectory_id.to_owned(),
            difficulty: session.difficulty,
            compaction_index: place.index,
            history: self.history(place.at, options.with_prefix),
            tokens_before,
            tokens_after: compaction.and_then(|compaction| compaction.tokens_after),
            summary: compaction.and_then(|compaction| compaction.summary.clone()),
            rollouts: rollout.into_iter().collect(),
            deltas: Map::new(),
            import: self.notes(place, source),
        }
    }

    /// Task and stem: the format's own task where it has one, else the session stands for itself.
    fn task(&self, trajectory_id: &str, options: &Options) -> (String, String) {
        match (&self.session.task, &self.session.cwd) {
            (Some(task), _) if self.session.harness == "inspect" => (task.clone(), task.clone()),
            (Some(task), _) => (task.clone(), stem_of(task).to_owned()),
            (None, Some(folder)) if options.stem_is_folder => (trajectory_id.to_owned(), folder.clone()),
            (None, _) => (trajectory_id.to_owned(), trajectory_id.to_owned()),
        }
    }

    /// The would-be boundary's number in its trajectory: with recorded compactions between, indices may repeat.
    fn number_of_would_be(&self, place: &Place, every: Option<u64>) -> usize {
        if self.session.compactions.is_empty() {
            return place.index as usize;
        }
        let before = places(self.session, every, &mut Account::default());
        before.iter().filter(|other| other.recorded.is_none() && other.at <= place.at).count()
    }

    fn history(&self, at: usize, with_prefix: bool) -> History {
        let steps = &self.session.steps[..at];
        if with_prefix {
            let keeps_flags = self.session.actions == Actions::ToolCalls;
            return History::Steps(steps.iter().map(|step| step_value(step, keeps_flags)).collect());
        }
        let calls = || self.calls[..at].iter().flatten();
        let last = &steps[steps.len().saturating_sub(3)..];
        History::Derived {
            prefix_steps: at as u64,
            exact: calls().map(|call| call.exact.clone()).collect(),
            functions: calls().map(|call| call.function.clone()).collect(),
            tail: last.iter().map(|step| step.observation.clone()).collect(),
            tail_errors: match self.session.actions {
                Actions::ToolCalls => last.iter().map(|step| step.is_error).collect(),
                Actions::Code => Vec::new(),
            },
        }
    }

    /// What the session did next; `None` where it did nothing more.
    fn rollout(&self, from: usize, end: usize, is_post: bool, raw: bool) -> Option<DraftRollout> {
        if from >= end {
            return None;
        }
        let history: BTreeSet<&str> = self.calls[..from].iter().flatten().map(|call| call.exact.as_str()).collect();
        let mut seen = history;
        let (mut steps, mut completed) = (Vec::new(), false);
        let window: Range<usize> = from..end.min(from + ROLLOUT_STEPS);
        for at in window {
            let Some(primary) = self.calls[at].first() else { break };
            let blocked = self.failed[at];
            let refetch = !seen.insert(&primary.exact);
            steps.push(match (self.session.actions, raw) {
                (Actions::ToolCalls, true) => json!({"action": self.session.steps[at].action, "blocked": blocked}),
                _ => json!({"exact": primary.exact, "function": primary.function, "blocked": blocked, "refetch": refetch}),
            });
            if primary.function == self.profile.completion && !blocked {
                completed = true;
                break;
            }
        }
        Some(DraftRollout { arm: if is_post { "post" } else { "pre" }, sample: 0, steps, completed, selected: None })
    }

    /// Context size before a boundary: the provider's prompt of the request that follows under the same history, else of
    /// the request before with its output, else the tokens of the steps since the last compaction (of the whole prefix
    /// where there was none), with the summary's.
    fn tokens_before(&self, at: usize) -> (Option<u64>, Option<TokenSource>) {
        let Some(last) = at.checked_sub(1).map(|last| &self.session.steps[last]) else { return (None, None) };
        let source = last.tokens.map(|(_, source)| source);
        if let Some(number) = last.request.filter(|_| source == Some(TokenSource::Provider)) {
            let requests = &self.session.requests;
            let this = requests[number];
            let next = requests.get(number + 1).filter(|next| next.after_compactions == this.after_compactions);
            return (Some(next.map_or(this.prompt + this.output, |next| next.prompt)), source);
        }
        let before = self.session.compactions.iter().rev().find(|compaction| compaction.after_steps < at);
        let from = before.map_or(0, |compaction| compaction.after_steps);
        let sum: Option<u64> = self.session.steps[from..at].iter().map(|step| Some(step.tokens?.0)).sum();
        let summary =
            before.and_then(|compaction| compaction.summary.as_deref()).map_or(0, super::session::text_tokens);
        (sum.map(|sum| sum + summary), source)
    }

    fn notes(&self, place: &Place, source: Option<TokenSource>) -> Value {
        let session = self.session;
        let compaction = place.recorded.map(|number| &session.compactions[number]);
        json!({
            "harness": session.harness,
            "model": session.model,
            "origin": if compaction.is_some() { "recorded" } else { "would-be" },
            "trigger": compaction.and_then(|compaction| compaction.trigger.clone()),
            // the harness's own figure, or the provider's, where the compaction has one
            "tokens_source": match compaction.and_then(|compaction| compaction.tokens_before) {
                Some(_) => Some(TokenSource::Recorded.name()),
                None => source.map(TokenSource::name),
            },
        })
    }
}

/// A step of a prefix in the native format.
pub(super) fn step_value(step: &Step, keeps_flags: bool) -> Value {
    let mut value = json!({"action": step.action, "observation": step.observation});
    if let Some((tokens, _)) = step.tokens {
        value["tokens"] = tokens.into();
    }
    if let Some(is_error) = step.is_error.filter(|_| keeps_flags) {
        value["is_error"] = is_error.into();
    }
    value
}
