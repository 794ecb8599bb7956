//! Means, contrasts and their intervals, by harness and model.

use super::collect::{Collected, Pairs, SessionRow};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::estimate::{Reason, Unit, Value};
use foldline_frontiers::streams::Streams;
use serde::Serialize;
use std::collections::BTreeMap;

/// The channels in the order of [`super::collect::Counts`].
pub const CHANNELS: [&str; 3] = ["union", "blocked", "refetch"];

/// How many of the most re-fetched things are listed.
const MOST: usize = 20;

/// The whole survey.
#[derive(Debug, Serialize)]
pub struct Survey {
    /// What kind of evidence this is.
    pub statement: &'static str,
    /// Steps before and after.
    pub k: usize,
    /// Bootstrap draws over sessions, percentile intervals at 95%.
    pub draws: u32,
    /// Base seed.
    pub seed: u64,
    /// Files or folders read.
    pub sources: u64,
    /// All sessions, then each harness and model.
    pub groups: Vec<Group>,
    /// What was most fetched again within k steps after a compaction.
    pub refetched: Vec<Refetched>,
    /// Sessions where compaction looped.
    pub looped: Vec<Looped>,
    /// What was left out.
    pub left_out: Vec<LeftOutRow>,
}

/// Sessions of one harness and model.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Harness, or `all`.
    pub harness: String,
    /// Model, or `all`.
    pub model: String,
    /// Sessions.
    pub sessions: u64,
    /// Sessions with a compaction.
    pub compacted_sessions: u64,
    /// Steps.
    pub steps: u64,
    /// Steps that failed.
    pub blocked_steps: u64,
    /// Steps that repeat an earlier call.
    pub refetch_steps: u64,
    /// Compactions.
    pub compactions: u64,
    /// Compactions that are known to have freed less than a tenth.
    pub ineffective: u64,
    /// Compactions with fewer than k steps on one side, which have no contrast.
    pub short: u64,
    /// Compactions whose windows hold another compaction.
    pub overlapping: u64,
    /// Sessions where compaction looped.
    pub looped_sessions: u64,
    /// Median context size before, where known.
    pub tokens_before: Median,
    /// Median context size after, where known.
    pub tokens_after: Median,
    /// Contrasts around all compactions.
    pub all: Vec<Contrast>,
    /// Around first compactions.
    pub first: Vec<Contrast>,
    /// Around later compactions.
    pub later: Vec<Contrast>,
    /// Change around later compactions less change around first ones.
    pub later_less_first: Vec<Difference>,
    /// At the places 2k steps before and after a compaction, for compactions that have both.
    pub nearby: Vec<Contrast>,
    /// Change around those compactions less change nearby: what a smooth drift of the session does not explain.
    pub beyond_nearby: Vec<Difference>,
}

/// A median over compactions.
#[derive(Debug, Serialize)]
pub struct Median {
    /// Compactions with a count.
    pub n: u64,
    /// The lower median.
    pub tokens: Option<u64>,
}

/// Mean counts of burdened steps in the k steps before and after.
#[derive(Debug, Serialize)]
pub struct Contrast {
    /// Channel.
    pub channel: &'static str,
    /// Places.
    pub n: u64,
    /// Sessions they lie in.
    pub sessions: u64,
    /// Mean count before.
    pub before: Option<f64>,
    /// Mean count after.
    pub after: Option<f64>,
    /// Mean of after minus before, within sessions.
    pub change: Value,
    /// Interval over sessions; null with fewer than two sessions.
    pub lo: Option<f64>,
    /// Its upper end.
    pub hi: Option<f64>,
}

/// A difference of two changes with its interval.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Channel.
    pub channel: &'static str,
    /// The difference.
    pub difference: Value,
    /// Interval over sessions.
    pub lo: Option<f64>,
    /// Its upper end.
    pub hi: Option<f64>,
}

/// Something that was fetched again.
#[derive(Debug, Serialize)]
pub struct Refetched {
    /// File, command or call.
    pub what: String,
    /// How often.
    pub times: u64,
    /// In how many sessions.
    pub sessions: u64,
}

/// A session where compaction looped.
#[derive(Debug, Serialize)]
pub struct Looped {
    /// The session.
    pub session: String,
    /// Its compactions.
    pub compactions: u64,
    /// Its steps.
    pub steps: u64,
}

/// A reason for leaving something out.
#[derive(Debug, Serialize)]
pub struct LeftOutRow {
    /// The reason.
    pub reason: String,
    /// How often.
    pub count: u64,
    /// The first places.
    pub places: Vec<String>,
}

/// Measures what was collected; intervals resample sessions (stream `bootstrap/task`, one task per session).
pub fn measure(collected: &Collected, k: usize, draws: u32, seed: u64) -> Survey {
    let all: Vec<&SessionRow> = collected.sessions.iter().collect();
    let mut by_name: BTreeMap<(&str, &str), Vec<&SessionRow>> = BTreeMap::new();
    for session in &all {
        by_name.entry((session.harness, &session.model)).or_default().push(session);
    }
    let streams = Streams::new(seed);
    let mut groups = vec![group("all", "all", &all, &streams, draws)];
    groups.extend(by_name.iter().map(|((harness, model), rows)| group(harness, model, rows, &streams, draws)));
    Survey {
        statement: super::STATEMENT,
        k,
        draws,
        seed,
        sources: collected.sources,
        groups,
        refetched: refetched(&all),
        looped: looped(&all),
        left_out: collected
            .left_out
            .iter()
            .map(|(reason, count, places)| LeftOutRow { reason: reason.to_owned(), count, places: places.to_vec() })
            .collect(),
    }
}

fn group(harness: &str, model: &str, rows: &[&SessionRow], streams: &Streams, draws: u32) -> Group {
    // sessions without a compaction say nothing about a change at one
    let compacted: Vec<&SessionRow> = rows.iter().filter(|row| !row.compactions.is_empty()).copied().collect();
    let draws = Draws::new(streams, Unit::Task, compacted.len(), draws);
    let pairs_of =
        |pick: &dyn Fn(&SessionRow) -> Pairs| -> Vec<Pairs> { compacted.iter().map(|row| pick(row)).collect() };
    let around = pairs_of(&|row| sum(row.first, row.later));
    let (matched, nearby) = (pairs_of(&|row| row.matched), pairs_of(&|row| row.nearby));
    let (first, later) = (pairs_of(&|row| row.first), pairs_of(&|row| row.later));
    let differences = |one: &[Pairs], other: &[Pairs]| -> Vec<Difference> {
        (0..3).map(|channel| difference(one, other, channel, &draws)).collect()
    };
    let contrasts =
        |pairs: &[Pairs]| -> Vec<Contrast> { (0..3).map(|channel| contrast(pairs, channel, &draws)).collect() };
    let tokens = |pick: &dyn Fn(&super::collect::CompactionRow) -> Option<u64>| {
        median(compacted.iter().flat_map(|row| &row.compactions).filter_map(pick).collect())
    };
    let total = |count: &dyn Fn(&SessionRow) -> u64| rows.iter().map(|row| count(row)).sum();
    Group {
        harness: harness.to_owned(),
        model: model.to_owned(),
        sessions: rows.len() as u64,
        compacted_sessions: compacted.len() as u64,
        steps: total(&|row| row.steps),
        blocked_steps: total(&|row| row.burden.0[1]),
        refetch_steps: total(&|row| row.burden.0[2]),
        compactions: total(&|row| row.compactions.len() as u64),
        ineffective: total(&|row| {
            row.compactions.iter().filter(|compaction| compaction.is_ineffective()).count() as u64
        }),
        short: total(&|row| row.short),
        overlapping: total(&|row| row.overlapping),
        looped_sessions: total(&|row| u64::from(row.looped)),
        tokens_before: tokens(&|compaction| compaction.tokens_before),
        tokens_after: tokens(&|compaction| compaction.tokens_after),
        all: contrasts(&around),
        later_less_first: differences(&later, &first),
        first: contrasts(&first),
        later: contrasts(&later),
        beyond_nearby: differences(&matched, &nearby),
        nearby: contrasts(&nearby),
    }
}

fn sum(one: Pairs, other: Pairs) -> Pairs {
    let mut both = one;
    both.n += other.n;
    both.before += other.before;
    both.after += other.after;
    both
}

/// The mean change of a channel over places, sessions weighted by multiplicity.
fn change(pairs: &[Pairs], channel: usize, multiplicity: impl Fn(usize) -> u32) -> Value {
    let (mut n, mut total) = (0i64, 0i64);
    for (session, pairs) in pairs.iter().enumerate() {
        let times = i64::from(multiplicity(session));
        n += times * pairs.n as i64;
        total += times * (pairs.after.0[channel] as i64 - pairs.before.0[channel] as i64);
    }
    if n == 0 { Value::Undefined(Reason::NoRows) } else { Value::Defined(total as f64 / n as f64) }
}

fn contrast(pairs: &[Pairs], channel: usize, draws: &Draws) -> Contrast {
    let n: u64 = pairs.iter().map(|pairs| pairs.n).sum();
    let sessions = pairs.iter().filter(|pairs| pairs.n > 0).count() as u64;
    let mean = |total: u64| (n > 0).then(|| total as f64 / n as f64);
    let (lo, hi) = interval(sessions, draws, |draw| change(pairs, channel, |session| draw[session]));
    Contrast {
        channel: CHANNELS[channel],
        n,
        sessions,
        before: mean(pairs.iter().map(|pairs| pairs.before.0[channel]).sum()),
        after: mean(pairs.iter().map(|pairs| pairs.after.0[channel]).sum()),
        change: change(pairs, channel, |_| 1),
        lo,
        hi,
    }
}

fn difference(one: &[Pairs], other: &[Pairs], channel: usize, draws: &Draws) -> Difference {
    // both sides must vary, or the interval would be that of one of them
    let with = |pairs: &[Pairs]| pairs.iter().filter(|pairs| pairs.n > 0).count() as u64;
    let sessions = with(one).min(with(other));
    let of = |draw: &dyn Fn(usize) -> u32| change(one, channel, draw).minus(change(other, channel, draw));
    let (lo, hi) = interval(sessions, draws, |draw| of(&|session| draw[session]));
    Difference { channel: CHANNELS[channel], difference: of(&|_| 1), lo, hi }
}

/// One session repeated is no evidence of variation between sessions.
fn interval(sessions: u64, draws: &Draws, value: impl Fn(&[u32]) -> Value + Sync + Send) -> (Option<f64>, Option<f64>) {
    if sessions < 2 {
        return (None, None);
    }
    let interval = draws.interval(draws.map(|| (), |(), multiplicity| value(multiplicity)));
    (interval.lo, interval.hi)
}

fn median(mut values: Vec<u64>) -> Median {
    values.sort_unstable();
    let tokens = values.len().checked_sub(1).map(|last| values[last / 2]);
    Median { n: values.len() as u64, tokens }
}

fn refetched(rows: &[&SessionRow]) -> Vec<Refetched> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (what, times) in rows.iter().flat_map(|row| &row.refetched) {
        let entry = counts.entry(what).or_default();
        entry.0 += times;
        entry.1 += 1;
    }
    let mut list: Vec<Refetched> = counts
        .into_iter()
        .map(|(what, (times, sessions))| Refetched { what: what.to_owned(), times, sessions })
        .collect();
    list.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.what.cmp(&b.what)));
    list.truncate(MOST);
    list
}

fn looped(rows: &[&SessionRow]) -> Vec<Looped> {
    let mut list: Vec<Looped> = rows
        .iter()
        .filter(|row| row.looped)
        .map(|row| Looped { session: row.id.clone(), compactions: row.compactions.len() as u64, steps: row.steps })
        .collect();
    list.sort_by(|a, b| b.compactions.cmp(&a.compactions).then_with(|| a.session.cmp(&b.session)));
    list.truncate(MOST);
    list
}
