//! The frozen policy file, format 1.0: one JSON object, closed (an unknown field is refused), hashed.
//!
//! History of the format: 1.0, the first.

use super::evidence::Evidence;
use super::guards::{Decision, Guards, Threshold};
use crate::Model;
use foldline_features::{Profile, Vocabulary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `format` says in every file this version writes.
pub const FORMAT: &str = "foldline.policy/1.0";
/// Fewest conformance vectors of a policy.
pub const MIN_VECTORS: usize = 8;
/// Largest policy file that is read, in bytes.
pub const MAX_POLICY_BYTES: u64 = 64 << 20;

/// A policy as it stands in its file. [`super::Policy`] is the same, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// `foldline.policy/1.0`. Another major version is refused.
    pub format: String,
    /// A name for people.
    pub name: String,
    /// Program and version that wrote the file.
    pub created_by: String,
    /// How calls, errors, writes and session calls are recognised.
    pub profile: Profile,
    /// The columns the learner was fitted on, in order.
    pub representation: RepresentationFile,
    /// The fitted learner.
    pub learner: LearnerFile,
    /// Scores from here on block; the word `never` for a rule that never does.
    #[cfg_attr(feature = "schema", schemars(with = "ThresholdSchema"))]
    pub threshold: Threshold,
    /// How score and threshold are compared.
    pub operator: Operator,
    /// What overrules the rule, with its numbers.
    pub guards: Guards,
    /// What was measured; absent for a policy written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Boundaries with known answers, replayed whenever the file is read.
    #[cfg_attr(feature = "schema", schemars(length(min = 8)))]
    pub conformance: Vec<Vector>,
    /// SHA-256 of the canonical JSON of everything else, lower-case hexadecimal.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9a-f]{64}$")))]
    pub sha256: String,
}

/// How score and threshold are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Operator {
    /// Block when the score is at least the threshold.
    #[default]
    #[serde(rename = ">=")]
    AtLeast,
}

/// The columns of a representation. Dense columns are named; behind them stand, in this order, one 0/1 column a
/// function, one an app, and the hashed blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RepresentationFile {
    /// `six`, `H`, `R3`, ...
    pub name: String,
    /// Names of the dense columns, in order.
    pub columns: Vec<String>,
    /// Functions and apps with a column, for the representations that have such columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<Vocabulary>,
    /// The hash of the hashed blocks, for the representations that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<HashFile>,
}

/// The hash that gives a text its bucket, with vectors that pin it down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HashFile {
    /// `murmur3_x86_32`.
    pub name: String,
    /// 0.
    pub seed: u32,
    /// Buckets a block.
    pub buckets: u32,
    /// Texts with their hash, unsigned, before the modulus.
    pub vectors: Vec<HashVector>,
}

/// A text and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HashVector {
    /// The text, hashed as UTF-8.
    pub text: String,
    /// Its hash.
    pub hash: u32,
}

/// A fitted learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LearnerFile {
    /// The learner that was fitted, such as `boosted`.
    pub name: String,
    /// Its fitted parameters.
    pub model: Model,
}

/// A boundary with a known answer of the rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// Values of all dense columns, by name.
    pub features: BTreeMap<String, f64>,
    /// Names of the 0/1 columns that are 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ones: Vec<String>,
    /// The score, to the last bit.
    pub score: f64,
    /// What the rule alone decides.
    pub decision: Decision,
}

/// The shape of a threshold, for the schema.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a description of the format, never built")]
enum ThresholdSchema {
    /// Block when the score is at least this.
    Number(f64),
    /// The rule never blocks.
    Word(NeverSchema),
}

#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "a description of the format, never built")]
enum NeverSchema {
    Never,
}
