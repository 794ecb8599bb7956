//! What an entry claims: values, phrases and words.
//!
//! A *value* is what can hardly be written by chance: an address, a number, an identifier, a date, a URL. A *phrase* is a
//! quoted text or a run of capitalised words: a title or a person. The rest are *words*.

use std::collections::{BTreeMap, BTreeSet};

use super::lists::{CONNECTORS, GENERIC, STOP, VERBS, is_past};
use super::stem::stem;
use crate::words::first_bytes;

/// What kind of value it is; decides its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueKind {
    /// With an `@`.
    Address,
    /// Digits, perhaps with a decimal part (trailing zeros cut: 471.00 is 471).
    Number,
    /// Letters and digits.
    Identifier,
    /// A date, a time, a URL: matched as a whole.
    Whole,
    /// A name with underscores: a field, a function.
    Field,
    /// Such a name with an opening parenthesis: a function that is claimed to exist.
    Call,
}

/// A value of an entry, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) kind: ValueKind,
}

impl Value {
    /// How unlikely it is to agree by chance, 0..=1.
    pub(super) fn weight(&self) -> f64 {
        match self.kind {
            ValueKind::Number => match self.text.bytes().filter(u8::is_ascii_digit).count() {
                0 | 1 => 0.3,
                2 => 0.7,
                _ => 1.0,
            },
            ValueKind::Field => 0.5,
            ValueKind::Call => 0.7,
            _ => 1.0,
        }
    }
}

/// Where a phrase comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhraseKind {
    /// Between quotation marks.
    Quote,
    /// A run of capitalised words.
    Name,
}

/// Everything that is looked up in the sources for one entry.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    pub(super) values: BTreeSet<Value>,
    /// Phrases as lower-case words joined by spaces, with a space at both ends.
    pub(super) phrases: BTreeMap<String, PhraseKind>,
    /// Stems of the words that carry meaning, with those of unknown field names added later.
    pub(super) stems: BTreeSet<String>,
}

impl Atoms {
    pub(super) fn of(text: &str) -> Atoms {
        let mut atoms = Atoms::default();
        for token in tokens(text) {
            let behind = &text[token.as_ptr() as usize - text.as_ptr() as usize + token.len()..];
            let name = if behind.starts_with('(') { ValueKind::Call } else { ValueKind::Field };
            atoms.token(&token.to_lowercase().replace('’', "'"), name);
        }
        quoted(text, |quote| {
            let flat = flat(quote);
            if flat.trim().contains(' ') && !quote.contains(['=', '(', '_']) {
                atoms.phrases.insert(flat, PhraseKind::Quote);
            }
        });
        capitals(text, |run| {
            atoms.phrases.insert(flat(run), PhraseKind::Name);
        });
        atoms
    }

    fn token(&mut self, token: &str, name_kind: ValueKind) {
        let mut add = |text: &str, kind| {
            self.values.insert(Value { text: text.to_string(), kind });
        };
        if token.contains('@') {
            return add(token, ValueKind::Address);
        }
        if is_number(token) {
            return add(number(token), ValueKind::Number);
        }
        if is_whole(token) {
            return add(token, ValueKind::Whole);
        }
        for part in token.split(CONNECTORS).filter(|part| !part.is_empty()) {
            let name = part.trim_matches('_');
            if is_number(part) {
                add(number(part), ValueKind::Number);
            } else if part.bytes().any(|byte| byte.is_ascii_digit()) {
                add(part, ValueKind::Identifier);
            } else if name.contains('_') {
                add(name, name_kind);
            } else {
                add_word(&mut self.stems, part);
            }
        }
    }

    /// Takes the parts of a field name for words, where no source knows the name as a whole.
    pub(super) fn add_parts(stems: &mut BTreeSet<String>, name: &str) {
        for part in name.split('_') {
            add_word(stems, part);
        }
    }
}

fn add_word(stems: &mut BTreeSet<String>, word: &str) {
    if word.chars().nth(1).is_none() || STOP.contains(&word) || GENERIC.contains(&word) {
        return;
    }
    bigrams(word, |piece| {
        stems.insert(stem(piece).to_string());
    });
}

/// Calls `each` with the word, or with its pairs of characters if it is of a script that does not part words.
pub(super) fn bigrams(word: &str, mut each: impl FnMut(&str)) {
    let unparted =
        |sign: char| matches!(sign, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    if word.is_ascii() || !word.contains(unparted) {
        return each(word);
    }
    let starts: Vec<usize> = word.char_indices().map(|(start, _)| start).chain([word.len()]).collect();
    for pair in starts.windows(3) {
        each(&word[pair[0]..pair[2]]);
    }
}

/// Runs of word characters, joined over a connecting sign that has word characters on both sides.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_token)?;
        rest = &rest[start..];
        let mut end = 0;
        loop {
            let tail = &rest[end..];
            let run = tail.find(|sign| !is_token(sign)).unwrap_or(tail.len());
            end += run;
            let joint = if rest[end..].starts_with("://") {
                3
            } else {
                rest[end..].chars().next().filter(|sign| CONNECTORS.contains(sign)).map_or(0, char::len_utf8)
            };
            if run == 0 || joint == 0 || !rest[end + joint..].starts_with(is_token) {
                break;
            }
            end += joint;
        }
        let (token, tail) = rest.split_at(end.max(1));
        rest = tail;
        Some(token)
    })
}

fn is_token(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

pub(super) fn is_number(token: &str) -> bool {
    let (whole, part) = token.split_once('.').unwrap_or((token, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(part)
}

/// A number without trailing zeros of its decimal part.
pub(super) fn number(token: &str) -> &str {
    if token.contains('.') { token.trim_end_matches('0').trim_end_matches('.') } else { token }
}

/// Dates, times, URLs; not ranges (155-161) and not words hyphenated to numbers (step-7).
fn is_whole(token: &str) -> bool {
    let digit = |sign: char| sign.is_ascii_digit();
    if !token.contains(digit) || !token.contains(['-', ':', '/']) {
        return false;
    }
    if token.contains("://") {
        return true;
    }
    let parts: Vec<&str> = token.split(['-', ':', '/']).collect();
    let range = parts.len() == 2 && token.contains('-') && parts.iter().all(|part| part.chars().all(digit));
    let worded = token.contains('-') && parts.iter().any(|part| !part.contains(digit));
    !range && !worded
}

/// Lower-case words joined by spaces, with a space at both ends.
pub(super) fn flat(text: &str) -> String {
    let mut flat = String::with_capacity(text.len() + 2);
    flat.push(' ');
    for word in crate::words::words(text) {
        flat.push_str(&crate::words::lower(word));
        flat.push(' ');
    }
    flat
}

/// Bytes of the longest quotation.
const LONGEST_QUOTE: usize = 80;

/// Calls `each` with what stands between quotation marks, 3 to 80 bytes of one line.
fn quoted<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    let mut before = ' ';
    let mut from = 0;
    for (at, sign) in text.char_indices() {
        let close = match sign {
            '"' | '`' => sign,
            '\'' if !before.is_alphanumeric() => sign,
            '“' => '”',
            '「' => '」',
            '『' => '』',
            '«' => '»',
            _ => {
                before = sign;
                continue;
            }
        };
        before = sign;
        let inner = &text[at + sign.len_utf8()..];
        if at < from {
            continue;
        }
        // an end that is farther away would not count
        let near = first_bytes(inner, LONGEST_QUOTE + 4);
        let mut ends = near.match_indices(close).map(|(end, _)| end);
        let end = ends.find(|&end| close != '\'' || !inner[end + 1..].starts_with(char::is_alphanumeric));
        if let Some(end) = end
            && (3..=LONGEST_QUOTE).contains(&end)
            && !inner[..end].contains('\n')
        {
            each(&inner[..end]);
            from = at + sign.len_utf8() + end + close.len_utf8();
        }
    }
}

/// Calls `each` with runs of two or more capitalised words that are not all of them general.
fn capitals<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    let mut run: Vec<(usize, usize)> = Vec::new();
    let mut opens = true;
    let mut close = |run: &mut Vec<(usize, usize)>| {
        let specific = run.iter().any(|&(start, end)| !is_general(&text[start..end].to_lowercase()));
        if run.len() >= 2 && specific {
            each(&text[run[0].0..run[run.len() - 1].1]);
        }
        run.clear();
    };
    let mut last = 0;
    for word in text.split(|sign: char| !(sign.is_alphanumeric() || matches!(sign, '_' | '\'' | '’'))) {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        if word.is_empty() {
            continue;
        }
        let gap = &text[last..start];
        if gap != " " {
            close(&mut run);
            opens = last == 0 || gap.contains(['.', '*', ':', '!', '?', '✅', '✓', '-']);
        }
        let mut signs = word.chars();
        let capital = signs.next().is_some_and(char::is_uppercase)
            && signs.clone().next().is_some()
            && signs.all(|sign| sign.is_lowercase() || matches!(sign, '\'' | '’'));
        // the first word of a sentence is a capital anyway
        let lower = word.to_lowercase();
        let sentence = opens && run.is_empty() && (last == 0 || is_general(&lower));
        opens = false;
        if capital && !sentence {
            run.push((start, start + word.len()));
        } else {
            close(&mut run);
        }
        last = start + word.len();
    }
    close(&mut run);
}

fn is_general(word: &str) -> bool {
    STOP.contains(&word)
        || GENERIC.contains(&word)
        || VERBS.contains(&word)
        || is_past(word)
        || word.ends_with("ing")
        || word.ends_with("tion")
        || ["api", "apis", "login", "auth", "credential", "credentials", "token", "tokens", "password"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Atoms::of(text).values.into_iter().map(|value| format!("{:?} {}", value.kind, value.text)).collect()
    }

    #[test]
    fn values_by_kind() {
        assert_eq!(values("Mail mel.bailey@gmail.com."), ["Address mel.bailey@gmail.com"]);
        assert_eq!(values("total $471.00, 471.0 and 471"), ["Number 471"]);
        assert_eq!(values("on 2023-05-18T06:50:00"), ["Whole 2023-05-18t06:50:00"]);
        assert_eq!(values("IDs 155-161"), ["Number 155", "Number 161"]);
        assert_eq!(values("apis.venmo.show_account(x1)"), ["Call show_account", "Identifier x1"]);
    }

    #[test]
    fn phrases_are_quotes_and_names() {
        let phrases = |text: &str| Atoms::of(text).phrases.into_keys().collect::<Vec<_>>();
        assert_eq!(phrases("Found \"Siren's Call\" by Luna Starlight"), [" luna starlight ", " siren s call "]);
        assert_eq!(phrases("Retrieved the note's text: it isn't Bob's"), [""; 0]);
        assert_eq!(phrases("Logged into `a = b c`"), [""; 0]);
    }

    #[test]
    fn scripts_without_spaces_go_by_pairs() {
        let atoms = Atoms::of("请求编号");
        assert_eq!(atoms.stems.into_iter().collect::<Vec<_>>(), ["求编", "编号", "请求"]);
    }
}
