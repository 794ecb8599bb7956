//! Finds known secrets again, wherever the same characters stand by themselves.
//!
//! The secrets lie sorted, so the longest of them that a place begins with is found in a search by halves, and a small table
//! of beginnings keeps that from nearly all places. The cost is that of the text, whatever the number of secrets.

use std::collections::BTreeSet;
use std::ops::Range;

use super::STAND_IN;
use super::values::{self, LONG};

/// Bytes at the beginning of a secret that the table knows. No secret that is looked for is shorter.
const BEGINNING: usize = 4;

/// Places of the table.
const TABLE: usize = 1 << 16;

/// Secrets that are looked for.
#[derive(Clone, Debug)]
pub(super) struct Again {
    sorted: Vec<String>,
    /// The longest secret that each of them begins with.
    shorter: Vec<Option<usize>>,
    /// Which beginnings there are.
    table: Vec<bool>,
}

impl Again {
    /// Of secrets.
    pub(super) fn of<'a>(known: impl Iterator<Item = &'a String>) -> Again {
        let mut all = BTreeSet::new();
        for secret in known.filter(|secret| values::is_spread(secret)) {
            // a sentence may have ended behind it
            let short = secret.trim_end_matches(['!', '?', '.', ',', ';', ')', '…']);
            if values::is_spread(short) {
                all.insert(short.to_string());
            }
            all.insert(secret.clone());
        }
        let sorted: Vec<String> = all.into_iter().collect();
        let mut table = vec![false; TABLE];
        let mut shorter: Vec<Option<usize>> = Vec::with_capacity(sorted.len());
        for (at, secret) in sorted.iter().enumerate() {
            table[place(secret.as_bytes())] = true;
            // what the secret begins with is among what the one before it begins with
            let mut candidate = at.checked_sub(1);
            while let Some(before) = candidate.filter(|&before| !secret.starts_with(&sorted[before])) {
                candidate = shorter[before];
            }
            shorter.push(candidate);
        }
        Again { sorted, shorter, table }
    }

    /// Where they stand, the longest from each place; some may overlap.
    pub(super) fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.sorted.is_empty() {
            return found;
        }
        for (at, beginning) in text.as_bytes().windows(BEGINNING).enumerate() {
            if self.table[place(beginning)]
                && text.is_char_boundary(at)
                && let Some(end) = self.longest(text, at)
            {
                found.push(at..end);
            }
        }
        found
    }

    /// End of the longest secret that stands at a place by itself.
    fn longest(&self, text: &str, at: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let here = &bytes[at..bytes.len().min(at + LONG)];
        let mut candidate = self.sorted.partition_point(|secret| secret.as_bytes() <= here).checked_sub(1);
        let last = self.sorted[candidate?].as_bytes();
        let shared = here.iter().zip(last).take_while(|(here, secret)| here == secret).count();
        while let Some(which) = candidate {
            let range = at..at + self.sorted[which].len();
            if range.len() <= shared && by_itself(text, &range) && !in_stand_in(bytes, &range) {
                return Some(range.end);
            }
            candidate = self.shorter[which];
        }
        None
    }
}

fn place(beginning: &[u8]) -> usize {
    let mixed =
        beginning[..BEGINNING].iter().fold(0u32, |mixed, &byte| (mixed ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (mixed >> 8) as usize % TABLE
}

/// Whether no word goes on over an edge of the range.
fn by_itself(text: &str, range: &Range<usize>) -> bool {
    let inside = &text[range.clone()];
    let before = &text[..range.start];
    let letter = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    // the letter of an escape is none
    let escape = before.ends_with(['n', 'r', 't']);
    let escaped = escape && before[..before.len() - 1].ends_with('\\');
    let begins = !letter(before.chars().next_back()) || escaped || !letter(inside.chars().next());
    let ends = !letter(text[range.end..].chars().next()) || !letter(inside.chars().next_back());
    begins && ends
}

/// Whether a stand-in goes over an edge of the range.
fn in_stand_in(bytes: &[u8], range: &Range<usize>) -> bool {
    let most = STAND_IN.len() + 20;
    let over = |edge: usize| {
        (edge.saturating_sub(most)..edge).any(|at| {
            let number = at + STAND_IN.len();
            bytes[at..].starts_with(STAND_IN.as_bytes()) && {
                let digits = bytes[number..].iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
                digits > 0 && bytes.get(number + digits) == Some(&b'>') && number + digits >= edge
            }
        })
    };
    over(range.start) || over(range.end)
}
