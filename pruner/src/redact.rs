//! Secrets do not leave the machine: what looks like one is replaced before a request is built.
//!
//! A secret gets the same stand-in wherever it occurs, so a judge can still see that an entry repeats an output. Replaced
//! are: what follows `Authorization:`, `Bearer` or `Basic`; what follows a key such as `password`, `api_key`, `secret` or
//! `access_token` and `:` or `=`; tokens with a known beginning (`sk-`, `ghp_`, `eyJ`, ...); and runs of 32 or more
//! letters and digits that hold both and are not made of short words or the groups of a UUID **\[choice\]**.

use std::collections::BTreeMap;

/// Replaces secrets, remembering which stand-in is whose.
#[derive(Debug, Default)]
pub struct Redactor {
    known: BTreeMap<String, String>,
}

const KEYS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "client_secret",
    "api_key",
    "apikey",
    "api-key",
    "x-api-key",
    "access_token",
    "refresh_token",
    "id_token",
    "auth_token",
    "token",
    "private_key",
    "cookie",
    "set-cookie",
];

const SCHEMES: &[&str] = &["bearer", "basic"];

const BEGINNINGS: &[&str] = &[
    "sk-",
    "pk-",
    "rk-",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
];

impl Redactor {
    /// The text with its secrets replaced by `<secret N>`.
    pub fn clean(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        // what the word before asks for the next one
        let mut expect = Expect::Nothing;
        while !rest.is_empty() {
            let start = rest.find(is_part).unwrap_or(rest.len());
            let (gap, tail) = rest.split_at(start);
            expect = expect.over(gap);
            out.push_str(gap);
            let end = tail.find(|sign| !is_part(sign)).unwrap_or(tail.len());
            let (word, tail) = tail.split_at(end);
            rest = tail;
            if word.is_empty() {
                break;
            }
            // punctuation at the end of a sentence is no part of a token
            let core = word.trim_end_matches(['.', '-']);
            let lower = core.to_ascii_lowercase();
            if SCHEMES.contains(&lower.as_str()) {
                out.push_str(word);
                expect = Expect::Word;
            } else if (expect == Expect::Word && core.len() >= 3 && looks_opaque(core)) || is_token(core) {
                out.push_str(&self.stand_in(core));
                out.push_str(&word[core.len()..]);
                expect = Expect::Nothing;
            } else {
                out.push_str(word);
                expect = match key(&lower) {
                    _ if lower == "authorization" => Expect::Sign,
                    true => Expect::Sign,
                    false => Expect::Nothing,
                };
            }
        }
        out
    }

    fn stand_in(&mut self, secret: &str) -> String {
        let next = self.known.len() + 1;
        self.known.entry(secret.to_string()).or_insert_with(|| format!("<secret {next}>")).clone()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Nothing,
    /// A `:` or `=`, then the secret.
    Sign,
    /// The secret.
    Word,
}

impl Expect {
    fn over(self, gap: &str) -> Expect {
        let short = gap.chars().count() <= 6 && !gap.contains('\n');
        match self {
            Expect::Sign if short && gap.contains([':', '=']) => Expect::Word,
            Expect::Word if short && !gap.contains([',', ')', ']', '}', ';']) => Expect::Word,
            _ => Expect::Nothing,
        }
    }
}

fn is_part(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.' | '~' | '+' | '$' | '!' | '#' | '%' | '^' | '&' | '@')
}

fn key(word: &str) -> bool {
    KEYS.iter()
        .any(|key| word == *key || word.strip_suffix(key).is_some_and(|before| before.ends_with(['_', '-', '.'])))
}

/// A word behind a key that is a value rather than prose (`password: required`, `access_token: string`).
fn looks_opaque(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
        || (word.len() >= 8 && !word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
}

fn is_token(word: &str) -> bool {
    if word.len() >= 16 && BEGINNINGS.iter().any(|beginning| word.starts_with(beginning)) {
        return true;
    }
    let digits = word.bytes().any(|byte| byte.is_ascii_digit());
    let letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let long_part = word.split(['-', '_', '.']).any(|part| part.len() >= 16);
    word.len() >= 32 && digits && letters && long_part && !word.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        Redactor::default().clean(text)
    }

    #[test]
    fn headers_keys_and_tokens_are_replaced() {
        assert_eq!(clean("Authorization: Bearer abc123"), "Authorization: Bearer <secret 1>");
        assert_eq!(clean("authorization = \"Basic dXNlcjpwYXNz1\""), "authorization = \"Basic <secret 1>\"");
        assert_eq!(clean("password='hunter22', next"), "password='<secret 1>', next");
        assert_eq!(clean("{\"access_token\": \"a1b2c3\"}"), "{\"access_token\": \"<secret 1>\"}");
        assert_eq!(clean("key sk-proj-0123456789abcdef."), "key <secret 1>.");
        assert_eq!(clean("deploy_api_key=Zz9yyyyy"), "deploy_api_key=<secret 1>");
    }

    #[test]
    fn the_same_secret_has_the_same_stand_in() {
        let mut redactor = Redactor::default();
        let token = "a1".repeat(20);
        assert_eq!(redactor.clean(&format!("t={token}")), "t=<secret 1>");
        assert_eq!(redactor.clean(&format!("x {} {token}", "b2".repeat(20))), "x <secret 2> <secret 1>");
    }

    #[test]
    fn names_identifiers_and_documentation_stay() {
        for text in [
            "id 123e4567-e89b-12d3-a456-426614174000",
            "call show_received_payment_requests_page_1_of_20",
            "access_token: string, required",
            "the password of the account",
            "token count: 5 of them\nnext",
            "mail a.very.long.address.with.many.parts.2023@example.com",
        ] {
            assert_eq!(clean(text), text);
        }
    }
}
