//! What a report puts forward: which trigger the verdicts speak of, which ones the plots show at first, and in words
//! what each is.

use crate::evaluate::protocol::{CellName, Rule, Scorer};
use crate::results::{CellResult, FOREIGN, Results};
use foldline_features::Representation;
use foldline_models::Learner;

/// Triggers that plots show at first, at most.
const MOST_SHOWN: usize = 6;

/// What is put forward.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The cell that the verdicts speak of.
    pub headline: Option<usize>,
    /// How many cells it was chosen from.
    pub chosen_from: usize,
    /// Whether the user named it.
    pub named_by_user: bool,
    /// Cells that plots show at first, in the order of the results.
    pub shown: Vec<usize>,
}

impl Reading {
    /// Headline: of the groups' best cells the one with the largest mean AUROC over repetitions (ties: earlier); without
    /// any, the first trigger that is no baseline rule. Shown: the best cells, the first three of the frozen ones, and
    /// others in order up to six.
    pub fn of(results: &Results) -> Reading {
        let find = |name: &str, group: &str| results.cells.iter().position(|cell| cell.is(group, name));
        let mut best: Vec<(usize, f64)> = Vec::new();
        let (mut chosen_from, mut named_by_user) = (0, false);
        for entry in &results.best {
            let Some(index) = entry.cell.as_ref().and_then(|cell| find(&cell.to_string(), &entry.group)) else {
                continue;
            };
            let mean = results.cells[index].auroc_per_repetition.mean.defined().unwrap_or(f64::NEG_INFINITY);
            best.push((index, mean));
            chosen_from += entry.chosen_from;
            named_by_user |= entry.overridden;
        }
        let mut headline: Option<(usize, f64)> = None;
        for &(index, mean) in &best {
            if headline.is_none_or(|(_, other)| mean > other) {
                headline = Some((index, mean));
            }
        }
        let triggers: Vec<usize> = (0..results.cells.len()).filter(|&index| !is_rule(&results.cells[index])).collect();
        let headline = headline.map(|(index, _)| index).or_else(|| triggers.first().copied());
        let mut shown: Vec<usize> = best.iter().map(|(index, _)| *index).chain(headline).collect();
        let frozen = triggers.iter().copied().filter(|&index| results.cells[index].group == "frozen").take(3);
        shown.extend(frozen);
        shown.sort_unstable();
        shown.dedup();
        for index in triggers {
            if shown.len() < MOST_SHOWN.min(4) && !shown.contains(&index) {
                shown.push(index);
            }
        }
        if shown.len() < 4 {
            let rules = (0..results.cells.len()).filter(|&index| {
                is_telling_rule(&results.cells[index]) && results.cells[index].operating_point.blocked > 0
            });
            shown.extend(rules.take(4 - shown.len()));
        }
        shown.sort_unstable();
        Reading { headline, chosen_from, named_by_user, shown }
    }
}

/// Whether a cell is a baseline rule, which is not fitted.
pub fn is_rule(cell: &CellResult) -> bool {
    !is_foreign(cell) && cell.name.starts_with("rule/")
}

/// Whether a cell's scores came from a file, whatever its name looks like.
pub fn is_foreign(cell: &CellResult) -> bool {
    cell.group == FOREIGN
}

/// Whether a cell is a rule that looks at something: not always, never or at random.
pub fn is_telling_rule(cell: &CellResult) -> bool {
    let scorer = own_name(&cell.name).parse::<CellName>().map(|name| name.0);
    let trivial = |rule: Rule| matches!(rule, Rule::AlwaysAllow | Rule::AlwaysBlock | Rule::Random);
    !is_foreign(cell) && matches!(scorer, Ok(Scorer::Rule(rule)) if !trivial(rule))
}

/// What a cell of a run is, in words.
pub fn words_of(cell: &CellResult) -> String {
    if is_foreign(cell) { SCORES_FROM_A_FILE.to_owned() } else { cell_words(&cell.name) }
}

/// What a cell without a learner or rule of ours is.
pub const SCORES_FROM_A_FILE: &str = "scores from a file";

/// `CELL@GROUP` without its group.
fn own_name(name: &str) -> &str {
    name.split_once('@').map_or(name, |(cell, _)| cell)
}

/// What a cell of that name is, in words; "scores from a file" where it is no name of ours.
pub fn cell_words(name: &str) -> String {
    let Ok(CellName(scorer)) = own_name(name).parse::<CellName>() else { return SCORES_FROM_A_FILE.to_owned() };
    let (learner, representation) = match scorer {
        Scorer::Rule(rule) => return rule_words(rule).to_owned(),
        Scorer::Fitted(learner, representation) => (learner, representation),
    };
    let learner = match learner {
        Learner::Stump => "stump",
        Learner::Depth2 => "depth-2 tree",
        Learner::LogisticGd => "two-feature logistic regression",
        Learner::Logistic => "logistic regression",
        Learner::LogisticRaw => "logistic regression, columns as they are",
        Learner::Boosted => "boosted trees",
        Learner::BoostedRegression => "boosted regression",
        Learner::LinfaLogistic => "logistic regression by linfa",
        Learner::LinfaTree => "depth-2 tree by linfa",
        Learner::SmartcoreLogistic => "logistic regression by smartcore",
        Learner::SmartcoreTree => "depth-2 tree by smartcore",
    };
    let representation = match representation {
        Representation::Six => "six observables",
        Representation::SixSub => "six observables, substantive writes",
        Representation::Pair => "has-written + errors",
        Representation::PairSub => "substantive write + errors",
        Representation::H => "history summaries",
        Representation::HT => "summaries + difficulty",
        Representation::HS => "summaries + unsupported entries",
        Representation::R1 => "summaries + functions + apps",
        Representation::R2 => "R1 + observation words",
        Representation::R3 => "R2 + exact calls",
    };
    format!("{learner} on {representation}")
}

fn rule_words(rule: Rule) -> &'static str {
    match rule {
        Rule::AlwaysAllow => "always compact",
        Rule::AlwaysBlock => "never compact",
        Rule::Random => "a seeded random draw",
        Rule::PrefixLength => "block short prefixes first",
        Rule::CompactionIndex => "block early compactions first",
        Rule::FirstCompaction => "block first compactions",
        Rule::TokenBudget => "block small contexts first",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_ours_has_words() {
        for learner in Learner::ALL {
            for (representation, name) in Representation::ALL {
                let cell = CellName(Scorer::Fitted(learner, representation)).to_string();
                let words = cell_words(&cell);
                assert!(words.contains(" on "), "{cell} ({name}): {words}");
                assert_eq!(cell_words(&format!("{cell}@second")), words);
            }
        }
        assert_eq!(cell_words("smartcore-tree/H+S"), "depth-2 tree by smartcore on summaries + unsupported entries");
        assert_eq!(cell_words("rule/prefix-length@rules"), "block short prefixes first");
        for name in ["judge", "boosted/judge", "rule/mine", ""] {
            assert_eq!(cell_words(name), SCORES_FROM_A_FILE);
        }
    }
}
