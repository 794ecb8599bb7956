//! Secrets that are known by their form.

use std::ops::Range;

use super::STAND_IN;
use super::find::{is_word, word_end};

/// Beginnings of vendors' tokens, and how many signs follow at least.
const BEGINNINGS: &[(&str, usize)] = &[
    ("sk-", 13),
    ("pk-", 13),
    ("rk-", 13),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("ghp_", 12),
    ("gho_", 12),
    ("ghs_", 12),
    ("ghu_", 12),
    ("ghr_", 12),
    ("github_pat_", 12),
    ("glpat-", 10),
    ("gldt-", 10),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AIza", 20),
    ("hf_", 13),
    ("npm_", 12),
    ("pypi-", 12),
    ("dop_v1_", 16),
    ("shpat_", 16),
    ("dckr_pat_", 16),
    ("gsk_", 16),
    ("xai-", 16),
    ("pk_live_", 10),
    ("pk_test_", 10),
    ("glrt-", 10),
    ("glptt-", 10),
    ("glcbt-", 10),
    ("xoxe-", 10),
    ("ntn_", 20),
    ("secret_", 20),
    ("r8_", 16),
    ("pplx-", 16),
    ("fw_", 16),
    ("sq0csp-", 16),
    ("sq0atp-", 16),
    ("EAAA", 16),
    ("EAA", 24),
    ("PMAK-", 16),
    ("NRAK-", 16),
    ("sntrys_", 16),
    ("sntryu_", 16),
    ("dapi", 28),
    ("ATATT", 20),
    ("glsa_", 16),
    ("pscale_", 16),
    ("sbp_", 16),
    ("tskey-", 12),
    ("GOCSPX-", 16),
    ("sgp_", 16),
    ("lin_api_", 16),
    ("figd_", 16),
    ("shpca_", 16),
    ("shppa_", 16),
    ("shpss_", 16),
];

/// Beginnings that a point ends: `SG.x.y`, `ya29.x`, `hvs.x`.
const POINTED: &[&str] = &["SG", "ya29", "hvs"];

/// End of the token that begins with this word, if it is one. `path`: the word is part of a file's path.
pub(super) fn token(text: &str, word: &Range<usize>, path: bool) -> Option<usize> {
    let found = &text[word.clone()];
    // tokens that points divide
    if (found.starts_with("eyJ") && found.len() >= 10) || POINTED.contains(&found) {
        let end = segments(text, word.end);
        if end - word.end >= 8 {
            return Some(end);
        }
    }
    // Doppler
    if found == "dp" && [".st.", ".pt.", ".ct.", ".sa."].iter().any(|kind| text[word.end..].starts_with(kind)) {
        let end = segments(text, word.end);
        if end - word.end >= 20 {
            return Some(end);
        }
    }
    let hex = |found: &str| found.bytes().all(|byte| byte.is_ascii_hexdigit());
    // Airtable, Mailgun, Twilio
    if found.len() == 17 && found.starts_with("pat") {
        let end = segments(text, word.end);
        if end == word.end + 65 && hex(&text[word.end + 1..end]) {
            return Some(end);
        }
    }
    if (found.len() == 36 && found.strip_prefix("key-").is_some_and(hex))
        || (found.len() == 34 && found.strip_prefix("SK").is_some_and(hex))
    {
        return Some(word.end);
    }
    // the shortest token of those below
    if found.len() < 13 {
        return None;
    }
    let found = found.trim_end_matches('-');
    let end = word.start + found.len();
    let beginning = |(beginning, more): &(&str, usize)| {
        found
            .strip_prefix(beginning)
            .is_some_and(|rest| rest.len() >= *more && (has_random_part(rest, 8) || has_long_part(rest)))
    };
    let aws = |found: &str| {
        (found.starts_with("AKIA") || found.starts_with("ASIA"))
            && found.len() >= 16
            && found.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    if BEGINNINGS.iter().any(beginning) || aws(found) {
        return Some(end);
    }
    let digest = found.starts_with("sha1-") || found.starts_with("sha256-") || found.starts_with("sha512-");
    (found.len() >= 32 && !path && !digest && has_random_part(found, 16)).then_some(end)
}

/// End of up to four `.word` behind a word.
fn segments(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    for _ in 0..4 {
        if bytes.get(at) != Some(&b'.') || !bytes.get(at + 1).is_some_and(|&byte| is_word(byte)) {
            break;
        }
        at = word_end(bytes, at + 1);
    }
    at
}

/// Whether some part between `-`, `_` and `.` is long, mixes letters and digits, and is no hexadecimal digest.
pub(super) fn has_random_part(word: &str, length: usize) -> bool {
    let random = |part: &str| {
        part.len() >= length
            && part.is_ascii()
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let digest = |part: &str| length >= 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    word.split(['-', '_', '.']).any(|part| random(part) && !digest(part))
}

/// Whether some part is so long that no name has it.
fn has_long_part(word: &str) -> bool {
    word.split(['-', '_']).any(|part| part.len() >= 20 && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Secret keys of AWS next to the id of the key, as in a list of keys without names.
pub(super) fn aws_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices("AKIA").chain(text.match_indices("ASIA")) {
        let start = word_end(&bytes[..bytes.len().min(at + 32)], at);
        let window = &bytes[start..bytes.len().min(start + 120)];
        let sign = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+');
        let mut run = start;
        for piece in window.split(|byte| !sign(byte)) {
            let has = |kind: fn(&u8) -> bool| piece.iter().any(kind);
            let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
            if piece.len() == 40 && mixed {
                found.push(run..run + 40);
            }
            run += piece.len() + 1;
        }
    }
}

/// Bodies of private keys in PEM.
pub(super) fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    for (begin, head) in text.match_indices("-----BEGIN ") {
        let name = begin + head.len();
        let Some(dashes) = find_within(bytes, name, 48, b"-----") else { continue };
        if !text[name..dashes].contains("PRIVATE KEY") {
            continue;
        }
        let start = dashes + 5;
        // the next dashes end it; a key that was cut ends where its signs do
        let end = match text[start..].find("-----") {
            Some(length) if text[start + length..].starts_with("-----END") => start + length,
            _ => {
                let sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\\r\n".contains(byte);
                // whole words: a half of one would read as another
                word_end(bytes, start + bytes[start..].iter().take_while(|byte| sign(byte)).count())
            }
        };
        let body = text[start..end].trim();
        if !body.is_empty() && !body.contains(STAND_IN) {
            let start = start + text[start..end].len() - text[start..end].trim_start().len();
            found.push(start..start + body.len());
        }
    }
}

/// Where a short text stands within the next bytes.
fn find_within(bytes: &[u8], at: usize, most: usize, wanted: &[u8]) -> Option<usize> {
    let window = &bytes[at..bytes.len().min(at + most)];
    window.windows(wanted.len()).position(|piece| piece == wanted).map(|place| at + place)
}

/// Longest user, password and host of a URL that is looked at, in bytes.
const AUTHORITY: usize = 256;

/// Passwords and tokens before the `@` of URLs of any scheme.
pub(super) fn url_credentials(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    for (colon, _) in text.match_indices("://") {
        let start = colon + 3;
        if let Some(secret) = webhook(text, start) {
            found.push(secret);
            continue;
        }
        let window = &bytes[start..bytes.len().min(start + AUTHORITY)];
        let until = |stop: &dyn Fn(&u8) -> bool| &window[..window.iter().position(stop).unwrap_or(window.len())];
        let outside = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>\\()".contains(byte);
        let authority = until(&|byte| outside(byte) || b"/?#".contains(byte));
        let user_ends = |bytes: &[u8]| bytes.iter().position(|&byte| byte == b':');
        let Some(at) = last_at(authority).or_else(|| {
            // an unescaped sign within the password; behind a port it is a path instead
            let behind = &authority[user_ends(authority)? + 1..];
            (behind.is_empty() || !behind.iter().all(u8::is_ascii_digit)).then(|| last_at(until(&outside))).flatten()
        }) else {
            continue;
        };
        let secret = match user_ends(&window[..at]) {
            Some(user) => start + user + 1..start + at,
            // https://TOKEN@host
            None if at >= 16 && has_random_part(&text[start..start + at], 12) => start..start + at,
            None => continue,
        };
        let value = &text[secret.clone()];
        if !value.is_empty() && !value.starts_with(['$', '{', '[', '%', '*']) {
            found.push(secret);
        }
    }
}

/// Addresses that are a secret from here on.
const WEBHOOKS: &[&str] = &[
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "canary.discord.com/api/webhooks/",
    "ptb.discord.com/api/webhooks/",
];

fn webhook(text: &str, at: usize) -> Option<Range<usize>> {
    let host = WEBHOOKS.iter().find(|host| text[at..].starts_with(**host))?;
    let start = at + host.len();
    let sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"/_-".contains(byte);
    let length = text.as_bytes()[start..].iter().take_while(|byte| sign(byte)).count();
    (length >= 16).then_some(start..start + length)
}

/// Beginnings of hashed passwords as in `.htpasswd` and `shadow`.
const HASHES: &[&str] = &["$apr1$", "$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$y$", "$argon2"];

/// Hashed passwords.
pub(super) fn hashes(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, _) in text.match_indices('$') {
        if HASHES.iter().any(|beginning| text[at..].starts_with(beginning)) {
            let sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"./$,=+-_".contains(byte);
            let length = text.as_bytes()[at..].iter().take(256).take_while(|byte| sign(byte)).count();
            let length = text[at..at + length].trim_end_matches(['.', ',']).len();
            if length >= 24 {
                found.push(at..at + length);
            }
        }
    }
}

/// Passwords of `.pgpass`: lines of host, port, database, user and password.
pub(super) fn pgpass(text: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    for line in text.split('\n') {
        let start = at;
        at += line.len() + 1;
        let line = line.trim_end_matches('\r');
        if line.len() > 256 || line.contains(char::is_whitespace) {
            continue;
        }
        let mut fields = line.splitn(5, ':');
        let [Some(_), Some(port), Some(base), Some(_), Some(secret)] = [(); 5].map(|()| fields.next()) else {
            continue;
        };
        let digits = |field: &str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
        let port = port == "*" || (digits(port) && (4..=5).contains(&port.len()));
        let mixed = secret.bytes().any(|byte| byte.is_ascii_digit() || (byte.is_ascii_punctuation() && byte != b'.'));
        if port && !digits(base) && !base.is_empty() && secret.len() >= 4 && mixed && !secret.contains(STAND_IN) {
            found.push(start + line.len() - secret.len()..start + line.len());
        }
    }
}

fn last_at(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|&byte| byte == b'@')
}
