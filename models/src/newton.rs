//! Newton's method for L2 logistic regression.
//!
//! Few columns: the Hessian is factorised (Cholesky). Many: conjugate gradients find the step, and neither the Hessian nor
//! the 0/1 columns are ever made dense.

use crate::logistic::LogisticSettings;
use crate::model::sigmoid;
use crate::standard::Design;

/// Up to this many columns the Hessian is factorised.
const FACTORISE_UP_TO: usize = 256;
/// Smallest weight of a row in the Hessian, so that saturated rows do not divide by 0. It bends the step, not the
/// optimum.
const MIN_WEIGHT: f64 = 1e-12;
/// Bound on the products with the Hessian that one step may take.
const MOST_CONJUGATE_STEPS: usize = 2000;
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
}

pub(crate) fn minimise(design: &Design, y: &[f64], settings: &LogisticSettings) -> Optimum {
    search(design, y, settings, design.n_columns() > FACTORISE_UP_TO)
}

/// Newton's method with line search; `conjugate` chooses how a step is found.
fn search(design: &Design, y: &[f64], settings: &LogisticSettings, conjugate: bool) -> Optimum {
    let (n, p) = (design.n, design.n_columns());
    let (mut weights, mut intercept) = (vec![0.0; p], 0.0);
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
        let step = if conjugate {
            conjugate_step(design, &gradient, gradient_intercept, &curvature, norm.clamp(1e-3, 0.1))
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
    Some(Step { weights: step, intercept })
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

/// Solves H step = -gradient by conjugate gradients, scaled by H's diagonal, down to `tolerance` of the first residual.
///
/// Whenever it stops, the step goes downhill.
fn conjugate_step(
    design: &Design,
    gradient: &[f64],
    gradient_intercept: f64,
    curvature: &[f64],
    tolerance: f64,
) -> Step {
    let p = design.n_columns();
    let scale: Vec<f64> = hessian_diagonal(design, curvature).iter().map(|h| 1.0 / h).collect();
    let mut r: Vec<f64> = gradient.iter().chain([&gradient_intercept]).map(|g| -g).collect();
    let mut step = vec![0.0; p + 1];
    let mut direction: Vec<f64> = r.iter().zip(&scale).map(|(r, s)| r * s).collect();
    let mut image = vec![0.0; p + 1];
    let mut rows = vec![0.0; design.n];
    let mut rz = dot(&r, &direction);
    let enough = rz * tolerance * tolerance;
    for _ in 0..MOST_CONJUGATE_STEPS {
        design.forward(&direction[..p], direction[p], &mut rows);
        rows.iter_mut().zip(curvature).for_each(|(row, d)| *row *= d);
        design.backward(&rows, &mut image[..p]);
        image.iter_mut().zip(&direction[..p]).for_each(|(image, direction)| *image += direction);
        image[p] = rows.iter().sum();
        let a = rz / dot(&direction, &image);
        if !a.is_finite() {
            break;
        }
        step.iter_mut().zip(&direction).for_each(|(s, d)| *s += a * d);
        r.iter_mut().zip(&image).for_each(|(r, i)| *r -= a * i);
        let next: f64 = r.iter().zip(&scale).map(|(r, s)| r * r * s).sum();
        if next <= enough {
            break;
        }
        let along = next / rz;
        rz = next;
        direction.iter_mut().zip(&r).zip(&scale).for_each(|((d, r), s)| *d = r * s + along * *d);
    }
    let intercept = step.pop().unwrap_or_default();
    Step { weights: step, intercept }
}

/// The diagonal of the Hessian, the intercept's entry last.
fn hessian_diagonal(design: &Design, curvature: &[f64]) -> Vec<f64> {
    let dense = design.dense_columns.len();
    let mut diagonal = vec![0.0; design.n_columns()];
    let total: f64 = curvature.iter().sum();
    for (row, &d) in curvature.iter().enumerate() {
        diagonal.iter_mut().zip(design.dense_row(row)).for_each(|(h, z)| *h += d * z * z);
        design.ones_row(row).iter().for_each(|&one| diagonal[dense + one as usize] += d);
    }
    for (h, column) in diagonal[dense..].iter_mut().zip(&design.sparse_columns) {
        let (zero, one) = (-column.mean / column.sd, (1.0 - column.mean) / column.sd);
        *h = *h * one * one + (total - *h).max(0.0) * zero * zero;
    }
    diagonal.iter_mut().for_each(|h| *h += 1.0);
    diagonal.push(total);
    diagonal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{Learner, Training};
    use foldline_features::{Row, Table};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn both_ways_to_a_step_lead_to_the_same_optimum(
            rows in prop::collection::vec((prop::collection::vec(-9_i32..10, 3), any::<u64>(), any::<bool>()), 2..60),
            spread in 0_i32..4, sparse in 0_u32..60, standardise in any::<bool>(),
        ) {
            let y: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
            prop_assume!(y.contains(&0.0) && y.contains(&1.0));
            let scale = 10_f64.powi(spread - 1);
            let rows = rows.into_iter().map(|(dense, bits, _)| Row {
                dense: dense.into_iter().map(|value| f64::from(value) * scale).collect(),
                ones: (0..sparse).filter(|bit| bits >> bit & 1 == 1).map(|bit| bit + 3).collect(),
            });
            let names = (0..3 + sparse).map(|column| column.to_string()).collect();
            let table = Table::new(names, 3, rows.collect()).unwrap();
            let all: Vec<u32> = (0..y.len() as u32).collect();
            let design = Design::new(&Training::new(Learner::Logistic, &table, &all, &y).unwrap(), standardise);
            let settings = LogisticSettings::default();
            let (a, b) = (search(&design, &y, &settings, false), search(&design, &y, &settings, true));
            for optimum in [&a, &b] {
                prop_assert!(optimum.gradient <= settings.tolerance, "{:e}", optimum.gradient);
                let gradient = gradient_norm(&design, &y, settings.c, &optimum.weights, optimum.intercept);
                prop_assert!(gradient <= settings.tolerance, "{gradient:e}");
                prop_assert!(optimum.iterations < 60, "{} steps", optimum.iterations);
            }
            for (a, b) in a.weights.iter().chain([&a.intercept]).zip(b.weights.iter().chain([&b.intercept])) {
                prop_assert!((a - b).abs() < 1e-7, "{a} is not {b}");
            }
        }
    }
}
