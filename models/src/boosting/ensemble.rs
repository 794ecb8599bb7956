//! The fitted booster: scoring, checking, words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use foldline_features::Row;
use serde::{Deserialize, Serialize};

use crate::model::{column_name, finite};

/// Boosted trees: score = link(baseline + the value of the row's leaf in every tree).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Boosted {
    /// From raw value to score.
    pub link: Link,
    /// Raw value before the first tree: the log-odds, or the mean, of the training rows.
    #[serde(deserialize_with = "finite")]
    pub baseline: f64,
    /// The trees, each as its nodes in preorder: a split's left child is the next node.
    pub trees: Vec<Vec<BoostedNode>>,
}

/// From raw value to score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// Score = 1 / (1 + exp(-raw)), a probability.
    Logit,
    /// Score = raw.
    Identity,
}

/// A node of a boosted tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum BoostedNode {
    /// A split in two.
    Split {
        /// Index of the column that decides.
        column: u32,
        /// A row whose value is at most this goes left.
        #[serde(deserialize_with = "finite")]
        threshold: f64,
        /// Index of the right child among the tree's nodes.
        right: u32,
    },
    /// A leaf.
    Leaf {
        /// What it adds to the raw value; the learning rate is in it.
        #[serde(deserialize_with = "finite")]
        value: f64,
    },
}

/// Larger models are refused on reading.
const MAX_TREES: usize = 10_000;
const MAX_NODES: usize = 1 << 12;
const MAX_DEPTH: usize = 64;

impl Boosted {
    /// The row's score.
    pub fn score(&self, row: &Row) -> f64 {
        self.link.apply(self.trees.iter().fold(self.baseline, |raw, tree| raw + leaf_value(tree, row)))
    }

    pub(crate) fn validate(&self, n_columns: usize) -> Result<(), String> {
        if !self.baseline.is_finite() {
            return Err(format!("the baseline {} is not finite", self.baseline));
        }
        if self.trees.len() > MAX_TREES {
            return Err(format!("{} trees, more than {MAX_TREES}", self.trees.len()));
        }
        for (at, tree) in self.trees.iter().enumerate() {
            validate_tree(tree, n_columns).map_err(|reason| format!("tree {at}: {reason}"))?;
        }
        Ok(())
    }

    pub(crate) fn describe(&self, columns: &[String]) -> String {
        let mut uses: BTreeMap<u32, usize> = BTreeMap::new();
        for node in self.trees.iter().flatten() {
            if let BoostedNode::Split { column, .. } = node {
                *uses.entry(*column).or_default() += 1;
            }
        }
        let mut ranked: Vec<(u32, usize)> = uses.into_iter().collect();
        ranked.sort_by_key(|&(column, uses)| (std::cmp::Reverse(uses), column));
        let raw = match self.link {
            Link::Logit => "log-odds",
            Link::Identity => "value",
        };
        let mut text =
            format!("{raw} {:+.4}, and what {} trees add; splits by column:\n", self.baseline, self.trees.len());
        for &(column, uses) in ranked.iter().take(DESCRIBED) {
            // writing to a String cannot fail
            let _ = writeln!(text, "  {uses} on {}", column_name(columns, column as usize));
        }
        if ranked.len() > DESCRIBED {
            let _ = writeln!(text, "  and fewer on {} more columns", ranked.len() - DESCRIBED);
        }
        if let Some(tree) = self.trees.first() {
            let _ = writeln!(text, "the first tree:");
            describe_node(tree, 0, columns, 1, raw, &mut text);
        }
        text
    }
}

/// Columns beyond this many are counted, not listed.
const DESCRIBED: usize = 40;

/// A child lies behind its parent (a malformed tree ends in 0 rather than in a cycle or a panic).
fn leaf_value(tree: &[BoostedNode], row: &Row) -> f64 {
    let mut at = 0;
    loop {
        match tree.get(at) {
            Some(BoostedNode::Leaf { value }) => return *value,
            Some(BoostedNode::Split { column, threshold, right }) => {
                let left = row.value(*column as usize) <= *threshold;
                at = if left { at + 1 } else { (*right as usize).max(at + 1) };
            }
            None => return 0.0,
        }
    }
}

/// Walks the preorder: every node must be reached exactly once.
fn validate_tree(tree: &[BoostedNode], n_columns: usize) -> Result<(), String> {
    if tree.len() > MAX_NODES {
        return Err(format!("{} nodes, more than {MAX_NODES}", tree.len()));
    }
    let end = validate_node(tree, 0, n_columns, 0)?;
    if end == tree.len() { Ok(()) } else { Err(format!("nodes from {end} on are not reached")) }
}

/// Returns the index behind the subtree at `at`.
fn validate_node(tree: &[BoostedNode], at: usize, n_columns: usize, depth: usize) -> Result<usize, String> {
    if depth > MAX_DEPTH {
        return Err(format!("deeper than {MAX_DEPTH}"));
    }
    match tree.get(at) {
        None => Err(format!("node {at} is missing")),
        Some(BoostedNode::Leaf { value }) if value.is_finite() => Ok(at + 1),
        Some(BoostedNode::Leaf { value }) => Err(format!("leaf {at} has the value {value}")),
        Some(BoostedNode::Split { column, threshold, right }) => {
            if *column as usize >= n_columns {
                return Err(format!("node {at} splits on column {column} of {n_columns}"));
            }
            if !threshold.is_finite() {
                return Err(format!("node {at} has the threshold {threshold}"));
            }
            let after_left = validate_node(tree, at + 1, n_columns, depth + 1)?;
            if after_left != *right as usize {
                return Err(format!("node {at} has its right child at {right}, expected {after_left}"));
            }
            validate_node(tree, after_left, n_columns, depth + 1)
        }
    }
}

fn describe_node(tree: &[BoostedNode], at: usize, columns: &[String], depth: usize, raw: &str, text: &mut String) {
    let indent = "  ".repeat(depth.min(MAX_DEPTH));
    // writing to a String cannot fail
    let _ = match tree.get(at) {
        Some(BoostedNode::Split { column, threshold, right }) if depth <= MAX_DEPTH => {
            let name = column_name(columns, *column as usize);
            let _ = writeln!(text, "{indent}if {name} is at most {threshold}:");
            describe_node(tree, at + 1, columns, depth + 1, raw, text);
            let _ = writeln!(text, "{indent}if {name} is above {threshold}:");
            describe_node(tree, (*right as usize).max(at + 1), columns, depth + 1, raw, text);
            Ok(())
        }
        Some(BoostedNode::Leaf { value }) => writeln!(text, "{indent}{raw} {value:+.4}"),
        _ => Ok(()),
    };
}
