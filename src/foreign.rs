//! Scores of a trigger fitted elsewhere (an LLM judge, a token-budget rule, a hand-written rule), read from a CSV.

use crate::cmd::Failure;
use crate::evaluate::protocol::CellName;
use crate::input::read_text;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Scores of a trigger fitted elsewhere: its name, and a score for every boundary.
pub type ForeignScores = (String, BTreeMap<String, f64>);

/// The longest name of a trigger, in bytes.
const LONGEST_NAME: usize = 100;

/// The columns of a scores file.
const COLUMNS: [&str; 2] = ["boundary_id", "score"];

/// Reads `NAME=FILE`: the name, and the scores by boundary.
///
/// The file has the columns `boundary_id` and `score`, in any order and among others; without a header, exactly these two
/// in this order.
///
/// # Errors
/// `Failure::Usage` for a wrong form, `Failure::Data` naming the line.
pub fn foreign_scores(given: &str) -> Result<ForeignScores, Failure> {
    let (name, file) = given
        .split_once('=')
        .filter(|(name, file)| !name.is_empty() && !file.is_empty())
        .ok_or_else(|| Failure::Usage(format!("--foreign {given}: expected NAME=FILE")))?;
    // a name that a cell could have would let these scores pass for that cell
    if name.parse::<CellName>().is_ok()
        || name.contains('@')
        || name.chars().any(char::is_control)
        || name != name.trim()
    {
        return Err(Failure::Usage(format!(
            "--foreign {given}: expected a name of its own, which no cell bears, without @, spaces around it or control \
             characters"
        )));
    }
    if name.len() > LONGEST_NAME {
        return Err(Failure::Usage(format!("--foreign {name:.20}...: a name has at most {LONGEST_NAME} bytes")));
    }
    let text = read_text(Path::new(file))?;
    let scores = scores(&text).map_err(|problem| Failure::Data(format!("{file}, {problem}")))?;
    Ok((name.to_owned(), scores))
}

/// Says which scores are of boundaries that are not among the known ones; nothing where all are known.
pub fn strangers(foreign: &[ForeignScores], known: &BTreeSet<&str>) -> Vec<String> {
    let note = |(name, scores): &ForeignScores| {
        let strange: Vec<&str> = scores.keys().map(String::as_str).filter(|id| !known.contains(id)).collect();
        let first = strange.first()?;
        Some(format!(
            "--foreign {name}: {} of {} scores are of boundaries that are not here, such as {first}; they are ignored",
            strange.len(),
            scores.len()
        ))
    };
    foreign.iter().filter_map(note).collect()
}

fn scores(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut scores = BTreeMap::new();
    let mut places: Option<[usize; 2]> = None;
    for record in reader.records() {
        let record = record.map_err(|error| format!("is no CSV: {error}"))?;
        let line = record.position().map_or(1, csv::Position::line);
        let wrong = |problem: String| format!("line {line}: {problem}");
        let [id, score] = match places {
            Some(places) => places,
            None => {
                let place = |name: &str| record.iter().position(|head| head.eq_ignore_ascii_case(name));
                match (COLUMNS.map(place), record.len()) {
                    ([Some(id), Some(score)], _) => {
                        places = Some([id, score]);
                        continue;
                    }
                    ([None, None], 2) => *places.insert([0, 1]),
                    _ => {
                        let found = record.iter().collect::<Vec<_>>().join(",");
                        return Err(wrong(format!("expected the header {}, found {found:?}", COLUMNS.join(","))));
                    }
                }
            }
        };
        let (Some(id), Some(score)) = (record.get(id), record.get(score)) else {
            return Err(wrong(format!("expected {}, found {} fields", COLUMNS.join(","), record.len())));
        };
        let score: f64 = score.parse().map_err(|_| wrong(format!("score {score:?} is no number")))?;
        if !score.is_finite() {
            return Err(wrong("the score is not finite".to_owned()));
        }
        if scores.insert(id.to_owned(), score).is_some() {
            return Err(wrong(format!("boundary {id} has two scores")));
        }
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_or_place() {
        let expected = BTreeMap::from([("a".to_owned(), 0.5), ("b,c".to_owned(), -1.0)]);
        for text in [
            "boundary_id,score\na,0.5\n\"b,c\",-1\n",
            "score, boundary_id, note\n0.5, a, x\n-1,\"b,c\",y\n",
            "\u{feff}a,0.5\r\n\r\n\"b,c\",-1e0\r\n",
        ] {
            assert_eq!(scores(text), Ok(expected.clone()), "{text}");
        }
    }

    #[test]
    fn scores_of_other_boundaries_are_said() {
        let foreign = vec![("judge".to_owned(), BTreeMap::from([("a".to_owned(), 0.5), ("b".to_owned(), 0.5)]))];
        assert!(strangers(&foreign, &BTreeSet::from(["a", "b", "c"])).is_empty());
        let notes = strangers(&foreign, &BTreeSet::from(["a"]));
        assert!(notes[0].starts_with("--foreign judge: 1 of 2 scores") && notes[0].contains("such as b"), "{notes:?}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_line() {
        for (text, problem) in [
            ("id,value,x\na,1,2\n", "line 1: expected the header boundary_id,score"),
            ("boundary_id,value\na,1\n", "line 1: expected the header boundary_id,score"),
            ("boundary_id,score\na,1\na,2\n", "line 3: boundary a has two scores"),
            ("boundary_id,score\na,inf\n", "line 2: the score is not finite"),
            ("boundary_id,score\n0.5,a\n", "line 2: score \"a\" is no number"),
            ("boundary_id,score\na\n", "line 2: expected boundary_id,score, found 1 fields"),
        ] {
            let found = scores(text).unwrap_err();
            assert!(found.starts_with(problem), "{found}");
        }
    }
}
