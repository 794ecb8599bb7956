//! What a report puts forward: which trigger the verdicts speak of, which ones the plots show at first, and in words
//! what each is.

use crate::results::Results;

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
        let triggers: Vec<usize> =
            (0..results.cells.len()).filter(|&index| !is_rule(&results.cells[index].name)).collect();
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
                is_rule(&results.cells[index].name) && results.cells[index].operating_point.blocked > 0
            });
            shown.extend(rules.take(4 - shown.len()));
        }
        shown.sort_unstable();
        Reading { headline, chosen_from, named_by_user, shown }
    }
}

/// Whether a cell is a baseline rule, which is not fitted.
pub fn is_rule(name: &str) -> bool {
    name.starts_with("rule/")
}

/// What a cell is, in words; empty for a name that is not ours.
pub fn cell_words(name: &str) -> String {
    let rule = match name {
        "rule/always-allow" => "always compact",
        "rule/always-block" => "never compact",
        "rule/random" => "a seeded random draw",
        "rule/prefix-length" => "block short prefixes first",
        "rule/compaction-index" => "block early compactions first",
        "rule/first-compaction" => "block first compactions",
        "rule/token-budget" => "block small contexts first",
        _ => "",
    };
    if !rule.is_empty() {
        return rule.to_owned();
    }
    let Some((learner, representation)) = name.split_once('/') else { return String::new() };
    let learner = match learner {
        "stump" => "stump",
        "depth2" => "depth-2 tree",
        "logistic-gd" => "two-feature logistic regression",
        "logistic" => "logistic regression",
        "boosted" => "boosted trees",
        "boosted-reg" => "boosted regression",
        _ => return String::new(),
    };
    let representation = match representation {
        "six" => "six observables",
        "six-substantive" => "six observables, substantive writes",
        "pair" => "has-written + errors",
        "pair-substantive" => "substantive write + errors",
        "H" => "history summaries",
        "HT" => "summaries + difficulty",
        "HS" => "summaries + unsupported entries",
        "R1" => "summaries + functions + apps",
        "R2" => "R1 + observation words",
        "R3" => "R2 + exact calls",
        other => return format!("{learner} on {other}"),
    };
    format!("{learner} on {representation}")
}
