//! Secrets do not leave the machine: what looks like one is replaced before a request is built.
//!
//! Found are secrets by their form (`shapes`: tokens with a known beginning, private keys, credentials in URLs, long
//! runs of letters and digits) and secrets by what stands before them (`find`: names such as `password` or `api_key`,
//! headers, options of a command line). Only the value goes; its name stays. A secret gets the same stand-in wherever it
//! occurs, so a judge can still see that an entry repeats an output; one that is unmistakable is replaced even where
//! nothing names it.
//!
//! It is written by hand rather than with regular expressions because most of the work is to tell values from prose and
//! code, and so that its cost is plain: one walk over the text, each step of which looks ahead a bounded number of bytes
//! or consumes what it read. All cuts are at ASCII signs, so no character is split.

mod again;
mod find;
mod names;
mod shapes;
mod special;
mod values;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::history::{Span, Step};
use crate::judge::Asked;
use again::Again;
use names::Kind;

/// What every stand-in begins with. A stand-in is one word to the evidence search, so a shared secret counts as shared.
const STAND_IN: &str = "<secret_";

/// Searches of a text at most; one finds nearly everything, the second that nothing is left.
const ROUNDS: usize = 8;

/// Replaces secrets, remembering which stand-in is whose.
#[derive(Debug, Default)]
pub struct Redactor {
    known: BTreeMap<String, usize>,
    /// Finds those of them again that are unmistakable; made when it is needed.
    again: Option<Again>,
}

impl Redactor {
    /// Remembers the secrets of a text, so that they are also replaced where nothing names them.
    pub fn learn(&mut self, text: &str) {
        self.rounds(text, false);
    }

    /// The text with its secrets replaced by `<secret_1>`, `<secret_2>`, ...
    pub fn clean(&mut self, text: &str) -> String {
        self.rounds(text, true)
    }

    fn rounds(&mut self, text: &str, again: bool) -> String {
        let mut cleaned = text.to_string();
        // what is replaced may have hidden another secret from the search, such as a quote within a password
        for _ in 0..ROUNDS {
            match self.replaced(&cleaned, again) {
                Some(once_more) => cleaned = once_more,
                None => break,
            }
        }
        cleaned
    }

    /// The text with the secrets replaced that a search finds, known ones `again` among them; `None` if it finds none.
    fn replaced(&mut self, text: &str, again: bool) -> Option<String> {
        let mut ranges = find::secrets(text);
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        for range in &ranges {
            self.found(&text[range.clone()]);
        }
        if again {
            let repeated = self.repeated(text);
            ranges.extend(repeated);
        }
        if ranges.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for range in joined(ranges) {
            out.push_str(&text[at..range.start]);
            out.push_str(&format!("{STAND_IN}{}>", self.number(&text[range.clone()])));
            at = range.end;
        }
        out.push_str(&text[at..]);
        Some(out)
    }

    /// Remembers an output that is one unmistakable word where the action spoke of a secret, as `print(password)` does.
    fn learn_printed(&mut self, step: &Step) {
        let word = step.observation.trim();
        let names_secret =
            |word: Range<usize>| matches!(names::kind(&step.action[word], ""), Some(Kind::Password | Kind::Token));
        if word.len() <= 512 && values::is_unmistakable(word) && find::words(&step.action).any(names_secret) {
            self.found(word);
        }
    }

    /// The number of a stand-in, a new one for a new secret.
    fn number(&mut self, secret: &str) -> usize {
        if let Some(&number) = self.known.get(secret) {
            return number;
        }
        let number = self.known.len() + 1;
        self.known.insert(secret.to_string(), number);
        number
    }

    /// Remembers a secret that a search found.
    fn found(&mut self, secret: &str) {
        let before = self.known.len();
        self.number(secret);
        if self.known.len() > before && values::is_spread(secret) {
            self.again = None;
        }
    }

    /// Places of known secrets that cannot be ordinary words, whatever stands around them.
    fn repeated(&mut self, text: &str) -> Vec<Range<usize>> {
        let known = &self.known;
        self.again.get_or_insert_with(|| Again::of(known.keys())).places(text)
    }
}

/// Ranges in order, those that overlap made one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// One text without its secrets.
pub fn redact(text: &str) -> String {
    Redactor::default().clean(text)
}

/// An entry without its secrets.
#[derive(Clone, Debug)]
struct CleanEntry {
    id: String,
    text: String,
    section: Vec<String>,
}

/// Everything a judge elsewhere may be shown, secrets replaced before anything is cut or chosen from it.
#[derive(Clone, Debug)]
pub struct Clean {
    task: Option<String>,
    history: Vec<Step>,
    recent: Vec<Step>,
    previous: Option<String>,
    entries: Vec<CleanEntry>,
}

impl Clean {
    /// Replaces the secrets of a span and of the entries. Actions of the history teach secrets but are not kept: they are
    /// shown to nobody.
    pub fn new(span: &Span<'_>, entries: &[Asked<'_>]) -> Clean {
        let mut redactor = Redactor::default();
        let steps = || span.history.iter().chain(span.recent);
        let of_steps = steps().flat_map(|step| [step.action.as_str(), step.observation.as_str()]);
        for text in of_steps.chain(span.task).chain(span.previous) {
            redactor.learn(text);
        }
        for step in steps() {
            redactor.learn_printed(step);
        }
        for entry in entries {
            // a list under the heading "Password" names its items so
            match entry.section.last() {
                Some(heading) => redactor.learn(&format!("{heading}: {}", entry.text)),
                None => redactor.learn(entry.text),
            }
        }
        let mut clean = |text: &str| redactor.clean(text);
        let mut entry = |entry: &Asked<'_>| CleanEntry {
            id: entry.id.to_string(),
            text: clean(entry.text),
            section: entry.section.iter().map(|heading| clean(heading)).collect(),
        };
        let entries = entries.iter().map(&mut entry).collect();
        let mut output = |step: &Step| Step { action: String::new(), observation: clean(&step.observation) };
        let history = span.history.iter().map(&mut output).collect();
        let mut whole = |step: &Step| Step { action: clean(&step.action), observation: clean(&step.observation) };
        let recent = span.recent.iter().map(&mut whole).collect();
        Clean { task: span.task.map(&mut clean), history, recent, previous: span.previous.map(&mut clean), entries }
    }

    /// The span.
    pub fn span(&self) -> Span<'_> {
        Span {
            task: self.task.as_deref(),
            history: &self.history,
            recent: &self.recent,
            previous: self.previous.as_deref(),
        }
    }

    /// The entries, in order.
    pub fn entries(&self) -> Vec<Asked<'_>> {
        self.entries.iter().map(|CleanEntry { id, text, section }| Asked { id, text, section }).collect()
    }
}
