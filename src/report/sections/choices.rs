//! Every choice behind the numbers: the protocol's settings, and what it leaves open and this program decides.

use super::Context;
use crate::report::content::{Block, Line, Row, Section, Table, code, text, words};
use foldline_frontiers::yardstick::INTERVAL_SPLITS;

/// Choices that hold for every run. Each is stated in the documentation of the code that makes it.
const CHOICES: &[&str] = &[
    "Harmful means that the primary target is positive; the burden mass of a boundary is max(0, target).",
    "A threshold allows compaction where the score is strictly below it and blocks at or above it.",
    "Operating point: among thresholds whose allowed boundaries reach the ceiling of retain \u{d7} n, computed in integers, \
     the one that avoids most; ties go to the larger retained share.",
    "Advantage: share avoided (or mass) less 1 \u{2212} retained, the expectation of a rule that blocks as many at random.",
    "Every score is out of fold: a boundary is scored by the model fitted on the other folds. A frontier pooled over fold \
     models is no deployable policy; an exported policy has one threshold and its own evidence.",
    "AUROC is that of the repetition-averaged scores unless a column says otherwise; ties count one half; it is undefined, \
     never 0.5, with one class.",
    "Intervals are 95% percentile bootstrap intervals over tasks, percentiles by linear interpolation; the operating \
     threshold is chosen anew in every draw for avoided, advantage and mass, and held fixed for the signed value; draws in \
     which a statistic is undefined are dropped and counted.",
    "Stem-clustered: the same with stems. Nested: each copy of each drawn boundary resamples its rollouts as well; scores \
     stay fixed.",
    "Best trigger: largest mean AUROC over repetitions among the eligible ones on the primary target; ties: earlier in the \
     protocol\u{2019}s order. Intervals are not adjusted for that choice.",
    "Yardstick: half A is the smaller half and gives the label, half B the score; means over all splits, intervals of the \
     mean over the first 20 splits; a draw in which any of these is undefined is dropped.",
    "Trees: at most 25 candidate thresholds a column at evenly spaced ranks of the midpoints; a node with fewer than 20 \
     rows is not split; ties go to the lowest column, then the lowest threshold.",
    "Logistic regression (L2, C = 1): columns standardised on the training rows, fitted to the optimum.",
    "Hashed columns: MurmurHash3 (x86, 32 bits, seed 0) of the UTF-8 bytes, modulo 4,096.",
    "The vocabulary of functions and apps is the cohort\u{2019}s; a column that is constant in a training fold is harmless.",
    "Without a method map a call is a read if its name begins with show_, search_, get_, read, list_ or download_ (but not \
     download_song), or ends in _exists; every other call is a write.",
];

pub(super) fn section(context: &Context<'_>) -> Section {
    let protocol = &context.results.protocol;
    let source = &context.source;
    let mut rows: Vec<(&str, Line)> = vec![
        ("Protocol", vec![code(protocol.name.clone())]),
        ("Primary target", vec![code(protocol.target.to_string())]),
        ("Must stay allowed", vec![code(protocol.retain.to_string()), text(" of the opportunities")]),
        ("Base seed", vec![code(context.results.seed.to_string())]),
        ("Draws, stem-clustered, nested, signed, yardstick", vec![source.count("/protocol/draws/extension")]),
        ("Draws, placement", vec![source.count("/protocol/draws/placement")]),
    ];
    if protocol.yardstick.is_some() {
        let line = vec![
            source.count("/protocol/yardstick/splits"),
            text(format!(", intervals over the first {INTERVAL_SPLITS}")),
        ];
        rows.push(("Yardstick splits", line));
    }
    if let Some(sensitivity) = &protocol.sensitivity {
        let targets: Vec<String> = sensitivity.targets.iter().map(ToString::to_string).collect();
        let line = vec![
            text("targets "),
            code(targets.join(", ")),
            text("; folds "),
            code(sensitivity.task_folds.to_string()),
            text(if sensitivity.regression { "; a regression" } else { "" }),
        ];
        rows.push(("Best triggers refitted", line));
    }
    if let Some(importance) = &protocol.importance {
        rows.push(("Importance of", vec![code(importance.cell.to_string())]));
    }
    let settings = Table {
        id: "protocol".to_owned(),
        title: "Settings of this run".to_owned(),
        columns: vec![words("Setting"), words("Value")],
        rows: rows
            .into_iter()
            .map(|(name, line)| Row { cells: vec![vec![text(name)], line], ..Row::default() })
            .collect(),
        notes: Vec::new(),
        folded: false,
    };
    let groups = protocol.groups.iter().enumerate().map(|(index, group)| {
        let list = |cells: &[crate::evaluate::protocol::CellName]| {
            let names: Vec<String> = cells.iter().map(ToString::to_string).collect();
            if names.is_empty() { vec![text("none")] } else { vec![code(names.join(", "))] }
        };
        Row {
            cells: vec![
                vec![code(group.name.clone())],
                super::overview::folds(&group.folds.to_string()),
                match group.draws {
                    Some(_) => vec![source.count(&format!("/protocol/groups/{index}/draws"))],
                    None => vec![text("by learner")],
                },
                list(&group.cells),
                list(&group.eligible),
            ],
            ..Row::default()
        }
    });
    let groups = Table {
        id: "groups".to_owned(),
        title: "Groups of triggers".to_owned(),
        columns: vec![
            words("Group"),
            words("Folds"),
            crate::report::content::numbers("Draws", "of the task-clustered intervals"),
            words("Triggers"),
            words("Compete for best"),
        ],
        rows: groups.collect(),
        notes: Vec::new(),
        folded: true,
    };
    let items = CHOICES.iter().map(|choice| vec![text(*choice)]).collect();
    Section {
        id: "choices".to_owned(),
        title: "Every choice behind these numbers".to_owned(),
        blocks: vec![Block::Table(settings), Block::Table(groups), Block::List { items }],
    }
}
