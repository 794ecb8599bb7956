//! Gini trees of depth 1 and 2 (protocol section 3).
//!
//! Impurities are compared as exact integer fractions, so that a tie is a tie: lowest column index, then lowest
//! threshold. At most 25 candidate thresholds a column and node, at the ranks of [`candidate_ranks`] **\[choice\]**.

use std::cmp::Ordering;
use std::fmt::Write as _;

use foldline_features::Row;
use serde::{Deserialize, Serialize};

use crate::ModelError;
use crate::learner::Training;
use crate::model::{column_name, finite};

/// Most candidate thresholds per column and node.
pub const MAX_CANDIDATES: usize = 25;
/// A node with fewer rows is not split; a leaf may be smaller.
pub const MIN_ROWS_TO_SPLIT: usize = 20;
/// The cross products of impurity fractions are of order n^5 and must fit 128 bits.
const MAX_ROWS: usize = 1 << 24;
/// Deeper trees are refused on reading.
const MAX_DEPTH: usize = 16;

/// A binary tree; a row's score is the positive rate of its leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The node all rows start in.
    pub root: Node,
}

/// A node with the training rows that reached it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Number of training rows.
    pub n: u64,
    /// How many of them have label 1.
    pub positives: u64,
    /// The split; a leaf has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Box<Split>>,
}

/// A split of a node in two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Index of the column that decides.
    pub column: u32,
    /// A row whose value is at most this goes left.
    #[serde(deserialize_with = "finite")]
    pub threshold: f64,
    /// Where the others do not go.
    pub left: Node,
    /// Where values above the threshold go.
    pub right: Node,
}

impl Tree {
    /// The positive rate of the row's leaf.
    pub fn score(&self, row: &Row) -> f64 {
        let mut node = &self.root;
        while let Some(split) = &node.split {
            node = if row.value(split.column as usize) <= split.threshold { &split.left } else { &split.right };
        }
        node.positives as f64 / node.n.max(1) as f64
    }

    pub(crate) fn validate(&self, n_columns: usize) -> Result<(), String> {
        validate_node(&self.root, n_columns, 0)
    }

    pub(crate) fn describe(&self, columns: &[String]) -> String {
        let mut text = String::new();
        describe_node(&self.root, columns, 0, &mut text);
        text
    }
}

fn validate_node(node: &Node, n_columns: usize, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("the tree is deeper than {MAX_DEPTH}"));
    }
    if node.n == 0 || node.positives > node.n {
        return Err(format!("a tree node has {} positives of {} rows", node.positives, node.n));
    }
    let Some(split) = &node.split else { return Ok(()) };
    if split.column as usize >= n_columns {
        return Err(format!("a split uses column {} of {n_columns}", split.column));
    }
    if !split.threshold.is_finite() {
        return Err(format!("the threshold {} is not finite", split.threshold));
    }
    let sums = |of: fn(&Node) -> u64| of(&split.left).checked_add(of(&split.right));
    if sums(|node| node.n) != Some(node.n) || sums(|node| node.positives) != Some(node.positives) {
        return Err(format!("the two sides of the split on column {} do not add up to its node", split.column));
    }
    validate_node(&split.left, n_columns, depth + 1)?;
    validate_node(&split.right, n_columns, depth + 1)
}

fn describe_node(node: &Node, columns: &[String], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let Some(split) = &node.split else {
        let rate = node.positives as f64 / node.n.max(1) as f64;
        // writing to a String cannot fail
        let _ = writeln!(text, "{indent}score {rate:.4}: {} of {} training rows positive", node.positives, node.n);
        return;
    };
    let name = column_name(columns, split.column as usize);
    for (relation, side) in [("at most", &split.left), ("above", &split.right)] {
        let _ = writeln!(text, "{indent}if {name} is {relation} {}:", split.threshold);
        describe_node(side, columns, depth + 1, text);
    }
}

/// The ranks (0-based, among `m` midpoints in ascending order) that are tried as thresholds.
///
/// All of them up to 25; beyond, floor((2 j (m - 1) + 24) / 48) for j = 0..24 **\[choice\]**.
pub fn candidate_ranks(m: usize) -> Vec<usize> {
    if m <= MAX_CANDIDATES {
        return (0..m).collect();
    }
    (0..MAX_CANDIDATES).map(|j| (2 * j * (m - 1) + 24) / 48).collect()
}

/// The middle of two neighbours a < b; if rounding makes it b, then a, so that `x <= midpoint` parts the two.
pub(crate) fn midpoint(a: f64, b: f64) -> f64 {
    let mut middle = (a + b) / 2.0;
    if !middle.is_finite() {
        middle = a / 2.0 + b / 2.0;
    }
    if middle < b { middle } else { a }
}

/// Rows and positives on one side.
#[derive(Clone, Copy, Default)]
struct Count {
    n: u64,
    positives: u64,
}

impl Count {
    fn minus(self, other: Count) -> Count {
        Count { n: self.n - other.n, positives: self.positives - other.positives }
    }

    /// p (n - p): n^2 / 2 times the Gini impurity.
    fn mixed(self) -> u128 {
        u128::from(self.positives) * u128::from(self.n - self.positives)
    }
}

/// What remains of the impurity after a split, as a fraction: p q / n of the left plus p q / n of the right.
#[derive(Clone, Copy)]
struct Impurity {
    numerator: u128,
    denominator: u128,
}

impl Impurity {
    fn of(left: Count, right: Count) -> Impurity {
        let (l, r) = (u128::from(left.n), u128::from(right.n));
        Impurity { numerator: left.mixed() * r + right.mixed() * l, denominator: l * r }
    }

    fn cmp(self, other: Impurity) -> Ordering {
        (self.numerator * other.denominator).cmp(&(other.numerator * self.denominator))
    }
}

struct Best {
    column: usize,
    threshold: f64,
    left: Count,
    impurity: Impurity,
}

/// Offers a split; the best so far is replaced only by a strictly better one.
fn offer(best: &mut Option<Best>, total: Count, column: usize, threshold: f64, left: Count) {
    let right = total.minus(left);
    // the decrease is a multiple of (pl nr - pr nl)^2
    let decrease = left.positives * right.n != right.positives * left.n;
    if left.n == 0 || right.n == 0 || !decrease {
        return;
    }
    let impurity = Impurity::of(left, right);
    if best.as_ref().is_none_or(|best| impurity.cmp(best.impurity) == Ordering::Less) {
        *best = Some(Best { column, threshold, left, impurity });
    }
}

pub(crate) fn fit(training: &Training<'_>, depth: usize) -> Result<Tree, ModelError> {
    if training.n() > MAX_ROWS {
        return Err(ModelError::TooManyRows { rows: training.n(), limit: MAX_ROWS });
    }
    let label: Vec<bool> = training.y.iter().map(|&y| y > 0.5).collect();
    let dense: Vec<Vec<f64>> = (0..training.table.n_dense()).map(|column| training.dense(column)).collect();
    let everything = (0..training.n() as u32).collect();
    Ok(Tree { root: grow(training, &dense, &label, everything, depth) })
}

/// Grows the node that holds the training positions `members` (ascending).
fn grow(training: &Training<'_>, dense: &[Vec<f64>], label: &[bool], members: Vec<u32>, depth: usize) -> Node {
    let positives = members.iter().filter(|&&at| label[at as usize]).count() as u64;
    let total = Count { n: members.len() as u64, positives };
    let mut node = Node { n: total.n, positives, split: None };
    if depth == 0 || members.len() < MIN_ROWS_TO_SPLIT || positives == 0 || positives == total.n {
        return node;
    }
    let mut best = None;
    let mut values = Vec::with_capacity(members.len());
    for (column, of) in dense.iter().enumerate() {
        values.clear();
        values.extend(members.iter().map(|&at| (of[at as usize], label[at as usize])));
        offer_dense(&mut best, total, column, &mut values);
    }
    let mut inside = vec![false; training.n()];
    for &at in &members {
        inside[at as usize] = true;
    }
    for column in training.sparse_columns() {
        let mut ones = Count::default();
        for at in training.ones(column).filter(|&at| inside[at as usize]) {
            ones.n += 1;
            ones.positives += u64::from(label[at as usize]);
        }
        offer(&mut best, total, column, 0.5, total.minus(ones));
    }
    let Some(best) = best else { return node };
    if let Some(of) = dense.get(best.column) {
        for &at in &members {
            inside[at as usize] = of[at as usize] <= best.threshold;
        }
    } else {
        for at in training.ones(best.column) {
            inside[at as usize] = false;
        }
    }
    let (left, right): (Vec<u32>, Vec<u32>) = members.into_iter().partition(|&at| inside[at as usize]);
    debug_assert_eq!(left.len() as u64, best.left.n, "the split that was counted is the one that is made");
    node.split = Some(Box::new(Split {
        column: best.column as u32,
        threshold: best.threshold,
        left: grow(training, dense, label, left, depth - 1),
        right: grow(training, dense, label, right, depth - 1),
    }));
    node
}

/// Offers the candidate thresholds of one dense column.
fn offer_dense(best: &mut Option<Best>, total: Count, column: usize, values: &mut [(f64, bool)]) {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // (largest value of the left side, its right neighbour, rows up to and including it)
    let mut boundaries = Vec::new();
    let mut left = Count::default();
    for (at, &(value, label)) in values.iter().enumerate() {
        left.n += 1;
        left.positives += u64::from(label);
        if let Some(&(next, _)) = values.get(at + 1).filter(|next| next.0 > value) {
            boundaries.push((value, next, left));
        }
    }
    for rank in candidate_ranks(boundaries.len()) {
        let (a, b, left) = boundaries[rank];
        offer(best, total, column, midpoint(a, b), left);
    }
}
