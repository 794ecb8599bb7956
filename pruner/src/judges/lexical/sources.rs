//! Where the values, phrases and words of the entries stand: one reading of the history, memory bounded by it.

use super::atoms::{Atoms, Value, ValueKind, bigrams, flat, number, tokens};
use super::lists::CONNECTORS;
use super::stem::stem;
use crate::history::Span;
use crate::words::{Counter, lower, words};

/// In an environment output or in the previous summary.
pub(super) const OUTPUT: u8 = 1;
/// In the task.
pub(super) const TASK: u8 = 2;
/// In what the agent wrote.
pub(super) const ACTION: u8 = 4;

/// What was looked up.
pub(super) struct Sources {
    values: Places,
    stems: Places,
    phrases: Places,
}

#[derive(Default)]
struct Places {
    keys: Counter,
    marks: Vec<u8>,
}

impl Places {
    fn add(&mut self, key: &str) {
        self.keys.insert(key);
        self.marks.resize(self.keys.len(), 0);
    }

    fn mark(&mut self, key: &str, place: u8) {
        if let Some(key) = self.keys.find(key) {
            self.marks[key as usize] |= place;
        }
    }

    fn get(&self, key: &str) -> u8 {
        self.keys.find(key).map_or(0, |key| self.marks[key as usize])
    }
}

impl Sources {
    pub(super) fn look_up(span: &Span<'_>, atoms: &[Atoms]) -> Sources {
        let mut sources = Sources { values: Places::default(), stems: Places::default(), phrases: Places::default() };
        let mut wholes: Vec<&str> = Vec::new();
        let mut phrases: Vec<&str> = Vec::new();
        for atoms in atoms {
            for value in &atoms.values {
                sources.values.add(&value.text);
                match value.kind {
                    ValueKind::Whole => wholes.push(&value.text),
                    ValueKind::Field => value.text.split('_').for_each(|part| sources.stems.add(stem(part))),
                    _ => {}
                }
            }
            for phrase in atoms.phrases.keys() {
                sources.phrases.add(phrase);
                phrases.push(phrase);
                phrase.split(' ').filter(|word| !word.is_empty()).for_each(|word| sources.stems.add(stem(word)));
            }
            for stem in &atoms.stems {
                sources.stems.add(stem);
            }
        }
        for list in [&mut wholes, &mut phrases] {
            list.sort_unstable();
            list.dedup();
        }
        let outputs = span.outputs().chain(span.previous).map(|text| (text, OUTPUT));
        let others = span.task.map(|task| (task, TASK)).into_iter().chain(span.actions().map(|text| (text, ACTION)));
        for (text, place) in outputs.chain(others) {
            sources.read(text, place, &wholes, &phrases);
        }
        sources
    }

    fn read(&mut self, text: &str, place: u8, wholes: &[&str], phrases: &[&str]) {
        for word in words(text) {
            self.values.mark(word, place);
            let word = lower(word);
            self.values.mark(word.trim_matches('_'), place);
            for part in word.split('_') {
                bigrams(part, |piece| self.stems.mark(stem(piece), place));
            }
            if word.contains('_') {
                self.stems.mark(stem(&word), place);
            }
        }
        for token in tokens(text) {
            if token.contains(CONNECTORS) {
                self.values.mark(token, place);
                // 471.00 is 471
                self.values.mark(number(token), place);
            }
        }
        if !wholes.is_empty() {
            let text = text.to_lowercase();
            for whole in wholes {
                if stands_in(&text, whole) {
                    self.values.mark(whole, place);
                }
            }
        }
        if !phrases.is_empty() {
            let text = flat(text);
            for phrase in phrases {
                if text.contains(phrase) {
                    self.phrases.mark(phrase, place);
                }
            }
        }
    }

    pub(super) fn value(&self, value: &Value) -> u8 {
        self.values.get(&value.text)
    }

    pub(super) fn phrase(&self, phrase: &str) -> u8 {
        self.phrases.get(phrase)
    }

    pub(super) fn stem(&self, stem: &str) -> u8 {
        self.stems.get(stem)
    }
}

/// Whether the text holds the value, not as a part of a longer number.
fn stands_in(text: &str, whole: &str) -> bool {
    text.match_indices(whole).any(|(at, _)| {
        let digit = |sign: char| sign.is_ascii_digit();
        !text[..at].ends_with(digit) && !text[at + whole.len()..].starts_with(digit)
    })
}
