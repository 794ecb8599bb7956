//! What an import did and what it left out.

use super::session::TokenSource;
use super::source::LeftOut;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Counts of one import, or of a part of it.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Files, folders or databases that gave something.
    pub sources: u64,
    /// Sessions read.
    pub sessions: u64,
    /// Tool calls with their results.
    pub steps: u64,
    /// Steps that failed.
    pub failed_steps: u64,
    /// Tool-calling steps without an error flag; they count as not failed unless the profile's text rules say so.
    pub steps_without_flag: u64,
    /// Recorded compactions.
    pub compactions: u64,
    /// Boundaries at recorded compactions.
    pub recorded_boundaries: u64,
    /// Boundaries that `--every` added.
    pub would_be_boundaries: u64,
    /// Boundaries of paired replays.
    pub paired_boundaries: u64,
    /// Boundaries after which the session did nothing more.
    pub without_rollout: u64,
    /// Boundaries whose rollout has no step.
    pub empty_rollouts: u64,
    /// Steps by the source of their token count.
    pub token_sources: BTreeMap<&'static str, u64>,
    /// Steps counted anew under `--recount`.
    pub recounted: u64,
    /// Of these, steps whose recorded count was another.
    pub recounted_differently: u64,
    /// Rollouts that exist because their boundary was selected on earlier draws.
    pub selected_rollouts: u64,
    /// Functions that the profile does not know, with their steps.
    pub unmapped: BTreeMap<String, u64>,
    /// What was left out.
    pub left_out: LeftOut,
}

impl Account {
    /// Counts a step's token source.
    pub fn token_source(&mut self, source: TokenSource) {
        *self.token_sources.entry(source.name()).or_default() += 1;
    }

    /// Counts a boundary and the steps of its rollout.
    pub fn boundary(&mut self, is_recorded: bool, rollout_steps: Option<u64>) {
        if is_recorded {
            self.recorded_boundaries += 1;
        } else {
            self.would_be_boundaries += 1;
        }
        self.without_rollout += u64::from(rollout_steps.is_none());
        self.empty_rollouts += u64::from(rollout_steps == Some(0));
    }

    /// All boundaries.
    pub fn boundaries(&self) -> u64 {
        self.recorded_boundaries + self.would_be_boundaries + self.paired_boundaries
    }

    /// Adds another part's counts.
    pub fn merge(&mut self, other: Account) {
        self.sources += other.sources;
        self.sessions += other.sessions;
        self.steps += other.steps;
        self.failed_steps += other.failed_steps;
        self.steps_without_flag += other.steps_without_flag;
        self.compactions += other.compactions;
        self.recorded_boundaries += other.recorded_boundaries;
        self.would_be_boundaries += other.would_be_boundaries;
        self.paired_boundaries += other.paired_boundaries;
        self.without_rollout += other.without_rollout;
        self.empty_rollouts += other.empty_rollouts;
        self.recounted += other.recounted;
        self.recounted_differently += other.recounted_differently;
        self.selected_rollouts += other.selected_rollouts;
        for (source, count) in other.token_sources {
            *self.token_sources.entry(source).or_default() += count;
        }
        for (function, count) in other.unmapped {
            *self.unmapped.entry(function).or_default() += count;
        }
        self.left_out.merge(other.left_out);
    }

    /// The account in words, one fact a line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |what: String| {
            text.push_str(&what);
            text.push('\n');
        };
        line(format!(
            "{} sources, {} sessions, {} steps ({} failed)",
            self.sources, self.sessions, self.steps, self.failed_steps
        ));
        line(format!(
            "{} boundaries: {} at recorded compactions, {} would-be, {} of paired replays; {} compactions recorded",
            self.boundaries(),
            self.recorded_boundaries,
            self.would_be_boundaries,
            self.paired_boundaries,
            self.compactions
        ));
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                line(format!("{count} {what}"));
            }
        };
        note(self.without_rollout, "boundaries without a later step, so without a rollout");
        note(self.empty_rollouts, "boundaries whose rollout has no step (the next step makes no call)");
        note(
            self.steps_without_flag,
            "steps without an error flag: they count as failed only by the profile's text rules",
        );
        note(self.recounted_differently, "steps whose tokens counted from the text differ from the recorded ones");
        note(
            self.selected_rollouts,
            "rollouts were drawn after their boundary was selected on earlier draws (`selected: true`): means over all \
             draws are biased towards harm; --round0-only leaves them out",
        );
        for (source, count) in &self.token_sources {
            line(format!("{count} steps with token counts of source {source}"));
        }
        if !self.unmapped.is_empty() {
            let names: Vec<String> = self.unmapped.iter().take(20).map(|(name, n)| format!("{name} ({n})")).collect();
            let more = self.unmapped.len().saturating_sub(20);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            line(format!(
                "{} functions that the profile does not know: {}{more}; add them to [effects] of a profile",
                self.unmapped.len(),
                names.join(", ")
            ));
        }
        for (reason, count, places) in self.left_out.iter() {
            let mut what = format!("left out: {count} x {reason}");
            if !places.is_empty() {
                let _ =
                    write!(what, " ({}{})", places.join("; "), if count > places.len() as u64 { "; ..." } else { "" });
            }
            line(what);
        }
        text
    }

    /// The account as JSON.
    pub fn json(&self) -> Value {
        let left_out: Vec<Value> = self
            .left_out
            .iter()
            .map(|(reason, count, places)| json!({"reason": reason, "count": count, "places": places}))
            .collect();
        json!({
            "sources": self.sources,
            "sessions": self.sessions,
            "steps": self.steps,
            "failed_steps": self.failed_steps,
            "steps_without_error_flag": self.steps_without_flag,
            "compactions": self.compactions,
            "boundaries": {
                "all": self.boundaries(),
                "recorded": self.recorded_boundaries,
                "would_be": self.would_be_boundaries,
                "paired": self.paired_boundaries,
                "without_rollout": self.without_rollout,
                "empty_rollout": self.empty_rollouts,
            },
            "token_sources": self.token_sources,
            "recounted_differently": self.recounted_differently,
            "selected_rollouts": self.selected_rollouts,
            "unmapped_functions": self.unmapped,
            "left_out": left_out,
        })
    }
}
