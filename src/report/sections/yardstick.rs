//! The replicate yardstick: what a boundary's own second half of rollouts says about its first half.

use super::Context;
use crate::report::content::{Block, Row, Section, Style, Table, code, numbers, text, words};
use crate::results::YardstickResult;

const SHARE: Style = Style::Decimals(3);
const DIFFERENCE: Style = Style::Signed(3);

pub(super) fn section(context: &Context<'_>) -> Section {
    let (id, title) = ("yardstick".to_owned(), "What a replicate of the same boundary predicts".to_owned());
    let rows = context.results.yardstick.as_ref().map_or(0, |yardstick| yardstick.rows.len());
    let Some(yardstick) = context.results.yardstick.as_ref().filter(|_| rows > 0) else {
        let line = vec![text(
            "There is no yardstick in this run. It splits the rollouts of a boundary in two, so it needs at least two in \
             each arm that the target is made from.",
        )];
        return Section { id, title, blocks: vec![Block::Absent { line }] };
    };
    let mut blocks = vec![
        Block::Prose {
            line: vec![text(
                "Each boundary\u{2019}s rollouts are split at random; the delta of one half is the score for the sign of \
                 the other. A trigger sees only the past, so this is the scale on which its discrimination is read. It is \
                 no strict ceiling: a half-sample score against a half-sample label.",
            )],
        },
        Block::Table(statistics(context, yardstick)),
    ];
    if !yardstick.triggers.is_empty() {
        blocks.push(Block::Table(triggers(context, yardstick)));
    }
    if !yardstick.icc.is_empty() {
        blocks.push(Block::Table(icc(context, yardstick)));
    }
    blocks.push(Block::Prose {
        line: vec![
            text("When the rollouts of each boundary are resampled, "),
            context.source.number("/yardstick/nested_positive_rate", SHARE),
            text(" of the drawn boundaries are harmful, and "),
            context.source.number("/yardstick/nested_sign_changes", SHARE),
            text(" change their label."),
        ],
    });
    Section { id, title, blocks }
}

fn statistics(context: &Context<'_>, yardstick: &YardstickResult) -> Table {
    let rows = yardstick.rows.iter().enumerate().map(|(index, row)| {
        let at = format!("/yardstick/rows/{index}/statistics");
        let estimate = |name: &str, style: Style| context.source.estimate(&format!("{at}/{name}"), "task", style);
        Row {
            cells: vec![
                vec![code(row.target.clone())],
                vec![text(if row.mirrored { format!("{}, mirrored", row.subset) } else { row.subset.clone() })],
                vec![context.source.count(&format!("{at}/n"))],
                estimate("auroc", SHARE),
                estimate("pearson", SHARE),
                estimate("spearman_brown", SHARE),
                estimate("sign_agreement", SHARE),
                estimate("kappa", SHARE),
                estimate("label_positive_rate", SHARE),
                vec![context.source.number(&format!("{at}/retained"), SHARE)],
                estimate("avoided", SHARE),
                estimate("advantage_count", DIFFERENCE),
            ],
            ..Row::default()
        }
    });
    Table {
        id: "yardstick".to_owned(),
        title: "Split-half statistics".to_owned(),
        columns: vec![
            words("Target"),
            words("Boundaries"),
            numbers("n", ""),
            numbers("AUROC", "half B\u{2019}s delta against the sign of half A\u{2019}s"),
            numbers("Pearson", "correlation of the halves"),
            numbers("Spearman\u{2013}Brown", "2r / (1 + r)"),
            numbers("Sign agr.", "three-class sign agreement"),
            numbers("\u{3ba}", "Cohen\u{2019}s kappa of the signs"),
            numbers("Positive", "share of half-A labels that are positive"),
            numbers("Retained", "at the operating point"),
            numbers("Avoided", "at the operating point"),
            numbers("\u{394} count", "over the random rule"),
        ],
        rows: rows.collect(),
        notes: vec![vec![text(
            "Means over all splits; brackets, where they stand: 95% task-clustered intervals of the mean over the first 20 splits. \
             Mirrored: the halves exchange their roles.",
        )]],
        folded: false,
    }
}

fn triggers(context: &Context<'_>, yardstick: &YardstickResult) -> Table {
    let rows = yardstick.triggers.iter().enumerate().map(|(index, trigger)| {
        let at = format!("/yardstick/triggers/{index}/comparison");
        let estimate = |name: &str, style: Style| context.source.estimate(&format!("{at}/{name}"), "task", style);
        let headline = context.reading.headline.is_some_and(|cell| context.results.cells[cell].name == trigger.cell);
        Row {
            cells: vec![
                vec![code(trigger.cell.clone())],
                vec![context.source.number(&format!("{at}/trigger_auroc"), SHARE)],
                estimate("same_label_difference", DIFFERENCE),
                vec![context.source.number(&format!("{at}/share_recovered"), Style::Decimals(2))],
                estimate("mixed_label_difference", DIFFERENCE),
                vec![text(trigger.reading.clone())],
            ],
            marked: headline,
            shades: Vec::new(),
        }
    });
    Table {
        id: "against-the-replicate".to_owned(),
        title: "Each trigger against the replicate".to_owned(),
        columns: vec![
            words("Trigger"),
            numbers("AUROC, same label", "of the trigger against the half-sample label"),
            numbers("Replicate \u{2212} trigger", "both against the half-sample label"),
            numbers("Share recovered", "of the replicate\u{2019}s discrimination above chance"),
            numbers("Mixed-label", "replicate on the half-sample label, trigger on the realised one; context only"),
            words("Reading by the overlap rule"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: false,
    }
}

fn icc(context: &Context<'_>, yardstick: &YardstickResult) -> Table {
    let rows = yardstick.icc.iter().enumerate().map(|(index, named)| Row {
        cells: vec![
            vec![text(named.name.clone())],
            context.source.estimate(&format!("/yardstick/icc/{index}/estimate"), "task", Style::Decimals(2)),
        ],
        ..Row::default()
    });
    Table {
        id: "icc".to_owned(),
        title: "Intraclass correlations".to_owned(),
        columns: vec![words("Of what, by what"), numbers("ICC(1)", "share of variance between groups")],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: true,
    }
}
