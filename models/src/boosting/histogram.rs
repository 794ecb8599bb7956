//! Sums of gradients over the rows of a node, and the best split they show.

use super::Settings;
use super::bins::Binned;

/// Sums over rows: of gradients, of hessians, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) gradient: f64,
    pub(super) hessian: f64,
    pub(super) n: u32,
}

impl Sums {
    pub(super) fn add(&mut self, other: Sums) {
        self.gradient += other.gradient;
        self.hessian += other.hessian;
        self.n += other.n;
    }

    pub(super) fn minus(self, other: Sums) -> Sums {
        Sums { gradient: self.gradient - other.gradient, hessian: self.hessian - other.hessian, n: self.n - other.n }
    }

    /// The value a leaf of these rows has, before the learning rate.
    pub(super) fn value(self, l2: f64) -> f64 {
        -self.gradient / (self.hessian + l2 + 1e-15)
    }
}

/// The best split of a node.
pub(super) struct BestSplit {
    /// Index into the binned columns.
    pub(super) column: usize,
    /// Rows in bins up to this one go left.
    pub(super) bin: usize,
    pub(super) right: Sums,
    pub(super) gain: f64,
}

/// Fills `cells` with the sums over `rows`.
pub(super) fn fill(cells: &mut [Sums], binned: &Binned, rows: &[u32], gradients: &[[f64; 2]]) {
    cells.fill(Sums::default());
    for &row in rows {
        let row = row as usize;
        let [gradient, hessian] = gradients[row];
        let one = Sums { gradient, hessian, n: 1 };
        for &cell in &binned.cells[binned.start[row]..binned.start[row + 1]] {
            cells[cell as usize].add(one);
        }
    }
}

/// Turns a parent's histogram into that of its larger child.
pub(super) fn subtract(parent: &mut [Sums], smaller: &[Sums]) {
    for (parent, &smaller) in parent.iter_mut().zip(smaller) {
        *parent = parent.minus(smaller);
    }
}

/// The smallest hessian sum of a child, as in scikit-learn.
const MIN_HESSIAN: f64 = 1e-3;

/// How far below the best gain a candidate may seem to lie, relative to it, and still be computed exactly.
const MARGIN: f64 = 1e-9;

/// Searches all columns for the split with the largest positive gain; `value` is the node's own value.
pub(super) fn best_split(
    cells: &[Sums],
    binned: &Binned,
    total: Sums,
    value: f64,
    settings: &Settings,
) -> Option<BestSplit> {
    let fewest = settings.min_rows_per_leaf as u32;
    let own_loss = total.gradient * value;
    let mut best = BestSplit { column: usize::MAX, bin: 0, right: Sums::default(), gain: 0.0 };
    // what Gl^2 / (Hl + l2) + Gr^2 / (Hr + l2) must reach to be of interest
    let mut bar = -own_loss * (1.0 - MARGIN);
    for (at, column) in binned.columns.iter().enumerate() {
        let cells = &cells[column.first_cell..column.first_cell + column.cuts.len()];
        let mut right = Sums::default();
        // from the last cut to the first, so that only cells of bins above the first are read
        for (bin, &cell) in cells.iter().enumerate().rev() {
            if cell.n == 0 {
                // the same split as the cut above; on a tie the lower bin
                if best.column == at && best.bin == bin + 1 {
                    best.bin = bin;
                }
                continue;
            }
            right.add(cell);
            if right.n < fewest {
                continue;
            }
            if total.n - right.n < fewest {
                break;
            }
            let left = total.minus(right);
            // most candidates are no match for the best, which shows without a division
            let (l, r) = (left.hessian + settings.l2, right.hessian + settings.l2);
            if left.gradient * left.gradient * r + right.gradient * right.gradient * l < bar * (l * r) {
                continue;
            }
            if right.hessian < MIN_HESSIAN || left.hessian < MIN_HESSIAN {
                continue;
            }
            let gain = own_loss - left.gradient * left.value(settings.l2) - right.gradient * right.value(settings.l2);
            // on a tie the lower bin, which comes later, and the lower column, which came first
            if gain > best.gain || (gain >= best.gain && best.column == at) {
                best = BestSplit { column: at, bin, right, gain };
                bar = (gain - own_loss) * (1.0 - MARGIN);
            }
        }
    }
    (best.gain > 0.0).then_some(best)
}
