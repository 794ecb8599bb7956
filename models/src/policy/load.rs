//! Reading a policy: nothing that could decide wrongly gets through, and every refusal says what to do.

use super::canonical::sha256_without;
use super::columns::{Need, apps_fit, dense_names, index_of, name_of, needs_of};
use super::format::{
    FORMAT, HashFile, HashVector, LearnerFile, MAX_POLICY_BYTES, MIN_VECTORS, PolicyFile, RepresentationFile, Vector,
};
use super::guards::{Decision, Guards, Threshold};
use super::used::used_columns;
use crate::{Model, ModelError};
use foldline_features::extract::{Extractor, HASH_BUCKETS, Representation, murmur3};
use foldline_features::{Row, Vocabulary};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// Why a policy is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("cannot read the policy: {0}")]
    Io(#[from] std::io::Error),
    /// The file is larger than any policy.
    #[error("the policy is larger than {MAX_POLICY_BYTES} bytes")]
    TooLarge,
    /// Not JSON, or cut short.
    #[error("the policy is not JSON ({0}); was the file copied whole?")]
    NotJson(serde_json::Error),
    /// No `format` of ours.
    #[error("this is no foldline policy: its `format` is {found}, expected \"{FORMAT}\"")]
    NotAPolicy {
        /// What stands there.
        found: String,
    },
    /// Written by a later major version.
    #[error("the policy has format version {found}, and this program reads version 1; use a newer foldline")]
    FutureVersion {
        /// The version found.
        found: String,
    },
    /// A field is missing, unknown or of the wrong kind.
    #[error("the policy does not fit format 1.0: {0}")]
    Shape(serde_json::Error),
    /// The file was changed after it was frozen.
    #[error("the policy was changed after it was frozen: its content hashes to {found}, and it says {stated}")]
    Tampered {
        /// The hash of the content.
        found: String,
        /// The hash in the file.
        stated: String,
    },
    /// The parts do not hold together.
    #[error("the policy does not hold together: {0}")]
    Inconsistent(String),
    /// The learner does not fit its columns.
    #[error("the policy's learner is invalid: {0}")]
    Model(#[from] ModelError),
    /// A conformance vector gives another answer here.
    #[error("conformance vector {index} gives {found} here, and the policy says {stated}; it must not be used")]
    Vector {
        /// Position in the file, from 0.
        index: usize,
        /// Score and decision here.
        found: String,
        /// Score and decision in the file.
        stated: String,
    },
}

/// A policy that was read and checked, ready to decide.
#[derive(Clone, Debug)]
pub struct Policy {
    file: PolicyFile,
    extractor: Extractor,
    dense: Vec<String>,
    used: Vec<u32>,
    needs: BTreeSet<Need>,
}

/// What a policy is made of, before it is frozen.
#[derive(Clone, Debug)]
pub struct Parts {
    /// A name for people.
    pub name: String,
    /// Program and version.
    pub created_by: String,
    /// Representation, profile and vocabulary.
    pub extractor: Extractor,
    /// The learner's name.
    pub learner: String,
    /// The fitted model.
    pub model: Model,
    /// When to block.
    pub threshold: Threshold,
    /// The guards.
    pub guards: Guards,
    /// What was measured.
    pub evidence: Option<super::Evidence>,
    /// Rows for the conformance vectors, at least eight.
    pub rows: Vec<Row>,
}

impl Policy {
    /// Reads and checks a policy file.
    ///
    /// # Errors
    /// Every way in which a file is no policy of format 1.0; see [`PolicyError`].
    pub fn read(path: &Path) -> Result<Policy, PolicyError> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(MAX_POLICY_BYTES + 1).read_to_end(&mut bytes)?;
        Policy::parse(&bytes)
    }

    /// Checks a policy: version, shape, hash, consistency, and every conformance vector.
    ///
    /// # Errors
    /// As [`Policy::read`].
    pub fn parse(bytes: &[u8]) -> Result<Policy, PolicyError> {
        if bytes.len() as u64 > MAX_POLICY_BYTES {
            return Err(PolicyError::TooLarge);
        }
        let value: Value = serde_json::from_slice(bytes).map_err(PolicyError::NotJson)?;
        check_version(&value)?;
        let found = sha256_without(&value, "sha256");
        let file: PolicyFile = serde_json::from_value(value).map_err(PolicyError::Shape)?;
        if file.sha256 != found {
            return Err(PolicyError::Tampered { found, stated: file.sha256 });
        }
        let policy = Policy::check(file)?;
        policy.replay()?;
        Ok(policy)
    }

    /// Freezes a policy: computes conformance vectors and hash, and checks the result as if it had been read.
    ///
    /// # Errors
    /// As [`Policy::read`], when the parts do not fit one another.
    pub fn freeze(parts: Parts) -> Result<Policy, PolicyError> {
        let Parts { name, created_by, extractor, learner, model, threshold, guards, evidence, rows } = parts;
        let dense = dense_names(&extractor);
        let hashed = matches!(extractor.representation, Representation::R2 | Representation::R3);
        let vectors = rows.iter().map(|row| vector(&extractor, &dense, &model, threshold, row)).collect();
        let mut file = PolicyFile {
            format: FORMAT.to_owned(),
            name,
            created_by,
            profile: extractor.profile,
            representation: RepresentationFile {
                name: extractor.representation.name().to_owned(),
                columns: dense,
                vocabulary: extractor.representation.has_vocabulary().then_some(extractor.vocabulary),
                hash: hashed.then(HashFile::murmur3),
            },
            learner: LearnerFile { name: learner, model },
            threshold,
            operator: super::format::Operator::AtLeast,
            guards,
            evidence,
            conformance: vectors,
            sha256: String::new(),
        };
        let value = serde_json::to_value(&file).map_err(PolicyError::Shape)?;
        file.sha256 = sha256_without(&value, "sha256");
        Policy::parse(Policy::check(file)?.to_json().as_bytes())
    }

    /// The policy file's text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.file).expect("a policy has string keys and finite numbers");
        text.push('\n');
        text
    }

    /// The file's content.
    pub fn file(&self) -> &PolicyFile {
        &self.file
    }

    /// The code that turns a prefix into a row.
    pub fn extractor(&self) -> &Extractor {
        &self.extractor
    }

    /// The fitted model.
    pub fn model(&self) -> &Model {
        &self.file.learner.model
    }

    /// The hash that names this policy.
    pub fn sha256(&self) -> &str {
        &self.file.sha256
    }

    /// Indices of the columns the model looks at, ascending.
    pub fn used_columns(&self) -> &[u32] {
        &self.used
    }

    /// What a host must give so that the rule can be asked.
    pub fn needs(&self) -> &BTreeSet<Need> {
        &self.needs
    }

    /// What a column is computed from.
    pub fn needs_of(&self, index: u32) -> Vec<Need> {
        needs_of(&self.extractor, &self.dense, index as usize)
    }

    /// Names of the dense columns, in order.
    pub fn dense_names(&self) -> &[String] {
        &self.dense
    }

    /// The name of a column.
    pub fn column_name(&self, index: u32) -> String {
        name_of(&self.extractor, &self.dense, index as usize)
    }

    /// The index of a column by its name.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        index_of(&self.extractor, &self.dense, name)
    }

    /// Builds the checked policy from a file's content; hash and vectors are checked elsewhere.
    fn check(file: PolicyFile) -> Result<Policy, PolicyError> {
        let wrong = |text: String| Err(PolicyError::Inconsistent(text));
        let representation: Representation = file.representation.name.parse().map_err(PolicyError::Inconsistent)?;
        let vocabulary = match (&file.representation.vocabulary, representation.has_vocabulary()) {
            (Some(vocabulary), true) if vocabulary.functions.is_empty() => {
                return wrong(format!("representation.vocabulary is empty, and {representation} lives on it"));
            }
            (Some(vocabulary), true) => vocabulary.clone(),
            (None, false) => Vocabulary::default(),
            (None, true) => {
                return wrong(format!("representation.vocabulary is missing, and {representation} needs it"));
            }
            (Some(_), false) => {
                return wrong(format!("representation.vocabulary is given, and {representation} has none"));
            }
        };
        let extractor = Extractor { representation, profile: file.profile.clone(), vocabulary };
        if !extractor.vocabulary.is_sorted() || !apps_fit(&extractor) {
            return wrong(
                "representation.vocabulary must be sorted bytewise without repetition, with the apps of its functions"
                    .to_owned(),
            );
        }
        let dense = dense_names(&extractor);
        if dense != file.representation.columns {
            return wrong(format!("representation.columns are not those of {representation}: {}", dense.join(", ")));
        }
        check_hash(representation, file.representation.hash.as_ref()).map_err(PolicyError::Inconsistent)?;
        check_effects(&extractor).map_err(PolicyError::Inconsistent)?;
        file.guards.check().map_err(PolicyError::Inconsistent)?;
        file.learner.model.validate(extractor.n_columns())?;
        if let Model::Logistic(linear) = &file.learner.model
            && linear.dense.len() != extractor.n_dense()
        {
            return wrong(format!("the learner has {} dense columns, not {}", linear.dense.len(), extractor.n_dense()));
        }
        if file.conformance.len() < MIN_VECTORS {
            return wrong(format!("{} conformance vectors, expected at least {MIN_VECTORS}", file.conformance.len()));
        }
        let used = used_columns(&file.learner.model);
        let needs = used.iter().flat_map(|&index| needs_of(&extractor, &dense, index as usize)).collect();
        Ok(Policy { file, extractor, dense, used, needs })
    }

    /// Replays the conformance vectors.
    fn replay(&self) -> Result<(), PolicyError> {
        for (index, vector) in self.file.conformance.iter().enumerate() {
            let row = self
                .row_of(vector)
                .map_err(|text| PolicyError::Inconsistent(format!("conformance vector {index}: {text}")))?;
            let score = self.model().score(&row);
            let decision = rule_alone(self.file.threshold, score);
            if score.to_bits() != vector.score.to_bits() || decision != vector.decision {
                return Err(PolicyError::Vector {
                    index,
                    found: format!("{score} ({decision:?})"),
                    stated: format!("{} ({:?})", vector.score, vector.decision),
                });
            }
        }
        Ok(())
    }

    fn row_of(&self, vector: &Vector) -> Result<Row, String> {
        if vector.features.len() != self.dense.len() {
            return Err(format!("{} features, expected {}", vector.features.len(), self.dense.len()));
        }
        let dense: Result<Vec<f64>, String> = self
            .dense
            .iter()
            .map(|name| vector.features.get(name).copied().ok_or_else(|| format!("feature {name} is missing")))
            .collect();
        let ones: Result<BTreeSet<u32>, String> = vector
            .ones
            .iter()
            .map(|name| match self.column_index(name) {
                Some(index) if index >= self.dense.len() => Ok(index as u32),
                _ => Err(format!("{name} is no 0/1 column of this policy")),
            })
            .collect();
        Ok(Row { dense: dense?, ones: ones?.into_iter().collect() })
    }
}

/// What the rule alone decides of a score.
fn rule_alone(threshold: Threshold, score: f64) -> Decision {
    if threshold.blocks(score) { Decision::Block } else { Decision::Allow }
}

fn vector(extractor: &Extractor, dense: &[String], model: &Model, threshold: Threshold, row: &Row) -> Vector {
    let score = model.score(row);
    Vector {
        features: dense.iter().cloned().zip(row.dense.iter().copied()).collect(),
        ones: row.ones.iter().map(|&index| name_of(extractor, dense, index as usize)).collect(),
        score,
        decision: rule_alone(threshold, score),
    }
}

fn check_version(value: &Value) -> Result<(), PolicyError> {
    let found = value.get("format").map_or("missing".to_owned(), Value::to_string);
    let not_ours = || PolicyError::NotAPolicy { found: found.clone() };
    let version = value.get("format").and_then(Value::as_str).and_then(|text| text.strip_prefix("foldline.policy/"));
    let (major, minor) = version.and_then(|version| version.split_once('.')).ok_or_else(not_ours)?;
    let (Ok(major), Ok(_)) = (major.parse::<u32>(), minor.parse::<u32>()) else {
        return Err(not_ours());
    };
    if major == 1 { Ok(()) } else { Err(PolicyError::FutureVersion { found: version.unwrap_or_default().to_owned() }) }
}

/// An embedded method map must hold nothing but the vocabulary's functions: maps are not ours to pass on.
fn check_effects(extractor: &Extractor) -> Result<(), String> {
    let (Some(effects), true) = (&extractor.profile.effects, extractor.representation.has_vocabulary()) else {
        return Ok(());
    };
    match effects.keys().find(|function| extractor.vocabulary.functions.binary_search(function).is_err()) {
        Some(function) => Err(format!("profile.effects names {function}, which is not in the vocabulary")),
        None => Ok(()),
    }
}

fn check_hash(representation: Representation, hash: Option<&HashFile>) -> Result<(), String> {
    let hashed = matches!(representation, Representation::R2 | Representation::R3);
    match (hash, hashed) {
        (None, false) => Ok(()),
        (None, true) => Err(format!("representation.hash is missing, and {representation} needs it")),
        (Some(_), false) => Err(format!("representation.hash is given, and {representation} has no hashed columns")),
        (Some(hash), true) => hash.check(),
    }
}

impl HashFile {
    /// The hash of R2 and R3.
    pub fn murmur3() -> HashFile {
        let vectors = ["hello", "tool:bash", "supervisor.complete_task()"];
        HashFile {
            name: "murmur3_x86_32".to_owned(),
            seed: 0,
            buckets: HASH_BUCKETS,
            vectors: vectors.map(|text| HashVector { text: text.to_owned(), hash: murmur3(text) }).to_vec(),
        }
    }

    fn check(&self) -> Result<(), String> {
        let known = HashFile::murmur3();
        if (self.name.as_str(), self.seed, self.buckets) != (known.name.as_str(), known.seed, known.buckets) {
            return Err(format!(
                "representation.hash is {} with seed {} and {} buckets; this program has {} with seed {} and {}",
                self.name, self.seed, self.buckets, known.name, known.seed, known.buckets
            ));
        }
        if self.vectors.len() < 3 {
            return Err("representation.hash.vectors must hold at least three texts".to_owned());
        }
        match self.vectors.iter().find(|vector| murmur3(&vector.text) != vector.hash) {
            Some(vector) => {
                Err(format!("{:?} hashes to {} here, not to {}", vector.text, murmur3(&vector.text), vector.hash))
            }
            None => Ok(()),
        }
    }
}
