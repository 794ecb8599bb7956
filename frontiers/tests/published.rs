//! The paper's printed tables, recomputed from what they print (protocol section 6).
//!
//! Table 12 prints (allowed, avoided) for every threshold of three policies over 590 boundaries, 344 of them positive.
//! Rounding avoided·344 to a whole number rebuilds the groups of equal scores exactly.

#![cfg(test)]

use foldline_frontiers::frontier::{
    Retain, Threshold, frontier, frontier_of_groups, hypergeometric_sd, operating_point, signed_value,
};
use foldline_frontiers::groups::groups_from_frontier;
use foldline_frontiers::ranking::auroc_of_groups;

const N: u64 = 590;
const POSITIVES: u64 = 344;
/// Half a unit of the third printed decimal.
const PRINTED: f64 = 0.0005 + 1e-12;

/// Table 12: allowed, retained, avoided.
const STUMP: [(u32, f64, f64); 11] = [
    (0, 0.000, 1.000),
    (59, 0.100, 0.904),
    (104, 0.176, 0.837),
    (144, 0.244, 0.802),
    (212, 0.359, 0.698),
    (258, 0.437, 0.657),
    (330, 0.559, 0.506),
    (401, 0.680, 0.363),
    (471, 0.798, 0.230),
    (536, 0.908, 0.108),
    (590, 1.000, 0.000),
];
const DEPTH2: [(u32, f64, f64); 21] = [
    (0, 0.000, 1.000),
    (15, 0.025, 0.977),
    (33, 0.056, 0.948),
    (34, 0.058, 0.945),
    (57, 0.097, 0.927),
    (72, 0.122, 0.904),
    (90, 0.153, 0.898),
    (120, 0.203, 0.855),
    (173, 0.293, 0.773),
    (214, 0.363, 0.706),
    (236, 0.400, 0.677),
    (259, 0.439, 0.654),
    (327, 0.554, 0.515),
    (392, 0.664, 0.387),
    (449, 0.761, 0.285),
    (497, 0.842, 0.195),
    (561, 0.951, 0.076),
    (565, 0.958, 0.064),
    (571, 0.968, 0.047),
    (577, 0.978, 0.032),
    (590, 1.000, 0.000),
];
const LOGISTIC: [(u32, f64, f64); 25] = [
    (0, 0.000, 1.000),
    (1, 0.002, 1.000),
    (2, 0.003, 0.997),
    (4, 0.007, 0.991),
    (5, 0.008, 0.991),
    (7, 0.012, 0.991),
    (21, 0.036, 0.968),
    (38, 0.064, 0.939),
    (57, 0.097, 0.919),
    (64, 0.108, 0.913),
    (73, 0.124, 0.910),
    (168, 0.285, 0.738),
    (257, 0.436, 0.576),
    (342, 0.580, 0.433),
    (429, 0.727, 0.302),
    (494, 0.837, 0.206),
    (496, 0.841, 0.201),
    (497, 0.842, 0.198),
    (498, 0.844, 0.195),
    (499, 0.846, 0.195),
    (517, 0.876, 0.148),
    (531, 0.900, 0.116),
    (550, 0.932, 0.076),
    (571, 0.968, 0.035),
    (590, 1.000, 0.000),
];

#[track_caller]
fn printed(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= PRINTED, "{what}: {found}, printed {expected}");
}

#[test]
fn table_12_rebuilds_tables_2_and_11() {
    // Table 11 (AUROC), Table 2 (retained, avoided, advantage) and Table 10 (|B|), original label, dU@3
    for (policy, rows, auroc, [retained, avoided, advantage], blocked) in [
        ("stump", STUMP.as_slice(), 0.592, [0.908, 0.108, 0.016], 54),
        ("depth-2", &DEPTH2, 0.619, [0.842, 0.195, 0.037], 93),
        ("logistic", &LOGISTIC, 0.547, [0.837, 0.206, 0.044], 96),
    ] {
        let pairs: Vec<(u32, u32)> =
            rows.iter().map(|row| (row.0, (row.2 * POSITIVES as f64).round() as u32)).collect();
        let groups = groups_from_frontier(&pairs).unwrap();
        printed(auroc_of_groups(&groups).defined().unwrap(), auroc, policy);

        let scores: Vec<f64> = (0..groups.len()).map(|group| group as f64).collect();
        let points = frontier_of_groups(&groups, &scores);
        assert_eq!(points.len(), rows.len());
        for (point, row) in points.iter().zip(rows) {
            assert_eq!(point.allowed, u64::from(row.0));
            printed(point.retained, row.1, policy);
            printed(point.avoided.defined().unwrap(), row.2, policy);
        }
        let operating = operating_point(&points, Retain::PAPER).unwrap();
        assert_eq!((operating.min_allowed, operating.point.blocked), (472, blocked));
        printed(operating.point.retained, retained, policy);
        printed(operating.point.avoided.defined().unwrap(), avoided, policy);
        printed(operating.point.advantage_count.defined().unwrap(), advantage, policy);
    }
}

/// Table 2: every printed advantage is avoided − (1 − retained), each rounded to three decimals; and a policy that keeps
/// exactly 0.800 of 590 blocks 118.
#[test]
fn table_2_identities() {
    for (retained, avoided, advantage) in [
        (0.908, 0.108, 0.016),
        (0.842, 0.195, 0.037),
        (0.837, 0.206, 0.044),
        (0.800, 0.247, 0.047),
        (0.800, 0.267, 0.067),
        (0.800, 0.273, 0.073),
        (0.800, 0.273, 0.073),
        (0.866, 0.243, 0.109),
    ] {
        let found: f64 = avoided - (1.0 - retained);
        assert!((found - advantage).abs() <= 3.0 * PRINTED, "{found} {advantage}");
    }
    assert_eq!(N - Retain::PAPER.min_allowed(N), 118);
}

#[test]
fn global_rules_are_the_corners() {
    let points = frontier(&[0.1, 0.9, 0.4], &[true, false, true], &[0.2, 0.0, 0.1]).unwrap();
    let (off, on) = (points[0], points[points.len() - 1]);
    assert_eq!((off.retained, off.avoided.defined(), off.mass.defined()), (0.0, Some(1.0), Some(1.0)));
    assert_eq!((on.retained, on.avoided.defined(), on.mass.defined()), (1.0, Some(0.0), Some(0.0)));
    assert_eq!(on.threshold, Threshold::Never);
}

/// Appendix E: 0.010 / 0.013 / 0.013 / 0.014 for 54 / 93 / 96 / 118 blocked.
#[test]
fn appendix_e_hypergeometric_deviations() {
    for (blocked, expected) in [(54, 0.010), (93, 0.013), (96, 0.013), (118, 0.014)] {
        printed(hypergeometric_sd(N, POSITIVES, blocked).defined().unwrap(), expected, "hypergeometric sd");
    }
}

/// Table 10: |B|, V, S+, S−, E_rand, V − E_rand, V/|B|, with total d = 3059/15.
#[test]
fn table_10_identities() {
    let rows = [
        (54, 22.00, 25.00, -3.00, 8, 18.67, 3.33, 0.407),
        (93, 49.67, 54.27, -4.60, 12, 32.15, 17.52, 0.534),
        (96, 38.20, 44.00, -5.80, 11, 33.18, 5.02, 0.398),
        (118, 59.27, 64.73, -5.47, 12, 40.79, 18.48, 0.502),
        (118, 74.07, 76.80, -2.73, 8, 40.79, 33.28, 0.628),
        (118, 78.53, 82.87, -4.33, 9, 40.79, 37.75, 0.666),
        (118, 66.00, 72.13, -6.13, 11, 40.79, 25.21, 0.559),
    ];
    for (blocked, v, s_plus, s_minus, negative, e_rand, v_minus_e_rand, v_per_blocked) in rows {
        // any d with these sums will do: the negatives share S−, one other blocked boundary holds S+, one allowed
        // boundary holds what is missing from the total; the printed V has two decimals, so V/|B| is exact to 0.0001
        let mut d = vec![0.0; N as usize];
        d[..negative].fill(s_minus / negative as f64);
        d[negative] = s_plus;
        d[N as usize - 1] = 3059.0 / 15.0 - s_plus - s_minus;
        let scores: Vec<f64> = (0..N as usize).map(|row| if row < blocked { 1.0 } else { 0.0 }).collect();
        let signed = signed_value(&scores, &d, Threshold::At(0.5)).unwrap();
        assert_eq!((signed.blocked, signed.negative), (blocked as u64, negative as u64));
        let cent = 0.0151;
        assert!((signed.v - v).abs() < cent, "{} {v}", signed.v);
        assert!((signed.e_rand - e_rand).abs() < 0.005 + 1e-9, "{} {e_rand}", signed.e_rand);
        assert!((signed.v_minus_e_rand - v_minus_e_rand).abs() < cent, "{} {v_minus_e_rand}", signed.v_minus_e_rand);
        printed(signed.v_per_blocked.defined().unwrap(), v_per_blocked, "V per blocked");
    }
}
