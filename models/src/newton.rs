//! Newton's method for L2 logistic regression.
//!
//! Few columns: the Hessian is factorised (Cholesky). Many: the Newton step w = Z^T beta is sought in the space of the
//! rows, where beta solves (K + D^-1) beta + 1 b = rhs, sum beta = 0, with K = Z Z^T and D the weights of the
//! log-loss; a conjugate gradient that stays on the constraint solves it, and neither Z nor K is ever made dense.

use crate::logistic::LogisticSettings;
use crate::model::sigmoid;
use crate::standard::Design;

/// Up to this many columns the Hessian is factorised.
const FACTORISE_UP_TO: usize = 256;
/// Smallest weight of a row in the Hessian, so that saturated rows do not divide by 0. It bends the step, not the
/// optimum.
const MIN_WEIGHT: f64 = 1e-12;
/// Give up when the gradient has not shrunk for so many steps: rounding is all that is left.
const PATIENCE: usize = 25;

/// Where the search ended.
pub(crate) struct Optimum {
    pub(crate) weights: Vec<f64>,
    pub(crate) intercept: f64,
    /// Largest absolute entry of the gradient there.
    pub(crate) gradient: f64,
    pub(crate) iterations: usize,
}

/// A step from the current point.
struct Step {
    weights: Vec<f64>,
    intercept: f64,
    /// Its image in the rows (many columns only): weights = Z^T rows.
    rows: Vec<f64>,
}

pub(crate) fn minimise(design: &Design, y: &[f64], settings: &LogisticSettings) -> Optimum {
    let (n, p) = (design.n, design.n_columns());
    let in_rows = p > FACTORISE_UP_TO;
    let kernel_diagonal = if in_rows { kernel_diagonal(design) } else { Vec::new() };
    let (mut weights, mut intercept) = (vec![0.0; p], 0.0);
    // weights = Z^T alpha
    let mut alpha = vec![0.0; if in_rows { n } else { 0 }];
    let mut gradient = vec![0.0; p];
    let (mut f, mut residual, mut curvature) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let (mut moved, mut tried) = (vec![0.0; n], vec![0.0; n]);
    let mut best = Optimum { weights: weights.clone(), intercept, gradient: f64::INFINITY, iterations: 0 };
    let mut since_best = 0;
    let mut polished = false;
    for iteration in 0..=settings.max_iterations {
        design.forward(&weights, intercept, &mut f);
        for (row, &f) in f.iter().enumerate() {
            let rate = sigmoid(f);
            residual[row] = settings.c * (rate - y[row]);
            curvature[row] = (settings.c * rate * (1.0 - rate)).max(MIN_WEIGHT);
        }
        design.backward(&residual, &mut gradient);
        gradient.iter_mut().zip(&weights).for_each(|(g, w)| *g += w);
        let gradient_intercept: f64 = residual.iter().sum();
        let norm = gradient.iter().fold(gradient_intercept.abs(), |max, g| max.max(g.abs()));
        if norm < best.gradient {
            best = Optimum { weights: weights.clone(), intercept, gradient: norm, iterations: iteration };
            since_best = 0;
        } else {
            since_best += 1;
        }
        // the step after the last one needed takes the error from the square root of rounding to rounding
        if (norm <= settings.tolerance && polished) || iteration == settings.max_iterations || since_best > PATIENCE {
            break;
        }
        polished = norm <= settings.tolerance;
        let step = if in_rows {
            conjugate_step(design, &kernel_diagonal, &alpha, &residual, &curvature, norm.min(0.1))
        } else {
            match factorised_step(design, &gradient, gradient_intercept, &curvature) {
                Some(step) => step,
                None => break,
            }
        };
        design.forward(&step.weights, step.intercept, &mut moved);
        let slope = dot(&gradient, &step.weights) + gradient_intercept * step.intercept;
        let objective = |t: f64, tried: &mut [f64]| {
            tried.iter_mut().zip(&f).zip(&moved).for_each(|((tried, f), moved)| *tried = f + t * moved);
            let square: f64 = weights.iter().zip(&step.weights).map(|(w, s)| (w + t * s).powi(2)).sum();
            square / 2.0 + settings.c * tried.iter().zip(y).map(|(&f, &y)| log_loss(f, y)).sum::<f64>()
        };
        let here = objective(0.0, &mut tried);
        let slack = 1e-13 * here.abs();
        let mut t = 1.0;
        while objective(t, &mut tried) > here + 1e-4 * t * slope + slack && t > 1e-10 {
            t /= 2.0;
        }
        weights.iter_mut().zip(&step.weights).for_each(|(w, s)| *w += t * s);
        alpha.iter_mut().zip(&step.rows).for_each(|(a, s)| *a += t * s);
        intercept += t * step.intercept;
        best.iterations = iteration + 1;
    }
    best
}

/// The largest absolute entry of the gradient at a point, the intercept's included.
pub(crate) fn gradient_norm(design: &Design, y: &[f64], c: f64, weights: &[f64], intercept: f64) -> f64 {
    let (mut residual, mut gradient) = (vec![0.0; design.n], vec![0.0; weights.len()]);
    design.forward(weights, intercept, &mut residual);
    residual.iter_mut().zip(y).for_each(|(f, y)| *f = c * (sigmoid(*f) - y));
    design.backward(&residual, &mut gradient);
    gradient.iter_mut().zip(weights).for_each(|(g, w)| *g += w);
    // `max` would step over a NaN
    let intercept = residual.iter().sum::<f64>();
    gradient.iter().chain([&intercept]).fold(0.0, |max, g| if g.is_nan() { f64::INFINITY } else { max.max(g.abs()) })
}

/// ln(1 + exp(f)) - y f, without overflow.
fn log_loss(f: f64, y: f64) -> f64 {
    f.max(0.0) - y * f + (-f.abs()).exp().ln_1p()
}

/// A sum in four lanes, which the compiler may keep in one register.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a4.zip(b4) {
        for lane in 0..4 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// Solves H step = -gradient by Cholesky, H = I + Z^T D Z bordered by the intercept.
///
/// `None` if rounding has made H indefinite.
fn factorised_step(design: &Design, gradient: &[f64], gradient_intercept: f64, curvature: &[f64]) -> Option<Step> {
    let mut hessian = hessian(design, curvature);
    let mut step: Vec<f64> = gradient.iter().chain([&gradient_intercept]).map(|g| -g).collect();
    let size = step.len();
    for i in 0..size {
        let (above, row) = hessian.split_at_mut(i * size);
        let row = &mut row[..=i];
        for j in 0..i {
            let pivot = &above[j * size..=j * size + j];
            row[j] = (row[j] - dot(&row[..j], &pivot[..j])) / pivot[j];
        }
        let square = row[i] - dot(&row[..i], &row[..i]);
        if square.is_nan() || square <= 0.0 {
            return None;
        }
        row[i] = square.sqrt();
        step[i] = (step[i] - dot(&row[..i], &step[..i])) / row[i];
    }
    for i in (0..size).rev() {
        step[i] /= hessian[i * size + i];
        let value = step[i];
        step[..i].iter_mut().zip(&hessian[i * size..]).for_each(|(s, h)| *s -= h * value);
    }
    let intercept = step.pop()?;
    Some(Step { weights: step, intercept, rows: Vec::new() })
}

/// The lower triangle of the Hessian, row-major, the intercept last.
///
/// 0/1 columns are summed as they are, pair by pair of ones, and standardised afterwards.
fn hessian(design: &Design, curvature: &[f64]) -> Vec<f64> {
    let (dense, p) = (design.dense_columns.len(), design.n_columns());
    let size = p + 1;
    let mut h = vec![0.0; size * size];
    for (row, &d) in curvature.iter().enumerate() {
        let (z, ones) = (design.dense_row(row), design.ones_row(row));
        let add = |into: &mut [f64], factor: f64| into.iter_mut().zip(z).for_each(|(h, z)| *h += factor * z);
        for (i, &value) in z.iter().enumerate() {
            add(&mut h[i * size..=i * size + i], d * value);
        }
        for (at, &one) in ones.iter().enumerate() {
            let of = (dense + one as usize) * size;
            add(&mut h[of..of + dense], d);
            for &other in &ones[..=at] {
                h[of + dense + other as usize] += d;
            }
            h[p * size + dense + one as usize] += d;
        }
        add(&mut h[p * size..p * size + dense], d);
        h[p * size + p] += d;
    }
    // z = (x - mean) / sd: H_zz' = (H_xx' - mean H_1x' - mean' H_x1 + mean mean' H_11) / (sd sd')
    let (head, last) = h.split_at_mut(p * size);
    let total = last[p];
    for (i, a) in design.sparse_columns.iter().enumerate() {
        let row = &mut head[(dense + i) * size..(dense + i) * size + dense + i + 1];
        let (with_dense, with_sparse) = row.split_at_mut(dense);
        with_dense.iter_mut().zip(&last[..dense]).for_each(|(h, one)| *h = (*h - a.mean * one) / a.sd);
        let of_a = last[dense + i];
        for ((h, b), of_b) in with_sparse.iter_mut().zip(&design.sparse_columns).zip(&last[dense..]) {
            *h = (*h - a.mean * of_b - b.mean * (of_a - a.mean * total)) / (a.sd * b.sd);
        }
    }
    for (h, a) in last[dense..].iter_mut().zip(&design.sparse_columns) {
        *h = (*h - a.mean * total) / a.sd;
    }
    for i in 0..p {
        h[i * size + i] += 1.0;
    }
    h
}

/// The diagonal of K = Z Z^T.
fn kernel_diagonal(design: &Design) -> Vec<f64> {
    let of_zero = |column: &crate::standard::Moments| (column.mean / column.sd).powi(2);
    let zeros: f64 = design.sparse_columns.iter().map(of_zero).sum();
    (0..design.n)
        .map(|row| {
            let dense = dot(design.dense_row(row), design.dense_row(row));
            let ones = design.ones_row(row).iter().map(|&column| {
                let column = &design.sparse_columns[column as usize];
                ((1.0 - column.mean) / column.sd).powi(2) - of_zero(column)
            });
            dense + (zeros + ones.sum::<f64>()).max(0.0)
        })
        .collect()
}

/// The Newton step by conjugate gradients in the space of the rows, down to `tolerance` of the first residual.
fn conjugate_step(
    design: &Design,
    kernel_diagonal: &[f64],
    alpha: &[f64],
    residual: &[f64],
    curvature: &[f64],
    tolerance: f64,
) -> Step {
    let n = design.n;
    let scale: Vec<f64> = kernel_diagonal.iter().zip(curvature).map(|(k, d)| 1.0 / (k + 1.0 / d)).collect();
    let scale_sum: f64 = scale.iter().sum();
    let mut r: Vec<f64> = (0..n).map(|row| -(alpha[row] + residual[row]) / curvature[row]).collect();
    let mut intercept = dot(&r, &scale) / scale_sum;
    let mut beta = vec![0.0; n];
    let mut z: Vec<f64> = r.iter().zip(&scale).map(|(r, s)| (r - intercept) * s).collect();
    let mut direction = z.clone();
    let mut weights = vec![0.0; design.n_columns()];
    let mut image = vec![0.0; n];
    let mut rz = dot(&r, &z);
    let enough = rz * tolerance * tolerance;
    for _ in 0..2 * n + 20 {
        if rz <= enough || rz <= f64::MIN_POSITIVE {
            break;
        }
        design.backward(&direction, &mut weights);
        design.forward(&weights, 0.0, &mut image);
        image.iter_mut().zip(&direction).zip(curvature).for_each(|((image, direction), d)| *image += direction / d);
        let a = rz / dot(&direction, &image);
        if !a.is_finite() {
            break;
        }
        beta.iter_mut().zip(&direction).for_each(|(b, d)| *b += a * d);
        r.iter_mut().zip(&image).for_each(|(r, i)| *r -= a * i);
        intercept = dot(&r, &scale) / scale_sum;
        z.iter_mut().zip(&r).zip(&scale).for_each(|((z, r), s)| *z = (r - intercept) * s);
        let next = dot(&r, &z);
        let along = next / rz;
        rz = next;
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + along * *d);
    }
    design.backward(&beta, &mut weights);
    Step { weights, intercept, rows: beta }
}
