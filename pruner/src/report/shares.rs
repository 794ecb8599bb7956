//! Shares of unsupported entries by section, layout and boundary (the paper's Tables 2 and 9), and lengths saved
//! (Table 5).

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Scored, is_reasoning, is_unsupported, ratio};

/// Entries of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// Entries found.
    pub entries: usize,
    /// Entries with a score.
    pub scored: usize,
    /// Entries below the threshold.
    pub unsupported: usize,
    /// Entries removed.
    pub dropped: usize,
    /// Share below the threshold among those scored; `None` without any.
    pub share: Option<f64>,
}

impl Share {
    fn add(&mut self, unsupported: Option<bool>, dropped: bool) {
        self.entries += 1;
        self.scored += usize::from(unsupported.is_some());
        self.unsupported += usize::from(unsupported == Some(true));
        self.dropped += usize::from(dropped);
        self.share = ratio(self.unsupported as f64, self.scored);
    }
}

/// One compression boundary: first, second, later.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BoundaryShare {
    /// Summaries.
    pub summaries: usize,
    /// All entries.
    pub all: Share,
    /// Reasoning entries.
    pub reasoning: Share,
    /// Unsupported reasoning entries per summary; `None` without a summary.
    pub unsupported_reasoning_per_summary: Option<f64>,
}

/// Summaries of one layout.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayoutShare {
    /// Summaries.
    pub summaries: usize,
    /// Summaries that came back changed.
    pub changed: usize,
    /// Summaries that came back as they were although entries are below the threshold, or without entries, by status.
    pub statuses: BTreeMap<String, usize>,
    /// Their entries.
    pub all: Share,
    /// Characters before and after.
    pub chars: [usize; 2],
    /// Share of the characters saved; `None` without any.
    pub saved: Option<f64>,
}

/// All shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Over everything.
    pub total: LayoutShare,
    /// Reasoning entries over everything.
    pub reasoning: Share,
    /// By section: the names above an entry, joined by ` > `.
    pub sections: BTreeMap<String, Share>,
    /// By layout.
    pub layouts: BTreeMap<String, LayoutShare>,
    /// By boundary (`first`, `second`, `later`); empty where summaries are not in sequence.
    pub boundaries: BTreeMap<String, BoundaryShare>,
}

/// Counts everything.
pub fn shares(summaries: &[Scored]) -> Shares {
    let mut shares = Shares::default();
    for summary in summaries {
        let account = &summary.account;
        let boundary = summary.boundary.map(|boundary| {
            let name = ["first", "second", "later"][(boundary.max(1) as usize - 1).min(2)];
            shares.boundaries.entry(name.to_string()).or_default()
        });
        let layout = shares.layouts.entry(summary.layout.clone()).or_default();
        let mut groups = [&mut shares.total, layout];
        for group in &mut groups {
            group.summaries += 1;
            group.changed += usize::from(account.changed);
            *group.statuses.entry(account.status.name().to_string()).or_default() += 1;
            group.chars[0] += account.chars[0];
            group.chars[1] += account.chars[1];
            group.saved = ratio((group.chars[0] - group.chars[1]) as f64, group.chars[0]);
        }
        let mut at_boundary = boundary;
        if let Some(boundary) = &mut at_boundary {
            boundary.summaries += 1;
        }
        for verdict in &account.entries {
            let unsupported = is_unsupported(verdict, account.tau);
            let dropped = verdict.fate == crate::account::Fate::Dropped;
            for group in &mut groups {
                group.all.add(unsupported, dropped);
            }
            shares.sections.entry(verdict.section.join(" > ")).or_default().add(unsupported, dropped);
            let reasoning = is_reasoning(verdict);
            if reasoning {
                shares.reasoning.add(unsupported, dropped);
            }
            if let Some(boundary) = &mut at_boundary {
                boundary.all.add(unsupported, dropped);
                if reasoning {
                    boundary.reasoning.add(unsupported, dropped);
                }
            }
        }
        if let Some(boundary) = at_boundary {
            boundary.unsupported_reasoning_per_summary =
                ratio(boundary.reasoning.unsupported as f64, boundary.summaries);
        }
    }
    shares
}
