//! From scores to a committed summary: what stays, what goes, and when nothing may go.

use crate::account::{Account, Fate, Status, Verdict};
use crate::entries::{Document, Entry, Prose, parse};
use crate::history::Span;
use crate::judge::{Answers, Asked, Judge};

/// Bytes of a summary that is still judged **\[choice\]**: a longer one is no summary.
pub const MAX_SUMMARY_BYTES: usize = 1 << 20;

/// The score from which an entry stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tau(f64);

/// A threshold outside 0..=1 would keep or remove everything whatever the judge says.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("threshold {0} is no number between 0 and 1")]
pub struct TauError(String);

impl Tau {
    /// The paper's, untuned.
    pub const PAPER: Tau = Tau(0.5);

    /// A threshold in 0..=1.
    pub fn new(tau: f64) -> Result<Tau, TauError> {
        if (0.0..=1.0).contains(&tau) { Ok(Tau(tau)) } else { Err(TauError(tau.to_string())) }
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl std::str::FromStr for Tau {
    type Err = TauError;

    fn from_str(text: &str) -> Result<Tau, TauError> {
        text.trim().parse().map_err(|_| TauError(format!("{text:?}"))).and_then(Tau::new)
    }
}

/// How a summary is pruned.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The threshold.
    pub tau: Tau,
    /// What happens to prose.
    pub prose: Prose,
    /// Score, but change nothing.
    pub shadow: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { tau: Tau::PAPER, prose: Prose::Auto, shadow: false }
    }
}

/// Prunes a summary. Never fails: where anything is wrong the summary comes back as it is and the account says why.
pub fn prune(summary: &str, span: &Span<'_>, judge: &dyn Judge, options: &Options) -> (String, Account) {
    let mut account = Account::new(judge, options, summary);
    if summary.trim().is_empty() {
        return (summary.to_string(), account.unchanged(Status::EmptySummary, "the summary is empty"));
    }
    if summary.len() > MAX_SUMMARY_BYTES {
        let reason = format!("the summary has {} bytes; more than {MAX_SUMMARY_BYTES} are not judged", summary.len());
        return (summary.to_string(), account.unchanged(Status::SummaryTooLarge, &reason));
    }
    let document = parse(summary, options.prose);
    if document.entries.is_empty() {
        let reason = "the summary has no entries: headings, labels, code or untouched prose only";
        return (summary.to_string(), account.unchanged(Status::NoEntries, reason));
    }
    account.list(&document);
    if span.has_no_source() {
        let reason = "neither the history nor a previous summary holds anything that could be a source";
        return (summary.to_string(), account.unchanged(Status::NoSource, reason));
    }
    let asked: Vec<Asked<'_>> = document.entries.iter().map(Asked::from).collect();
    let answers = match judge.judge(span, &asked) {
        Ok(answers) => answers,
        Err(fault) => {
            account.requests = [fault.requests, 0];
            return (summary.to_string(), account.unchanged(Status::Fault(fault.kind), &fault.detail));
        }
    };
    account.answered(&answers, options.tau);
    decide(&document, &answers, options.tau, &mut account.entries);
    apply(&document, options, account)
}

/// Sets the fate of every entry.
fn decide(document: &Document<'_>, answers: &Answers, tau: Tau, verdicts: &mut [Verdict]) {
    for (verdict, score) in verdicts.iter_mut().zip(&answers.scores) {
        verdict.fate = match score {
            None => Fate::Unanswered,
            Some(score) if *score >= tau.get() => Fate::Kept,
            Some(_) => Fate::Dropped,
        };
    }
    // an entry comes behind its parent, so one pass from the end reaches every ancestor
    for (at, entry) in document.entries.iter().enumerate().rev() {
        if let Some(parent) = entry.parent
            && verdicts[at].fate != Fate::Dropped
            && verdicts[parent].fate == Fate::Dropped
        {
            verdicts[parent].fate = Fate::KeptForChild;
        }
    }
}

fn apply(document: &Document<'_>, options: &Options, account: Account) -> (String, Account) {
    let source = document.source.to_string();
    let verdicts = &account.entries;
    if verdicts.len() >= 2
        && verdicts.iter().all(|verdict| verdict.score.is_some_and(|score| score < options.tau.get()))
    {
        let reason = "every entry is below the threshold, which cannot be told from a judge that knows nothing";
        return (source, account.unchanged(Status::AllBelowThresholdNotApplied, reason));
    }
    let dropped = |at: usize| verdicts[at].fate == Fate::Dropped;
    if (0..verdicts.len()).all(|at| !dropped(at)) {
        return (source, account.unchanged(Status::NothingToPrune, "every entry stays"));
    }
    let pruned = render(document, dropped);
    if pruned.trim().is_empty() {
        return (source, account.unchanged(Status::WouldBeEmpty, "nothing would be left of the summary"));
    }
    let kept = document.entries.iter().enumerate().filter(|(at, _)| !dropped(*at)).map(|(_, entry)| entry);
    let again = parse(&pruned, options.prose);
    let read = |entry: &Entry| (entry.text.clone(), entry.section.clone());
    if again.headings != document.headings || !again.entries.iter().map(read).eq(kept.map(read)) {
        let reason = "without these entries the rest of the summary would read as other entries";
        return (source, account.unchanged(Status::WouldChangeLayout, reason));
    }
    let account = account.applied(&pruned);
    if options.shadow { (source, account) } else { (pruned, account) }
}

/// The summary without the dropped entries; every other byte as it was.
pub fn render(document: &Document<'_>, dropped: impl Fn(usize) -> bool) -> String {
    let mut gone: Vec<_> = document
        .entries
        .iter()
        .enumerate()
        .filter(|(at, _)| dropped(*at))
        .flat_map(|(_, entry)| entry.ranges.iter().cloned())
        .collect();
    gone.sort_unstable_by_key(|range| range.start);
    let mut out = String::with_capacity(document.source.len());
    let mut at = 0;
    for range in gone {
        out.push_str(&document.source[at..range.start]);
        at = range.end;
    }
    out.push_str(&document.source[at..]);
    out
}
