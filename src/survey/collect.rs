//! From a session to what the survey keeps of it; the session itself is let go.

use crate::import::formats::{Format, detect};
use crate::import::session::{Actions, Session, Step};
use crate::import::source::{FileError, LeftOut, Limits, discover};
use foldline_features::profile::Profile;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{AddAssign, Range};
use std::path::{Path, PathBuf};

/// How sessions are looked at.
#[derive(Clone, Debug)]
pub struct Options {
    /// Steps before and after a compaction.
    pub k: usize,
    /// Conventions of tool-calling sessions.
    pub profile: Profile,
    /// How much is read.
    pub limits: Limits,
}

/// Burdened steps of a window: union, blocked, refetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [u64; 3]);

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }
}

/// Windows summed over places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Number of places.
    pub n: u64,
    /// Sums over the k steps before.
    pub before: Counts,
    /// Sums over the k steps after.
    pub after: Counts,
}

impl Pairs {
    fn add(&mut self, before: Counts, after: Counts) {
        self.n += 1;
        self.before += before;
        self.after += after;
    }
}

/// One compaction of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionRow {
    /// Context size before.
    pub tokens_before: Option<u64>,
    /// Context size after.
    pub tokens_after: Option<u64>,
    /// Steps since the compaction before it; `None` for the first.
    pub steps_since_last: Option<u64>,
}

impl CompactionRow {
    /// Whether it is known to have freed less than a tenth of the context.
    pub fn is_ineffective(&self) -> bool {
        match (self.tokens_before, self.tokens_after) {
            (Some(before), Some(after)) => u128::from(after) * 10 > u128::from(before) * 9,
            _ => false,
        }
    }
}

/// What is kept of a session.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Harness.
    pub harness: &'static str,
    /// Model, or `unknown`.
    pub model: String,
    /// The session's id with its harness.
    pub id: String,
    /// Steps.
    pub steps: u64,
    /// Burdened steps of the whole session.
    pub burden: Counts,
    /// Its compactions.
    pub compactions: Vec<CompactionRow>,
    /// Windows around the first compaction.
    pub first: Pairs,
    /// Windows around later compactions.
    pub later: Pairs,
    /// Compactions with fewer than k steps on one side.
    pub short: u64,
    /// Compactions whose windows hold another compaction.
    pub overlapping: u64,
    /// Windows around those compactions that have both places of `nearby`.
    pub matched: Pairs,
    /// Windows around the places 2k steps before and after each of these compactions, whose windows hold no compaction: two
    /// places for each, so that a smooth drift of the session cancels in the difference.
    pub nearby: Pairs,
    /// What was fetched again within k steps after a compaction, having been fetched before it.
    pub refetched: BTreeMap<String, u64>,
    /// Two neighbouring gaps between compactions shorter than k steps, or two ineffective compactions in a row.
    pub looped: bool,
}

/// Everything that could be read, in order of paths.
#[derive(Debug, Default)]
pub struct Collected {
    /// Sessions.
    pub sessions: Vec<SessionRow>,
    /// Files or folders that gave something.
    pub sources: u64,
    /// What was left out.
    pub left_out: LeftOut,
}

/// Reads every log below the given paths, each by what it begins with. Does not depend on the number of threads.
pub fn collect(paths: &[PathBuf], options: &Options) -> Collected {
    let mut collected = Collected::default();
    let wanted = |path: &Path, is_folder: bool| Format::all().iter().any(|format| format.wants(path, is_folder));
    let units = discover(paths, &wanted, &mut collected.left_out);
    let read: Vec<(Vec<SessionRow>, u64, LeftOut)> = units.par_iter().map(|path| read_unit(path, options)).collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (sessions, sources, left_out) in read {
        collected.sources += sources;
        collected.left_out.merge(left_out);
        for session in sessions {
            if seen.insert(session.id.clone()) {
                collected.sessions.push(session);
            } else {
                collected.left_out.add("session already seen under the same id", 1, Some(session.id));
            }
        }
    }
    collected
}

fn read_unit(path: &Path, options: &Options) -> (Vec<SessionRow>, u64, LeftOut) {
    let mut left_out = LeftOut::default();
    let mut sessions = Vec::new();
    let place = || Some(path.display().to_string());
    let Some(format) = detect(path) else {
        let reason = if std::fs::File::open(path).is_ok() || path.is_dir() {
            "file of no known format"
        } else {
            "unreadable file"
        };
        left_out.add(reason, 1, place());
        return (sessions, 0, left_out);
    };
    let mut of_sessions = LeftOut::default();
    let result = format.read(path, options.limits, &mut left_out, &mut |session| {
        for (reason, count) in &session.left_out {
            of_sessions.add(reason.clone(), *count, Some(session.id.clone()));
        }
        sessions.push(row(&session, options));
    });
    left_out.merge(of_sessions);
    let sources = match result {
        Ok(()) => 1,
        Err(FileError::OtherKind(what)) => {
            left_out.add("file of no known format", 1, Some(format!("{}: {what}", path.display())));
            0
        }
        Err(error) => {
            left_out.add(error.to_string(), 1, place());
            0
        }
    };
    (sessions, sources, left_out)
}

/// Reduces a session.
pub fn row(session: &Session, options: &Options) -> SessionRow {
    let profile = match session.actions {
        Actions::Code => Profile::appworld(),
        Actions::ToolCalls => options.profile.clone(),
    };
    let calls: Vec<_> = session.steps.iter().map(|step| profile.calls(&step.action)).collect();
    // where a step's call was first made: a refetch repeats an earlier one
    let mut first_made: BTreeMap<&str, usize> = BTreeMap::new();
    let mut repeats: Vec<Option<usize>> = Vec::with_capacity(calls.len());
    let mut burden: Vec<Counts> = Vec::with_capacity(calls.len());
    for (at, (step, of_step)) in session.steps.iter().zip(&calls).enumerate() {
        let repeated = of_step.first().and_then(|call| first_made.get(call.exact.as_str()).copied());
        for call in of_step {
            first_made.entry(&call.exact).or_insert(at);
        }
        let blocked = profile.failure.is_failure(&step.observation, step.is_error);
        let refetch = repeated.is_some();
        burden.push(Counts([u64::from(blocked || refetch), u64::from(blocked), u64::from(refetch)]));
        repeats.push(repeated);
    }
    let sum = |range: Range<usize>| {
        let mut sum = Counts::default();
        burden[range].iter().for_each(|&counts| sum += counts);
        sum
    };
    let places: Vec<usize> = session.compactions.iter().map(|compaction| compaction.after_steps).collect();
    let mut row = SessionRow {
        harness: session.harness,
        model: session.model.clone().unwrap_or_else(|| "unknown".to_owned()),
        id: format!("{}:{}", session.harness, session.id),
        steps: session.steps.len() as u64,
        burden: sum(0..burden.len()),
        compactions: compactions(session),
        first: Pairs::default(),
        later: Pairs::default(),
        short: 0,
        overlapping: 0,
        matched: Pairs::default(),
        nearby: Pairs::default(),
        refetched: BTreeMap::new(),
        looped: false,
    };
    let k = options.k;
    for (number, &at) in places.iter().enumerate() {
        let next = at..session.steps.len().min(at + k);
        for (step, repeated) in session.steps[next.clone()].iter().zip(&repeats[next]) {
            if repeated.is_some_and(|earlier| earlier < at) {
                *row.refetched.entry(label(step, session.actions)).or_default() += 1;
            }
        }
        if at < k || at + k > session.steps.len() {
            row.short += 1;
            continue;
        }
        let others = places.iter().enumerate().filter(|&(other, _)| other != number);
        row.overlapping += u64::from(others.into_iter().any(|(_, &other)| other + k > at && other < at + k));
        let pairs = if number == 0 { &mut row.first } else { &mut row.later };
        pairs.add(sum(at - k..at), sum(at..at + k));
        let is_free = |near: usize| {
            near >= k
                && near + k <= session.steps.len()
                && !places.iter().any(|&place| place + k > near && place < near + k)
        };
        if at >= 3 * k && is_free(at - 2 * k) && is_free(at + 2 * k) {
            row.matched.add(sum(at - k..at), sum(at..at + k));
            for near in [at - 2 * k, at + 2 * k] {
                row.nearby.add(sum(near - k..near), sum(near..near + k));
            }
        }
    }
    row.looped = has_looped(&row.compactions, k as u64);
    row
}

fn compactions(session: &Session) -> Vec<CompactionRow> {
    let mut last = None;
    let rows = session.compactions.iter().map(|compaction| {
        let since = last.replace(compaction.after_steps).map(|last: usize| (compaction.after_steps - last) as u64);
        CompactionRow {
            tokens_before: compaction.tokens_before,
            tokens_after: compaction.tokens_after,
            steps_since_last: since,
        }
    });
    rows.collect()
}

fn has_looped(compactions: &[CompactionRow], k: u64) -> bool {
    let is_rapid = |row: &CompactionRow| row.steps_since_last.is_some_and(|steps| steps < k);
    let pair = |test: &dyn Fn(&CompactionRow) -> bool| compactions.windows(2).any(|pair| pair.iter().all(test));
    pair(&is_rapid) || pair(&CompactionRow::is_ineffective)
}

/// How a fetched thing is called: a file, a command's first line, an address, or the call itself.
fn label(step: &Step, actions: Actions) -> String {
    const LONGEST: usize = 120;
    let short = |text: &str| -> String {
        let line = text.trim().lines().next().unwrap_or("");
        match line.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line.to_owned(),
        }
    };
    if actions == Actions::Code {
        let calls = Profile::appworld().calls(&step.action);
        return short(&calls.into_iter().next().map(|call| call.exact).unwrap_or_default());
    }
    let action: Value = serde_json::from_str(&step.action).unwrap_or_default();
    let arguments = &action["arguments"];
    let text = |names: &[&str]| names.iter().find_map(|name| arguments[*name].as_str()).map(str::to_owned);
    if let Some(file) = text(&["file_path", "path", "filename", "notebook_path", "file", "uri"]) {
        return format!("{} {}", step.tool, short(&file));
    }
    if let Some(command) = text(&["command", "cmd"]) {
        return format!("$ {}", short(&command));
    }
    if let Some(address) = text(&["url", "query", "pattern"]) {
        return format!("{} {}", step.tool, short(&address));
    }
    short(&format!("{} {arguments}", step.tool))
}
