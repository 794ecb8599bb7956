//! Least squares of d on a few columns and task indicators (protocol section 5; the paper's Appendix C).
//!
//! Indicators are not columns here: within-task demeaning gives the same slopes. What a task adds to the demeaned cross
//! products does not change when the task is drawn twice, so a draw is a weighted sum of small matrices.

use crate::bootstrap::{Clusters, Draws};
use crate::estimate::{Estimate, EstimatorError, Reason, Value, all_finite, same_length};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

/// Eigenvalues of the demeaned cross products at or below this share of the largest count as 0 **\[choice\]**: a column
/// that is constant within every task gives exact zeros, and rounding stays below 1e-15.
const RANK_TOLERANCE: f64 = 1e-12;

/// A fitted regression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// Slopes of the columns, in order, with intervals.
    pub slopes: Vec<Estimate>,
    /// Intercept of the reference task, the bytewise first one.
    pub intercept_reference: Value,
    /// Rank of the full design, indicators included.
    pub rank: usize,
    /// Columns of the full design: intercept, task indicators but one, and the columns.
    pub columns: usize,
    /// For each interval the number of draws whose demeaned columns were rank-deficient; they keep the minimum-norm
    /// slopes and stay in the interval.
    pub rank_deficient_draws: Vec<u32>,
}

/// Demeaned cross products of one task.
#[derive(Clone)]
struct Products {
    xx: Array2<f64>,
    xy: Array1<f64>,
}

/// Slopes of d on `columns` and one indicator per cluster (task).
///
/// `columns[c]` and `d` have one entry per boundary. In a draw only the drawn tasks have indicators, and a task drawn
/// twice weighs twice. Where the demeaned columns are rank-deficient the slopes of least norm are taken.
///
/// # Errors
/// `LengthMismatch`; `NotFinite`; `Invalid` without a column or a row.
pub fn regression_within_clusters(
    d: &[f64],
    columns: &[&[f64]],
    clusters: &Clusters,
    draws: &[&Draws],
) -> Result<Regression, EstimatorError> {
    same_length("clusters", d.len(), clusters.of().len())?;
    all_finite("d", d)?;
    for column in columns {
        same_length("a column of the regression", d.len(), column.len())?;
        all_finite("a column of the regression", column)?;
    }
    if columns.is_empty() || d.is_empty() {
        return Err(EstimatorError::Invalid("a regression needs a column and a row".to_owned()));
    }
    let means = Means::new(d, columns, clusters);
    let products = products(d, columns, clusters, &means);
    let p = columns.len();

    let (slopes, rank) = least_squares(&products, p, |_| 1);
    let intercept = means.d[0] - (0..p).map(|c| slopes[c] * means.columns[c][0]).sum::<f64>();
    let mut out = Regression {
        slopes: slopes.iter().map(|&slope| Estimate::new(Value::Defined(slope))).collect(),
        intercept_reference: Value::Defined(intercept),
        rank: clusters.len() + rank,
        columns: clusters.len() + p,
        rank_deficient_draws: Vec::new(),
    };
    for draws in draws {
        let fitted = draws.map(|| (), |(), times| least_squares(&products, p, |cluster| times[cluster]));
        for (column, slope) in out.slopes.iter_mut().enumerate() {
            // rank 0: no column varies within any drawn task, so no slope says anything
            let values = fitted.iter().map(|(slopes, rank)| match rank {
                0 => Value::Undefined(Reason::NoVariation),
                _ => Value::Defined(slopes[column]),
            });
            slope.add(draws.interval(values));
        }
        out.rank_deficient_draws.push(fitted.iter().filter(|(_, rank)| *rank < p).count() as u32);
    }
    Ok(out)
}

/// Means of d and of every column within each cluster.
struct Means {
    d: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

impl Means {
    fn new(d: &[f64], columns: &[&[f64]], clusters: &Clusters) -> Means {
        let mean = |values: &[f64]| {
            let (mut sum, mut n) = (vec![0.0; clusters.len()], vec![0.0; clusters.len()]);
            for (&value, &cluster) in values.iter().zip(clusters.of()) {
                sum[cluster as usize] += value;
                n[cluster as usize] += 1.0;
            }
            // clusters without a row (of a subset) have no mean and no products
            sum.iter().zip(&n).map(|(sum, &n)| if n > 0.0 { sum / n } else { 0.0 }).collect()
        };
        Means { d: mean(d), columns: columns.iter().map(|column| mean(column)).collect() }
    }
}

fn products(d: &[f64], columns: &[&[f64]], clusters: &Clusters, means: &Means) -> Vec<Products> {
    let p = columns.len();
    let zero = Products { xx: Array2::zeros((p, p)), xy: Array1::zeros(p) };
    let mut products = vec![zero; clusters.len()];
    for (row, &cluster) in clusters.of().iter().enumerate() {
        let cluster = cluster as usize;
        let x: Vec<f64> = (0..p).map(|c| columns[c][row] - means.columns[c][cluster]).collect();
        let y = d[row] - means.d[cluster];
        let task = &mut products[cluster];
        for i in 0..p {
            task.xy[i] += x[i] * y;
            for j in 0..p {
                task.xx[[i, j]] += x[i] * x[j];
            }
        }
    }
    products
}

/// Slopes of least norm and the rank of the columns.
fn least_squares(products: &[Products], p: usize, times: impl Fn(usize) -> u32) -> (Vec<f64>, usize) {
    let mut xx = Array2::<f64>::zeros((p, p));
    let mut xy = Array1::<f64>::zeros(p);
    for (cluster, task) in products.iter().enumerate() {
        let times = times(cluster);
        if times > 0 {
            xx.scaled_add(f64::from(times), &task.xx);
            xy.scaled_add(f64::from(times), &task.xy);
        }
    }
    let (values, vectors) = symmetric_eigen(xx);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let mut slopes = vec![0.0; p];
    let mut rank = 0;
    for (index, &value) in values.iter().enumerate() {
        if value > RANK_TOLERANCE * largest {
            rank += 1;
            let vector = vectors.column(index);
            let along = vector.dot(&xy) / value;
            slopes.iter_mut().zip(vector).for_each(|(slope, component)| *slope += along * component);
        }
    }
    (slopes, rank)
}

/// Eigenvalues and eigenvectors (columns) of a small symmetric matrix, by Jacobi rotations.
fn symmetric_eigen(mut a: Array2<f64>) -> (Vec<f64>, Array2<f64>) {
    let p = a.nrows();
    let mut vectors = Array2::<f64>::eye(p);
    // quadratic convergence: a 3 by 3 matrix is diagonal to rounding after about six sweeps
    for _ in 0..30 {
        let off: f64 = (0..p).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[[i, j]].powi(2)).sum();
        let diagonal: f64 = (0..p).map(|i| a[[i, i]].powi(2)).sum();
        if off <= f64::EPSILON.powi(2) * diagonal * 1e-4 {
            break;
        }
        for i in 0..p {
            for j in i + 1..p {
                if a[[i, j]].abs() > 0.0 {
                    rotate(&mut a, &mut vectors, i, j);
                }
            }
        }
    }
    ((0..p).map(|i| a[[i, i]]).collect(), vectors)
}

/// The Jacobi rotation that makes `a[i, j]` zero.
fn rotate(a: &mut Array2<f64>, vectors: &mut Array2<f64>, i: usize, j: usize) {
    let theta = (a[[j, j]] - a[[i, i]]) / (2.0 * a[[i, j]]);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for k in 0..a.nrows() {
        let (ki, kj) = (a[[k, i]], a[[k, j]]);
        a[[k, i]] = c * ki - s * kj;
        a[[k, j]] = s * ki + c * kj;
    }
    for k in 0..a.nrows() {
        let (ik, jk) = (a[[i, k]], a[[j, k]]);
        a[[i, k]] = c * ik - s * jk;
        a[[j, k]] = s * ik + c * jk;
        let (ki, kj) = (vectors[[k, i]], vectors[[k, j]]);
        vectors[[k, i]] = c * ki - s * kj;
        vectors[[k, j]] = s * ki + c * kj;
    }
}
