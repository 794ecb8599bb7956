//! The split-half yardstick of the reference cohort: given splits exactly, random ones within their tolerance.

#![cfg(test)]

mod support;

use foldline_features::{Channel, Horizon, Target};
use foldline_frontiers::bootstrap::{Draws, percentile};
use foldline_frontiers::frontier::Retain;
use foldline_frontiers::ranking::{average_scores, pearson, spearman};
use foldline_frontiers::splits::{GivenSplit, SplitHalves};
use foldline_frontiers::yardstick::{
    OverSplits, Reading, ReplicateRanking, SplitStatistics, sign_agreement, split_statistics, yardstick,
};
use foldline_frontiers::{Estimate, Reason, Streams, Unit, Value};
use serde_json::Value as Json;
use support::{Oracle, close, close_interval, json, numbers};

fn subsets(oracle: &Oracle) -> [(&'static str, Vec<bool>); 3] {
    let first: Vec<bool> = oracle.boundaries().iter().map(|boundary| boundary.prefix.compaction_index == 1).collect();
    [("all", vec![true; first.len()]), ("later", first.iter().map(|first| !first).collect()), ("first", first)]
}

#[test]
fn given_splits() {
    let Some(oracle) = Oracle::load() else { return };
    let given = oracle.expected["explicit"]["splits"].as_array().unwrap();
    let positions = |json: &Json| -> Vec<Vec<u32>> {
        let rows = json.as_array().unwrap().iter();
        rows.map(|row| numbers(row).into_iter().map(|position| position as u32).collect()).collect()
    };
    let splits: Vec<GivenSplit> = given
        .iter()
        .map(|split| GivenSplit {
            half_a_pre: positions(&split["half_A_pre"]),
            half_a_post: positions(&split["half_A_post"]),
        })
        .collect();
    let splits = SplitHalves::explicit(&oracle.burdens, Target::PRIMARY, &splits).unwrap();
    assert_eq!(splits.left_out(), 0);
    let mirrored = splits.mirrored();
    for (name, include) in subsets(&oracle) {
        let rows = splits.rows_of(&include).unwrap();
        for (index, given) in given.iter().enumerate() {
            let expected = &given["statistics"][name];
            let found = split_statistics(&splits.halves()[index], &rows, Retain::PAPER).unwrap();
            let mirror = split_statistics(&mirrored.halves()[index], &rows, Retain::PAPER).unwrap();
            let point = &expected["operating_point"];
            for (key, found, expected) in [
                ("auroc", found.auroc, &expected["auroc"]),
                ("pearson", found.pearson, &expected["pearson"]),
                ("spearman", found.spearman, &expected["spearman"]),
                ("spearman_brown", found.spearman_brown, &expected["spearman_brown"]),
                ("sign_agreement", found.sign_agreement, &expected["sign_agreement"]),
                ("kappa", found.kappa, &expected["kappa"]),
                ("mirrored_auroc", mirror.auroc, &expected["mirrored_auroc"]),
                ("retained", found.retained, &point["retained"]),
                ("avoided", found.avoided, &point["avoided"]),
                ("mass", found.mass, &point["mass"]),
                ("advantage_count", found.advantage_count, &point["advantage_count"]),
                ("advantage_mass", found.advantage_mass, &point["advantage_mass"]),
            ] {
                let what = format!("split {index}, {name}: {key}");
                close(found.defined().unwrap(), expected.as_f64().unwrap(), 1e-9, &what);
            }
        }
    }
}

const MANY: u32 = 1_000;

/// Mean within `tol_mean`, intervals within `tol`, percentiles where 200 splits can put them.
///
/// The README allows `p5` and `p95` two tenths of `sd_over_splits`. That is 0.95 standard errors of the difference of two
/// 95th percentiles over 200 normal values (sqrt(2 · 0.05 · 0.95 / 200) / 0.103 = 0.211 sd), and less for the shares
/// retained, whose tail has gaps: ten seeds put the 95th percentile of `retained` (k = 3, first) anywhere from 0.847 to
/// 0.906. So the expected percentile is compared with the law itself: it must lie between the quantiles of 1,000
/// splits at five standard errors of a share of 5 % (in 200 and in 1,000 splits) to either side.
fn check(found: &OverSplits, many: &[Value], expected: &Json, what: &str) {
    let number = |key: &str| expected[key].as_f64().unwrap();
    close(found.mean.point.defined().unwrap(), number("mean"), number("tol_mean"), what);
    if expected["interval"].is_object() {
        close_interval(found.mean.interval(Unit::Task).unwrap(), &expected["interval"], 0.0, what);
    }
    let mut law: Vec<f64> = many.iter().map(|value| value.defined().unwrap()).collect();
    law.sort_unstable_by(f64::total_cmp);
    let quantile = |q: f64| percentile(&law, q).defined().unwrap();
    let mut first: Vec<f64> = many[..200].iter().map(|value| value.defined().unwrap()).collect();
    first.sort_unstable_by(f64::total_cmp);
    let share = 5.0 * (0.05 * 0.95 * (1.0 / 200.0 + 1.0 / f64::from(MANY))).sqrt();
    for (q, percentile_found, key) in [(0.05, found.p5, "p5"), (0.95, found.p95, "p95")] {
        let (lo, hi) = (quantile(q - share), quantile(q + share));
        let expected = number(key);
        assert!(lo - 1e-9 <= expected && expected <= hi + 1e-9, "{what}: {key} {expected} outside {lo} to {hi}");
        assert_eq!(percentile_found, percentile(&first, q), "{what}: {key}");
    }
}

#[test]
fn random_splits() {
    let Some(oracle) = Oracle::load() else { return };
    let streams = Streams::new(20_260_901);
    let draws = Draws::new(&streams, Unit::Task, oracle.tasks.len(), 2_000);
    let results = &oracle.expected["splithalf"]["results"];
    for (key, horizon, mirror) in [
        ("k=1", Horizon::One, false),
        ("k=3", Horizon::Three, false),
        ("k=3/mirrored", Horizon::Three, true),
        ("k=5", Horizon::Five, false),
    ] {
        let target = Target::Paired(Channel::Union, horizon);
        let splits = |count| {
            let splits = SplitHalves::random(&oracle.burdens, target, &streams, count).unwrap();
            if mirror { splits.mirrored() } else { splits }
        };
        // the first 200 of 1,000 splits are the 200 splits
        let (few, many) = (splits(200), splits(MANY));
        for (subset, include) in subsets(&oracle) {
            let found = yardstick(&few, &include, Retain::PAPER, &[(&draws, &oracle.tasks)]).unwrap();
            let rows = many.rows_of(&include).unwrap();
            let single: Vec<SplitStatistics> =
                many.halves().iter().map(|halves| split_statistics(halves, &rows, Retain::PAPER).unwrap()).collect();
            let expected = &results[key][subset];
            assert_eq!(expected["n"].as_u64(), Some(found.n as u64));
            let of = |statistic: fn(&SplitStatistics) -> Value| single.iter().map(statistic).collect::<Vec<_>>();
            for (name, found, many) in [
                ("auroc", &found.auroc, of(|s| s.auroc)),
                ("pearson", &found.pearson, of(|s| s.pearson)),
                ("spearman", &found.spearman, of(|s| s.spearman)),
                ("spearman_brown", &found.spearman_brown, of(|s| s.spearman_brown)),
                ("sign_agreement", &found.sign_agreement, of(|s| s.sign_agreement)),
                ("kappa", &found.kappa, of(|s| s.kappa)),
                ("label_positive_rate", &found.label_positive_rate, of(|s| s.label_positive_rate)),
                ("retained", &found.retained, of(|s| s.retained)),
                ("avoided", &found.avoided, of(|s| s.avoided)),
                ("advantage_count", &found.advantage_count, of(|s| s.advantage_count)),
            ] {
                check(found, &many, &expected[name], &format!("{key} {subset} {name}"));
            }
        }
    }
}

#[test]
fn same_label_differences() {
    let Some(oracle) = Oracle::load() else { return };
    let streams = Streams::new(20_260_901);
    let outcome = oracle.target(Target::PRIMARY);
    let by_task = Draws::new(&streams, Unit::Task, oracle.tasks.len(), 2_000);
    let by_stem = Draws::new(&streams, Unit::Stem, oracle.stems.len(), 2_000);
    let resamples = [(&by_task, &oracle.tasks), (&by_stem, &oracle.stems)];
    let splits = SplitHalves::random(&oracle.burdens, Target::PRIMARY, &streams, 200).unwrap();
    let everything = vec![true; outcome.y.len()];
    let replicate = yardstick(&splits, &everything, Retain::PAPER, &resamples).unwrap();
    let expected = &oracle.expected["splithalf"];
    let by_stem = &expected["replicate_stem_interval"];
    // no tolerance is given for this one: that of the task-clustered interval of the same mean
    let tolerance = results_tolerance(expected);
    let (lo, hi) = replicate.auroc.mean.interval(Unit::Stem).unwrap().ends().unwrap();
    close(lo, by_stem["lo"].as_f64().unwrap(), tolerance, "replicate by stem, lower end");
    close(hi, by_stem["hi"].as_f64().unwrap(), tolerance, "replicate by stem, upper end");

    for (name, expected) in expected["same_label"].as_object().unwrap() {
        let scores = match name.as_str() {
            "stump" | "depth2" | "logistic-gd" => oracle.task_scores(&format!("{name}/original")),
            cell => average_scores(&oracle.stem_scores(cell)).unwrap(),
        };
        let found = ReplicateRanking::new(&splits, &resamples).unwrap().against(&scores, &outcome.y).unwrap();
        let tolerance = expected["tol_difference"].as_f64().unwrap();
        let number = |key: &str| expected[key].as_f64().unwrap();
        let same: &Estimate = &found.same_label_difference;
        close(same.point.defined().unwrap(), number("difference"), tolerance, name);
        close(found.trigger_auroc.defined().unwrap(), number("trigger_auroc"), tolerance, name);
        // numerator and denominator (0.206 for this cohort) both move by at most the tolerance
        let share_tolerance = 2.0 * tolerance / 0.2;
        close(found.share_recovered.defined().unwrap(), number("share_recovered"), share_tolerance, name);
        close_interval(same.interval(Unit::Task).unwrap(), &expected["task_interval"], 0.0, name);
        close_interval(same.interval(Unit::Stem).unwrap(), &expected["stem_interval"], 0.0, name);
        let mixed = found.mixed_label_difference.point.defined().unwrap();
        let realised = foldline_frontiers::auroc(&scores, &outcome.y).unwrap().defined().unwrap();
        close(mixed, found.replicate_auroc.defined().unwrap() - realised, 1e-15, name);
    }
}

fn results_tolerance(expected: &Json) -> f64 {
    expected["results"]["k=3"]["all"]["auroc"]["interval"]["tol"].as_f64().unwrap()
}

#[test]
fn kappa_and_correlation_units() {
    let Some(units) = json("oracle/units.json") else { return };
    let unit = &units["kappa3"];
    let (a, b) = (numbers(&unit["a"]), numbers(&unit["b"]));
    let (agreement, kappa) = sign_agreement(&a, &b).unwrap();
    for (key, found) in [
        ("agreement", agreement),
        ("kappa", kappa),
        ("spearman", spearman(&a, &b).unwrap()),
        ("pearson", pearson(&a, &b).unwrap()),
    ] {
        close(found.defined().unwrap(), unit[key].as_f64().unwrap(), 1e-9, key);
    }
}

/// cell-eval#243: halves 1 2 3 4 and 2 1 4 3 correlate at 0.6, stepped up to 0.75.
#[test]
fn the_step_up_of_a_half_length_correlation() {
    let halves = foldline_frontiers::splits::Halves { d_a: vec![1.0, 2.0, 3.0, 4.0], d_b: vec![2.0, 1.0, 4.0, 3.0] };
    let found = split_statistics(&halves, &[0, 1, 2, 3], Retain::PAPER).unwrap();
    close(found.pearson.defined().unwrap(), 0.6, 1e-12, "r");
    close(found.spearman_brown.defined().unwrap(), 0.75, 1e-12, "2r/(1+r)");
    assert_eq!(found.auroc, Value::Undefined(Reason::OneClass), "all labels are positive");
}

#[test]
fn correlations_of_constants_and_of_huge_numbers() {
    assert_eq!(pearson(&[0.1; 3], &[1.0, 2.0, 3.0]), Ok(Value::Undefined(Reason::NoVariation)));
    for scale in [1e-300, 1e-170, 1.0, 1e200, 1e300] {
        let x: Vec<f64> = [1.0, 2.0, 3.0, 4.0].map(|x| x * scale).to_vec();
        let r = pearson(&x, &[2.0, 1.0, 4.0, 3.0]).unwrap().defined().unwrap();
        close(r, 0.6, 1e-12, "scaled");
    }
}

#[test]
fn the_reading_rule() {
    let interval = |lo, hi| foldline_frontiers::Interval {
        no_interval: None,
        lo: Some(lo),
        hi: Some(hi),
        level: 0.95,
        unit: Unit::Task,
        draws: 1,
        dropped: 0,
        seed: None,
    };
    // the paper, section 4 and Table 13: replicate 0.718 [0.686, 0.746], boosted [0.608, 0.703], stump's 0.592
    let replicate = interval(0.686, 0.746);
    assert_eq!(Reading::of(&replicate, &interval(0.608, 0.703)), Reading::WithinRange);
    assert_eq!(Reading::of(&replicate, &interval(0.54, 0.64)), Reading::FallsShort);
    assert_eq!(Reading::of(&replicate, &interval(0.75, 0.8)), Reading::Exceeds);
    assert_eq!(Reading::of(&replicate, &interval(0.6, 0.686)), Reading::WithinRange, "touching intervals overlap");
}
