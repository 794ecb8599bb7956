//! Values behind the name of a secret: where they end, and whether they are one.

use std::ops::Range;

use super::STAND_IN;
use super::names::{self, Kind};
use super::shapes::has_random_part;

/// How a value stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In quotes or back ticks.
    Quoted,
    /// A variable in capitals, `DB_PASSWORD=x`.
    Variable,
    /// A setting: the rest of its line, a variable of the environment, an option of a command line.
    Setting,
    /// Behind a sign such as `:`, or named in a sentence ("is", "to").
    Named,
    /// Next to its name, with nothing that says it is the value.
    Loose,
}

/// A value that was read.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The value without quotes.
    pub(super) range: Range<usize>,
    /// Whether it stood in quotes.
    pub(super) quoted: bool,
    /// Where reading ended, quotes included.
    pub(super) end: usize,
}

/// Longest value in quotes, in bytes. Longer secrets are known by their form.
const QUOTED: usize = 512;

/// A value without quotes that is longer is not looked at any further: no word is, and judging it again from every name
/// in it would take quadratic time.
pub(super) const LONG: usize = 512;

/// Where reading from `at` ends at the latest: a few signs more than are looked at.
pub(super) fn most(text: &str, at: usize) -> usize {
    let mut most = text.len().min(at + LONG + 16);
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    most
}

/// Reads the value that begins at `at`. Without quotes it ends at white space, or, unless it is a line's whole rest, at
/// any sign that separates.
pub(super) fn read(text: &str, at: usize, whole: bool) -> Option<Value> {
    let bytes = text.as_bytes();
    if let Some(value) = quoted(bytes, at).or_else(|| framed(text, at)) {
        return Some(value);
    }
    // a quote that nothing closes: the text was cut
    let open = usize::from(bytes.get(at).is_some_and(|byte| b"\"'`".contains(byte)));
    let at = at + open;
    let separates = |byte: u8| byte.is_ascii_whitespace() || (!whole && b"\"'`,;|()[]{}<>".contains(&byte));
    let mut end = at;
    let most = most(text, at);
    while end < most && !separates(bytes[end]) {
        // an escape of the text around, such as \n in a JSON string
        if bytes[end] == b'\\' && bytes.get(end + 1).is_some_and(|next| b"nrt\"'".contains(next)) {
            break;
        }
        // the next field of a query, but not a sign of the password
        if bytes[end] == b'&' && !whole && begins_field(bytes, end + 1) {
            break;
        }
        end += 1;
    }
    // punctuation and emphasis behind the value are no part of it
    let value = text[at..end].trim_end_matches(['.', ':', '*', '\\', '…']).len();
    (value > 0).then_some(Value { range: at..at + value, quoted: open > 0, end })
}

/// Whether `name=` stands there.
pub(super) fn begins_field(bytes: &[u8], at: usize) -> bool {
    let name =
        bytes[at..].iter().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.[]".contains(byte)).count();
    name > 0 && bytes.get(at + name) == Some(&b'=')
}

/// A value in quotes. Quotes that are escaped themselves (JSON within JSON) close with as many backslashes.
fn quoted(bytes: &[u8], at: usize) -> Option<Value> {
    let escapes = bytes[at..].iter().take(8).take_while(|&&byte| byte == b'\\').count();
    let quote = *bytes.get(at + escapes).filter(|&&byte| b"\"'`".contains(&byte))?;
    let start = at + escapes + 1;
    let mut backslashes = 0;
    for (end, &byte) in bytes.iter().enumerate().skip(start).take(QUOTED) {
        match byte {
            b'\n' => return None,
            b'\\' => backslashes += 1,
            _ if byte == quote && (backslashes <= escapes || (escapes == 0 && backslashes % 2 == 0)) => {
                let inner = start..end - backslashes.min(escapes);
                return Some(Value { range: inner, quoted: true, end: end + 1 });
            }
            _ => backslashes = 0,
        }
    }
    None
}

/// A value in quotes that are no ASCII signs.
fn framed(text: &str, at: usize) -> Option<Value> {
    let pairs = [("“", "”"), ("„", "“"), ("«", "»"), ("‘", "’"), ("&quot;", "&quot;"), ("&#34;", "&#34;")];
    let (open, close) = pairs.iter().find(|(open, _)| text[at..].starts_with(open))?;
    let start = at + open.len();
    let length = text[start..most(text, start)].find(close)?;
    let inner = start..start + length;
    (length > 0 && !text[inner.clone()].contains('\n')).then_some(Value {
        end: inner.end + close.len(),
        range: inner,
        quoted: true,
    })
}

/// Whether a value behind a name of this kind is a secret. `next` is the byte behind it.
pub(super) fn is_secret(value: &str, kind: Kind, form: Form, next: Option<u8>) -> bool {
    if value.len() > LONG {
        return !value.contains(STAND_IN);
    }
    // what is secret in a URL is found by its form
    if value.is_empty()
        || value.contains(STAND_IN)
        || value.contains("://")
        || is_placeholder(value, form)
        || is_code(value, form, next)
    {
        return false;
    }
    // an address behind a name is often its owner's
    if matches!(form, Form::Named | Form::Loose) && is_mail(value) {
        return false;
    }
    let signs = Signs::of(value);
    let length = value.chars().count();
    match (kind, form) {
        (Kind::Pin, _) => signs.only_digits() && (4..=12).contains(&length),
        (Kind::Key, _) => !value.contains(' ') && has_random_part(value, 16),
        (Kind::Password, Form::Quoted) => !is_prose(value),
        (Kind::Session, _) => {
            length >= 20 && value.split(['-', '_', '.']).any(|part| part.len() >= 20) && {
                signs.digit && signs.letter && !signs.other
            }
        }
        (Kind::Password, Form::Setting | Form::Variable) => true,
        (Kind::Password, Form::Named) => match (signs.digit, signs.letter, signs.other) {
            (true, false, false) => length >= 4 && value.bytes().all(|byte| byte.is_ascii_digit()),
            // "12+ characters"
            (true, false, true) => length >= 5,
            (true, _, _) => length >= 3,
            (false, _, true) => length >= 6,
            (false, _, false) => length >= 8 && signs.inner_capital,
        },
        (Kind::Password, Form::Loose) => length >= 5 && signs.digit && signs.letter && !is_numbered_name(value),
        (Kind::Token, Form::Quoted) => {
            let mixed = signs.digit && length >= 6 && !is_numbered_name(value);
            !value.contains(' ') && (mixed || (length >= 16 && signs.inner_capital))
        }
        (Kind::Token, Form::Setting | Form::Variable | Form::Named) => {
            length >= 6 && signs.digit && signs.letter && !is_numbered_name(value)
        }
        (Kind::Token, Form::Loose) => {
            length >= 16 && !value.contains('/') && signs.digit && signs.letter && !is_numbered_name(value)
        }
    }
}

/// A value so unlike a word that it can be looked for where nothing names it.
pub(super) fn is_unmistakable(value: &str) -> bool {
    let signs = Signs::of(value);
    value.len() >= 6
        && signs.digit
        && signs.letter
        && !is_numbered_name(value)
        && !value.contains(' ')
        && !is_mail(value)
}

/// A value that is looked for everywhere once it is known. Numbers of few digits and what may be an ordinary word are
/// not.
pub(super) fn is_spread(value: &str) -> bool {
    if value.len() < 6 || value.len() > LONG || value.trim() != value || value.contains(STAND_IN) {
        return false;
    }
    let signs = Signs::of(value);
    let length = value.chars().count();
    if is_mail(value) || is_numbered_name(value) && !signs.only_digits() {
        return false;
    }
    match (signs.digit, signs.letter, signs.other) {
        // several words
        _ if value.contains(' ') => length >= 16,
        (true, false, false) => value.bytes().all(|byte| byte.is_ascii_digit()),
        (_, _, true) => signs.letter || signs.digit,
        (true, true, false) => true,
        (false, _, false) => length >= 16 || (length >= 8 && signs.inner_capital),
    }
}

/// An e-mail address.
fn is_mail(value: &str) -> bool {
    let host = value.split_once('@').map_or("", |(_, host)| host);
    let last = host.rsplit('.').next().unwrap_or_default();
    host.contains('.') && last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Whether a word of a sentence looks like a password: letters and digits, or signs between letters.
pub(super) fn is_odd(value: &str) -> bool {
    let signs = Signs::of(value);
    let inner = value.trim_matches(|sign: char| !sign.is_alphanumeric());
    let punctuated = inner.contains(['!', '@', '#', '$', '%', '^', '&', '*', '+', '=', '?', '~']) && signs.letter;
    value.len() >= 5
        && value.len() <= LONG
        && !value.contains(STAND_IN)
        && !value.contains("://")
        && !is_placeholder(value, Form::Named)
        && !is_code(value, Form::Named, None)
        && !is_mail(value)
        && !is_numbered_name(value)
        && ((signs.digit && signs.letter) || punctuated)
}

/// Whether this is `user:password` in Base64.
pub(super) fn is_basic(value: &str) -> bool {
    let (mut bits, mut held, mut colon) = (0u32, 0, false);
    for byte in value.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            let decoded = (bits >> held) & 0xff;
            if decoded < 0x20 || decoded == 0x7f {
                return false;
            }
            colon |= decoded == u32::from(b':');
        }
    }
    colon
}

/// Whether the argument of an option that takes nothing but a secret is one.
pub(super) fn is_argument(value: &str) -> bool {
    !value.is_empty() && !value.contains(STAND_IN) && !is_placeholder(value, Form::Setting)
}

/// Whether what follows `Bearer`, `Basic` or the like is a credential rather than a word.
pub(super) fn is_credential(value: &str) -> bool {
    if value.len() > LONG {
        return true;
    }
    let signs = Signs::of(value);
    value.len() >= 6
        && !value.contains(STAND_IN)
        && !value.contains("://")
        && !is_placeholder(value, Form::Named)
        && !is_code(value, Form::Named, None)
        && (signs.digit || signs.inner_capital || value.len() >= 20 || value.ends_with('='))
}

/// Which signs a value holds.
struct Signs {
    digit: bool,
    letter: bool,
    /// Anything but letters, digits, `_`, `-` and `.`.
    other: bool,
    /// A capital behind a small letter.
    inner_capital: bool,
}

impl Signs {
    fn of(value: &str) -> Signs {
        let mut signs = Signs { digit: false, letter: false, other: false, inner_capital: false };
        let mut before = '\0';
        for sign in value.chars() {
            signs.digit |= sign.is_ascii_digit();
            signs.letter |= sign.is_alphabetic();
            signs.other |= !sign.is_alphanumeric() && !matches!(sign, '_' | '-' | '.');
            signs.inner_capital |= sign.is_ascii_uppercase() && before.is_ascii_lowercase();
            before = sign;
        }
        signs
    }

    fn only_digits(&self) -> bool {
        self.digit && !self.letter && !self.other
    }
}

/// Words that stand where a value could: types, states, parts of a sentence.
const NO_VALUES: &[&str] = &[
    "string",
    "str",
    "text",
    "varchar",
    "int",
    "integer",
    "number",
    "bool",
    "boolean",
    "bytes",
    "object",
    "any",
    "secretstr",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "yes",
    "no",
    "n/a",
    "na",
    "tbd",
    "todo",
    "unknown",
    "missing",
    "required",
    "optional",
    "invalid",
    "valid",
    "incorrect",
    "wrong",
    "obtained",
    "found",
    "retrieved",
    "fetched",
    "stored",
    "saved",
    "known",
    "needed",
    "available",
    "unavailable",
    "provided",
    "given",
    "changed",
    "updated",
    "reset",
    "set",
    "unset",
    "empty",
    "default",
    "hidden",
    "redacted",
    "masked",
    "removed",
    "omitted",
    "expired",
    "pending",
    "done",
    "ok",
    "same",
    "see",
    "from",
    "above",
    "below",
    "confirmed",
    "verified",
    "prompt",
    "stdin",
    "env",
    "environment",
    "password",
    "passwd",
    "token",
    "key",
    "bearer",
    "basic",
    "value",
    "flag",
    "flags",
    "options",
    "arguments",
    "option",
    "argument",
    "parameter",
    "field",
    "and",
    "or",
    "is",
    "to",
    "for",
    "the",
    "a",
    "in",
    "with",
    "of",
    "on",
    "at",
    "it",
    "not",
    "must",
    "was",
    "are",
    "has",
    "auth",
    "authentication",
    "authorization",
    "example",
    "oauth",
    "oauth1",
    "oauth2",
    "jwt",
    "saml2",
    "base64",
    "utf8",
    "md5",
    "sha1",
    "sha256",
    "sha512",
    "x509",
    "hs256",
    "rs256",
];

fn is_placeholder(value: &str, form: Form) -> bool {
    let variable = value.strip_prefix('$').is_some_and(|rest| {
        let name = rest.starts_with(['{', '(']) || rest.starts_with(|sign: char| sign.is_ascii_alphabetic());
        name && (form != Form::Quoted || !rest.bytes().any(|byte| byte.is_ascii_lowercase()) || rest.starts_with('{'))
    });
    let mut signs = value.chars();
    let first = signs.next();
    let same = value.len() > 1 && signs.all(|sign| Some(sign) == first);
    let framed = [('<', '>'), ('{', '}'), ('[', ']'), ('(', ')'), ('%', '%'), ('*', '*')]
        .iter()
        .any(|&(open, close)| value.starts_with(open) && value.ends_with(close));
    let formatted = value.starts_with('%') && value.len() <= 3;
    let colour = value
        .strip_prefix('#')
        .is_some_and(|hex| matches!(hex.len(), 3 | 6) && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let lower = value.to_lowercase();
    let yours = ["your_", "your-", "your ", "<your", "yourpass", "my_pass", "changeme_", "enter "]
        .iter()
        .any(|start| lower.starts_with(start));
    let plain = lower.trim_matches(|sign: char| !sign.is_alphanumeric());
    let file = value.starts_with("~/")
        || value.starts_with("./")
        || [".pem", ".key", ".pub", ".p12", ".crt"].iter().any(|ending| lower.ends_with(ending));
    let tag = matches!(value, "!vault" | "!secret" | "!reference" | "!Ref" | "!Sub" | "!GetAtt" | "!env");
    variable
        || file
        || tag
        || framed
        || formatted
        || colour
        || yours
        || (same && !value.starts_with(|sign: char| sign.is_ascii_digit()))
        || plain.is_empty()
        || NO_VALUES.contains(&plain)
}

/// An expression rather than a literal: a call, an index, a path of names, the name of such a secret itself.
fn is_code(value: &str, form: Form, next: Option<u8>) -> bool {
    if value == "secret" && matches!(form, Form::Quoted | Form::Setting | Form::Variable) {
        return false;
    }
    let name = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    // in quotes `Password22` is one, `password` and `my_password1` are not
    let few = digits < 2 || (form != Form::Quoted && value.ends_with(|sign: char| sign.is_ascii_alphabetic()));
    // what stands in quotes is no expression; `account_password` names a field, `adminpassword` is one
    let literal = matches!(form, Form::Quoted | Form::Variable) && !value.contains(['_', '.']);
    if name && few && !literal && value.split('.').any(|part| names::kind(part, "").is_some()) {
        return true;
    }
    let dotted = name
        && digits < 3
        && value.contains('.')
        && value.split('.').all(|part| {
            part.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
                && (digits == 0 || !part.bytes().any(|byte| byte.is_ascii_uppercase()))
        });
    let called = value.ends_with([')', ']']) && value.starts_with(|sign: char| sign.is_ascii_alphabetic());
    form != Form::Quoted && (dotted || (called && value.contains(['(', '['])) || matches!(next, Some(b'(' | b'[')))
}

/// `step_12`, `gpt-4`, `2023-05-01`: every part only letters or only digits.
fn is_numbered_name(value: &str) -> bool {
    let plain = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphabetic()) || part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts = || value.split(['_', '-', '.', ':', '/', ',']);
    parts().count() > 1 && parts().all(plain)
}

/// A remark in quotes.
fn is_prose(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let said = |word: &&str| {
        let word = word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
        // a passphrase may hold one of these, and a single letter is no word that tells
        let joins = matches!(
            word.as_str(),
            "from" | "to" | "in" | "on" | "at" | "it" | "of" | "and" | "or" | "for" | "with" | "the" | "yes" | "no"
        );
        !joins
            && word.len() > 1
            && (NO_VALUES.contains(&word.as_str()) || matches!(word.as_str(), "your" | "too" | "be"))
    };
    words.len() > 1 && words.iter().any(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_close_as_they_opened() {
        let value = |text: &'static str| read(text, 0, false).map(|value| &text[value.range]);
        assert_eq!(value(r#""a 'b' \" c" d"#), Some(r#"a 'b' \" c"#));
        assert_eq!(value(r#"\"ab\", \"cd\""#), Some("ab"));
        assert_eq!(value("'never closed\n'"), Some("never"));
        assert_eq!(value("x1)"), Some("x1"));
        assert_eq!(value("x1.\n"), Some("x1"));
        assert_eq!(value(r"x1\nnext"), Some("x1"));
        assert_eq!(value(""), None);
    }
}
