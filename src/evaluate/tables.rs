//! The paper's tables, filled from results, in the paper's own row order.
//!
//! A row whose cell the protocol does not have is left out, and so is a table without rows. Tables 3 and 4 (file
//! hashes of the release, the alias list) are no results and have no counterpart.

use crate::results::{CellResult, PaperTable, Results, TableCell};
use foldline_frontiers::{Estimate, Reason, Unit, Value};
use std::collections::BTreeMap;

/// A table's number and how it is filled.
type Filled = (&'static str, fn(&Results) -> PaperTable);

/// All tables that the results can fill, by the paper's number.
pub fn tables(results: &Results) -> BTreeMap<String, PaperTable> {
    let all: [Filled; 16] = [
        ("1", placement_groups),
        ("2", operating_points),
        ("5", session_functions),
        ("6", |results| placement_cells(results, "original", "6")),
        ("7", |results| placement_cells(results, "post_hoc", "7")),
        ("8", contrasts),
        ("9", nested),
        ("10", signed),
        ("11", grid),
        ("12", frontiers),
        ("13", yardstick),
        ("14", |results| discrimination(results, "EXT-2")),
        ("15", |results| operating(results, "EXT-2")),
        ("16", |results| advantage(results, "EXT-2")),
        ("17", |results| discrimination(results, "EXT-3")),
        ("18", |results| operating(results, "EXT-3")),
    ];
    all.into_iter()
        .map(|(number, table)| (number.to_owned(), table(results)))
        .filter(|(_, table)| !table.rows.is_empty())
        .collect()
}

fn text(text: impl Into<String>) -> TableCell {
    TableCell::Text(text.into())
}

fn plain(number: Value, decimals: usize) -> TableCell {
    TableCell::Number { point: number, lo: None, hi: None, decimals, signed: false }
}

fn with_interval(estimate: &Estimate, unit: Unit, decimals: usize, signed: bool) -> TableCell {
    let ends = estimate.interval(unit).and_then(|interval| interval.ends());
    TableCell::Number { point: estimate.point, lo: ends.map(|e| e.0), hi: ends.map(|e| e.1), decimals, signed }
}

fn est(estimate: &Estimate, decimals: usize) -> TableCell {
    with_interval(estimate, Unit::Task, decimals, false)
}

fn signed_est(estimate: &Estimate, decimals: usize) -> TableCell {
    with_interval(estimate, Unit::Task, decimals, true)
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// How an interval of the table was made, from the first estimate that has one.
fn how(estimate: &Estimate, unit: Unit) -> Vec<String> {
    let Some(interval) = estimate.interval(unit) else { return Vec::new() };
    let seed = interval.seed.map_or_else(|| "draws as given".to_owned(), |seed| format!("seed {seed}"));
    vec![format!(
        "{:.0}% percentile intervals, resampled by {}, {} draws ({} dropped as undefined), {seed}",
        100.0 * interval.level,
        unit.name(),
        interval.draws,
        interval.dropped
    )]
}

/// The frozen policies and extension models in the order of Table 2, with the paper's names.
const TABLE_2: [(&str, &str, &str); 7] = [
    ("frozen", "stump/six", "Stump"),
    ("frozen", "depth2/six", "Depth-2 tree"),
    ("frozen", "logistic-gd/pair", "Logistic (2 features)"),
    ("EXT-2", "boosted/H", "17 engineered summaries (boosted)"),
    ("EXT-3", "boosted/R1", "Functions and apps added (R1, boosted)"),
    ("EXT-3", "logistic/R1", "Logistic, R1"),
    ("EXT-2", "logistic/HT", "Logistic, summaries + difficulty"),
];

fn find<'a>(results: &'a Results, group: &str, name: &str) -> Option<&'a CellResult> {
    results.cells.iter().find(|cell| cell.is(group, name))
}

fn of_group<'a>(results: &'a Results, group: &'a str) -> impl Iterator<Item = &'a CellResult> {
    results.cells.iter().filter(move |cell| cell.group == group)
}

fn rows_of_table_2(results: &Results, row: impl Fn(&str, &CellResult) -> Vec<TableCell>) -> Vec<Vec<TableCell>> {
    TABLE_2.iter().filter_map(|(group, name, words)| find(results, group, name).map(|cell| row(words, cell))).collect()
}

fn first_note(results: &Results, of: fn(&CellResult) -> &Estimate, unit: Unit) -> Vec<String> {
    let cell = TABLE_2.iter().find_map(|(group, name, _)| find(results, group, name));
    cell.map(|cell| how(of(cell), unit)).unwrap_or_default()
}

fn placement_groups(results: &Results) -> PaperTable {
    let groups = results.placement.as_ref().map(|placement| placement.groups.as_slice()).unwrap_or_default();
    let rows = groups.iter().map(|group| {
        vec![
            text(&group.group),
            text(group.cell.boundaries.to_string()),
            text(group.cell.clusters.to_string()),
            plain(group.prefix_steps, 1),
            plain(group.compaction_index, 2),
            signed_est(&group.cell.mean, 3),
        ]
    });
    PaperTable {
        title: format!("Boundaries by what their prefix wrote: mean {}", results.outcome.target),
        columns: columns(&[
            "Pre-boundary function set",
            "Boundaries",
            "Tasks",
            "Prefix steps",
            "Compaction index",
            "Mean [95% CI]",
        ]),
        rows: rows.collect(),
        notes: groups.first().map(|group| how(&group.cell.mean, Unit::Task)).unwrap_or_default(),
    }
}

fn operating_points(results: &Results) -> PaperTable {
    let mut rows = rows_of_table_2(results, |words, cell| {
        vec![
            text(words),
            text(&cell.folds),
            plain(cell.retained.point, 3),
            est(&cell.avoided, 3),
            signed_est(&cell.advantage_count, 3),
        ]
    });
    if let Some(row) = results.yardstick.as_ref().and_then(|yardstick| yardstick.rows.first()) {
        let statistics = &row.statistics;
        rows.push(vec![
            text("Replicate (yardstick)"),
            text("half-sample"),
            plain(statistics.retained.mean.point, 3),
            est(&statistics.avoided.mean, 3),
            signed_est(&statistics.advantage_count.mean, 3),
        ]);
    }
    PaperTable {
        title: format!("Operating points at {} or more retained", results.protocol.retain),
        columns: columns(&["Policy", "Folds", "Retained", "Avoided [95% CI]", "Advantage over random [95% CI]"]),
        rows,
        notes: [
            first_note(results, |cell| &cell.avoided, Unit::Task),
            vec![
                "The threshold is reselected in every draw; the random rule's expectation is 1 - retained.".to_owned(),
                "Rows stand at their own operating points under their own folds and are not directly comparable; the \
                 replicate is scored against half-sample labels."
                    .to_owned(),
            ],
        ]
        .concat(),
    }
}

fn session_functions(results: &Results) -> PaperTable {
    let functions =
        results.placement.as_ref().map(|placement| placement.session_functions.as_slice()).unwrap_or_default();
    PaperTable {
        title: "Session endpoints: boundaries whose prefix holds the function".to_owned(),
        columns: columns(&["Function", "Boundaries"]),
        rows: functions.iter().map(|(function, n)| vec![text(function), text(n.to_string())]).collect(),
        notes: Vec::new(),
    }
}

fn placement_cells(results: &Results, label: &str, number: &str) -> PaperTable {
    let placement = results.placement.as_ref();
    let found = placement.and_then(|placement| placement.labels.iter().find(|row| row.label == label));
    let contrasts = found.map(|row| row.contrasts.as_slice()).unwrap_or_default();
    let names = if label == "original" {
        ["read-only", "any prior write"]
    } else {
        ["no substantive write", "substantive write"]
    };
    let mut rows = Vec::new();
    for (with, name) in [(false, names[0]), (true, names[1])] {
        for horizon in contrasts.chunks(3) {
            let mut row = vec![
                text(name),
                text(horizon.first().map_or("", |(target, _)| target.rsplit('@').next().unwrap_or(""))),
            ];
            row.extend(
                horizon.iter().map(|(_, contrast)| {
                    signed_est(if with { &contrast.with.mean } else { &contrast.without.mean }, 3)
                }),
            );
            rows.push(row);
        }
    }
    PaperTable {
        title: format!(
            "Mean burden by cell, horizon and channel, {} label",
            if number == "6" { "original" } else { "post hoc" }
        ),
        columns: columns(&["Cell", "k", "U", "E", "R"]),
        rows,
        notes: contrasts.first().map(|(_, contrast)| how(&contrast.with.mean, Unit::Task)).unwrap_or_default(),
    }
}

fn contrasts(results: &Results) -> PaperTable {
    let labels = results.placement.as_ref().map(|placement| placement.labels.as_slice()).unwrap_or_default();
    let mut rows = Vec::new();
    if let [original, post_hoc] = labels {
        for ((target, one), (_, other)) in original.contrasts.iter().zip(&post_hoc.contrasts) {
            rows.push(vec![text(target), signed_est(&one.difference, 3), signed_est(&other.difference, 3)]);
        }
        rows.push(vec![
            text(format!("{}, first compactions only", results.outcome.target)),
            signed_est(&original.first_only.difference, 3),
            signed_est(&post_hoc.first_only.difference, 3),
        ]);
        let slopes = ["label", "ln(1 + prefix steps)", "first compaction"];
        if let (Some(one), Some(other)) = (&original.regression, &post_hoc.regression) {
            for ((name, one), other) in slopes.iter().zip(&one.slopes).zip(&other.slopes) {
                rows.push(vec![text(format!("regression: {name}")), signed_est(one, 3), signed_est(other, 3)]);
            }
        }
    }
    let mut notes = labels
        .first()
        .and_then(|label| label.contrasts.first())
        .map(|(_, contrast)| how(&contrast.difference, Unit::Task))
        .unwrap_or_default();
    notes
        .push("Regressions hold one indicator per task; rank-deficient draws keep the minimum-norm slopes.".to_owned());
    notes.push("Contrasts by horizon and channel are exploratory and not adjusted for their number.".to_owned());
    PaperTable {
        title: "Contrasts: with the label minus without".to_owned(),
        columns: columns(&["Target", "Original label", "Post hoc label"]),
        rows,
        notes,
    }
}

fn nested(results: &Results) -> PaperTable {
    let rows = rows_of_table_2(results, |words, cell| {
        let half = |unit| {
            let half = cell.avoided.interval(unit).and_then(|interval| interval.half_width());
            plain(half.map_or(Value::Undefined(Reason::AllDrawsDropped), Value::Defined), 3)
        };
        vec![
            text(words),
            with_interval(&cell.avoided, Unit::Nested, 3, false),
            half(Unit::Nested),
            est(&cell.avoided, 3),
            half(Unit::Task),
            with_interval(&cell.advantage_mass, Unit::Nested, 3, true),
        ]
    });
    let mut notes = first_note(results, |cell| &cell.avoided, Unit::Nested);
    if let Some(yardstick) = &results.yardstick {
        notes.push(format!(
            "Under replay resampling {} of drawn boundaries change their label, and {} are positive.",
            plain(yardstick.nested_sign_changes, 3).text(),
            plain(yardstick.nested_positive_rate, 3).text()
        ));
    }
    PaperTable {
        title: "Avoided share: rollouts resampled within boundaries, against tasks only".to_owned(),
        columns: columns(&[
            "Policy",
            "Avoided [nested 95% CI]",
            "Half-width",
            "Avoided [task 95% CI]",
            "Half-width",
            "Mass advantage [nested]",
        ]),
        rows,
        notes,
    }
}

fn signed(results: &Results) -> PaperTable {
    let rows = rows_of_table_2(results, |words, cell| {
        let parts = &cell.signed_parts;
        let number = |value: f64| plain(Value::Defined(value), 2);
        vec![
            text(words),
            text(cell.operating_point.blocked.to_string()),
            plain(cell.signed_value.point, 2),
            number(parts.s_plus),
            number(parts.s_minus),
            text(parts.negative.to_string()),
            number(parts.e_rand),
            with_interval(&cell.signed_value_minus_e_rand, Unit::Task, 2, true),
            with_interval(&cell.signed_value_minus_e_rand, Unit::Nested, 2, true),
            with_interval(&cell.signed_value_per_blocked, Unit::Task, 3, false),
            with_interval(&cell.signed_value_per_blocked, Unit::Nested, 3, false),
            with_interval(&cell.positive_part_minus_e_rand, Unit::Task, 2, true),
            with_interval(&cell.positive_part_minus_e_rand, Unit::Nested, 2, true),
        ]
    });
    let mut notes = first_note(results, |cell| &cell.signed_value_minus_e_rand, Unit::Task);
    notes.extend(first_note(results, |cell| &cell.signed_value_minus_e_rand, Unit::Nested));
    notes.push(format!(
        "Burdened steps; the threshold is held fixed in every draw. The total over all {} boundaries is {:.1}.",
        results.outcome.n, results.outcome.sum
    ));
    PaperTable {
        title: "Signed plug-in value at the operating point".to_owned(),
        columns: columns(&[
            "Policy",
            "Blocked",
            "V",
            "S+",
            "S-",
            "Negative",
            "E_rand",
            "V - E_rand [task]",
            "V - E_rand [nested]",
            "V / blocked [task]",
            "V / blocked [nested]",
            "Positive part [task]",
            "Positive part [nested]",
        ]),
        rows,
        notes,
    }
}

fn grid(results: &Results) -> PaperTable {
    let cells = [
        "stump/six",
        "depth2/six",
        "logistic-gd/pair",
        "stump/six-substantive",
        "depth2/six-substantive",
        "logistic-gd/pair-substantive",
    ];
    let mut targets: Vec<&str> = Vec::new();
    for entry in &results.grid {
        if !targets.contains(&entry.target.as_str()) {
            targets.push(&entry.target);
        }
    }
    let rows = targets.into_iter().map(|target| {
        let mut row = vec![text(target)];
        row.extend(cells.iter().map(|cell| {
            let entry = results.grid.iter().find(|entry| entry.cell == *cell && entry.target == target);
            entry.map_or_else(|| text("not run"), |entry| plain(entry.auroc, 3))
        }));
        row
    });
    PaperTable {
        title: "Out-of-fold AUROC by horizon and channel, each policy refitted to each target".to_owned(),
        columns: columns(&[
            "Target",
            "Stump",
            "Depth-2",
            "Logistic",
            "Stump (post hoc)",
            "Depth-2 (post hoc)",
            "Logistic (post hoc)",
        ]),
        rows: rows.collect(),
        notes: vec!["Pooled over folds; descriptive, not adjusted for the number of cells.".to_owned()],
    }
}

fn frontiers(results: &Results) -> PaperTable {
    let mut rows = Vec::new();
    for (group, name, words) in TABLE_2.iter().take(3) {
        let Some(cell) = find(results, group, name) else { continue };
        for point in &cell.frontier {
            rows.push(vec![
                text(*words),
                text(point.allowed.to_string()),
                plain(Value::Defined(point.retained), 3),
                plain(point.avoided, 3),
                plain(point.mass, 3),
            ]);
        }
    }
    PaperTable {
        title: "Full out-of-fold frontiers: every threshold at which the allowed set changes".to_owned(),
        columns: columns(&["Policy", "Allowed", "Retained", "Avoided", "Mass"]),
        rows,
        notes: vec!["Pooled over fold models: a mixture of policies, not one that can be deployed.".to_owned()],
    }
}

fn yardstick(results: &Results) -> PaperTable {
    let yardstick = results.yardstick.as_ref();
    let all = yardstick.map(|yardstick| yardstick.rows.as_slice()).unwrap_or_default();
    let mut order: Vec<_> = all.iter().filter(|row| !row.mirrored).collect();
    order.sort_by_key(|row| row.target.clone());
    order.extend(all.iter().filter(|row| row.mirrored));
    let rows = order.into_iter().map(|row| {
        let statistics = &row.statistics;
        vec![
            text(&row.target),
            text(if row.mirrored { format!("{}, mirrored", row.subset) } else { row.subset.clone() }),
            text(statistics.n.to_string()),
            est(&statistics.auroc.mean, 3),
            plain(statistics.pearson.mean.point, 3),
            est(&statistics.spearman_brown.mean, 3),
            plain(statistics.sign_agreement.mean.point, 3),
            plain(statistics.kappa.mean.point, 3),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let mut notes = all.first().map(|row| how(&row.statistics.auroc.mean, Unit::Task)).unwrap_or_default();
    if let Some(plan) = results.protocol.yardstick {
        notes.push(format!(
            "Means over {} random splits; intervals of the mean over the first {}. Half A, floor(n/2) rollouts an arm, \
             gives the label; half B the score.",
            plan.splits,
            foldline_frontiers::yardstick::INTERVAL_SPLITS
        ));
    }
    PaperTable {
        title: "Split-half replicate statistics".to_owned(),
        columns: columns(&[
            "Target",
            "Subset",
            "n",
            "Replicate AUROC [95% CI]",
            "Pearson",
            "Spearman-Brown [95% CI]",
            "Sign agreement",
            "Kappa",
        ]),
        rows,
        notes,
    }
}

fn model_and_features(cell: &CellResult) -> [TableCell; 2] {
    let (learner, representation) = cell.name.split_once('/').unwrap_or((&cell.name, ""));
    [text(learner), text(format!("{representation} ({})", cell.columns))]
}

fn group_notes(results: &Results, group: &str, of: fn(&CellResult) -> &Estimate) -> Vec<String> {
    let mut notes = of_group(results, group).next().map(|cell| how(of(cell), Unit::Task)).unwrap_or_default();
    if let Some(best) = results.best.iter().find(|best| best.group == group) {
        let name = best.cell.map_or_else(|| "none".to_owned(), |cell| cell.to_string());
        notes.push(if best.overridden {
            format!("Cell named by the user in place of the best of {}: {name}.", best.chosen_from)
        } else {
            format!(
                "Best cell by mean per-repetition AUROC: {name}, one of {}; intervals are not selection-adjusted.",
                best.chosen_from
            )
        });
    }
    notes
}

fn discrimination(results: &Results, group: &str) -> PaperTable {
    let rows = of_group(results, group).map(|cell| {
        let per = &cell.auroc_per_repetition;
        let range = match (per.mean, per.min, per.max) {
            (Value::Defined(mean), Value::Defined(min), Value::Defined(max)) => {
                text(format!("{mean:.3} ({min:.3}-{max:.3})"))
            }
            (undefined, ..) => plain(undefined, 3),
        };
        let [model, features] = model_and_features(cell);
        vec![model, features, est(&cell.auroc_averaged, 3), range, plain(cell.ap_per_repetition.mean, 3)]
    });
    PaperTable {
        title: format!("{group}: out-of-fold discrimination, target {}", results.outcome.target),
        columns: columns(&[
            "Learner",
            "Features",
            "AUROC of averaged scores [95% CI]",
            "Per-repetition mean (min-max)",
            "AP",
        ]),
        rows: rows.collect(),
        notes: group_notes(results, group, |cell| &cell.auroc_averaged),
    }
}

fn operating(results: &Results, group: &str) -> PaperTable {
    let with_advantage = group == "EXT-3";
    let rows = of_group(results, group).map(|cell| {
        let [model, features] = model_and_features(cell);
        let mut row = vec![model, features, plain(cell.retained.point, 3), est(&cell.avoided, 3)];
        if with_advantage {
            row.extend([signed_est(&cell.advantage_count, 3), signed_est(&cell.advantage_mass, 3)]);
        } else {
            row.push(est(&cell.mass, 3));
        }
        row
    });
    let mut names = vec!["Learner", "Features", "Retained", "Avoided [95% CI]"];
    names.extend(if with_advantage {
        ["Advantage, count", "Advantage, mass"].as_slice()
    } else {
        ["Mass [95% CI]"].as_slice()
    });
    PaperTable {
        title: format!("{group}: operating points at {} or more retained", results.protocol.retain),
        columns: columns(&names),
        rows: rows.collect(),
        notes: group_notes(results, group, |cell| &cell.avoided),
    }
}

fn advantage(results: &Results, group: &str) -> PaperTable {
    let rows = of_group(results, group).map(|cell| {
        let [model, features] = model_and_features(cell);
        vec![model, features, signed_est(&cell.advantage_count, 3), signed_est(&cell.advantage_mass, 3)]
    });
    PaperTable {
        title: format!("{group}: advantage over the random rule at the operating point"),
        columns: columns(&["Learner", "Features", "By count [95% CI]", "By burden mass [95% CI]"]),
        rows: rows.collect(),
        notes: group_notes(results, group, |cell| &cell.advantage_count),
    }
}
