//! Sharing a corpus without its texts: arguments and observations become hashes, features stay.
//!
//! Kept: equality of signatures, functions and tools, error flags and the failure contract's own words, the number of
//! characters of every observation, which word tokens are equal (letter case aside), everything between words, token
//! counts, times of compactions. A word of n characters becomes n characters `a-z0-9`, so that words of one to three
//! characters may fall together. Without a key the hashes of guessable words can be guessed; with a secret key they cannot.

use super::session::{Actions, Session};
use foldline_features::profile::Profile;
use serde_json::json;
use sha2::{Digest, Sha256};

/// Replaces texts by hashes.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    key: Vec<u8>,
}

impl Redactor {
    /// A redactor with a secret key; an empty one makes hashes that anyone can recompute.
    pub fn new(key: Vec<u8>) -> Redactor {
        Redactor { key }
    }

    fn digest(&self, part: &str, text: &str, counter: u32) -> [u8; 32] {
        let mut hash = Sha256::new();
        // lengths first, so that no two inputs run together
        hash.update((self.key.len() as u64).to_be_bytes());
        hash.update(&self.key);
        hash.update(part.as_bytes());
        hash.update([0]);
        hash.update(counter.to_be_bytes());
        hash.update(text.as_bytes());
        hash.finalize().into()
    }

    /// A 16-digit stand-in for an identifier or an argument list.
    pub fn identifier(&self, text: &str) -> String {
        self.digest("identifier", text, 0)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A text with every word replaced by a stand-in of the same length; equal words, letter case aside, have equal
    /// stand-ins. Words are the maximal runs of alphabetic, numeric or `_` characters, as for the features.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.word(&rest[..end], &mut out);
            rest = &rest[end..];
            let start = rest.find(is_word).unwrap_or(rest.len());
            out.push_str(&rest[..start]);
            rest = &rest[start..];
        }
        out
    }

    fn word(&self, word: &str, out: &mut String) {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let lower = word.to_lowercase();
        let length = word.chars().count();
        let mut written = 0;
        let mut counter = 0;
        while written < length {
            // a byte below 252 is a fair draw of 36
            for byte in
                self.digest("word", &lower, counter).into_iter().filter(|&byte| byte < 252).take(length - written)
            {
                out.push(char::from(LETTERS[usize::from(byte % 36)]));
                written += 1;
            }
            counter += 1;
        }
    }

    /// An observation; what the failure contract asks for stays as it is.
    fn observation(&self, text: &str, profile: &Profile) -> String {
        if profile.failure.equals_trimmed.iter().any(|whole| text.trim() == whole) {
            return text.to_owned();
        }
        match profile.failure.begins_with.iter().find(|prefix| text.starts_with(prefix.as_str())) {
            Some(prefix) => format!("{prefix}{}", self.text(&text[prefix.len()..])),
            None => self.text(text),
        }
    }

    /// A whole session in place.
    pub fn session(&self, session: &mut Session, profile: &Profile) {
        for step in &mut session.steps {
            let calls = profile.calls(&step.action);
            step.action = match session.actions {
                Actions::ToolCalls => match calls.first() {
                    // the function carries the class of a shell command, which the arguments no longer show
                    Some(call) => {
                        let arguments = json!({"redacted": self.identifier(&call.exact)});
                        json!({"name": call.function, "arguments": arguments}).to_string()
                    }
                    None => self.text(&step.action),
                },
                Actions::Code => {
                    let calls: Vec<String> =
                        calls.iter().map(|call| self.code_call(&call.exact, &call.function)).collect();
                    calls.join("\n")
                }
            };
            step.observation = self.observation(&step.observation, profile);
        }
        for compaction in &mut session.compactions {
            compaction.summary = compaction.summary.as_deref().map(|summary| self.text(summary));
        }
        session.id = self.identifier(&session.id);
        session.cwd = session.cwd.as_deref().map(|folder| self.identifier(folder));
        session.task = session.task.as_deref().map(|task| match task.rsplit_once('_') {
            // variants of a scenario stay variants of one
            Some((stem, variant)) => format!("{}_{}", self.identifier(stem), &self.identifier(variant)[..8]),
            None => self.identifier(task),
        });
    }

    /// A call whose arguments are one positional hash; a call without arguments stays.
    fn code_call(&self, exact: &str, function: &str) -> String {
        if exact.len() == function.len() + 2 {
            format!("apis.{exact}")
        } else {
            format!("apis.{function}(h{})", self.identifier(exact))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_length_and_equality() {
        let redactor = Redactor::new(b"k".to_vec());
        let text = "Token x-1: Grüße TOKEN größer_als 東京\n";
        let redacted = redactor.text(text);
        assert_eq!(redacted.chars().count(), text.chars().count());
        let words: Vec<&str> = redacted.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        assert_eq!(words[0], words[5], "{redacted}: case aside, Token is TOKEN");
        assert!(redacted.ends_with('\n') && redacted.contains('-') && !redacted.contains("oken"));
        assert_ne!(redacted, Redactor::default().text(text), "the key matters");
    }
}
