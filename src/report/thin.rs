//! Fewer points on a page than a run records, so that a page of several runs still opens at once.

use foldline_frontiers::{FrontierPoint, Threshold};
use std::collections::BTreeSet;

/// Points that all lines of a page have together; each costs some sixty bytes in four plots and a tooltip.
pub const PAGE_POINTS: usize = 4500;

/// Points that a line keeps however many lines there are.
const FEWEST: usize = 16;

/// How many points a line may have for lines of these lengths to stay within [`PAGE_POINTS`]: what short lines leave
/// goes to the long ones.
pub fn most_points(mut lengths: Vec<usize>) -> usize {
    lengths.sort_unstable();
    let mut left = PAGE_POINTS;
    for (index, &length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - index);
        if length > share {
            return share.max(FEWEST);
        }
        left -= length;
    }
    lengths.last().copied().unwrap_or(FEWEST)
}

/// At most `most` points, evenly chosen; both ends and the operating point are always among them.
pub fn thinned(points: &[FrontierPoint], operating: Threshold, most: usize) -> Vec<FrontierPoint> {
    if points.len() <= most || most < 3 {
        return points.to_vec();
    }
    let last = points.len() - 1;
    let even = (0..most - 1).map(|index| index * last / (most - 2));
    let chosen = points.iter().position(|point| point.threshold == operating);
    even.chain(chosen).collect::<BTreeSet<_>>().into_iter().map(|index| points[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldline_frontiers::Value;

    #[test]
    fn short_lines_leave_their_share_to_long_ones() {
        assert_eq!(most_points(vec![100, 200]), 200);
        assert_eq!(most_points(vec![5000, 1000, 5000]), 1750);
        assert_eq!(most_points(vec![2000; 1000]), FEWEST);
        assert_eq!(most_points(Vec::new()), FEWEST);
    }

    #[test]
    fn ends_and_operating_point_stay() {
        let at = |index: u64| FrontierPoint {
            threshold: Threshold::At(index as f64),
            allowed: index,
            retained: 0.0,
            blocked: 0,
            blocked_positives: 0,
            avoided: Value::Defined(0.0),
            mass: Value::Defined(0.0),
            advantage_count: Value::Defined(0.0),
            advantage_mass: Value::Defined(0.0),
        };
        let points: Vec<FrontierPoint> = (0..1000).map(at).collect();
        for operating in [0, 1, 501, 998, 999] {
            let kept = thinned(&points, Threshold::At(operating as f64), 20);
            let allowed: Vec<u64> = kept.iter().map(|point| point.allowed).collect();
            assert!(allowed.len() <= 20 && allowed.len() >= 19, "{allowed:?}");
            assert!(allowed.contains(&operating) && allowed[0] == 0 && allowed.last() == Some(&999), "{allowed:?}");
            assert!(allowed.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] <= 56), "{allowed:?}");
        }
        assert_eq!(thinned(&points[..10], Threshold::Never, 10).len(), 10);
    }
}
