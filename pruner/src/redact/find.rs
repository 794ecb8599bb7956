//! The walk over a text that finds its secrets.

use std::ops::Range;

use super::names::{self, Kind};
use super::shapes;
use super::special;
use super::values::{self, Form, read};

/// Places of all secrets of a text, in no order; some may overlap.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    shapes::private_keys(text, &mut found);
    shapes::url_credentials(text, &mut found);
    shapes::aws_keys(text, &mut found);
    shapes::hashes(text, &mut found);
    shapes::pgpass(text, &mut found);
    let mut place = Place::default();
    let mut behind = 0;
    for word in words(text) {
        place.advance(text, &word);
        // a part of the secret found last
        if word.start < behind {
            continue;
        }
        if let Some(secret) = secret_at(text, &word, &place) {
            // what is longer than was looked at is taken whole; nothing of it is read again
            let end = if secret.len() > values::LONG { run_end(text, secret.end) } else { secret.end };
            behind = behind.max(end);
            found.push(secret.start..end);
        }
    }
    found
}

/// Where a run of signs without white space, quotes, markup and escapes ends.
fn run_end(text: &str, at: usize) -> usize {
    let stop = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<\\".contains(byte);
    text.as_bytes()[at..].iter().position(stop).map_or(text.len(), |length| at + length)
}

fn secret_at(text: &str, word: &Range<usize>, place: &Place<'_>) -> Option<Range<usize>> {
    if let Some(end) = shapes::token(text, word, place.in_path) {
        return Some(word.start..end);
    }
    let unnamed = header(text, word).or_else(|| scheme(text, word)).or_else(|| option(text, word, place));
    unnamed.or_else(|| special::unnamed(text, word)).or_else(|| {
        let kind = names::kind(&text[word.clone()], place.before)?;
        let special = special::named(text, word, kind, place.before);
        special.or_else(|| named(text, word, kind, place)).or_else(|| special::said_before(text, word, kind))
    })
}

/// Signs of a word; every byte of a sign that is not ASCII counts as one.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || !byte.is_ascii()
}

/// Where the word that begins at `at` ends.
pub(super) fn word_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| !is_word(byte)).map_or(bytes.len(), |length| at + length)
}

/// The words of a text, stand-ins left out. The letter of an escape (`\n` in a JSON string) is no part of a word.
pub(super) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes[at..].iter().position(|&byte| is_word(byte))?;
            let end = word_end(bytes, start);
            at = end;
            let before = start.checked_sub(1).map(|before| bytes[before]);
            let stand_in = before == Some(b'<') && bytes.get(end) == Some(&b'>') && {
                let number = text[start..end].strip_prefix(&super::STAND_IN[1..]);
                number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
            };
            if stand_in {
                continue;
            }
            let escaped = before == Some(b'\\') && b"nrt".contains(&bytes[start]) && start + 1 < end;
            return Some(start + usize::from(escaped)..end);
        }
    })
}

/// What is known of the place of a word.
#[derive(Default)]
struct Place<'a> {
    /// Where the walk is.
    at: usize,
    /// Where the line begins.
    line: usize,
    /// The word before, if only a space stands between.
    before: &'a str,
    /// The command whose options these are.
    command: Option<Command>,
    /// Where the run of signs without white space and quotes begins.
    run: usize,
    /// Whether a slash stands in that run.
    slashed: bool,
    /// Whether that run is the path of a file.
    in_path: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Mysql,
    /// Of those whose `-p` takes a password.
    Login,
    Redis,
    Curl,
    /// Of those whose `-P` takes a password.
    Upper,
    Ldap,
    Samba,
}

impl<'a> Place<'a> {
    /// Moves on to the next word.
    fn advance(&mut self, text: &'a str, word: &Range<usize>) {
        let bytes = text.as_bytes();
        let gap = &bytes[self.at..word.start];
        if let Some(end) = gap.iter().rposition(|&byte| byte == b'\n') {
            self.line = self.at + end + 1;
        }
        let goes_on = |end: usize| end > 0 && gap[end - 1] == b'\\';
        let ends = |(at, &byte): (usize, &u8)| matches!(byte, b'|' | b';') || (byte == b'\n' && !goes_on(at));
        if gap.iter().enumerate().any(ends) {
            self.command = None;
        }
        let divides = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;()[]{}<>|=".contains(byte);
        if let Some(end) = gap.iter().rposition(divides) {
            self.run = self.at + end + 1;
            self.slashed = false;
        }
        self.slashed |= bytes[self.run.max(self.at)..word.start].contains(&b'/');
        let drive = bytes.get(self.run + 1..self.run + 3) == Some(b":\\".as_slice());
        self.in_path = drive || (self.slashed && matches!(bytes[self.run], b'/' | b'.' | b'~'));
        self.before = if gap == b" " { self.word_before(text) } else { "" };
        self.at = word.end;
        match &text[word.clone()] {
            "sshpass" => self.command = Some(Command::Login),
            "login" if matches!(self.before, "docker" | "podman") => self.command = Some(Command::Login),
            "login" if self.before == "az" => self.command = Some(Command::Login),
            "mongo" | "mongosh" | "mongodump" | "mongorestore" | "mongoexport" | "mongoimport" => {
                self.command = Some(Command::Login);
            }
            "7z" | "7za" | "7zr" | "7zz" | "rar" | "unrar" => self.command = Some(Command::Mysql),
            "sqlcmd" | "bcp" | "unzip" | "zip" => self.command = Some(Command::Upper),
            "smbclient" | "rpcclient" => self.command = Some(Command::Samba),
            name if name.starts_with("ldap") => self.command = Some(Command::Ldap),
            "redis-cli" => self.command = Some(Command::Redis),
            "curl" => self.command = Some(Command::Curl),
            name if name.starts_with("mysql") || name.starts_with("mariadb") => self.command = Some(Command::Mysql),
            _ => {}
        }
    }

    /// The word that ends where the walk is: of the names that matter none is longer than this.
    fn word_before(&self, text: &'a str) -> &'a str {
        let bytes = text.as_bytes();
        let letters = bytes[..self.at].iter().rev().take(12).take_while(|byte| byte.is_ascii_alphabetic()).count();
        &text[self.at - letters..self.at]
    }

    /// Whether nothing but the beginning of a setting stands before the word in its line.
    fn begins_line(&self, text: &str, word: &Range<usize>) -> bool {
        let before = &text.as_bytes()[self.line..word.start];
        if before.len() > 64 {
            return false;
        }
        matches!(before.trim_ascii(), b"" | b"-" | b"*" | b"export" | b"set" | b"ENV" | b"- **" | b"**" | b"* **")
    }
}

/// Skips spaces and tabs, at most a column of a table.
pub(super) fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(64).take_while(|&&byte| matches!(byte, b' ' | b'\t')).count()
}

/// Skips what may close a name: quotes, emphasis, brackets.
pub(super) fn skip_closing(bytes: &[u8], at: usize) -> usize {
    for close in ["&quot;", "&#34;", "”", "»", "’"] {
        if bytes[at..].starts_with(close.as_bytes()) {
            return at + close.len();
        }
    }
    at + bytes[at..].iter().take(6).take_while(|byte| b"\\\"'`*])".contains(byte)).count()
}

/// What joins a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    Assign,
    Colon,
    Comma,
    Tag,
    Sentence,
    Space,
}

/// The sign or words behind a name, and where they end.
pub(super) fn join(text: &str, word: &Range<usize>) -> Option<(Join, usize)> {
    let bytes = text.as_bytes();
    let closed = skip_closing(bytes, word.end);
    let mut at = skip_spaces(bytes, closed);
    let spaced = at > closed;
    // a remark: password (Spotify): x, Secret Access Key [None]: x
    let remark = match bytes.get(at) {
        Some(b'(') if spaced => Some(b')'),
        Some(b'[') if spaced => Some(b']'),
        _ => None,
    };
    if let Some(close) = remark {
        let inside = bytes[at..].iter().take(40).take_while(|&&byte| byte != b'\n');
        let length = inside.copied().position(|byte| byte == close)?;
        at = skip_closing(bytes, skip_spaces(bytes, at + length + 1));
    }
    let rest = &bytes[at..];
    let sign = |join, length| Some((join, at + length));
    match rest {
        [b':', b':', ..] | [b':', b'/', b'/', ..] => None,
        [b':', b'=', ..] => sign(Join::Assign, 2),
        // a comparison or a pair, but no setting
        [b'=', b'=' | b'>', ..] | [b'-', b'>', ..] => sign(Join::Sentence, 2),
        [b':', ..] => sign(Join::Colon, 1),
        [b'=', ..] => sign(Join::Assign, 1),
        _ if remark.is_some() => None,
        [b'>', ..] if word.start > 0 && bytes[word.start - 1] == b'<' => sign(Join::Tag, 1),
        [b'|', ..] | [b'-', b' ', ..] => sign(Join::Space, 1),
        _ if text[at..].starts_with(['→', '—', '–']) => sign(Join::Sentence, '→'.len_utf8()),
        [b',', ..] if closed > word.end => sign(Join::Comma, 1),
        _ if spaced => sentence(text, at).map(|at| (Join::Sentence, at)).or(Some((Join::Space, at))),
        _ => None,
    }
}

/// "is", "was changed to", "for venmo is": where the value of a name is said in words.
fn sentence(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let stop = bytes[at..].iter().take(100).position(|&byte| byte == b'\n').unwrap_or(100).min(bytes.len() - at);
    let mut words = bytes[at..at + stop].split(|&byte| byte == b' ').scan(at, |next, word| {
        let end = *next + word.len();
        *next = end + 1;
        Some((word, end))
    });
    let behind = |end: usize| Some(skip_spaces(bytes, end));
    let (first, end) = words.next()?;
    let first = first.strip_suffix(b":").unwrap_or(first);
    match first {
        b"to" | b"remains" | b"equals" | b"became" | b"reads" => behind(end),
        b"should" | b"must" | b"will" | b"shall" | b"would" => {
            words.next().filter(|(word, _)| matches!(*word, b"be" | b"be:")).and_then(|(_, end)| behind(end))
        }
        b"turned" => {
            let rest = [words.next()?, words.next()?, words.next()?];
            (rest.map(|(word, _)| word) == [b"out".as_slice(), b"to", b"be"]).then(|| behind(rest[2].1)).flatten()
        }
        b"is" | b"was" | b"are" | b"has" => {
            let mut last = end;
            for (word, end) in words.clone().take(3) {
                match word {
                    b"from" => return changed(text, end, stop + at),
                    b"to" | b"now" | b"as" => return behind(end),
                    b"set" | b"changed" | b"reset" | b"updated" | b"been" => last = end,
                    _ => break,
                }
            }
            behind(last)
        }
        b"set" | b"changed" | b"reset" | b"updated" | b"rotated" => match words.next()? {
            (b"to", end) => behind(end),
            (b"from", end) => changed(text, end, stop + at),
            _ => None,
        },
        b"from" => changed(text, end, stop + at),
        b"for" | b"of" | b"on" => {
            for (word, end) in words.take(5) {
                if matches!(word, b"is" | b"was" | b"=" | b":") || word.ends_with(b":") {
                    return behind(end);
                }
            }
            None
        }
        _ => None,
    }
}

/// "from x to y": x, or y where x is replaced already or is no password.
fn changed(text: &str, at: usize, stop: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let at = skip_spaces(bytes, at);
    let stop = stop.max(at);
    let length = bytes[at..stop].iter().position(|&byte| byte == b' ').unwrap_or(stop - at);
    let quotes = |byte: &u8| b"\"'`*".contains(byte);
    let old = bytes[at..at + length].iter().position(|byte| !quotes(byte)).unwrap_or(0);
    // where bytes were cut a sign may be too
    if text.get(at + old..at + length).is_some_and(|old| values::is_odd(old.trim_end_matches(['"', '\'', '`', '*']))) {
        return Some(at);
    }
    bytes[at + length..stop].starts_with(b" to ").then(|| skip_spaces(bytes, at + length + 4))
}

/// The value of a named secret.
fn named(text: &str, word: &Range<usize>, kind: Kind, place: &Place<'_>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let name = &text[word.clone()];
    let option = name.starts_with("--");
    let (join, at) = join(text, word)?;
    let mut at = skip_markup(bytes, skip_spaces(bytes, at));
    let mut next_line = false;
    // a block of YAML: `password: |`
    if let [b'|' | b'>', rest @ ..] = &bytes[at..]
        && join == Join::Colon
    {
        let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
        at += if matches!(rest.get(sign), Some(b'\n' | b'\r')) { 1 + sign } else { 0 };
    }
    if join == Join::Colon && matches!(bytes.get(at), Some(b'\n' | b'\r')) {
        at += bytes[at..].iter().take(64).take_while(|byte| byte.is_ascii_whitespace()).count();
        next_line = true;
    }
    at = skip_type(text, at);
    if let [b'f' | b'F' | b'b' | b'B' | b'r' | b'R' | b'u' | b'U' | b'N', b'"' | b'\'', ..] = &bytes[at..] {
        at += 1;
    }
    // a directory: the other meaning of the name
    if name.to_ascii_lowercase().ends_with("pwd") && matches!(bytes.get(at), Some(b'/' | b'~' | b'.')) {
        return None;
    }
    // GITHUB_TOKEN=x says more than token=x, but N_TOKEN=30 is a number
    let variable = join == Join::Assign && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let number = bytes.get(at).is_some_and(u8::is_ascii_digit);
    let kind = if variable && kind == Kind::Token && !number { Kind::Password } else { kind };
    let signed = matches!(join, Join::Assign | Join::Colon);
    if signed && !next_line && place.begins_line(text, word) {
        let value = read(text, at, true)?;
        let rest = bytes[value.end..].iter().take(64).take_while(|&&byte| byte != b'\n');
        let ends_line = rest.copied().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| byte == b'#');
        // an argument or a call may have a line of its own
        let code = b",;()[]{}".contains(&bytes[value.end - 1]);
        // fields of a connection string or of a form in one line
        let fields = (value.range.start..value.range.end)
            .any(|at| b",;&".contains(&bytes[at]) && values::begins_field(bytes, at + 1));
        if !value.quoted && ends_line && !code && !fields {
            return accept(text, &value, kind, if variable { Form::Variable } else { Form::Setting });
        }
    }
    let value = read(text, at, false)?;
    // `<password>@host` is a placeholder, `<password>x</password>` an element
    if join == Join::Tag && !text[value.end..].starts_with("</") {
        return None;
    }
    // name=value in a query or a connection string; an argument of a call is followed by a comma or a bracket
    let field = join == Join::Assign
        && at == word.end + 1
        && bytes.get(value.end).is_none_or(|byte| byte.is_ascii_whitespace() || b"&;\"'".contains(byte));
    // "pass" alone is mostly a verb
    let pass = kind == Kind::Token && value.quoted && signed && name.eq_ignore_ascii_case("pass");
    let kind = if pass { Kind::Password } else { kind };
    let form = match join {
        _ if value.quoted => Form::Quoted,
        Join::Comma => return None,
        _ if variable => Form::Variable,
        _ if option || field || join == Join::Tag => Form::Setting,
        Join::Space => Form::Loose,
        _ if next_line => Form::Loose,
        _ => Form::Named,
    };
    // a list of names looks the same as a call: only options, and calls of two arguments
    let call = || bytes.get(value.end) == Some(&b')') && word.start > 1 && bytes[word.start - 2] == b'(';
    if join == Join::Comma && !option && !call() {
        return None;
    }
    // "the password 'field'": quotes next to a name say less than behind a sign
    if join == Join::Space && value.quoted && !option {
        return accept(text, &value, kind, Form::Named);
    }
    // an option behind an option
    if option && text[value.range.clone()].starts_with('-') && join == Join::Space {
        return None;
    }
    accept(text, &value, kind, form)
}

pub(super) fn accept(text: &str, value: &values::Value, kind: Kind, form: Form) -> Option<Range<usize>> {
    let next = text.as_bytes().get(value.end).copied();
    // a value that a stand-in follows was longer
    if !value.quoted && text[value.end..].starts_with(super::STAND_IN) {
        return None;
    }
    values::is_secret(&text[value.range.clone()], kind, form, next).then(|| value.range.clone())
}

/// Skips emphasis before a value, and the spaces behind it.
fn skip_markup(bytes: &[u8], at: usize) -> usize {
    let stars = bytes[at..].iter().take(2).take_while(|&&byte| byte == b'*').count();
    skip_spaces(bytes, at + stars)
}

/// Skips a type: `password: str = "x"`.
fn skip_type(text: &str, at: usize) -> usize {
    for name in ["str", "string", "String", "&str", "SecretStr", "Optional[str]", "&'static str"] {
        if text[at..].starts_with(name) {
            let behind = skip_spaces(text.as_bytes(), at + name.len());
            if let [b'=', next, ..] = &text.as_bytes()[behind..]
                && *next != b'='
            {
                return skip_spaces(text.as_bytes(), behind + 1);
            }
        }
    }
    at
}

/// Credentials behind `Authorization:` and what behind `Cookie:` or `Set-Cookie:`.
fn header(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let name = &text[word.clone()];
    let ends = |ending: &str| {
        name.len() >= ending.len()
            && name.as_bytes()[name.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
    };
    let (authorization, cookie) = (ends("authorization"), ends("cookie"));
    if !authorization && !cookie {
        return None;
    }
    let (join, at) = join(text, word)?;
    if matches!(join, Join::Sentence | Join::Space) {
        return None;
    }
    let mut at = skip_markup(bytes, skip_spaces(bytes, at));
    // the value's own quotes end it, or those around the whole header
    let around = word.start.checked_sub(1).map(|before| bytes[before]).filter(|before| b"\"'`".contains(before));
    if let [b'f' | b'F' | b'b' | b'B', b'"' | b'\'', ..] = &bytes[at..] {
        at += 1;
    }
    let escapes = bytes[at..].iter().take(8).take_while(|&&byte| byte == b'\\').count();
    let own = bytes.get(at + escapes).copied().filter(|byte| b"\"'`".contains(byte));
    if own.is_some() {
        at += escapes + 1;
    }
    let quote = own.or(around);
    // `<` begins markup or a stand-in
    let ends = |end: usize| {
        matches!(bytes[end], b'\n' | b'\r' | b'<')
            || Some(bytes[end]) == quote
            || (bytes[end] == b'\\' && matches!(bytes.get(end + 1), Some(b'n' | b'r')))
    };
    // what was read is the value, so nothing is read twice
    let end = || {
        let end = (at..bytes.len()).find(|&end| ends(end)).unwrap_or(bytes.len());
        at + text[at..end].trim_end_matches(['\\', ' ']).len()
    };
    if cookie {
        let token = bytes[at..].iter().take(64).take_while(|&&byte| is_word(byte) || byte == b'.').count();
        let pair = token > 0
            && bytes.get(at + token) == Some(&b'=')
            && bytes.get(at + token + 1).is_some_and(|next| !b" =".contains(next));
        return pair.then(|| at..end());
    }
    let first = read_plain(text, at);
    let scheme = &text[first.clone()];
    if bytes.get(first.end) == Some(&b' ') && is_scheme(scheme) {
        return fits(text, read_plain(text, skip_spaces(bytes, first.end)));
    }
    let rest = ["Digest", "AWS4-HMAC-SHA256", "Negotiate", "NTLM", "OAuth", "Hawk", "SharedKey", "Signature"];
    if bytes.get(first.end) == Some(&b' ') && rest.iter().any(|name| scheme.eq_ignore_ascii_case(name)) {
        let start = first.end + 1;
        let end = end();
        return (end > start).then_some(start..end);
    }
    let opaque = values::is_credential(scheme) && (scheme.len() >= 16 || values::is_unmistakable(scheme));
    let call = scheme.len() <= values::LONG && matches!(bytes.get(first.end), Some(b'(' | b'['));
    (opaque && !call && join != Join::Comma).then_some(first)
}

/// A run without white space, quotes and separators.
pub(super) fn read_plain(text: &str, at: usize) -> Range<usize> {
    let stop = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;()[]{}<>\\".contains(byte);
    let most = values::most(text, at);
    let length = text.as_bytes()[at..most].iter().position(stop).unwrap_or(most - at);
    let end = at + text[at..at + length].trim_end_matches(['.', ':']).len();
    at..end
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "apikey", "bot"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// `Bearer x` and `Basic x` wherever they stand.
fn scheme(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let name = &text[word.clone()];
    let known = name.eq_ignore_ascii_case("bearer") || name.eq_ignore_ascii_case("basic");
    if !known || text.as_bytes().get(word.end) != Some(&b' ') {
        return None;
    }
    let value = behind_scheme(text, word.end)?;
    let found = &text[value.clone()];
    // "Basic JavaScript", "Basic 101"
    let base64 = found.len() >= 8 && (found.ends_with('=') || values::is_basic(found));
    (name.eq_ignore_ascii_case("bearer") || base64).then_some(value)
}

fn behind_scheme(text: &str, at: usize) -> Option<Range<usize>> {
    let value = read_plain(text, skip_spaces(text.as_bytes(), at));
    let stand_in = text[value.end..].starts_with(super::STAND_IN);
    (!stand_in && values::is_credential(&text[value.clone()])).then_some(value)
}

/// Options without a name that says so: `-u user:pw`, `mysql -px`, `sshpass -p x`, `redis-cli -a x`, `curl -b sid=x`.
fn option(text: &str, word: &Range<usize>, place: &Place<'_>) -> Option<Range<usize>> {
    let name = &text[word.clone()];
    if !name.starts_with('-') {
        return None;
    }
    let command = place.command;
    if name.starts_with("-p") && matches!(command, Some(Command::Mysql | Command::Login)) {
        // `"-p", "x"`: a quote closes the option
        let closed = word.start > 0 && b"\"'".contains(&text.as_bytes()[word.start - 1]) && name == "-p";
        let attached = read(text, word.start + 2, false).filter(|_| !closed).map(|value| value.range);
        return match attached {
            Some(value) => fits(text, value),
            None if command == Some(Command::Login) => fits(text, argument(text, word.end)?),
            None => None,
        };
    }
    if name == "-U" && command == Some(Command::Samba) {
        let value = argument(text, word.end)?;
        let secret = text[value.clone()].split_once('%')?.1.len();
        return fits(text, value.end - secret..value.end);
    }
    let attached = command == Some(Command::Curl) && name.starts_with("-u") && name.len() > 2;
    if attached || matches!(name, "-u" | "-U" | "--user" | "--proxy-user") {
        let value = match attached {
            true => read(text, word.start + 2, false)?.range,
            false => argument(text, word.end)?,
        };
        let (user, secret) = text[value.clone()].split_once(':')?;
        let numbers = [user, secret].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let paths = user.contains('/') || secret.starts_with(['/', '\\']);
        return (!numbers && !paths).then(|| value.end - secret.len()..value.end).and_then(|value| fits(text, value));
    }
    match (name, command) {
        ("-P", Some(Command::Upper)) | ("-w", Some(Command::Ldap)) => argument(text, word.end)
            // a port
            .filter(|value| value.len() > 5 || !text[value.clone()].bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|value| fits(text, value)),
        ("--oauth2-bearer", _) => fits(text, argument(text, word.end)?),
        ("-a", Some(Command::Redis)) => fits(text, argument(text, word.end)?),
        ("-b" | "--cookie", Some(Command::Curl)) => argument(text, word.end)
            .filter(|value| text[value.clone()].contains('='))
            .and_then(|value| fits(text, value)),
        _ => None,
    }
}

/// The argument behind an option on a command line or in a list of arguments.
pub(super) fn argument(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let closed = skip_closing(bytes, at);
    let joined = match bytes.get(closed) {
        Some(b',') if closed > at => closed + 1,
        Some(b'=' | b' ' | b'\t') => closed + 1,
        _ => return None,
    };
    read(text, skip_spaces(bytes, joined), false).map(|value| value.range)
}

/// A value that is no placeholder.
pub(super) fn fits(text: &str, value: Range<usize>) -> Option<Range<usize>> {
    let follows = text[value.end..].starts_with(super::STAND_IN);
    (!follows && values::is_argument(&text[value.clone()])).then_some(value)
}
