//! The nested bootstrap of the reference cohort.

#![cfg(test)]

mod support;

use foldline_features::Target;
use foldline_frontiers::cell::{Cell, Statistic, interval};
use foldline_frontiers::frontier::Retain;
use foldline_frontiers::nested::nested_bootstrap;
use foldline_frontiers::ranking::average_scores;
use foldline_frontiers::{Streams, Unit};
use support::{Oracle, close, close_interval};

#[test]
fn nested_intervals() {
    let Some(oracle) = Oracle::load() else { return };
    let outcome = oracle.target(Target::PRIMARY);
    let expected = &oracle.expected["nested"];
    let names: Vec<&String> = expected["policies"].as_object().unwrap().keys().collect();
    let cells: Vec<Cell> = names
        .iter()
        .map(|&name| {
            let scores = match name.as_str() {
                "stump" | "depth2" | "logistic-gd" => oracle.task_scores(&format!("{name}/original")),
                cell => average_scores(&oracle.stem_scores(cell)).unwrap(),
            };
            Cell::new(&scores, &outcome.y, &outcome.mass, &outcome.d, &oracle.tasks, Retain::PAPER).unwrap()
        })
        .collect();
    let cells: Vec<&Cell> = cells.iter().collect();
    // more draws than the 2,000 of the entries: less noise on our side
    let nested =
        nested_bootstrap(&cells, &oracle.burdens, Target::PRIMARY, &oracle.tasks, &Streams::new(7), 8_000).unwrap();
    for (name, replicates) in names.iter().zip(&nested.replicates) {
        for (key, statistic, step) in [
            ("auroc", Statistic::Auroc, 0.0),
            ("avoided", Statistic::Avoided, 1.0 / 346.0),
            ("mass", Statistic::Mass, 1.0 / 346.0),
            ("advantage_count", Statistic::AdvantageCount, 1.0 / 346.0),
            ("advantage_mass", Statistic::AdvantageMass, 1.0 / 346.0),
            ("V_minus_E_rand", Statistic::VMinusERand, 0.0),
            ("V_per_blocked", Statistic::VPerBlocked, 0.0),
        ] {
            let found = interval(replicates, statistic, nested.draws());
            assert_eq!(found.unit, Unit::Nested);
            close_interval(&found, &expected["policies"][name][key], step, &format!("{name} {key}"));
        }
    }
    // means over 2,000 and 8,000 draws; their standard errors are below 0.0007 (sd over draws about 0.02)
    let rate = |key: &str| expected[key].as_f64().unwrap();
    close(nested.positive_rate.defined().unwrap(), rate("positive_rate"), 0.0025, "positive rate");
    close(nested.sign_changes.defined().unwrap(), rate("sign_changes"), 0.0025, "sign changes");
}
