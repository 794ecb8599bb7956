//! The answer to a host, the sentence that explains it, and the line that is logged.

use super::guards;
use super::guards::{DecidedBy, Decision, RetryAt, Threshold, Verdict};
use super::input::{Given, Request};
use super::load::Policy;
use foldline_features::Row;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a host is to obey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Record the answer and do what would have been done without it.
    #[default]
    Shadow,
    /// Obey.
    Enforce,
}

/// One answer, as it goes to the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The request's `boundary_id`, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary_id: Option<String>,
    /// The policy's answer, in both modes.
    pub decision: Decision,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// The learned score, wherever it could be computed, whoever decided.
    pub score: Option<f64>,
    /// The policy's threshold; absent when the policy cannot be read.
    pub threshold: Option<Threshold>,
    /// When to ask again; absent when allowed.
    pub retry_at: Option<RetryAt>,
    /// Whether to obey.
    pub mode: Mode,
    /// The policy's hash; absent when the policy cannot be read.
    pub policy_sha: Option<String>,
    /// What the host should know.
    pub warnings: Vec<String>,
    /// The decision as a sentence, where asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<String>,
}

impl Answer {
    /// The answer as one line of JSON, without a line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an answer has string keys and finite numbers")
    }

    /// Whether the host must not compact now.
    pub fn is_veto(&self) -> bool {
        self.decision == Decision::Block && self.mode == Mode::Enforce
    }
}

/// A decision with everything that is logged about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// What the host gets.
    pub answer: Answer,
    /// Every authority that had something to say, strongest first.
    pub would_fire: Vec<DecidedBy>,
    /// The row the score was computed from.
    pub row: Option<Row>,
}

impl Decided {
    /// The answer to everything when the policy cannot be used: allow, said aloud.
    pub fn policy_error(request: &Request, reason: &str, mode: Mode) -> Decided {
        let answer = Answer {
            boundary_id: request.boundary_id.clone(),
            decision: Decision::Allow,
            decided_by: DecidedBy::PolicyError,
            score: None,
            threshold: None,
            retry_at: None,
            mode,
            policy_sha: None,
            warnings: vec![reason.to_owned()],
            explain: None,
        };
        Decided { answer, would_fire: vec![DecidedBy::PolicyError], row: None }
    }
}

impl Policy {
    /// Decides one request. Pure: the same request gets the same answer, and nothing is remembered.
    pub fn decide(&self, request: &Request, mode: Mode) -> Decided {
        let mut warnings = Vec::new();
        let row = self.row(&request.given, &mut warnings);
        let score = match &row {
            Ok(row) => Ok(self.model().score(row)),
            Err(missing) => Err(missing.as_slice()),
        };
        let verdict = guards::decide(&self.file().guards, self.file().threshold, &request.facts, score);
        let Verdict { decision, decided_by, retry_at, would_fire, warnings: of_guards } = verdict;
        warnings.extend(of_guards);
        warnings.extend(request.warnings.iter().cloned());
        let answer = Answer {
            boundary_id: request.boundary_id.clone(),
            decision,
            decided_by,
            score: score.ok(),
            threshold: Some(self.file().threshold),
            retry_at,
            mode,
            policy_sha: Some(self.sha256().to_owned()),
            warnings,
            explain: None,
        };
        Decided { answer, would_fire, row: row.ok() }
    }

    /// The row of what was given, or what is missing for it.
    fn row(&self, given: &Given, warnings: &mut Vec<String>) -> Result<Row, Vec<String>> {
        match given {
            Given::Prefix(prefix, known) => {
                let missing: Vec<String> = self.needs().difference(known).map(|need| need.to_string()).collect();
                if !missing.is_empty() {
                    return Err(missing);
                }
                if let Some(effects) = &self.extractor().profile.effects {
                    let unmapped =
                        prefix.historical_functions.iter().filter(|name| !effects.contains_key(*name)).count();
                    if unmapped > 0 {
                        warnings.push(format!("{unmapped} functions are not in the policy's map and count as reads"));
                    }
                }
                Ok(self.extractor().row(prefix))
            }
            Given::Features(features) => self.row_by_name(features, warnings),
            Given::Nothing if self.used_columns().is_empty() => Ok(self.empty_row()),
            Given::Nothing => Err(self.needs().iter().map(|need| need.to_string()).collect()),
        }
    }

    fn empty_row(&self) -> Row {
        Row { dense: vec![0.0; self.dense_names().len()], ones: Vec::new() }
    }

    /// A row from values by name: the columns the model looks at are required, the others are taken where given.
    fn row_by_name(&self, features: &BTreeMap<String, f64>, warnings: &mut Vec<String>) -> Result<Row, Vec<String>> {
        let mut row = self.empty_row();
        let mut given = Vec::with_capacity(features.len());
        let mut wrong = Vec::new();
        for (name, &value) in features {
            let Some(index) = self.column_index(name) else {
                warnings.push(format!("{name} is no column of this policy"));
                continue;
            };
            given.push(index as u32);
            if index < row.dense.len() {
                row.dense[index] = value;
            } else if value.to_bits() == 1f64.to_bits() {
                row.ones.push(index as u32);
            } else if value.abs() > 0.0 {
                wrong.push(format!("{name} as 0 or 1 (it is {value})"));
            }
        }
        row.ones.sort_unstable();
        given.sort_unstable();
        let missing = self.used_columns().iter().filter(|column| given.binary_search(column).is_err());
        wrong.extend(missing.map(|&column| self.column_name(column)));
        if wrong.is_empty() { Ok(row) } else { Err(wrong) }
    }

    /// The values the score was computed from, by name: the dense columns the model looks at, and which of the 0/1
    /// columns that it looks at are 1.
    pub fn features_used(&self, row: &Row) -> BTreeMap<String, f64> {
        let n_dense = row.dense.len();
        let dense = self.used_columns().iter().filter(|&&column| (column as usize) < n_dense);
        let ones = row.ones.iter().filter(|column| self.used_columns().binary_search(column).is_ok());
        dense.chain(ones).map(|&column| (self.column_name(column), row.value(column as usize))).collect()
    }
}
