//! Forms with rules of their own: SQL, pairs of name and value, cookies of a call, commands with a password among their
//! arguments, and sentences in which the password comes first.

use std::ops::Range;

use super::find::{Join, accept, fits, join, read_plain, skip_closing, skip_spaces, word_end};
use super::names::Kind;
use super::values::{self, Form, Value, read};

/// What a word that names no secret announces.
pub(super) fn unnamed(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    match &text[word.clone()] {
        "by" | "BY" | "By" => identified(text, word),
        "echo" | "printf" => piped(text, word),
        "htpasswd" => htpasswd(text, word),
        "cookies" | "Cookies" => cookies(text, word),
        "credentials" | "Credentials" | "creds" | "Creds" | "login" | "Login" => pair_of(text, word),
        _ => None,
    }
}

/// What a name of a secret announces in another way than by a sign behind it.
pub(super) fn named(text: &str, word: &Range<usize>, kind: Kind, before: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let name = &text[word.clone()];
    if let Some(value) = value_of_pair(text, word) {
        let form = if value.quoted { Form::Quoted } else { Form::Setting };
        return accept(text, &value, kind, form);
    }
    if kind != Kind::Password && kind != Kind::Token {
        return None;
    }
    // PASSWORD('x')
    if bytes.get(word.end) == Some(&b'(') && (name == "PASSWORD" || name == "password" || name == "OLD_PASSWORD") {
        let value = read(text, word.end + 1, false).filter(|value| value.quoted && bytes.get(value.end) == Some(&b')'));
        return accept(text, &value?, kind, Form::Quoted);
    }
    if bytes.get(word.end) != Some(&b' ') {
        return None;
    }
    let at = skip_spaces(bytes, word.end);
    if ["WITH", "ENCRYPTED", "with", "encrypted"].contains(&before) && bytes.get(at) == Some(&b'\'') {
        return accept(text, &read(text, at, false)?, kind, Form::Quoted);
    }
    let line = matches!(before, "ENV" | "ARG" | "setenv")
        || (before == "define" && word.start >= 8 && bytes[word.start - 8] == b'#');
    if line && !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        let value = read(text, at, false)?;
        let form = if value.quoted { Form::Quoted } else { Form::Variable };
        return accept(text, &value, Kind::Password, form);
    }
    None
}

/// "Use x as the password", "the password (x)".
pub(super) fn said_before(text: &str, word: &Range<usize>, kind: Kind) -> Option<Range<usize>> {
    if kind != Kind::Password && kind != Kind::Token {
        return None;
    }
    let bytes = text.as_bytes();
    if bytes[word.end..].starts_with(b" (") {
        let value = read(text, word.end + 2, false)?;
        if bytes.get(value.end) == Some(&b')') && values::is_odd(&text[value.range.clone()]) {
            return fits(text, value.range);
        }
    }
    let from = word.start.saturating_sub(120);
    let window = &bytes[from..word.start];
    let line = window.iter().rposition(|&byte| byte == b'\n').map_or(from, |at| from + at + 1);
    let mut end = word.start;
    for _ in 0..4 {
        let length = bytes[line..end].strip_suffix(b" ").map(<[u8]>::len)?;
        let start = bytes[line..line + length].iter().rposition(|&byte| byte == b' ').map_or(line, |at| line + at + 1);
        if &bytes[start..line + length] == b"as" {
            let length = bytes[line..start].strip_suffix(b" ")?.len();
            let begin = bytes[line..line + length].iter().rposition(|&byte| byte == b' ').map(|at| line + at + 1)?;
            let value = text.get(begin..line + length)?;
            let quotes = ['"', '\'', '`', '*', '“', '”', ','];
            let begin = begin + value.len() - value.trim_start_matches(quotes).len();
            let value = value.trim_matches(quotes);
            return values::is_odd(value).then(|| begin..begin + value.len());
        }
        end = start;
    }
    None
}

/// `{"name": "DB_PASSWORD", "value": "x"}`, `- name: DB_PASSWORD\n  value: x`, `<add key="ApiKey" value="x"/>`: the value of
/// the pair whose name this word is.
fn value_of_pair(text: &str, word: &Range<usize>) -> Option<Value> {
    let bytes = text.as_bytes();
    let closed = skip_closing(bytes, word.end);
    let gap = bytes[closed..].iter().take(40).take_while(|&&byte| byte.is_ascii_whitespace() || byte == b',').count();
    let open = bytes[closed + gap..].iter().take(4).take_while(|byte| b"\\\"'".contains(byte)).count();
    let start = closed + gap + open;
    let end = if gap > 0 {
        start + bytes[start..].iter().take(6).take_while(|byte| byte.is_ascii_alphabetic()).count()
    } else {
        start
    };
    if !matches!(&bytes[start..end], b"value" | b"Value" | b"VALUE") {
        return None;
    }
    let at = skip_spaces(bytes, skip_closing(bytes, end));
    if !matches!(bytes.get(at), Some(b':' | b'=')) || bytes.get(at + 1) == Some(&b'=') {
        return None;
    }
    read(text, skip_spaces(bytes, at + 1), false)
}

/// `IDENTIFIED BY 'x'`, `IDENTIFIED WITH plugin BY 'x'`.
fn identified(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let window = &bytes[word.start.saturating_sub(80)..word.start];
    let before = window.windows(10).any(|part| part.eq_ignore_ascii_case(b"identified"));
    let at = skip_spaces(bytes, word.end);
    let at = if bytes[at..].starts_with(b"PASSWORD ") { at + 9 } else { at };
    let value = read(text, at, false).filter(|value| value.quoted && before)?;
    fits(text, value.range)
}

/// `echo x | sudo -S`.
fn piped(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let line = &bytes[word.end..bytes.len().min(word.end + 200)];
    let line = &line[..line.iter().position(|&byte| byte == b'\n').unwrap_or(line.len())];
    let pipe = line.iter().position(|&byte| byte == b'|')?;
    let rest = line[pipe + 1..].trim_ascii_start();
    let reads = rest.strip_prefix(b"sudo ").is_some_and(|rest| {
        rest.split(|&byte| byte == b' ').any(|part| part.starts_with(b"-") && part.contains(&b'S'))
    });
    if !reads {
        return None;
    }
    let mut at = skip_spaces(bytes, word.end);
    if bytes.get(at) == Some(&b'-') {
        at = skip_spaces(bytes, word_end(bytes, at));
    }
    let value = read(text, at, false)?;
    (value.end <= word.end + pipe).then(|| fits(text, value.range)).flatten()
}

/// `htpasswd -b file user x`, `htpasswd -nb user x`.
fn htpasswd(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut batch, mut printed, mut arguments) = (false, false, 0);
    let mut at = word.end;
    for _ in 0..8 {
        if bytes.get(at) != Some(&b' ') {
            return None;
        }
        at = skip_spaces(bytes, at);
        let value = read(text, at, false)?;
        let said = &text[value.range.clone()];
        if !value.quoted && said.starts_with('-') {
            batch |= said.contains('b');
            printed |= said.contains('n');
        } else {
            arguments += 1;
            if arguments == 3 - usize::from(printed) {
                return batch.then(|| fits(text, value.range)).flatten();
            }
        }
        at = value.end;
    }
    None
}

/// `cookies={"sessionid": "x"}`: the first value that is not replaced yet.
fn cookies(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (Join::Assign | Join::Colon, at) = join(text, word)? else { return None };
    let mut at = skip_spaces(bytes, at);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    for _ in 0..8 {
        let name = read(text, skip_spaces(bytes, at + 1), false).filter(|name| name.quoted)?;
        let colon = skip_spaces(bytes, name.end);
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        let value = read(text, skip_spaces(bytes, colon + 1), false).filter(|value| value.quoted)?;
        if let Some(secret) = fits(text, value.range) {
            return Some(secret);
        }
        at = skip_spaces(bytes, value.end);
        if bytes.get(at) != Some(&b',') {
            return None;
        }
    }
    None
}

/// `credentials: bob:x`.
fn pair_of(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let (Join::Assign | Join::Colon | Join::Sentence, at) = join(text, word)? else { return None };
    let mut at = skip_spaces(text.as_bytes(), at);
    at += text.as_bytes()[at..].iter().take(3).take_while(|byte| b"\"'`*".contains(byte)).count();
    let value = read_plain(text, at);
    let login = text[word.clone()].eq_ignore_ascii_case("login");
    let divides = |sign: char| sign == ':' || (sign == '/' && !login);
    let (user, secret) = text[value.clone()].split_once(divides)?;
    let end = value.start + user.len() + 1 + secret.len();
    (!user.is_empty() && values::is_odd(secret)).then(|| end - secret.len()..end)
}
