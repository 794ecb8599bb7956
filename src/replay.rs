//! What a decision log tells: frequency, blocks in a row, reasons.

use foldline_models::policy::{Decision, LogLine, Mode, shown};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Harness and session.
type Session = (String, String);
/// A boundary's name and the answers it got, in order.
type Asked = (Option<String>, Vec<(Decision, Mode)>);

/// Logs, summed up.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Decisions read.
    pub decisions: u64,
    /// Lines that are no decision.
    pub unreadable: u64,
    by: BTreeMap<(&'static str, &'static str), u64>,
    would_fire: BTreeMap<&'static str, u64>,
    policies: BTreeMap<String, u64>,
    modes: BTreeMap<&'static str, u64>,
    sessions: BTreeMap<Session, Course>,
    fill: BTreeMap<&'static str, Vec<f64>>,
    warnings: BTreeMap<String, u64>,
}

/// A session's boundaries in order, each with its answers.
#[derive(Clone, Debug, Default)]
struct Course {
    boundaries: Vec<Asked>,
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Block => "block",
    }
}

impl Replay {
    /// Adds a decision.
    pub fn add(&mut self, line: &LogLine) {
        self.decisions += 1;
        *self.by.entry((word(line.decision), line.decided_by.name())).or_default() += 1;
        for by in &line.would_fire {
            *self.would_fire.entry(by.name()).or_default() += 1;
        }
        *self.policies.entry(line.policy_sha.clone().unwrap_or_else(|| "unreadable".to_owned())).or_default() += 1;
        let mode = if line.mode == Mode::Enforce { "enforce" } else { "shadow" };
        *self.modes.entry(mode).or_default() += 1;
        if let (Some(ctx), Some(window @ 1..)) = (line.ctx_tokens, line.window_tokens) {
            self.fill.entry(word(line.decision)).or_default().push(ctx as f64 / window as f64);
        }
        for warning in &line.warnings {
            *self.warnings.entry(warning.clone()).or_default() += 1;
        }
        let session = (line.harness.clone(), line.session.clone().unwrap_or_default());
        let course = &mut self.sessions.entry(session).or_default().boundaries;
        match course.last_mut() {
            // without a name, every question is a boundary of its own
            Some((Some(name), answers)) if Some(&*name) == line.boundary.as_ref() => {
                answers.push((line.decision, line.mode));
            }
            _ => course.push((line.boundary.clone(), vec![(line.decision, line.mode)])),
        }
    }

    /// Boundaries, those whose last answer blocked, questions asked again, and boundaries with two different answers.
    fn boundaries(&self) -> (u64, u64, u64, u64) {
        let mut counts = (0, 0, 0, 0);
        for (_, answers) in self.sessions.values().flat_map(|course| &course.boundaries) {
            counts.0 += 1;
            counts.1 += u64::from(answers.last().is_some_and(|(decision, _)| *decision == Decision::Block));
            counts.2 += answers.len() as u64 - 1;
            counts.3 += u64::from(answers.windows(2).any(|pair| pair[0] != pair[1]));
        }
        counts
    }

    /// Lengths of runs of blocked boundaries, with their number.
    fn runs(&self) -> BTreeMap<u64, u64> {
        let mut runs = BTreeMap::new();
        for course in self.sessions.values() {
            let mut run = 0u64;
            let blocked = |answers: &[(Decision, Mode)]| answers.last().is_some_and(|(d, _)| *d == Decision::Block);
            let ends = course.boundaries.iter().map(|(_, answers)| blocked(answers)).chain([false]);
            for blocked in ends {
                if blocked {
                    run += 1;
                } else if run > 0 {
                    *runs.entry(std::mem::take(&mut run)).or_default() += 1;
                }
            }
        }
        runs
    }

    /// The summary as JSON.
    pub fn to_json(&self) -> Value {
        let (boundaries, blocked, again, changed) = self.boundaries();
        let by: Vec<Value> = self
            .by
            .iter()
            .map(|((decision, by), count)| json!({"decision": decision, "decided_by": by, "count": count}))
            .collect();
        let runs: Vec<Value> =
            self.runs().iter().map(|(length, count)| json!({"length": length, "count": count})).collect();
        let fill: BTreeMap<&str, Option<f64>> = self.fill.iter().map(|(word, fill)| (*word, median(fill))).collect();
        json!({
            "decisions": self.decisions, "unreadable_lines": self.unreadable, "sessions": self.sessions.len(),
            "boundaries": boundaries, "boundaries_blocked": blocked, "asked_again": again,
            "boundaries_with_two_answers": changed, "decided_by": by, "would_fire": self.would_fire,
            "block_runs": runs, "median_fill": fill, "modes": self.modes, "policies": self.policies,
            "warnings": self.warnings,
        })
    }

    /// The summary in words.
    pub fn in_words(&self) -> String {
        let (boundaries, blocked, again, changed) = self.boundaries();
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<34} {value}");
        };
        line("decisions", self.decisions.to_string());
        line("sessions", self.sessions.len().to_string());
        line("boundaries", boundaries.to_string());
        line("boundaries blocked", format!("{blocked} ({:.1} %)", percent(blocked, boundaries)));
        line("asked again at the same boundary", again.to_string());
        line("boundaries with two answers", changed.to_string());
        for (mode, count) in &self.modes {
            line(&format!("mode {mode}"), count.to_string());
        }
        for ((decision, by), count) in &self.by {
            line(&format!("{decision} by {by}"), format!("{count} ({:.1} %)", percent(*count, self.decisions)));
        }
        for (by, count) in &self.would_fire {
            line(&format!("{by} had something to say"), count.to_string());
        }
        let runs = self.runs();
        line("longest run of blocks", runs.last_key_value().map_or(0, |(length, _)| *length).to_string());
        for (length, count) in &runs {
            line(&format!("runs of {length}"), count.to_string());
        }
        for (word, fill) in &self.fill {
            let median = median(fill).map_or("none".to_owned(), |fill| format!("{:.1} %", 100.0 * fill));
            line(&format!("median fill at {word}"), median);
        }
        for (sha, count) in &self.policies {
            line(&format!("policy {}", shown(sha.get(..12).unwrap_or(sha))), count.to_string());
        }
        if self.unreadable > 0 {
            line("unreadable lines", self.unreadable.to_string());
        }
        for (warning, count) in &self.warnings {
            let _ = writeln!(text, "warning, {count} times: {}", shown(warning));
        }
        text
    }
}

/// The median, the mean of the two middle values where there are two; none of nothing.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len().checked_sub(1)? / 2;
    Some(if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle] + sorted[middle + 1]) / 2.0 })
}
