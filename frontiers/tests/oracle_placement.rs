//! Intraclass correlations, placement cells, contrasts and regressions of the reference cohort.

#![cfg(test)]

mod support;

use foldline_features::{Arm, Channel, Horizon, Representation, Target};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::icc::{GroupedValues, icc_by_cluster, icc_of_rollouts};
use foldline_frontiers::ols::regression_within_clusters;
use foldline_frontiers::placement::{cell_mean, contrast, exposure};
use foldline_frontiers::{Clusters, Reason, Streams, Unit, Value};
use serde_json::Value as Json;
use support::{Oracle, close, close_interval, json, numbers, targets};

/// The write label of a representation whose first column it is.
fn label(oracle: &Oracle, representation: Representation) -> Vec<bool> {
    oracle.table(representation).dense_column(0).iter().map(|&label| label > 0.0).collect()
}

fn draws(oracle: &Oracle) -> Draws {
    Draws::new(&Streams::new(20_260_901), Unit::Task, oracle.tasks.len(), 10_000)
}

#[test]
fn intraclass_correlations() {
    let Some(oracle) = Oracle::load() else { return };
    let expected = &oracle.expected["icc"];
    let draws = draws(&oracle);
    let counts = |arm: Arm| -> Vec<Vec<f64>> {
        let of_burden = |burden: &foldline_features::Burden| {
            burden.arm(arm).iter().map(|counts| f64::from(counts.get(Channel::Union, Horizon::Three))).collect()
        };
        oracle.burdens.iter().map(of_burden).collect()
    };
    let d = oracle.target(Target::PRIMARY).d;
    for (key, found) in [
        ("pre_rollout_union_by_boundary", icc_of_rollouts(&counts(Arm::Pre), &oracle.tasks, &draws).unwrap()),
        ("post_rollout_union_by_boundary", icc_of_rollouts(&counts(Arm::Post), &oracle.tasks, &draws).unwrap()),
        ("d_by_task", icc_by_cluster(&d, &oracle.tasks, &draws).unwrap()),
    ] {
        close(found.point.defined().unwrap(), expected[key]["icc"].as_f64().unwrap(), 1e-9, key);
        close_interval(&found.intervals[0], &expected[key]["interval"], 0.0, key);
    }
    let by_stem = GroupedValues::new(&d, oracle.stems.of(), oracle.stems.len()).unwrap().icc();
    close(by_stem.defined().unwrap(), expected["d_by_stem"]["icc"].as_f64().unwrap(), 1e-9, "by stem");
}

#[test]
fn intraclass_units() {
    // groups of one: no variation within; equal values: none at all
    let single = GroupedValues::new(&[1.0, 2.0, 3.0], &[0, 1, 2], 3).unwrap();
    assert_eq!(single.icc(), Value::Undefined(Reason::SingletonGroups));
    let one = GroupedValues::new(&[1.0, 2.0], &[0, 0], 1).unwrap();
    assert_eq!(one.icc(), Value::Undefined(Reason::TooFewGroups));
    let equal = GroupedValues::new(&[0.1; 7], &[0, 0, 0, 1, 1, 1, 1], 2).unwrap();
    assert_eq!(equal.icc(), Value::Undefined(Reason::NoVariation));
    // no variation within, some between: 1
    let perfect = GroupedValues::new(&[1.0, 1.0, 2.0, 2.0], &[0, 0, 1, 1], 2).unwrap();
    assert_eq!(perfect.icc(), Value::Defined(1.0));

    let Some(units) = json("oracle/units.json") else { return };
    let unit = &units["icc1"];
    let groups: Vec<u32> = numbers(&unit["groups"]).into_iter().map(|group| group as u32).collect();
    let grouped = GroupedValues::new(&numbers(&unit["values"]), &groups, 9).unwrap();
    close(grouped.icc().defined().unwrap(), unit["icc"].as_f64().unwrap(), 1e-9, "unequal groups");
    // Shrout and Fleiss (1979), Table 2: ICC(1,1) = 0.17
    let textbook = &unit["shrout_fleiss_1979"];
    let values = numbers(&textbook["values"]);
    let groups: Vec<u32> = (0..values.len() as u32).map(|index| index / 4).collect();
    let grouped = GroupedValues::new(&values, &groups, 6).unwrap();
    close(grouped.icc().defined().unwrap(), textbook["icc"].as_f64().unwrap(), 1e-9, "Shrout and Fleiss");
}

#[test]
fn cells_contrasts_and_groups() {
    let Some(oracle) = Oracle::load() else { return };
    let expected = &oracle.expected["placement"];
    let draws = draws(&oracle);
    let by_stem = Draws::new(&Streams::new(20_260_901), Unit::Stem, oracle.stems.len(), 10_000);
    let everything = vec![true; oracle.burdens.len()];
    let first: Vec<bool> = oracle.boundaries().iter().map(|boundary| boundary.prefix.compaction_index == 1).collect();
    let labels = [label(&oracle, Representation::Six), label(&oracle, Representation::SixSub)];
    for (name, label) in ["original", "post_hoc"].into_iter().zip(&labels) {
        let expected = &expected[name];
        for target in targets() {
            let d = oracle.target(target).d;
            let found = contrast(&d, label, &everything, &oracle.tasks, &[&draws]).unwrap();
            let what = format!("{name} {target}");
            let cells = &expected["cells"][target.to_string()];
            for (key, estimate) in [("with", &found.with.mean), ("without", &found.without.mean)] {
                close(estimate.point.defined().unwrap(), cells[key].as_f64().unwrap(), 1e-9, &what);
                close_interval(&estimate.intervals[0], &cells["intervals"][key], 0.0, &what);
            }
            let difference = &expected["contrasts"][target.to_string()];
            close(found.difference.point.defined().unwrap(), number(difference, "difference"), 1e-9, &what);
            close_interval(&found.difference.intervals[0], &difference["interval"], 0.0, &what);
        }
        let d = oracle.target(Target::PRIMARY).d;
        let first_only = contrast(&d, label, &first, &oracle.tasks, &[&draws]).unwrap();
        assert_eq!(first_only.with.boundaries + first_only.without.boundaries, 275);
        let difference = first_only.difference.point.defined().unwrap();
        close(difference, number(&expected["first_only"], "difference"), 1e-9, name);
        close_interval(&first_only.difference.intervals[0], &expected["first_only"]["interval"], 0.0, name);
        let stem = contrast(&d, label, &everything, &oracle.stems, &[&by_stem]).unwrap();
        close_interval(&stem.difference.intervals[0], &expected["stem_interval"], 0.0, name);
    }

    let d = oracle.target(Target::PRIMARY).d;
    let [original, substantive] = &labels;
    let rows = || original.iter().zip(substantive);
    for (name, include) in [
        ("no_write", rows().map(|(write, _)| !write).collect::<Vec<_>>()),
        ("session_only_write", rows().map(|(write, substantive)| *write && !substantive).collect()),
        ("substantive_write", substantive.clone()),
    ] {
        let found = cell_mean(&d, &include, &oracle.tasks, &[&draws]).unwrap();
        let expected = &expected["groups"][name];
        assert_eq!(Some(found.boundaries as u64), expected["boundaries"].as_u64(), "{name}");
        assert_eq!(Some(found.clusters as u64), expected["tasks"].as_u64(), "{name}");
        close(found.mean.point.defined().unwrap(), number(expected, "mean"), 1e-9, name);
        close_interval(&found.mean.intervals[0], &expected["interval"], 0.0, name);
    }
}

fn number(json: &Json, key: &str) -> f64 {
    json[key].as_f64().unwrap()
}

#[test]
fn regressions_with_task_indicators() {
    let Some(oracle) = Oracle::load() else { return };
    let draws = draws(&oracle);
    let d = oracle.target(Target::PRIMARY).d;
    let first: Vec<f64> =
        oracle.boundaries().iter().map(|b| f64::from(u8::from(b.prefix.compaction_index == 1))).collect();
    for (name, representation) in [("original", Representation::Six), ("post_hoc", Representation::SixSub)] {
        let table = oracle.table(representation);
        let columns = [table.dense_column(0), table.dense_column(1), &first];
        let found = regression_within_clusters(&d, &columns, &oracle.tasks, &[&draws]).unwrap();
        let expected = &oracle.expected["placement"][name]["ols"];
        for (key, slope) in ["label", "log_prefix_steps", "first"].into_iter().zip(&found.slopes) {
            close(slope.point.defined().unwrap(), number(expected, key), 1e-9, key);
            close_interval(&slope.intervals[0], &expected["intervals"][key], 0.0, key);
        }
        let intercept = found.intercept_reference.defined().unwrap();
        close(intercept, number(expected, "intercept_reference_first_sorted_task"), 1e-9, "intercept");
        assert_eq!(Some(found.rank as u64), expected["rank"].as_u64());
        assert_eq!(Some(found.columns as u64), expected["columns"].as_u64());
        assert_eq!(found.rank_deficient_draws, [0]);
        // the slope without anything else is the difference of cell means
        let label: Vec<bool> = columns[0].iter().map(|&label| label > 0.0).collect();
        let everything = vec![true; d.len()];
        let difference = contrast(&d, &label, &everything, &oracle.tasks, &[]).unwrap().difference;
        close(difference.point.defined().unwrap(), number(expected, "uncontrolled_label"), 1e-9, name);
    }
}

#[test]
fn explicit_draws_of_placement() {
    let Some(oracle) = Oracle::load() else { return };
    let explicit = &oracle.expected["explicit"];
    let d = oracle.target(Target::PRIMARY).d;
    let table = oracle.table(Representation::Six);
    let label: Vec<bool> = label(&oracle, Representation::Six);
    let first: Vec<f64> =
        oracle.boundaries().iter().map(|b| f64::from(u8::from(b.prefix.compaction_index == 1))).collect();
    let columns = [table.dense_column(0), table.dense_column(1), &first];
    let everything = vec![true; d.len()];
    let given = explicit["draws"].as_array().unwrap();
    let expected = |key: &str, draw: usize| explicit["statistics"]["placement"][key][draw].as_f64().unwrap();
    for (index, draw) in given.iter().enumerate() {
        let draw: Vec<u32> = numbers(draw).into_iter().map(|cluster| cluster as u32).collect();
        // one draw: both percentiles are its value
        let draws = Draws::explicit(Unit::Task, oracle.tasks.len(), &[draw]).unwrap();
        let only = |interval: &foldline_frontiers::Interval| interval.ends().unwrap().0;
        let cells = contrast(&d, &label, &everything, &oracle.tasks, &[&draws]).unwrap();
        close(only(&cells.difference.intervals[0]), expected("contrast_original", index), 1e-9, "contrast");
        let slopes = regression_within_clusters(&d, &columns, &oracle.tasks, &[&draws]).unwrap().slopes;
        for (key, slope) in ["ols_label", "ols_log_prefix_steps", "ols_first"].into_iter().zip(slopes) {
            close(only(&slope.intervals[0]), expected(key, index), 1e-9, key);
        }
        let icc = icc_by_cluster(&d, &oracle.tasks, &draws).unwrap();
        close(only(&icc.intervals[0]), expected("icc_d_by_task", index), 1e-9, "icc");
    }
}

/// Two tasks, the third column the sum of the first two: the slopes of least norm, counted as deficient.
#[test]
fn rank_deficient_columns_get_slopes_of_least_norm() {
    let clusters = Clusters::new(&["a", "a", "a", "b", "b", "b"]);
    let x = [0.0, 1.0, 2.0, 5.0, 3.0, 1.0];
    let z = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0];
    let sum: Vec<f64> = x.iter().zip(z).map(|(x, z)| x + z).collect();
    let d: Vec<f64> = x.iter().zip(z).map(|(x, z)| 2.0 * x - z).collect();
    let draws = Draws::explicit(Unit::Task, 2, &[vec![0, 1], vec![0, 0]]).unwrap();
    let found = regression_within_clusters(&d, &[&x, &z, &sum], &clusters, &[&draws]).unwrap();
    // minimise a² + b² + c² with a + c = 2 and b + c = -1: c = 1/3
    for (slope, expected) in found.slopes.iter().zip([5.0 / 3.0, -4.0 / 3.0, 1.0 / 3.0]) {
        close(slope.point.defined().unwrap(), expected, 1e-12, "least norm");
    }
    assert_eq!((found.rank, found.columns), (4, 5));
    assert_eq!(found.rank_deficient_draws, [2]);
    // a column that is constant within tasks says nothing: slope 0
    let constant = [1.0, 1.0, 1.0, 7.0, 7.0, 7.0];
    let found = regression_within_clusters(&d, &[&x, &constant], &clusters, &[]).unwrap();
    assert_eq!(found.slopes[1].point, Value::Defined(0.0));
}

#[test]
fn exposure_by_arm() {
    let Some(oracle) = Oracle::load() else { return };
    let found = exposure(oracle.boundaries(), Arm::Pre, 3);
    assert_eq!(found.rollouts, 2320);
    // by hand from the definition
    let mut sum = 0.0;
    for boundary in oracle.boundaries() {
        let actions: Vec<f64> = boundary
            .rollouts
            .iter()
            .filter(|rollout| rollout.arm == Arm::Pre)
            .map(|rollout| rollout.steps.iter().take(3).filter(|step| !step.function.is_empty()).count() as f64)
            .collect();
        sum += actions.iter().sum::<f64>() / actions.len() as f64;
    }
    close(found.valid_actions.defined().unwrap(), sum / 590.0, 1e-12, "valid actions");
    let all = exposure(oracle.boundaries(), Arm::Pre, 5).completed.defined().unwrap();
    assert!(found.completed.defined().unwrap() <= all);
    assert_eq!(exposure(&[], Arm::Pre, 3).completed, Value::Undefined(Reason::NoRows));
}
