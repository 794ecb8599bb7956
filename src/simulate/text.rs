//! Invented words, arguments and observations.

use foldline_frontiers::Stream;

/// Observations are capped at this many characters (arXiv 2610.08722, Appendix E).
pub const CAP: usize = 200;

/// How long an observation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// At the cap of 200 characters.
    Capped,
    /// 61 to 199 characters.
    Middle,
    /// 1 to 60 characters: an empty list or a one-line status.
    Short,
}

const SYLLABLES: [&str; 32] = [
    "ba", "bel", "cor", "da", "dun", "el", "fen", "gal", "hu", "il", "jor", "ka", "lin", "mo", "nar", "ol", "pem",
    "qua", "ri", "sol", "tar", "ul", "vek", "wim", "xan", "yor", "zu", "bri", "dro", "fle", "gno", "sti",
];

/// A word of two syllables out of 1,024.
pub fn word(stream: &mut Stream) -> String {
    let mut pick = || SYLLABLES[stream.below(32) as usize];
    let first = pick();
    format!("{first}{}", pick())
}

/// An observation that is no failure, of the wanted length.
pub fn observation(stream: &mut Stream, length: Length) -> String {
    match length {
        Length::Capped => {
            let mut text = String::from("[\n");
            while text.len() <= CAP {
                text.push_str(&record(stream));
            }
            capped(&text)
        }
        Length::Middle => {
            let wanted = 61 + stream.below(110) as usize;
            let mut text = record(stream);
            while text.len() < wanted {
                text.push_str(&format!(" {}", word(stream)));
            }
            text.truncate(wanted.min(CAP - 1));
            text
        }
        Length::Short => match stream.below(4) {
            0 => String::from("[]"),
            1 => String::from("Execution successful."),
            2 => format!("{{\"message\": \"{} {}\"}}", word(stream), word(stream)),
            _ => format!("{} {}", word(stream), stream.below(1000)),
        },
    }
}

/// A failure by AppWorld's contract: begins with `Execution failed. Traceback:` (protocol section 1), at the cap.
pub fn failure(stream: &mut Stream, action: &str) -> String {
    let line = 1 + stream.below(12);
    let name = word(stream);
    let mut text =
        format!("Execution failed. Traceback:\n  File \"<python-input>\", line {line}, in <module>\n    {action}\n");
    text.push_str(&format!("           ^^^^^^^^^^\nNameError: name '{name}' is not defined\n"));
    while text.len() <= CAP {
        text.push_str(&format!("  note: {} {} {}\n", word(stream), word(stream), word(stream)));
    }
    capped(&text)
}

fn record(stream: &mut Stream) -> String {
    let (key, id, name, value) = (word(stream), stream.below(3000), word(stream), word(stream));
    format!(" {{\"{key}_id\": {id}, \"{name}\": \"{value} {}\"}},\n", word(stream))
}

/// Cuts ASCII text at the cap.
fn capped(text: &str) -> String {
    text.chars().take(CAP).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldline_frontiers::Streams;

    #[test]
    fn lengths_are_as_wanted() {
        let mut stream = Streams::new(1).stream("test", 0);
        for _ in 0..500 {
            assert_eq!(observation(&mut stream, Length::Capped).chars().count(), 200);
            assert!((61..200).contains(&observation(&mut stream, Length::Middle).chars().count()));
            assert!((1..=60).contains(&observation(&mut stream, Length::Short).chars().count()));
            let failure = failure(&mut stream, "print(apis.phone.get_contact(item_id=4))");
            assert!(failure.starts_with("Execution failed. Traceback:") && failure.chars().count() == 200);
        }
    }
}
