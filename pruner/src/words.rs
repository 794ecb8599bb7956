//! Words, and a small table that numbers them.

use std::borrow::Cow;

/// The beginning of a text: at most so many bytes, of whole characters.
pub(crate) fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Maximal runs of characters that are alphabetic, numeric or `_`, in lower case.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_word)?;
        rest = &rest[start..];
        let end = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

pub(crate) fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// A word in lower case; borrowed where it is already.
pub(crate) fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

/// Numbers distinct words in order of first insertion, whatever their case.
///
/// Open addressing over FNV-1a: nothing in it depends on the machine, and nothing iterates over it.
#[derive(Default)]
pub(crate) struct Counter {
    slots: Vec<u32>,
    words: Vec<Box<str>>,
}

const EMPTY: u32 = u32::MAX;

impl Counter {
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn insert(&mut self, word: &str) -> u32 {
        if let Some(found) = self.find(word) {
            return found;
        }
        if (self.words.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let number = self.words.len() as u32;
        let slot = self.free_slot(hash(word));
        self.slots[slot] = number;
        self.words.push(lower(word).into());
        number
    }

    pub(crate) fn find(&self, word: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash(word) as usize & mask;
        while self.slots[slot] != EMPTY {
            let number = self.slots[slot];
            let known = &*self.words[number as usize];
            let same = if word.is_ascii() { known.eq_ignore_ascii_case(word) } else { known == lower(word) };
            if same {
                return Some(number);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    fn free_slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        self.slots = vec![EMPTY; size];
        for number in 0..self.words.len() {
            let slot = self.free_slot(hash(&self.words[number]));
            self.slots[slot] = number as u32;
        }
    }
}

/// FNV-1a of the word in lower case.
fn hash(word: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    let hash = if word.is_ascii() {
        word.bytes().fold(start, |hash, byte| step(hash, byte.to_ascii_lowercase()))
    } else {
        lower(word).bytes().fold(start, step)
    };
    // the low bits choose the slot
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_digits_and_underscores() {
        assert_eq!(words("show_song(id=7), été—日本").collect::<Vec<_>>(), ["show_song", "id", "7", "été", "日本"]);
    }

    #[test]
    fn case_does_not_count() {
        let mut counter = Counter::default();
        for round in 0..2 {
            for number in 0..500u32 {
                let word = if round == 0 { format!("Wort{number}É") } else { format!("wORT{number}é") };
                assert_eq!(counter.insert(&word), number);
            }
        }
        assert_eq!(counter.find("absent"), None);
    }
}
