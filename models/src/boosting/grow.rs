//! Growing one tree.

use super::Settings;
use super::bins::{Binned, Members};
use super::ensemble::BoostedNode;
use super::histogram::{BestSplit, Sums, best_split, fill, subtract};

/// Grows trees on the same binned rows, keeping its buffers.
pub(super) struct Grower<'a> {
    binned: &'a Binned,
    settings: &'a Settings,
    /// All training rows, ascending, before a tree is grown.
    everything: Vec<u32>,
    /// The same rows, those of a node side by side and ascending.
    rows: Vec<u32>,
    /// Where the rows that go right wait while a node is parted.
    waiting: Vec<u32>,
    /// Marks rows that go right.
    goes_right: Vec<bool>,
    /// Histograms not in use.
    spare: Vec<Vec<Sums>>,
}

/// A node's rows are `rows[start..end]`.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl Span {
    fn len(self) -> usize {
        self.end - self.start
    }
}

/// One tree in the making.
struct Tree<'a> {
    gradients: &'a [[f64; 2]],
    raw: &'a mut [f64],
    nodes: Vec<BoostedNode>,
}

/// A node about to be grown.
struct Seed {
    span: Span,
    total: Sums,
    /// The node's value before the learning rate; 0 for the root, as in scikit-learn.
    value: f64,
    depth: usize,
}

impl<'a> Grower<'a> {
    pub(super) fn new(binned: &'a Binned, settings: &'a Settings) -> Grower<'a> {
        let n = binned.start.len() - 1;
        let everything: Vec<u32> = (0..n as u32).collect();
        let rows = everything.clone();
        Grower {
            binned,
            settings,
            everything,
            rows,
            waiting: Vec::new(),
            goes_right: vec![false; n],
            spare: Vec::new(),
        }
    }

    /// Grows a tree, adds its values to `raw`, and returns its nodes in preorder.
    pub(super) fn grow(&mut self, gradients: &[[f64; 2]], raw: &mut [f64]) -> Vec<BoostedNode> {
        self.rows.copy_from_slice(&self.everything);
        let mut total = Sums::default();
        for &[gradient, hessian] in gradients {
            total.add(Sums { gradient, hessian, n: 1 });
        }
        let span = Span { start: 0, end: self.rows.len() };
        let seed = Seed { span, total, value: 0.0, depth: 0 };
        let histogram = self.can_split(&seed).then(|| self.histogram(span, gradients));
        let mut tree = Tree { gradients, raw, nodes: Vec::new() };
        self.node(&mut tree, seed, histogram);
        tree.nodes
    }

    /// Whether a node is worth a histogram; one that is not becomes a leaf.
    fn can_split(&self, seed: &Seed) -> bool {
        seed.depth < self.settings.max_depth && seed.span.len() >= 2 * self.settings.min_rows_per_leaf
    }

    fn histogram(&mut self, span: Span, gradients: &[[f64; 2]]) -> Vec<Sums> {
        let mut cells = self.spare.pop().unwrap_or_else(|| vec![Sums::default(); self.binned.n_cells]);
        fill(&mut cells, self.binned, &self.rows[span.start..span.end], gradients);
        cells
    }

    fn node(&mut self, tree: &mut Tree<'_>, seed: Seed, histogram: Option<Vec<Sums>>) {
        let split =
            histogram.as_ref().and_then(|cells| best_split(cells, self.binned, seed.total, seed.value, self.settings));
        let (Some(split), Some(mut cells)) = (split, histogram) else {
            let value = seed.value * self.settings.learning_rate;
            for &row in &self.rows[seed.span.start..seed.span.end] {
                tree.raw[row as usize] += value;
            }
            tree.nodes.push(BoostedNode::Leaf { value });
            return;
        };
        let (left, right) = self.part(seed.span, &split);
        let child =
            |span, total: Sums| Seed { span, total, value: total.value(self.settings.l2), depth: seed.depth + 1 };
        let (left, right) = (child(left, seed.total.minus(split.right)), child(right, split.right));
        let (mut left_cells, mut right_cells) = (None, None);
        if self.can_split(&left) || self.can_split(&right) {
            // the smaller child (the right one on a tie) is summed, the larger one is what is left of the parent
            let left_is_smaller = left.span.len() < right.span.len();
            let smaller = self.histogram(if left_is_smaller { left.span } else { right.span }, tree.gradients);
            subtract(&mut cells, &smaller);
            let (of_left, of_right) = if left_is_smaller { (smaller, cells) } else { (cells, smaller) };
            for (slot, of, seed) in [(&mut left_cells, of_left, &left), (&mut right_cells, of_right, &right)] {
                if self.can_split(seed) {
                    *slot = Some(of);
                } else {
                    self.spare.push(of);
                }
            }
        } else {
            self.spare.push(cells);
        }
        let column = &self.binned.columns[split.column];
        let at = tree.nodes.len();
        tree.nodes.push(BoostedNode::Split { column: column.column, threshold: column.cuts[split.bin], right: 0 });
        self.node(tree, left, left_cells);
        let after_left = tree.nodes.len() as u32;
        if let BoostedNode::Split { right, .. } = &mut tree.nodes[at] {
            *right = after_left;
        }
        self.node(tree, right, right_cells);
    }

    /// Parts a node's rows, left ones first, each side in its old order.
    fn part(&mut self, span: Span, split: &BestSplit) -> (Span, Span) {
        let Grower { rows, waiting, goes_right, .. } = self;
        let rows = &mut rows[span.start..span.end];
        let kept = match &self.binned.columns[split.column].rows {
            Members::Bins(bins) => part(rows, waiting, |row| usize::from(bins[row as usize]) > split.bin),
            Members::Ones(ones) => {
                ones.iter().for_each(|&row| goes_right[row as usize] = true);
                let kept = part(rows, waiting, |row| goes_right[row as usize]);
                ones.iter().for_each(|&row| goes_right[row as usize] = false);
                kept
            }
        };
        let middle = span.start + kept;
        (Span { start: span.start, end: middle }, Span { start: middle, end: span.end })
    }
}

/// Moves the rows that go right behind the others and returns how many stay.
fn part(rows: &mut [u32], waiting: &mut Vec<u32>, goes_right: impl Fn(u32) -> bool) -> usize {
    waiting.clear();
    let mut kept = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        if goes_right(row) {
            waiting.push(row);
        } else {
            rows[kept] = row;
            kept += 1;
        }
    }
    rows[kept..].copy_from_slice(waiting);
    kept
}
