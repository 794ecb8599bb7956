//! Beyond counting boundaries: burden mass, and the signed plug-in value.

use super::Context;
use super::overview::figure;
use super::ranking::ends;
use crate::report::content::{Block, Figure, Plot, Row, Section, Style, Table, brief, code, numbers, text, words};
use crate::report::plot::forest::{ForestPlot, ForestRow};
use foldline_frontiers::Unit;

pub(super) fn mass(context: &Context<'_>) -> Section {
    let prose = vec![
        text(
            "Counting boundaries treats a small harm like a large one. Here each boundary weighs as much as the burden ",
        ),
        // one arm shows what came after a boundary, not what compaction added
        text(if context.results.outcome.observational { "that followed it: max(0, " } else { "it added: max(0, " }),
        code(context.results.outcome.target.clone()),
        text("), "),
        context.source.number("/outcome/mass", Style::Decimals(1)),
        text(" steps in all. The thresholds are those chosen by count."),
    ];
    Section {
        id: "mass".to_owned(),
        title: "By burden mass".to_owned(),
        blocks: vec![Block::Prose { line: prose }, Block::Figure(figure(context, true))],
    }
}

pub(super) fn signed(context: &Context<'_>) -> Section {
    let results = context.results;
    let (id, title) = ("value".to_owned(), "Signed value".to_owned());
    if results.outcome.observational {
        let line = vec![text(
            "What blocking a boundary is worth counts what compaction helped against what it harmed. That needs both arms; \
             this run has one, so nothing is said about it.",
        )];
        return Section { id, title, blocks: vec![Block::Absent { line }] };
    }
    let mut rows = Vec::new();
    let mut table_rows = Vec::new();
    for (index, cell) in results.cells.iter().enumerate() {
        let at = cell.pointer();
        let style = Style::Signed(1);
        let line = context.source.estimate(&format!("{at}/signed_value_minus_e_rand"), "task", style);
        if cell.operating_point.blocked > 0 {
            rows.push(ForestRow {
                label: cell.name.clone(),
                heading: None,
                point: cell.signed_value_minus_e_rand.point.defined(),
                ends: ends(&cell.signed_value_minus_e_rand, Unit::Task),
                thin: ends(&cell.signed_value_minus_e_rand, Unit::Nested),
                numbers: brief(&line),
                hue: if context.reading.shown.contains(&index) { context.hue(index).0 } else { 7 },
                marked: context.reading.headline == Some(index),
            });
        }
        let number = |name: &str, style: Style| vec![context.source.number(&format!("{at}/{name}"), style)];
        table_rows.push(Row {
            cells: vec![
                vec![code(cell.name.clone())],
                number("operating_point/blocked", Style::Count),
                context.source.estimate(&format!("{at}/signed_value"), "task", style),
                number("signed_parts/s_plus", style),
                number("signed_parts/s_minus", style),
                number("signed_parts/negative", Style::Count),
                number("signed_parts/e_rand", style),
                line,
                context
                    .source
                    .interval(&format!("{at}/signed_value_minus_e_rand"), "nested", style)
                    .into_iter()
                    .collect(),
                context.source.estimate(&format!("{at}/signed_value_per_blocked"), "task", Style::Signed(3)),
                context.source.estimate(&format!("{at}/positive_part_minus_e_rand"), "task", style),
            ],
            marked: context.reading.headline == Some(index),
            shades: Vec::new(),
        });
    }
    let mut blocks = vec![Block::Prose {
        line: vec![text(
            "A blocked boundary that compaction would have helped is a loss. V sums the signed target over what is blocked; \
             V less its expectation under a random choice of as many boundaries is what the choice is worth, in burdened \
             steps. The threshold is held fixed.",
        )],
    }];
    if rows.is_empty() {
        blocks.push(Block::Absent { line: vec![text("No trigger blocks anything at its operating point.")] });
    } else {
        let plot = ForestPlot {
            label: "Signed value of the blocked boundaries less the random expectation, in burdened steps".to_owned(),
            axis: "V less its random expectation, in burdened steps".to_owned(),
            rows,
            reference: (0.0, "random rule".to_owned()),
            band: None,
            bars: false,
        };
        blocks.push(Block::Figure(Figure {
            plots: vec![Plot {
                id: "signed-value".to_owned(),
                title: plot.label.clone(),
                svg: plot.wide(),
                alone: None,
                narrow: Some(plot.narrow()),
            }],
            legend: Vec::new(),
            caption: vec![text(format!(
                "Thick: 95% task-clustered interval; thin: nested, with the rollouts of each boundary resampled too. \
                 Triggers that block nothing are left out.{}",
                plot.missing_intervals()
            ))],
        }));
    }
    blocks.push(Block::Table(Table {
        id: "signed-value".to_owned(),
        title: "Signed plug-in value at the operating point".to_owned(),
        columns: vec![
            words("Trigger"),
            numbers("Blocked", "boundaries blocked"),
            numbers("V", "sum of the target over the blocked boundaries"),
            numbers("S+", "its positive part"),
            numbers("S\u{2212}", "its negative part"),
            numbers("Negative", "blocked boundaries that compaction helped"),
            numbers("E random", "expectation of V when as many are blocked at random"),
            numbers("V \u{2212} E", "95% task-clustered"),
            numbers("Nested", "the same, rollouts resampled too"),
            numbers("V / blocked", "per blocked boundary"),
            numbers("Positive part", "V \u{2212} E with max(0, target)"),
        ],
        rows: table_rows,
        notes: Vec::new(),
        folded: true,
    }));
    Section { id, title, blocks }
}
