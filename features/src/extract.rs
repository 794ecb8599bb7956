//! From a prefix to a feature row: the representations of protocol section 2.
//!
//! The same code runs when a trigger is fitted and when a frozen policy decides. It takes a [`Prefix`] and cannot see a
//! rollout.

use crate::boundary::Prefix;
use crate::profile::Profile;
use crate::signature::{api_of, app_of};
use crate::table::{Row, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Buckets of each hashed block of R2 and R3.
pub const HASH_BUCKETS: u32 = 4096;

/// A named set of feature columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Representation {
    /// The six observables of the frozen policies.
    Six,
    /// The same with the substantive write label in the first place.
    SixSub,
    /// `post_write_prefix` and `recent_error_count`.
    Pair,
    /// `substantive_write_prefix` and `recent_error_count`.
    PairSub,
    /// Seventeen summaries of the history.
    H,
    /// H and the task's difficulty, one-hot.
    HT,
    /// H and what the source judge said of the summary: exists only after summarising.
    HS,
    /// H and one indicator per function and app of the vocabulary.
    R1,
    /// R1 and hashed words of the tail observations.
    R2,
    /// R2 and hashed exact signatures.
    R3,
}

impl Representation {
    /// All representations with the names used in files and on the command line.
    pub const ALL: [(Representation, &'static str); 10] = [
        (Representation::Six, "six"),
        (Representation::SixSub, "six-substantive"),
        (Representation::Pair, "pair"),
        (Representation::PairSub, "pair-substantive"),
        (Representation::H, "H"),
        (Representation::HT, "HT"),
        (Representation::HS, "H+S"),
        (Representation::R1, "R1"),
        (Representation::R2, "R2"),
        (Representation::R3, "R3"),
    ];

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(representation, _)| *representation == self).map_or("", |(_, name)| name)
    }

    /// Whether the representation has indicator columns, so that a vocabulary is part of a fitted model.
    pub fn has_vocabulary(self) -> bool {
        matches!(self, Representation::R1 | Representation::R2 | Representation::R3)
    }

    fn hashed_blocks(self) -> u32 {
        match self {
            Representation::R2 => 1,
            Representation::R3 => 2,
            _ => 0,
        }
    }
}

impl fmt::Display for Representation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Representation {
    type Err = String;

    fn from_str(text: &str) -> Result<Representation, String> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(representation, _)| *representation).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("{text:?} is not a representation: expected one of {}", names.join(", "))
        })
    }
}

/// Functions and apps that have a column, each sorted bytewise. Part of the fitted model: a function that is not in it
/// sets no column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Vocabulary {
    /// Functions, sorted.
    pub functions: Vec<String>,
    /// Apps of those functions, sorted.
    pub apps: Vec<String>,
}

impl Vocabulary {
    /// The functions and apps observed in a cohort's prefixes.
    pub fn observed<'a>(prefixes: impl IntoIterator<Item = &'a Prefix>) -> Vocabulary {
        let functions: BTreeSet<&str> =
            prefixes.into_iter().flat_map(|prefix| prefix.historical_functions.iter().map(String::as_str)).collect();
        let apps: BTreeSet<&str> = functions.iter().map(|function| app_of(function)).collect();
        Vocabulary {
            functions: functions.into_iter().map(str::to_owned).collect(),
            apps: apps.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Whether both lists are sorted without repetition, which the column look-up relies on.
    pub fn is_sorted(&self) -> bool {
        let strictly = |names: &[String]| names.windows(2).all(|pair| pair[0] < pair[1]);
        strictly(&self.functions) && strictly(&self.apps)
    }
}

/// Turns prefixes into rows of one representation.
#[derive(Clone, Debug, PartialEq)]
pub struct Extractor {
    /// Which columns.
    pub representation: Representation,
    /// How calls, errors and writes are recognised.
    pub profile: Profile,
    /// The functions and apps with a column; empty for representations without.
    pub vocabulary: Vocabulary,
}

const SIX: [&str; 6] = [
    "post_write_prefix",
    "log_prefix_steps",
    "recent_error_count",
    "last_observation_chars",
    "compression_index",
    "n_historical_exact",
];

const H: [&str; 17] = [
    "log_prefix_steps",
    "compaction_index",
    "first_compaction",
    "n_exact",
    "n_functions",
    "repeat_proxy",
    "n_apps",
    "doc_calls",
    "doc_share",
    "session_calls",
    "post_write",
    "substantive_write",
    "n_substantive_write_functions",
    "recent_errors",
    "log_last_observation",
    "any_tail_failure",
    "has_completion_call",
];

impl Extractor {
    /// An extractor for a cohort: the vocabulary is the cohort's, which in cross-validation is the paper's choice
    /// (protocol section 2: a column that is constant in a training fold is harmless to every learner).
    pub fn for_cohort<'a>(
        representation: Representation,
        profile: Profile,
        prefixes: impl IntoIterator<Item = &'a Prefix>,
    ) -> Extractor {
        let vocabulary =
            if representation.has_vocabulary() { Vocabulary::observed(prefixes) } else { Vocabulary::default() };
        Extractor { representation, profile, vocabulary }
    }

    /// Number of dense columns; the 0/1 columns follow.
    pub fn n_dense(&self) -> usize {
        match self.representation {
            Representation::Six | Representation::SixSub => SIX.len(),
            Representation::Pair | Representation::PairSub => 2,
            Representation::HT => H.len() + 3,
            Representation::HS => H.len() + 2,
            _ => H.len(),
        }
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_dense()
            + self.vocabulary.functions.len()
            + self.vocabulary.apps.len()
            + (self.representation.hashed_blocks() * HASH_BUCKETS) as usize
    }

    /// Names of all columns, in order. Hashed columns are `token:BUCKET` and `exact:BUCKET`; an app's column is
    /// `app:NAME`, a function's bears its name.
    pub fn columns(&self) -> Vec<String> {
        let mut names: Vec<String> = match self.representation {
            Representation::Six => SIX.map(str::to_owned).to_vec(),
            Representation::SixSub => {
                let mut names = SIX.map(str::to_owned).to_vec();
                names[0] = "substantive_write_prefix".to_owned();
                names
            }
            Representation::Pair => vec![SIX[0].to_owned(), SIX[2].to_owned()],
            Representation::PairSub => vec!["substantive_write_prefix".to_owned(), SIX[2].to_owned()],
            _ => H.map(str::to_owned).to_vec(),
        };
        match self.representation {
            Representation::HT => names.extend((1..=3).map(|level| format!("difficulty_{level}"))),
            Representation::HS => names.extend(["unsupported_entries", "unsupported_share"].map(str::to_owned)),
            _ => {}
        }
        names.extend(self.vocabulary.functions.iter().cloned());
        names.extend(self.vocabulary.apps.iter().map(|app| format!("app:{app}")));
        for block in ["token", "exact"].iter().take(self.representation.hashed_blocks() as usize) {
            names.extend((0..HASH_BUCKETS).map(|bucket| format!("{block}:{bucket}")));
        }
        names
    }

    /// The row of a prefix.
    pub fn row(&self, prefix: &Prefix) -> Row {
        let dense = match self.representation {
            Representation::Six => self.six(prefix, self.post_write(prefix)).to_vec(),
            Representation::SixSub => self.six(prefix, self.substantive_writes(prefix) > 0).to_vec(),
            Representation::Pair => vec![flag(self.post_write(prefix)), self.recent_errors(prefix)],
            Representation::PairSub => {
                vec![flag(self.substantive_writes(prefix) > 0), self.recent_errors(prefix)]
            }
            Representation::HT => {
                let mut row = self.summaries(prefix).to_vec();
                row.extend((1..=3).map(|level| flag(prefix.difficulty == Some(level))));
                row
            }
            Representation::HS => {
                let mut row = self.summaries(prefix).to_vec();
                let support = prefix.summary_support.unwrap_or_default();
                row.extend([support.unsupported as f64, support.share()]);
                row
            }
            _ => self.summaries(prefix).to_vec(),
        };
        Row { dense, ones: self.ones(prefix) }
    }

    /// The design matrix of a cohort.
    ///
    /// # Errors
    /// As [`Table::new`]; no prefix leads to one.
    pub fn table<'a>(&self, prefixes: impl IntoIterator<Item = &'a Prefix>) -> Result<Table, String> {
        let rows = prefixes.into_iter().map(|prefix| self.row(prefix)).collect();
        Table::new(self.columns(), self.n_dense(), rows)
    }

    fn post_write(&self, prefix: &Prefix) -> bool {
        prefix.historical_functions.iter().any(|function| self.profile.is_write(function))
    }

    fn substantive_writes(&self, prefix: &Prefix) -> usize {
        let substantive = |function: &&String| self.profile.is_write(function) && !self.profile.is_session(function);
        prefix.historical_functions.iter().filter(substantive).count()
    }

    fn recent_errors(&self, prefix: &Prefix) -> f64 {
        let failed = |(index, observation): &(usize, &String)| {
            self.profile.failure.is_failure(observation, prefix.tail_errors.get(*index).copied().flatten())
        };
        prefix.tail.iter().enumerate().filter(failed).count() as f64
    }

    /// The six observables (the paper's Appendix E).
    fn six(&self, prefix: &Prefix, label: bool) -> [f64; 6] {
        [
            flag(label),
            (1.0 + prefix.prefix_steps as f64).ln(),
            self.recent_errors(prefix),
            last_observation_chars(prefix),
            prefix.compaction_index as f64,
            prefix.historical_exact.len() as f64,
        ]
    }

    /// H, the seventeen summaries (protocol section 2). `doc_calls` counts exact calls of the documentation app and
    /// `session_calls` exact calls of session endpoints **\[choice\]**.
    fn summaries(&self, prefix: &Prefix) -> [f64; 17] {
        let n_exact = prefix.historical_exact.len() as f64;
        let apps: BTreeSet<&str> = prefix.historical_functions.iter().map(|function| app_of(function)).collect();
        let exact = |matches: &dyn Fn(&str) -> bool| {
            prefix.historical_exact.iter().filter(|exact| matches(exact)).count() as f64
        };
        let doc_calls = exact(&|exact| app_of(exact) == self.profile.docs_app);
        let substantive = self.substantive_writes(prefix);
        let recent_errors = self.recent_errors(prefix);
        [
            (1.0 + prefix.prefix_steps as f64).ln(),
            prefix.compaction_index as f64,
            flag(prefix.compaction_index == 1),
            n_exact,
            prefix.historical_functions.len() as f64,
            prefix.prefix_steps as f64 - n_exact,
            apps.len() as f64,
            doc_calls,
            if prefix.historical_exact.is_empty() { 0.0 } else { doc_calls / n_exact },
            exact(&|exact| self.profile.session.contains(api_of(exact))),
            flag(self.post_write(prefix)),
            flag(substantive > 0),
            substantive as f64,
            recent_errors,
            (1.0 + last_observation_chars(prefix)).ln(),
            flag(recent_errors > 0.0),
            flag(exact(&|exact| crate::signature::function_of(exact) == self.profile.completion) > 0.0),
        ]
    }

    /// Indices of the 0/1 columns that are set.
    fn ones(&self, prefix: &Prefix) -> Vec<u32> {
        if !self.representation.has_vocabulary() {
            return Vec::new();
        }
        let mut offset = self.n_dense() as u32;
        let mut ones = BTreeSet::new();
        let mut look_up = |names: &[String], name: &str, offset: u32| {
            if let Ok(at) = names.binary_search_by(|candidate| candidate.as_str().cmp(name)) {
                ones.insert(offset + at as u32);
            }
        };
        let apps_at = offset + self.vocabulary.functions.len() as u32;
        for function in &prefix.historical_functions {
            look_up(&self.vocabulary.functions, function, offset);
            look_up(&self.vocabulary.apps, app_of(function), apps_at);
        }
        offset = apps_at + self.vocabulary.apps.len() as u32;
        let blocks = self.representation.hashed_blocks();
        if blocks >= 1 {
            ones.extend(prefix.tail.iter().flat_map(|text| words(text)).map(|word| offset + bucket(&word)));
        }
        if blocks >= 2 {
            offset += HASH_BUCKETS;
            ones.extend(prefix.historical_exact.iter().map(|exact| offset + bucket(exact)));
        }
        ones.into_iter().collect()
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// Unicode scalar values of the last tail observation, 0 if there is none.
fn last_observation_chars(prefix: &Prefix) -> f64 {
    prefix.tail.last().map_or(0, |observation| observation.chars().count()) as f64
}

/// Word tokens of a text: first maximal runs of characters that are alphabetic, numeric or `_`, then each run
/// lower-cased **\[choice\]** (the other order would cut a dotted capital I in two).
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|run| !run.is_empty()).map(str::to_lowercase)
}

/// MurmurHash3 x86 32-bit of the UTF-8 bytes, seed 0.
pub fn murmur3(text: &str) -> u32 {
    murmur3::murmur3_32(&mut text.as_bytes(), 0).expect("reading from memory does not fail")
}

/// The bucket of a token or signature: its hash, unsigned, mod 4096.
pub fn bucket(text: &str) -> u32 {
    murmur3(text) % HASH_BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        // murmur3_x86_32 with seed 0, from the reference implementation (the project's reference units)
        for (text, hash) in [("", 0), ("a", 1_009_084_850), ("hello", 613_153_351), ("tool:bash", 2_528_223_046)] {
            assert_eq!(murmur3(text), hash, "{text:?}");
        }
        assert_eq!(bucket("tool:bash"), 3910, "unsigned; read as signed it would be 186");
        // a binary column holds 1 however many tokens fall into it
        assert_eq!((bucket("item_121"), bucket("item_172")), (703, 703));
    }

    #[test]
    fn words_are_cut_before_they_are_lowered() {
        assert_eq!(words("A_b-c  Ünï 12.5").collect::<Vec<_>>(), ["a_b", "c", "ünï", "12", "5"]);
        assert_eq!(words("\u{130}x").collect::<Vec<_>>(), ["i\u{307}x"]);
    }

    #[test]
    fn an_empty_prefix_has_a_row_in_every_representation() {
        for (representation, name) in Representation::ALL {
            let extractor = Extractor::for_cohort(representation, Profile::appworld(), []);
            let row = extractor.row(&Prefix::default());
            assert_eq!(row.dense.len(), extractor.n_dense(), "{name}");
            assert_eq!(extractor.columns().len(), extractor.n_columns(), "{name}");
            assert_eq!(name.parse(), Ok(representation));
        }
    }
}
