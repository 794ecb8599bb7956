//! Columns by name, and what a host must know so that a column can be computed.
//!
//! The 8,192 hashed columns of R3 are named by block and bucket (`token:17`, `exact:4095`), so a policy file lists none
//! of them and a look-up needs no table.

use foldline_features::extract::{Extractor, HASH_BUCKETS};
use foldline_features::signature::app_of;
use std::fmt;

/// Something a host must give so that a column can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Number of steps before the boundary.
    PrefixSteps,
    /// Which compaction of the trajectory this is.
    CompactionIndex,
    /// Distinct exact call signatures before the boundary.
    HistoricalExact,
    /// Distinct functions before the boundary.
    HistoricalFunctions,
    /// The last three observations.
    Tail,
    /// The environment's error flags of the last three observations.
    TailErrors,
    /// The task's difficulty.
    Difficulty,
    /// What a source judge said of the summary.
    SummarySupport,
}

impl Need {
    /// The field of the native format.
    pub fn field(self) -> &'static str {
        match self {
            Need::PrefixSteps => "prefix_steps",
            Need::CompactionIndex => "compaction_index",
            Need::HistoricalExact => "historical_exact",
            Need::HistoricalFunctions => "historical_functions",
            Need::Tail => "tail",
            Need::TailErrors => "tail_errors",
            Need::Difficulty => "difficulty",
            Need::SummarySupport => "summary_entries and summary_unsupported",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field())
    }
}

/// Where the blocks of an extractor's columns begin.
struct Blocks {
    dense: usize,
    functions: usize,
    apps: usize,
    buckets: usize,
}

impl Blocks {
    fn of(extractor: &Extractor) -> Blocks {
        let dense = extractor.n_dense();
        let functions = dense + extractor.vocabulary.functions.len();
        let apps = functions + extractor.vocabulary.apps.len();
        Blocks { dense, functions, apps, buckets: extractor.n_columns() }
    }
}

/// Names of the dense columns, in order.
pub fn dense_names(extractor: &Extractor) -> Vec<String> {
    let without = Extractor {
        representation: extractor.representation,
        profile: extractor.profile.clone(),
        vocabulary: Default::default(),
    };
    let mut names = without.columns();
    names.truncate(without.n_dense());
    names
}

/// The name of a column, as [`Extractor::columns`] gives it; empty for an index beyond the last.
pub fn name_of(extractor: &Extractor, dense: &[String], index: usize) -> String {
    let at = Blocks::of(extractor);
    let buckets = HASH_BUCKETS as usize;
    let name = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
    match index {
        _ if index < at.dense => name(dense, index),
        _ if index < at.functions => name(&extractor.vocabulary.functions, index - at.dense),
        _ if index < at.apps => format!("app:{}", name(&extractor.vocabulary.apps, index - at.functions)),
        _ if index >= at.buckets => String::new(),
        _ if index < at.apps + buckets => format!("token:{}", index - at.apps),
        _ => format!("exact:{}", index - at.apps - buckets),
    }
}

/// The index of a column by its name; a name that two columns bear is the first one's.
pub fn index_of(extractor: &Extractor, dense: &[String], name: &str) -> Option<usize> {
    let at = Blocks::of(extractor);
    let among = |names: &[String], name: &str| names.binary_search_by(|other| other.as_str().cmp(name)).ok();
    let bucket = |text: &str, offset: usize| {
        let bucket = text.parse::<usize>().ok().filter(|&bucket| bucket < HASH_BUCKETS as usize)?;
        Some(offset + bucket).filter(|&index| index < at.buckets && bucket.to_string() == text)
    };
    if let Some(index) = dense.iter().position(|other| other == name) {
        return Some(index);
    }
    if let Some(index) = among(&extractor.vocabulary.functions, name) {
        return Some(at.dense + index);
    }
    let (block, rest) = name.split_once(':')?;
    match block {
        "app" => among(&extractor.vocabulary.apps, rest).map(|index| at.functions + index),
        "token" => bucket(rest, at.apps),
        "exact" => bucket(rest, at.apps + HASH_BUCKETS as usize),
        _ => None,
    }
}

/// What a column is computed from.
pub fn needs_of(extractor: &Extractor, dense: &[String], index: usize) -> Vec<Need> {
    let at = Blocks::of(extractor);
    if index >= at.dense {
        return match index {
            _ if index < at.apps => vec![Need::HistoricalFunctions],
            _ if index < at.apps + HASH_BUCKETS as usize => vec![Need::Tail],
            _ => vec![Need::HistoricalExact],
        };
    }
    let failure = &extractor.profile.failure;
    match dense.get(index).map_or("", String::as_str) {
        "log_prefix_steps" => vec![Need::PrefixSteps],
        "compaction_index" | "compression_index" | "first_compaction" => vec![Need::CompactionIndex],
        "repeat_proxy" => vec![Need::PrefixSteps, Need::HistoricalExact],
        "n_exact" | "n_historical_exact" | "doc_calls" | "doc_share" | "session_calls" | "has_completion_call" => {
            vec![Need::HistoricalExact]
        }
        "last_observation_chars" | "log_last_observation" => vec![Need::Tail],
        "recent_errors" | "recent_error_count" | "any_tail_failure" => {
            // without a rule on the text, only the flags tell an error
            let by_flag = failure.error_flag && failure.begins_with.is_empty() && failure.equals_trimmed.is_empty();
            if by_flag { vec![Need::Tail, Need::TailErrors] } else { vec![Need::Tail] }
        }
        "difficulty_1" | "difficulty_2" | "difficulty_3" => vec![Need::Difficulty],
        "unsupported_entries" | "unsupported_share" => vec![Need::SummarySupport],
        _ => vec![Need::HistoricalFunctions],
    }
}

/// Whether a vocabulary's apps are those of its functions, which the extractor relies on.
pub fn apps_fit(extractor: &Extractor) -> bool {
    let mut apps: Vec<&str> = extractor.vocabulary.functions.iter().map(|function| app_of(function)).collect();
    apps.sort_unstable();
    apps.dedup();
    apps.iter().copied().eq(extractor.vocabulary.apps.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldline_features::{Profile, Representation, Vocabulary};

    #[test]
    fn names_and_indices_agree_with_the_extractor() {
        for (representation, name) in Representation::ALL {
            let vocabulary = if representation.has_vocabulary() {
                Vocabulary {
                    functions: vec!["bash".into(), "venmo.login".into(), "venmo.show_x".into()],
                    apps: vec!["bash".into(), "venmo".into()],
                }
            } else {
                Vocabulary::default()
            };
            let extractor = Extractor { representation, profile: Profile::appworld(), vocabulary };
            let dense = dense_names(&extractor);
            assert!(apps_fit(&extractor), "{name}");
            for (index, column) in extractor.columns().iter().enumerate() {
                assert_eq!(&name_of(&extractor, &dense, index), column, "{name}");
                assert_eq!(index_of(&extractor, &dense, column), Some(index), "{name}: {column}");
                assert!(!needs_of(&extractor, &dense, index).is_empty());
            }
            assert_eq!(index_of(&extractor, &dense, "token:4096"), None);
            assert_eq!(index_of(&extractor, &dense, "token:007"), None);
            assert_eq!(name_of(&extractor, &dense, extractor.n_columns()), "");
        }
    }
}
