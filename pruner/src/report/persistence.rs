//! How long reasoning entries live (the paper's Table 10).
//!
//! An entry of a summary is matched to the summary before it in the same run: first by normalised text (lower-case words
//! only), then by a character similarity of at least 0.90. Similarity is 2·L / (|a| + |b|), L the length of the longest
//! common subsequence of characters of the normalised texts **\[choice\]**. Each entry is matched once, earlier ones first.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Scored, is_reasoning, is_unsupported, ratio};

/// Similarity from which two entries are the same.
pub const SAME: f64 = 0.90;

/// Entries that were still there `later` summaries after their first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Survival {
    /// Summaries later.
    pub later: usize,
    /// Entries whose run goes on that long.
    pub at_risk: usize,
    /// Of these, still present.
    pub present: usize,
    /// Share still present; `None` without any at risk.
    pub share: Option<f64>,
}

/// Persistence of reasoning entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Persistence {
    /// Of unsupported entries (by their score where they first appear).
    pub unsupported: Vec<Survival>,
    /// Of supported entries.
    pub supported: Vec<Survival>,
    /// Matches by equal text.
    pub equal: usize,
    /// Matches by similarity only.
    pub similar: usize,
}

/// Follows reasoning entries through the summaries of each run. Summaries without a boundary number are left out.
pub fn persistence(summaries: &[Scored], longest: usize) -> Persistence {
    let mut runs: BTreeMap<&str, BTreeMap<u32, &Scored>> = BTreeMap::new();
    for summary in summaries {
        if let Some(boundary) = summary.boundary {
            runs.entry(&summary.run).or_default().insert(boundary, summary);
        }
    }
    let mut result = Persistence::default();
    let mut counts = [vec![(0, 0); longest], vec![(0, 0); longest]];
    for run in runs.values() {
        let run: Vec<&Scored> = run.values().copied().collect();
        // per summary and entry: the entry of the next summary that carries it on
        let mut next: Vec<Vec<Option<usize>>> = Vec::new();
        let mut is_new: Vec<Vec<bool>> = run.iter().map(|summary| vec![true; summary.account.entries.len()]).collect();
        for (at, pair) in run.windows(2).enumerate() {
            let texts = |summary: &Scored| {
                summary.account.entries.iter().map(|verdict| normalised(&verdict.text)).collect::<Vec<_>>()
            };
            let links = matches(&texts(pair[0]), &texts(pair[1]), &mut result);
            for to in links.iter().flatten() {
                is_new[at + 1][*to] = false;
            }
            next.push(links);
        }
        for (at, summary) in run.iter().enumerate() {
            for (entry, verdict) in summary.account.entries.iter().enumerate() {
                let unsupported = is_unsupported(verdict, summary.account.tau);
                let (true, true, Some(unsupported)) = (is_new[at][entry], is_reasoning(verdict), unsupported) else {
                    continue;
                };
                let mut here = Some(entry);
                for (step, count) in counts[usize::from(unsupported)].iter_mut().enumerate() {
                    let Some(links) = next.get(at + step) else { break };
                    here = here.and_then(|here| links[here]);
                    count.0 += 1;
                    count.1 += usize::from(here.is_some());
                }
            }
        }
    }
    let survival = |counts: &[(usize, usize)]| {
        let row = |(at, &(at_risk, present)): (usize, &(usize, usize))| Survival {
            later: at + 1,
            at_risk,
            present,
            share: ratio(present as f64, at_risk),
        };
        counts.iter().enumerate().map(row).collect()
    };
    result.supported = survival(&counts[0]);
    result.unsupported = survival(&counts[1]);
    result
}

/// For each entry of `from`, the entry of `to` that carries it on.
fn matches(from: &[String], to: &[String], result: &mut Persistence) -> Vec<Option<usize>> {
    let mut links = vec![None; from.len()];
    let mut taken = vec![false; to.len()];
    for exact in [true, false] {
        for (entry, text) in from.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            if links[entry].is_some() {
                continue;
            }
            let same = |other: &String| {
                if exact { other == text } else { may_be_same(text, other) && similarity(text, other) >= SAME }
            };
            if let Some(found) = (0..to.len()).find(|&at| !taken[at] && same(&to[at])) {
                taken[found] = true;
                links[entry] = Some(found);
                *(if exact { &mut result.equal } else { &mut result.similar }) += 1;
            }
        }
    }
    links
}

/// Whether the lengths allow it: no common subsequence is longer than the shorter text.
fn may_be_same(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|text| text.chars().count());
    2.0 * a.min(b) as f64 >= SAME * (a + b) as f64
}

/// Words of a text in lower case, joined by spaces.
pub fn normalised(text: &str) -> String {
    crate::words::words(text).map(|word| crate::words::lower(word).into_owned()).collect::<Vec<_>>().join(" ")
}

/// Character similarity of two texts, in 0..=1; 1 for two empty ones.
pub fn similarity(a: &str, b: &str) -> f64 {
    let [a, b]: [Vec<char>; 2] = [a, b].map(|text| text.chars().collect());
    let total = a.len() + b.len();
    if total == 0 {
        return 1.0;
    }
    2.0 * common(&a, &b) as f64 / total as f64
}

/// Length of the longest common subsequence.
fn common(a: &[char], b: &[char]) -> usize {
    let mut row = vec![0usize; b.len() + 1];
    for left in a {
        let mut diagonal = 0;
        for (at, right) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if left == right { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: "kitten" and "sitting" share "ittn": 2 * 4 / 13.
    #[test]
    fn similarity_by_hand() {
        assert!((similarity("kitten", "sitting") - 8.0 / 13.0).abs() < 1e-12);
        assert!((similarity("send the list to bob", "send the list to rob") - 38.0 / 40.0).abs() < 1e-12);
        assert_eq!(normalised("**Send** the list, to `Bob`!"), "send the list to bob");
    }
}
