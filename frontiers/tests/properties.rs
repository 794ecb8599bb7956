//! Every fast estimator against a slow twin written from its definition, and the properties that all of them share.

#![cfg(test)]

use foldline_features::{Burden, Channel, Horizon, Rollout, RolloutStep, Target};
use foldline_frontiers::bootstrap::{Draws, percentile};
use foldline_frontiers::cell::{Cell, Statistic};
use foldline_frontiers::frontier::{Retain, Threshold, frontier, operating_point, signed_value};
use foldline_frontiers::nested::nested_bootstrap;
use foldline_frontiers::ranking::{auroc, average_precision, spearman};
use foldline_frontiers::splits::SplitHalves;
use foldline_frontiers::yardstick::{ReplicateRanking, yardstick};
use foldline_frontiers::{Clusters, Folds, Streams, Unit};
use proptest::prelude::*;

/// Scored boundaries with many ties: (score, d in fifteenths, task).
fn boundaries() -> impl Strategy<Value = Vec<(f64, i32, u8)>> {
    let score = prop_oneof![Just(-0.0), Just(0.0), (-4i32..4).prop_map(|s| f64::from(s) / 4.0), -1e3f64..1e3];
    prop::collection::vec((score, -30i32..30, 0u8..6), 1..40)
}

fn columns(rows: &[(f64, i32, u8)]) -> (Vec<f64>, Vec<bool>, Vec<f64>, Vec<f64>, Clusters) {
    let d: Vec<f64> = rows.iter().map(|row| f64::from(row.1) / 15.0).collect();
    let tasks: Vec<String> = rows.iter().map(|row| format!("t{}", row.2)).collect();
    (
        rows.iter().map(|row| row.0).collect(),
        d.iter().map(|&d| d > 0.0).collect(),
        d.iter().map(|&d| d.max(0.0)).collect(),
        d,
        Clusters::new(&tasks),
    )
}

/// Counts pairs one by one.
fn slow_auroc(scores: &[f64], labels: &[bool]) -> Option<f64> {
    let (mut wins, mut pairs) = (0.0, 0.0);
    for (i, &positive) in labels.iter().enumerate().filter(|(_, label)| **label) {
        for j in (0..labels.len()).filter(|&j| !labels[j]) {
            assert!(positive);
            pairs += 1.0;
            wins += match scores[i].partial_cmp(&scores[j]).unwrap() {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
    }
    (pairs > 0.0).then(|| wins / pairs)
}

/// Walks the distinct thresholds downwards, counting from scratch at each.
fn slow_average_precision(scores: &[f64], labels: &[bool]) -> Option<f64> {
    let positives = labels.iter().filter(|&&label| label).count() as f64;
    let mut thresholds = scores.to_vec();
    thresholds.sort_by(|a, b| b.partial_cmp(a).unwrap());
    thresholds.dedup();
    let (mut sum, mut last_recall) = (0.0, 0.0);
    for threshold in thresholds {
        let at = |keep: fn(bool) -> bool| {
            scores.iter().zip(labels).filter(|&(&s, &label)| s >= threshold && keep(label)).count() as f64
        };
        let (found, hits) = (at(|_| true), at(|label| label));
        sum += (hits / positives - last_recall) * (hits / found);
        last_recall = hits / positives;
    }
    (positives > 0.0).then_some(sum)
}

/// Rows repeated as often as a draw takes their task.
fn repeated(rows: &[(f64, i32, u8)], clusters: &Clusters, times: &[u32]) -> Vec<(f64, i32, u8)> {
    rows.iter()
        .zip(clusters.of())
        .flat_map(|(&row, &cluster)| std::iter::repeat_n(row, times[cluster as usize] as usize))
        .collect()
}

#[track_caller]
fn same(found: Option<f64>, expected: Option<f64>, what: &str) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{what}: {found} {expected}");
        }
        _ => assert_eq!(found, expected, "{what}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn ranking_statistics_follow_their_definitions(rows in boundaries(), rotate in 0usize..40) {
        let (scores, y, ..) = columns(&rows);
        let found = auroc(&scores, &y).unwrap().defined();
        same(found, slow_auroc(&scores, &y), "auroc");
        same(average_precision(&scores, &y).unwrap().defined(), slow_average_precision(&scores, &y), "ap");

        // row order does not matter, not by a bit
        let mut turned = rows.clone();
        turned.rotate_left(rotate % rows.len());
        let (turned_scores, turned_y, ..) = columns(&turned);
        prop_assert_eq!(auroc(&turned_scores, &turned_y).unwrap().defined(), found);
        // order is all that counts: a strictly increasing map changes nothing
        let mapped: Vec<f64> = scores.iter().map(|s| s * 0.5 + 3.0).collect();
        prop_assume!(slow_auroc(&mapped, &y) == slow_auroc(&scores, &y));
        prop_assert_eq!(auroc(&mapped, &y).unwrap().defined(), found);
        // reversed scores and swapped classes are the complement
        let reversed: Vec<f64> = scores.iter().map(|s| -s).collect();
        same(auroc(&reversed, &y).unwrap().defined(), found.map(|a| 1.0 - a), "reversed");
    }

    #[test]
    fn frontiers_follow_their_definition(rows in boundaries(), tenths in 0u64..=10) {
        let (scores, y, mass, d, _) = columns(&rows);
        let (n, positives) = (rows.len() as u64, y.iter().filter(|&&y| y).count() as u64);
        let points = frontier(&scores, &y, &mass).unwrap();
        for point in &points {
            let blocked = scores.iter().filter(|&&s| point.threshold.blocks(s)).count() as u64;
            let hits = scores.iter().zip(&y).filter(|&(&s, &y)| point.threshold.blocks(s) && y).count() as u64;
            prop_assert_eq!((point.blocked, point.allowed, point.blocked_positives), (blocked, n - blocked, hits));
        }
        prop_assert!(points.windows(2).all(|pair| pair[0].allowed < pair[1].allowed));
        prop_assert_eq!((points[0].allowed, points[points.len() - 1].blocked), (0, 0));
        prop_assert_eq!(points[points.len() - 1].threshold, Threshold::Never);

        let chosen = operating_point(&points, Retain::new(tenths, 10).unwrap()).unwrap().point;
        let feasible = points.iter().filter(|point| point.allowed * 10 >= tenths * n);
        for point in feasible {
            prop_assert!(chosen.blocked_positives >= point.blocked_positives);
            prop_assert!(chosen.blocked_positives > point.blocked_positives || chosen.allowed >= point.allowed);
        }
        prop_assert!(chosen.allowed * 10 >= tenths * n);
        prop_assert_eq!(chosen.avoided.defined().is_some(), positives > 0);

        let signed = signed_value(&scores, &d, chosen.threshold).unwrap();
        same(Some(signed.v), Some(signed.s_plus + signed.s_minus), "V = S+ + S-");
        // the positive part version is the mass advantage in burden-steps
        let advantage = chosen.advantage_mass.defined().map(|advantage| advantage * mass.iter().sum::<f64>());
        if let Some(advantage) = advantage {
            same(Some(signed.positive_part_minus_e_rand), Some(advantage), "positive part");
        }
    }

    #[test]
    fn a_draw_is_the_statistic_of_the_repeated_rows(rows in boundaries(), seed in 0u64..1000) {
        let (scores, y, mass, d, clusters) = columns(&rows);
        let cell = Cell::new(&scores, &y, &mass, &d, &clusters, Retain::PAPER).unwrap();
        let held = cell.operating_point().point.threshold;
        let draws = Draws::new(&Streams::new(seed), Unit::Task, clusters.len(), 5);
        let aurocs = cell.aurocs(&draws);
        for (draw, replicate) in cell.replicates(&draws).iter().enumerate() {
            prop_assert_eq!(replicate.get(Statistic::Auroc), aurocs[draw]);
            let times = draws.multiplicity(draw);
            prop_assert_eq!(times.iter().sum::<u32>() as usize, clusters.len());
            let (scores, y, mass, d, _) = columns(&repeated(&rows, &clusters, times));
            let chosen = operating_point(&frontier(&scores, &y, &mass).unwrap(), Retain::PAPER).unwrap().point;
            let signed = signed_value(&scores, &d, held).unwrap();
            for (statistic, expected) in [
                (Statistic::Auroc, auroc(&scores, &y).unwrap().defined()),
                (Statistic::Ap, average_precision(&scores, &y).unwrap().defined()),
                (Statistic::Retained, Some(chosen.retained)),
                (Statistic::Avoided, chosen.avoided.defined()),
                (Statistic::Mass, chosen.mass.defined()),
                (Statistic::AdvantageCount, chosen.advantage_count.defined()),
                (Statistic::AdvantageMass, chosen.advantage_mass.defined()),
                (Statistic::V, Some(signed.v)),
                (Statistic::VMinusERand, Some(signed.v_minus_e_rand)),
                (Statistic::VPerBlocked, signed.v_per_blocked.defined()),
                (Statistic::PositivePartMinusERand, Some(signed.positive_part_minus_e_rand)),
            ] {
                same(replicate.get(statistic).defined(), expected, &format!("{statistic:?}"));
            }
        }
    }

    #[test]
    fn spearman_is_pearson_of_mid_ranks(rows in boundaries()) {
        let x: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let y: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
        let ranks = |values: &[f64]| -> Vec<f64> {
            let below = |v: f64| values.iter().filter(|&&w| w < v).count() as f64;
            let equal = |v: f64| values.iter().filter(|&&w| w.partial_cmp(&v) == Some(std::cmp::Ordering::Equal)).count() as f64;
            values.iter().map(|&v| below(v) + (equal(v) + 1.0) / 2.0).collect()
        };
        let (rx, ry) = (ranks(&x), ranks(&y));
        let n = x.len() as f64;
        let mean = (n + 1.0) / 2.0;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
        let scale = (dot(&rx, &rx) * dot(&ry, &ry)).sqrt();
        same(spearman(&x, &y).unwrap().defined(), (scale > 0.0).then(|| dot(&rx, &ry) / scale), "spearman");
    }

    #[test]
    fn percentiles_interpolate(mut values in prop::collection::vec(-1e3f64..1e3, 1..30), q in 0.0f64..=1.0) {
        values.sort_by(f64::total_cmp);
        let found = percentile(&values, q).defined().unwrap();
        let position = q * (values.len() - 1) as f64;
        let (below, above) = (position.floor() as usize, position.ceil() as usize);
        let share = position - position.floor();
        same(Some(found), Some(values[below] * (1.0 - share) + values[above] * share), "percentile");
    }

    #[test]
    fn grouped_folds_keep_groups_whole(tasks in prop::collection::vec(0u8..20, 5..60), k in 2usize..6, seed in 0u64..99) {
        let ids: Vec<String> = tasks.iter().map(|task| format!("t{task}")).collect();
        let distinct = ids.iter().collect::<std::collections::BTreeSet<_>>().len();
        let folds = Folds::grouped(&ids, "task", k, 3, &Streams::new(seed));
        prop_assert_eq!(folds.is_ok(), distinct >= k);
        if let Ok(folds) = folds {
            prop_assert_eq!(folds.groups_on_both_sides(&ids), 0);
            for repetition in 0..3 {
                for fold in 0..k {
                    let (test, training) = (folds.test_rows(repetition, fold), folds.training_rows(repetition, fold));
                    prop_assert!(!test.is_empty() && !training.is_empty());
                    prop_assert_eq!(test.len() + training.len(), ids.len());
                }
            }
            let names: Vec<String> = (0..ids.len()).map(|row| format!("b,{row}\"")).collect();
            prop_assert_eq!(Folds::from_csv(&folds.to_csv(&names), &names).unwrap(), folds);
        }
    }

    /// Nothing that a file can hold makes the fold reader panic.
    #[test]
    fn the_fold_reader_never_panics(text in "(boundary_id,repetition,fold\n)?([a-c0-9,\"\r\n-]|\u{feff}){0,60}") {
        let _ = Folds::from_csv(&text, &["a", "b", "c"]);
    }

    /// Two rollouts an arm: each half is one rollout, so d_A + d_B is twice d.
    #[test]
    fn halves_add_up(counts in prop::collection::vec([0usize..4, 0usize..4, 0usize..4, 0usize..4], 1..10), seed in 0u64..99) {
        let burdens: Vec<Burden> = counts.iter().map(|c| burden(&c[..2], &c[2..])).collect();
        let splits = SplitHalves::random(&burdens, Target::PRIMARY, &Streams::new(seed), 3).unwrap();
        for halves in splits.halves() {
            for (row, burden) in burdens.iter().enumerate() {
                let d = burden.delta(Target::PRIMARY).unwrap().value();
                same(Some(halves.d_a[row] + halves.d_b[row]), Some(2.0 * d), "d_A + d_B = 2 d");
            }
        }
        let rows: Vec<usize> = (0..burdens.len()).collect();
        prop_assert_eq!(splits.mirrored().mirrored(), splits.clone());
        prop_assert_eq!(splits.rows_of(&vec![true; burdens.len()]).unwrap(), rows);
    }
}

fn burden(pre: &[usize], post: &[usize]) -> Burden {
    let rollout = |&blocked: &usize| Rollout {
        arm: foldline_features::Arm::Pre,
        sample: 0,
        steps: (0..3)
            .map(|step| RolloutStep {
                exact: String::new(),
                function: String::new(),
                blocked: step < blocked,
                refetch: false,
            })
            .collect(),
        completed: false,
    };
    let counts =
        |arm: &[usize]| arm.iter().map(|count| foldline_features::RolloutCounts::of(&rollout(count))).collect();
    Burden { pre: counts(pre), post: counts(post) }
}

/// Equal rollouts leave nothing to resample within a boundary: the nested bootstrap is then the plain one of its draws.
#[test]
fn nested_without_variation_within_is_the_plain_bootstrap() {
    let burdens: Vec<Burden> = (0..30).map(|row| burden(&[row % 3; 3], &[(row * 7) % 4; 3])).collect();
    let deltas: Vec<_> = burdens.iter().map(|burden| burden.delta(Target::PRIMARY).unwrap()).collect();
    let d: Vec<f64> = deltas.iter().map(|delta| delta.value()).collect();
    let mass: Vec<f64> = deltas.iter().map(|delta| delta.mass()).collect();
    let y: Vec<bool> = deltas.iter().map(|delta| delta.is_positive()).collect();
    let scores: Vec<f64> = (0..30).map(|row| f64::from((row * 11) % 13)).collect();
    let clusters = Clusters::new(&(0..30).map(|row| format!("t{}", row % 8)).collect::<Vec<_>>());
    let cell = Cell::new(&scores, &y, &mass, &d, &clusters, Retain::PAPER).unwrap();
    let nested = nested_bootstrap(&[&cell], &burdens, Target::PRIMARY, &clusters, &Streams::new(5), 50).unwrap();
    for (nested, plain) in nested.replicates[0].iter().zip(cell.replicates(nested.draws())) {
        for statistic in Statistic::ALL {
            same(nested.get(statistic).defined(), plain.get(statistic).defined(), &format!("{statistic:?}"));
        }
    }
    assert_eq!(nested.sign_changes.defined(), Some(0.0));

    // an observational target resamples its own arm, and needs no other
    let pre_only: Vec<Burden> = (0..30).map(|row| burden(&[row % 3, 1], &[])).collect();
    let target = Target::Arm(foldline_features::Arm::Pre, Channel::Blocked, Horizon::Three);
    assert!(nested_bootstrap(&[&cell], &pre_only, target, &clusters, &Streams::new(5), 5).is_ok());
    assert!(nested_bootstrap(&[&cell], &pre_only, Target::PRIMARY, &clusters, &Streams::new(5), 5).is_err());
    assert_eq!(SplitHalves::random(&pre_only, target, &Streams::new(5), 1).unwrap().left_out(), 0);
}

/// Row 43 of the known mistakes: a difference of two policies on the same tasks is taken draw by draw.
#[test]
fn differences_are_paired() {
    use foldline_frontiers::cell::{difference, interval};
    let n = 60;
    let d: Vec<f64> = (0..n).map(|row| f64::from((row * 7) % 5) - 1.0).collect();
    let y: Vec<bool> = d.iter().map(|&d| d > 0.0).collect();
    let mass: Vec<f64> = d.iter().map(|&d| d.max(0.0)).collect();
    let clusters = Clusters::new(&(0..n).map(|row| format!("t{}", row % 20)).collect::<Vec<_>>());
    let scores: Vec<f64> = (0..n).map(|row| f64::from((row * 13) % 17)).collect();
    let close_by: Vec<f64> = scores.iter().enumerate().map(|(row, s)| s + if row == 0 { 0.5 } else { 0.0 }).collect();
    let draws = Draws::new(&Streams::new(1), Unit::Task, clusters.len(), 500);
    let judge = |scores: &[f64]| Cell::new(scores, &y, &mass, &d, &clusters, Retain::PAPER).unwrap().replicates(&draws);
    let (a, b) = (judge(&scores), judge(&close_by));
    let paired = difference(&a, &b, Statistic::Auroc, &draws).unwrap().half_width().unwrap();
    let alone = interval(&a, Statistic::Auroc, &draws).half_width().unwrap();
    assert!(paired < alone / 5.0, "{paired} {alone}");
    let zero = difference(&a, &a, Statistic::Auroc, &draws).unwrap();
    assert_eq!(zero.ends(), Some((0.0, 0.0)));
    assert!(difference(&a, &b[..3], Statistic::Auroc, &draws).is_err());
}

/// No float is added in thread order: draws, nested draws and splits are the same on one thread and on four.
#[test]
fn results_do_not_depend_on_the_thread_count() {
    let burdens: Vec<Burden> =
        (0..40).map(|row| burden(&[row % 3, row % 2, 1], &[row % 4, 2, (row * 7) % 3])).collect();
    let deltas: Vec<_> = burdens.iter().map(|burden| burden.delta(Target::PRIMARY).unwrap()).collect();
    let d: Vec<f64> = deltas.iter().map(|delta| delta.value()).collect();
    let mass: Vec<f64> = deltas.iter().map(|delta| delta.mass()).collect();
    let y: Vec<bool> = deltas.iter().map(|delta| delta.is_positive()).collect();
    let scores: Vec<f64> = (0..40).map(|row| f64::from((row * 11) % 13)).collect();
    let clusters = Clusters::new(&(0..40).map(|row| format!("t{}", row % 9)).collect::<Vec<_>>());
    let everything = || {
        let streams = Streams::new(11);
        let cell = Cell::new(&scores, &y, &mass, &d, &clusters, Retain::PAPER).unwrap();
        let draws = Draws::new(&streams, Unit::Task, clusters.len(), 300);
        let nested = nested_bootstrap(&[&cell], &burdens, Target::PRIMARY, &clusters, &streams, 100).unwrap();
        let splits = SplitHalves::random(&burdens, Target::PRIMARY, &streams, 40).unwrap();
        let yardstick = yardstick(&splits, &[true; 40], Retain::PAPER, &[(&draws, &clusters)]).unwrap();
        let against = ReplicateRanking::new(&splits, &[(&draws, &clusters)]).unwrap().against(&scores, &y).unwrap();
        (cell.replicates(&draws), nested.replicates, nested.positive_rate, yardstick, against)
    };
    let with_threads =
        |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(everything);
    assert_eq!(with_threads(1), with_threads(4));
}

/// Fewer draws are the first of more; other seeds and units draw otherwise.
#[test]
fn draws_are_nested_and_keyed() {
    let of = |seed, unit, count| Draws::new(&Streams::new(seed), unit, 12, count);
    let (few, many) = (of(1, Unit::Task, 20), of(1, Unit::Task, 50));
    assert!((0..20).all(|draw| few.multiplicity(draw) == many.multiplicity(draw)));
    assert_eq!((many.first(20).len(), many.first(99).len()), (20, 50));
    for other in [of(2, Unit::Task, 20), of(1, Unit::Stem, 20)] {
        assert!((0..20).any(|draw| few.multiplicity(draw) != other.multiplicity(draw)));
    }
    assert!(Draws::explicit(Unit::Task, 3, &[vec![0, 3, 1]]).is_err());
    assert!(of(1, Unit::Task, 0).is_empty() && Draws::new(&Streams::new(1), Unit::Task, 0, 5).is_empty());
}

/// A boundary with one rollout in an arm cannot be split: it is left out, and counted in its subset.
#[test]
fn single_rollouts_are_left_out_and_counted() {
    let mut burdens: Vec<Burden> = (0..12).map(|row| burden(&[row % 3, 1], &[row % 4, 2])).collect();
    burdens[3] = burden(&[1], &[2, 3]);
    burdens[7] = burden(&[1, 1], &[2]);
    let splits = SplitHalves::random(&burdens, Target::PRIMARY, &Streams::new(1), 5).unwrap();
    assert_eq!((splits.left_out(), splits.halves()[0].d_a.len()), (2, 10));
    let first_half: Vec<bool> = (0..12).map(|row| row < 6).collect();
    let found = yardstick(&splits, &first_half, Retain::PAPER, &[]).unwrap();
    assert_eq!((found.n, found.left_out, found.splits), (5, 1, 5));
    let only_single: Vec<bool> = (0..12).map(|row| row == 3).collect();
    let message = yardstick(&splits, &only_single, Retain::PAPER, &[]).unwrap_err().to_string();
    assert!(message.contains("two rollouts in each arm"), "{message}");
}
