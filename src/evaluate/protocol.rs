//! What an evaluation does: cells, folds, draws and analyses, as a TOML file or a built-in preset.

use crate::results::FOREIGN;
use foldline_features::{Representation, Target};
use foldline_frontiers::Retain;
use foldline_models::Learner;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// An evaluation protocol. The built-in ones, `paper` and `quick`, are TOML files of this schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// Its name, which stands in results.
    pub name: String,
    /// The primary target.
    #[serde(with = "text")]
    pub target: Target,
    /// Share of opportunities that must stay allowed at the operating point.
    pub retain: Retain,
    /// Groups of cells.
    pub groups: Vec<Group>,
    /// Numbers of bootstrap draws.
    pub draws: DrawCounts,
    /// Refits of the best cells to other targets and folds.
    pub sensitivity: Option<Sensitivity>,
    /// The split-half replicate yardstick.
    pub yardstick: Option<YardstickPlan>,
    /// Permutation importance.
    pub importance: Option<Importance>,
}

/// Cells judged under the same folds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name, such as `EXT-2`.
    pub name: String,
    /// The folds.
    #[serde(with = "text")]
    pub folds: FoldPlan,
    /// Draws of its task-clustered AUROC and operating-point intervals; absent: as [`DrawCounts::of_cell`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<u32>,
    /// Its cells, in table order.
    pub cells: Vec<CellName>,
    /// Cells that compete for the group's best.
    #[serde(default)]
    pub eligible: Vec<CellName>,
}

/// Numbers of bootstrap draws (protocol section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawCounts {
    /// Every interval that `placement` does not cover.
    pub extension: u32,
    /// Placement cells, contrasts and regressions, and the task-clustered AUROC and operating-point intervals of the
    /// frozen policies' learners: stump, depth2, logistic-gd.
    pub placement: u32,
}

impl DrawCounts {
    /// Draws of a cell's task-clustered AUROC and operating-point intervals, where its group does not say.
    pub fn of_cell(self, cell: Option<CellName>) -> u32 {
        match cell.map(|cell| cell.0) {
            Some(Scorer::Fitted(Learner::Stump | Learner::Depth2 | Learner::LogisticGd, _)) => self.placement,
            _ => self.extension,
        }
    }
}

/// Refits of the best cell of each group with eligible cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensitivity {
    /// Other targets.
    #[serde(with = "texts")]
    pub targets: Vec<Target>,
    /// Other folds for the primary target.
    #[serde(with = "text")]
    pub task_folds: FoldPlan,
    /// Whether the regression variant of a boosted cell is fitted too.
    pub regression: bool,
}

/// Sizes of the split-half yardstick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YardstickPlan {
    /// Random splits; intervals are of the mean over the first [`INTERVAL_SPLITS`] of them.
    ///
    /// [`INTERVAL_SPLITS`]: foldline_frontiers::yardstick::INTERVAL_SPLITS
    pub splits: u32,
}

/// Permutation importance of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Importance {
    /// The cell.
    pub cell: CellName,
    /// Repetitions used; all when absent.
    pub repetitions: Option<usize>,
    /// Named groups of columns that are permuted together.
    #[serde(default)]
    pub groups: BTreeMap<String, Vec<String>>,
}

/// How boundaries are dealt into folds, written `task`, `stem:5x20` or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FoldPlan {
    /// Tasks held out.
    Task {
        /// Folds.
        k: usize,
        /// Repetitions.
        repetitions: usize,
    },
    /// Stems held out.
    Stem {
        /// Folds.
        k: usize,
        /// Repetitions.
        repetitions: usize,
    },
    /// Nothing is fitted.
    None,
}

impl FoldPlan {
    /// A plan that holds tasks or stems out.
    pub fn of(unit: &str, k: usize, repetitions: usize) -> FoldPlan {
        match unit {
            "stem" => FoldPlan::Stem { k, repetitions },
            _ => FoldPlan::Task { k, repetitions },
        }
    }

    /// What a fold keeps together, in words.
    pub fn unit(self) -> &'static str {
        match self {
            FoldPlan::Task { .. } => "task",
            FoldPlan::Stem { .. } => "stem",
            FoldPlan::None => "none",
        }
    }
}

impl fmt::Display for FoldPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FoldPlan::None => f.write_str("none"),
            FoldPlan::Task { k, repetitions } | FoldPlan::Stem { k, repetitions } => {
                write!(f, "{}:{k}x{repetitions}", self.unit())
            }
        }
    }
}

impl FromStr for FoldPlan {
    type Err = String;

    /// `UNIT`, `UNIT:REPETITIONS` (five folds, the paper's number) or `UNIT:KxREPETITIONS`; task folds have 1 repetition
    /// and stem folds 20 unless given.
    fn from_str(text: &str) -> Result<FoldPlan, String> {
        let wrong = || format!("{text:?} is no fold plan: expected task, stem, stem:REPETITIONS, stem:5x20 or none");
        if text == "none" {
            return Ok(FoldPlan::None);
        }
        let (unit, sizes) = text.split_once(':').map_or((text, None), |(unit, sizes)| (unit, Some(sizes)));
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (k, repetitions) = match sizes.map(|sizes| sizes.split_once('x').ok_or(sizes)) {
            None => (5, None),
            Some(Ok((k, repetitions))) => (number(k)?, Some(number(repetitions)?)),
            Some(Err(repetitions)) => (5, Some(number(repetitions)?)),
        };
        if k < 2 || repetitions.is_some_and(|repetitions| repetitions == 0 || repetitions > 1000) {
            return Err(format!("{text:?}: expected at least 2 folds and 1 to 1000 repetitions"));
        }
        match unit {
            "task" => Ok(FoldPlan::Task { k, repetitions: repetitions.unwrap_or(1) }),
            "stem" => Ok(FoldPlan::Stem { k, repetitions: repetitions.unwrap_or(20) }),
            _ => Err(wrong()),
        }
    }
}

/// What scores a cell's boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scorer {
    /// A learner fitted out of fold on a representation.
    Fitted(Learner, Representation),
    /// A rule that needs no fit.
    Rule(Rule),
}

/// Rules that users would try first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Global ON: every boundary has the same score, and the operating point allows all.
    AlwaysAllow,
    /// Global OFF: its point (0, 1) is on every frontier.
    AlwaysBlock,
    /// A seeded uniform draw, beside whose realised point the expectation 1 − retained stands.
    Random,
    /// Blocks short prefixes first.
    PrefixLength,
    /// Blocks low compaction indices first.
    CompactionIndex,
    /// Blocks first compactions.
    FirstCompaction,
    /// Blocks small contexts first: what a token threshold does.
    TokenBudget,
}

impl Rule {
    const ALL: [(Rule, &'static str); 7] = [
        (Rule::AlwaysAllow, "always-allow"),
        (Rule::AlwaysBlock, "always-block"),
        (Rule::Random, "random"),
        (Rule::PrefixLength, "prefix-length"),
        (Rule::CompactionIndex, "compaction-index"),
        (Rule::FirstCompaction, "first-compaction"),
        (Rule::TokenBudget, "token-budget"),
    ];
}

/// A cell's name, `LEARNER/REPRESENTATION` or `rule/NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CellName(pub Scorer);

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Scorer::Fitted(learner, representation) => write!(f, "{learner}/{representation}"),
            Scorer::Rule(rule) => {
                let name = Rule::ALL.iter().find(|(candidate, _)| *candidate == rule).map_or("", |(_, name)| name);
                write!(f, "rule/{name}")
            }
        }
    }
}

impl FromStr for CellName {
    type Err = String;

    fn from_str(text: &str) -> Result<CellName, String> {
        let (learner, representation) = text
            .split_once('/')
            .ok_or_else(|| format!("{text:?} is no cell: expected LEARNER/REPRESENTATION, such as boosted/H"))?;
        if learner == "rule" {
            let rule = Rule::ALL.iter().find(|(_, name)| *name == representation);
            return rule.map(|(rule, _)| CellName(Scorer::Rule(*rule))).ok_or_else(|| {
                let names: Vec<&str> = Rule::ALL.iter().map(|(_, name)| *name).collect();
                format!("{text:?} is no rule: expected rule/ and one of {}", names.join(", "))
            });
        }
        let learner: Learner = learner.parse().map_err(|error| format!("{text:?}: {error}"))?;
        Ok(CellName(Scorer::Fitted(learner, representation.parse()?)))
    }
}

impl TryFrom<String> for CellName {
    type Error = String;

    fn try_from(text: String) -> Result<CellName, String> {
        text.parse()
    }
}

impl From<CellName> for String {
    fn from(name: CellName) -> String {
        name.to_string()
    }
}

impl Protocol {
    /// A built-in protocol by name, `paper` or `quick`.
    pub fn builtin(name: &str) -> Option<Protocol> {
        let text = match name {
            "paper" => include_str!("paper.toml"),
            "quick" => include_str!("quick.toml"),
            _ => return None,
        };
        Some(Protocol::from_toml(text).expect("the built-in protocols are tested"))
    }

    /// A protocol from TOML.
    ///
    /// # Errors
    /// A sentence with line and field.
    pub fn from_toml(text: &str) -> Result<Protocol, String> {
        let protocol: Protocol = toml::from_str(text).map_err(|error| format!("is no protocol: {error}"))?;
        protocol.check()?;
        Ok(protocol)
    }

    /// Refuses what no evaluation can mean: a cell or group named twice, no draw or split, cells without folds.
    fn check(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for group in &self.groups {
            if group.name == FOREIGN {
                return Err(format!("a group cannot be called {FOREIGN}: that is what scores from files are called"));
            }
            if !names.insert(&group.name) {
                return Err(format!("two groups are called {}: give each its own name", group.name));
            }
            if let Some(twice) = first_repeated(&group.cells) {
                return Err(format!("group {}: cell {twice} stands twice", group.name));
            }
            if let Some(stray) = group.eligible.iter().find(|cell| !group.cells.contains(cell)) {
                return Err(format!("group {}: eligible cell {stray} is none of its cells", group.name));
            }
            let fits = group.cells.iter().any(|cell| matches!(cell.0, Scorer::Fitted(..)));
            if fits && group.folds == FoldPlan::None {
                return Err(format!("group {}: cells that are fitted need folds, such as stem:5x20", group.name));
            }
        }
        let counts = [
            ("draws.extension", Some(self.draws.extension)),
            ("draws.placement", Some(self.draws.placement)),
            ("yardstick.splits", self.yardstick.map(|plan| plan.splits)),
            ("a group's draws", self.groups.iter().filter_map(|group| group.draws).min()),
            (
                "importance.repetitions",
                self.importance.as_ref().and_then(|importance| importance.repetitions).map(|n| n.min(1) as u32),
            ),
        ];
        match counts.into_iter().find(|(_, count)| *count == Some(0)) {
            Some((field, _)) => Err(format!("{field} is 0: expected at least 1")),
            None => Ok(()),
        }
    }

    /// The plans of all groups and refits that fit something.
    pub fn fold_plans(&self) -> BTreeSet<FoldPlan> {
        let groups = self.groups.iter().map(|group| group.folds);
        let plans = groups.chain(self.sensitivity.iter().map(|sensitivity| sensitivity.task_folds));
        plans.filter(|plan| *plan != FoldPlan::None).collect()
    }

    /// Puts a plan in the place of another one.
    pub fn replace_folds(&mut self, old: FoldPlan, new: FoldPlan) {
        let groups = self.groups.iter_mut().map(|group| &mut group.folds);
        let plans = groups.chain(self.sensitivity.iter_mut().map(|sensitivity| &mut sensitivity.task_folds));
        plans.filter(|plan| **plan == old).for_each(|plan| *plan = new);
    }

    /// A protocol of some cells under one fold plan, with the paper's other numbers.
    ///
    /// # Errors
    /// A sentence where a cell stands twice, or one that is fitted has no folds.
    pub fn of_cells(cells: Vec<CellName>, folds: FoldPlan) -> Result<Protocol, String> {
        let paper = Protocol::builtin("paper").expect("the paper protocol is built in");
        let (rules, fitted): (Vec<CellName>, Vec<CellName>) =
            cells.into_iter().partition(|cell| matches!(cell.0, Scorer::Rule(_)));
        let group = |name: &str, folds, cells: Vec<CellName>| Group {
            name: name.to_owned(),
            folds,
            draws: None,
            eligible: if folds == FoldPlan::None { Vec::new() } else { cells.clone() },
            cells,
        };
        let rules = if rules.is_empty() {
            paper.groups.last().map(|group| group.cells.clone()).unwrap_or_default()
        } else {
            rules
        };
        let protocol = Protocol {
            name: "cells".to_owned(),
            groups: vec![group("cells", folds, fitted), group("baselines", FoldPlan::None, rules)],
            sensitivity: None,
            importance: None,
            ..paper
        };
        protocol.check()?;
        Ok(protocol)
    }
}

/// The first cell that stands a second time.
fn first_repeated(cells: &[CellName]) -> Option<CellName> {
    let mut seen = BTreeSet::new();
    cells.iter().copied().find(|cell| !seen.insert(*cell))
}

/// Serde through `Display` and `FromStr`.
mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::fmt::Display;
    use std::str::FromStr;

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// As [`text`], for lists.
mod texts {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::fmt::Display;
    use std::str::FromStr;

    pub(super) fn serialize<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(T::to_string))
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtin_protocols_read_and_survive_a_round_trip() {
        for name in ["paper", "quick"] {
            let protocol = Protocol::builtin(name).unwrap();
            let text = toml::to_string(&protocol).unwrap();
            assert_eq!(Protocol::from_toml(&text).unwrap(), protocol);
        }
        let cells: usize = Protocol::builtin("paper").unwrap().groups[1..3].iter().map(|group| group.cells.len()).sum();
        assert_eq!(cells, 14, "the paper's 14 cells");
    }

    #[test]
    fn names_are_read_or_refused_with_the_choice() {
        assert_eq!("stem".parse(), Ok(FoldPlan::Stem { k: 5, repetitions: 20 }));
        assert_eq!("stem:3".parse(), Ok(FoldPlan::Stem { k: 5, repetitions: 3 }));
        assert_eq!("stem:4x2".parse(), Ok(FoldPlan::Stem { k: 4, repetitions: 2 }));
        assert_eq!("task".parse(), Ok(FoldPlan::Task { k: 5, repetitions: 1 }));
        assert!("stem:1x1".parse::<FoldPlan>().is_err() && "stem:0".parse::<FoldPlan>().is_err());
        assert!("boosted/X".parse::<CellName>().is_err_and(|error| error.contains("R3")));
        assert!("rule/x".parse::<CellName>().is_err_and(|error| error.contains("token-budget")));
        assert_eq!("rule/random".parse::<CellName>().map(|cell| cell.to_string()), Ok("rule/random".to_owned()));
    }
}
