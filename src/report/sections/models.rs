//! What the triggers look at: fitted models in words, and permutation importance.

use super::Context;
use crate::report::content::{
    Block, Figure, Plot, Row, Section, Style, Table, code, numbers, plain, text, words as column,
};
use crate::report::plot::forest::{ForestPlot, ForestRow};
use foldline_frontiers::importance::Importance;

/// Columns that the plot of importances shows; the table has all.
const MOST_BARS: usize = 15;

pub(super) fn words(context: &Context<'_>) -> Section {
    let mut blocks = Vec::new();
    for cell in context.results.cells.iter().filter(|cell| !cell.models.is_empty()) {
        let folds: Vec<String> = cell
            .models
            .iter()
            .enumerate()
            .map(|(fold, model)| format!("Fold {}, trained on the others:\n{}", fold + 1, model.trim_end()))
            .collect();
        blocks.push(Block::Literal { title: cell.name.clone(), text: folds.join("\n\n"), folded: true });
    }
    let warned: Vec<_> = context.results.cells.iter().filter(|cell| !cell.warnings.is_empty()).collect();
    if blocks.is_empty() {
        blocks.push(Block::Absent {
            line: vec![text(
                "Models are written out for triggers fitted in one repetition only (the frozen policies); this run has \
                 none.",
            )],
        });
    }
    if !warned.is_empty() {
        let items = warned.iter().flat_map(|cell| {
            cell.warnings.iter().map(|warning| vec![code(cell.name.clone()), text(format!(": {warning}"))])
        });
        blocks.push(Block::Prose { line: vec![text("Warnings of the fits:")] });
        blocks.push(Block::List { items: items.collect() });
    }
    Section { id: "models".to_owned(), title: "Fitted models in words".to_owned(), blocks }
}

pub(super) fn importance(context: &Context<'_>) -> Section {
    let (id, title) = ("importance".to_owned(), "What the scores rest on".to_owned());
    let Some(importance) = &context.results.importance else {
        let line = vec![text("Permutation importance was not computed in this run.")];
        return Section { id, title, blocks: vec![Block::Absent { line }] };
    };
    let mut order: Vec<usize> = (0..importance.columns.len()).collect();
    let drop = |index: usize| importance.columns[index].mean_drop.defined().unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|&a, &b| drop(b).total_cmp(&drop(a)).then(a.cmp(&b)));
    let bars = order
        .iter()
        .take(MOST_BARS)
        .map(|&index| bar(context, &importance.columns[index], &format!("/importance/columns/{index}"), 0));
    let mut rows: Vec<ForestRow> = bars.collect();
    let groups = importance.groups.iter().enumerate().map(|(index, group)| {
        let mut row = bar(context, group, &format!("/importance/groups/{index}"), 2);
        row.heading = (index == 0).then(|| "columns permuted together".to_owned());
        row
    });
    rows.extend(groups);
    let plot = ForestPlot {
        label: format!("Mean drop of AUROC when a column of {} is permuted", importance.cell),
        axis: "mean drop of AUROC".to_owned(),
        rows,
        reference: (0.0, String::new()),
        band: None,
        bars: true,
    };
    let row = |name: &str, at: String, unused: bool| Row {
        cells: vec![
            vec![code(name)],
            vec![context.source.number(&format!("{at}/mean_drop"), Style::Signed(4))],
            vec![text(if unused { "never changes a score" } else { "" })],
        ],
        ..Row::default()
    };
    let columns = order.iter().map(|&index| {
        let column = &importance.columns[index];
        row(&column.name, format!("/importance/columns/{index}"), column.unused)
    });
    let groups = importance.groups.iter().enumerate();
    let groups = groups.map(|(index, group)| row(&group.name, format!("/importance/groups/{index}"), group.unused));
    let table = Table {
        id: "importance".to_owned(),
        title: "Permutation importance of every column".to_owned(),
        columns: vec![
            column("Column or group"),
            numbers("Mean drop", "of pooled AUROC over repetitions"),
            column("Remark"),
        ],
        rows: columns.chain(groups).collect(),
        notes: Vec::new(),
        folded: true,
    };
    Section {
        id,
        title,
        blocks: vec![
            Block::Figure(Figure {
                plots: vec![Plot {
                    id: "importance".to_owned(),
                    title: plot.label.clone(),
                    svg: plot.wide(),
                    alone: None,
                    narrow: Some(plot.narrow()),
                }],
                legend: Vec::new(),
                caption: vec![
                    text("Permuted inside each test fold with the models of "),
                    code(importance.cell.clone()),
                    text(
                        " fixed; thin line: range over repetitions. Descriptive: a column that another one duplicates \
                         looks useless by itself, so groups are permuted too.",
                    ),
                ],
            }),
            Block::Table(table),
        ],
    }
}

fn bar(context: &Context<'_>, importance: &Importance, at: &str, hue: usize) -> ForestRow {
    let drops = importance.drops.iter().filter_map(|drop| drop.defined());
    let range = drops.fold(None, |range: Option<(f64, f64)>, drop| {
        Some(range.map_or((drop, drop), |(lo, hi)| (lo.min(drop), hi.max(drop))))
    });
    ForestRow {
        label: importance.name.clone(),
        heading: None,
        point: importance.mean_drop.defined(),
        ends: None,
        thin: range,
        numbers: plain(&[context.source.number(&format!("{at}/mean_drop"), Style::Signed(4))]),
        hue,
        marked: false,
    }
}
