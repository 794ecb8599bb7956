//! A judge that reads recorded scores.
//!
//! Read are: an account (`{"entries": [{"id", "text_sha256", "score"}, ...], "wording": {...}}`), a map
//! `{"e1": 0.9, "e2": null}`, or a list `[0.9, null]` in order of the entries. `null` or an absent id is an entry without
//! an answer, which stays; scores that hold none of the ids belong to another summary. Where hashes of the texts are
//! recorded they must agree.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::account::text_hash;
use crate::history::Span;
use crate::judge::{Answers, Asked, FaultKind, Judge, JudgeFault, Wording};

/// Recorded scores.
#[derive(Clone, Debug)]
pub struct Scores {
    by_id: BTreeMap<String, (Option<String>, Option<f64>)>,
    ordered: Option<Vec<Option<f64>>>,
    wording: Option<Wording>,
}

/// Why recorded scores cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScoresError {
    /// Not JSON.
    #[error("scores are not JSON: {0}")]
    Json(String),
    /// JSON of another shape.
    #[error("scores are an account, a map of ids to numbers or a list of numbers; {0}")]
    Shape(String),
    /// A number outside 0..=1.
    #[error("score of {0} is not a number between 0 and 1 (null: no answer)")]
    Range(String),
}

impl Scores {
    /// Reads recorded scores.
    pub fn read(text: &str) -> Result<Scores, ScoresError> {
        let value: Value = serde_json::from_str(text).map_err(|error| ScoresError::Json(error.to_string()))?;
        let mut scores = Scores { by_id: BTreeMap::new(), ordered: None, wording: None };
        match &value {
            Value::Array(list) => {
                let read = list.iter().enumerate().map(|(at, score)| number(&format!("entry {}", at + 1), score));
                scores.ordered = Some(read.collect::<Result<_, _>>()?);
            }
            Value::Object(map) if map.contains_key("entries") => {
                let entries = map["entries"].as_array().ok_or_else(|| shape("`entries` is no list"))?;
                for entry in entries {
                    let id = entry["id"].as_str().ok_or_else(|| shape("an entry has no `id`"))?;
                    let hash = entry["text_sha256"].as_str().map(str::to_string);
                    scores.by_id.insert(id.to_string(), (hash, number(id, &entry["score"])?));
                }
                let text = |key: &str| map.get("wording").and_then(|wording| wording[key].as_str()).map(str::to_string);
                if let (Some(name), Some(sha256)) = (text("name"), text("sha256")) {
                    scores.wording = Some(Wording { name, sha256 });
                }
            }
            Value::Object(map) => {
                for (id, score) in map {
                    scores.by_id.insert(id.clone(), (None, number(id, score)?));
                }
            }
            _ => return Err(shape("this is neither")),
        }
        Ok(scores)
    }
}

fn shape(what: &str) -> ScoresError {
    ScoresError::Shape(what.to_string())
}

fn number(id: &str, value: &Value) -> Result<Option<f64>, ScoresError> {
    match value {
        Value::Null => Ok(None),
        value => match value.as_f64() {
            Some(score) if (0.0..=1.0).contains(&score) => Ok(Some(score)),
            _ => Err(ScoresError::Range(id.to_string())),
        },
    }
}

impl Judge for Scores {
    fn name(&self) -> &'static str {
        "scores"
    }

    fn wording(&self) -> Wording {
        let unknown = || Wording { name: "recorded".to_string(), sha256: String::new() };
        self.wording.clone().unwrap_or_else(unknown)
    }

    fn judge(&self, _: &Span<'_>, entries: &[Asked<'_>]) -> Result<Answers, JudgeFault> {
        let mismatch = |detail: String| JudgeFault::new(FaultKind::ScoresMismatch, detail);
        if let Some(ordered) = &self.ordered {
            if ordered.len() != entries.len() {
                let [recorded, found] = [ordered.len(), entries.len()];
                return Err(mismatch(format!("{recorded} scores are recorded, but the summary has {found} entries")));
            }
            return Ok(Answers { scores: ordered.clone(), ..Answers::default() });
        }
        if !entries.iter().any(|entry| self.by_id.contains_key(entry.id)) {
            let [recorded, found] = [self.by_id.len(), entries.len()];
            return Err(mismatch(format!(
                "none of the {found} entries of the summary is among the {recorded} recorded"
            )));
        }
        let mut scores = Vec::with_capacity(entries.len());
        for entry in entries {
            let recorded = self.by_id.get(entry.id);
            if let Some((Some(hash), _)) = recorded
                && *hash != text_hash(entry.text)
            {
                return Err(mismatch(format!("the score of {} was recorded for another text", entry.id)));
            }
            scores.push(recorded.and_then(|(_, score)| *score));
        }
        Ok(Answers { scores, ..Answers::default() })
    }
}
