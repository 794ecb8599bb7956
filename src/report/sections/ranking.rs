//! Discrimination: AUROC against the yardstick's band, its tables, and the horizon x channel grid.

use super::Context;
use super::overview::{NO_YARDSTICK, folds};
use crate::report::content::{
    Block, Figure, Line, Piece, Plot, Row, Section, Style, Table, brief, code, numbers, text, words,
};
use crate::report::plot::forest::{Band, ForestPlot, ForestRow};
use foldline_frontiers::{Estimate, Unit};
use std::collections::BTreeSet;

const SHARE: Style = Style::Decimals(3);

pub(super) fn section(context: &Context<'_>) -> Section {
    let mut blocks = vec![Block::Figure(forest(context)), Block::Table(auroc_table(context))];
    if context.results.cells.is_empty() {
        blocks = vec![Block::Absent { line: vec![text("No trigger was judged in this run.")] }];
    }
    if !context.results.sensitivity.is_empty() {
        blocks.push(Block::Table(sensitivity(context)));
    }
    if !context.results.leave_one_stem_out.is_empty() {
        blocks.push(Block::Table(leave_one_out(context)));
    }
    Section { id: "auroc".to_owned(), title: "Does the score rank boundaries?".to_owned(), blocks }
}

/// Both ends of an interval.
pub(super) fn ends(estimate: &Estimate, unit: Unit) -> Option<(f64, f64)> {
    estimate.interval(unit).and_then(|interval| interval.ends())
}

fn forest(context: &Context<'_>) -> Figure {
    let mut group = "";
    let rows = context.results.cells.iter().enumerate().map(|(index, cell)| {
        let heading = (cell.group != group).then(|| format!("{} \u{b7} folds {}", cell.group, cell.folds));
        group = &cell.group;
        let line = context.source.estimate(&format!("{}/auroc_averaged", cell.pointer()), "task", SHARE);
        ForestRow {
            label: cell.name.clone(),
            heading,
            point: cell.auroc_averaged.point.defined(),
            ends: ends(&cell.auroc_averaged, Unit::Task),
            thin: ends(&cell.auroc_averaged, Unit::Stem),
            numbers: brief(&line),
            hue: if context.reading.shown.contains(&index) { context.hue(index).0 } else { 7 },
            marked: context.reading.headline == Some(index),
        }
    });
    let rows: Vec<ForestRow> = rows.collect();
    let replicate = context.yardstick().map(|statistics| &statistics.auroc.mean);
    let band = replicate.and_then(|auroc| {
        let label = "replicate".to_owned();
        Some(Band { point: auroc.point.defined()?, ends: ends(auroc, Unit::Task), label })
    });
    let of_replicate = match (replicate, &band) {
        (_, Some(Band { ends: Some(_), .. })) => {
            "Band: the replicate of the same boundary with its interval, on half-sample labels.".to_owned()
        }
        (_, Some(_)) => {
            "Line: the replicate of the same boundary, on half-sample labels; it has no interval.".to_owned()
        }
        (Some(auroc), None) => match auroc.point.reason() {
            Some(reason) => format!("The replicate of the same boundary has no AUROC: {reason}."),
            None => NO_YARDSTICK.to_owned(),
        },
        (None, None) => NO_YARDSTICK.to_owned(),
    };
    let plot = ForestPlot {
        label: "AUROC of every trigger with its interval".to_owned(),
        axis: "AUROC of the repetition-averaged out-of-fold scores".to_owned(),
        rows,
        reference: (0.5, "chance".to_owned()),
        band,
        bars: false,
    };
    let caption = format!(
        "Dot and thick line: AUROC with its 95% task-clustered interval; thin line: stem-clustered. {of_replicate}{}",
        plot.missing_intervals()
    );
    Figure {
        plots: vec![Plot {
            id: "auroc".to_owned(),
            title: plot.label.clone(),
            svg: plot.wide(),
            alone: None,
            narrow: Some(plot.narrow()),
        }],
        legend: Vec::new(),
        caption: vec![text(caption)],
    }
}

/// `mean (min–max)` of single repetitions.
fn over_repetitions(context: &Context<'_>, at: &str) -> Line {
    let number = |name: &str| context.source.number(&format!("{at}/{name}"), SHARE);
    // the mean is the statistic itself, with the reason where it is undefined
    let mut line = vec![context.source.number(at, SHARE)];
    let (min, max) = (number("min"), number("max"));
    if let (Piece::Number(min), Piece::Number(max)) = (&min, &max)
        && min.text != max.text
    {
        line.extend([text(" ("), Piece::Number(min.clone()), text("\u{2013}"), Piece::Number(max.clone()), text(")")]);
    }
    line
}

fn auroc_table(context: &Context<'_>) -> Table {
    let cells = context.results.cells.iter().enumerate();
    let subset = |index: usize, name: &str| -> Line {
        let cell = &context.results.cells[index];
        match cell.subsets.iter().position(|subset| subset.subset == name) {
            Some(position) => {
                vec![context.source.number(&format!("{}/subsets/{position}/auroc", cell.pointer()), SHARE)]
            }
            None => vec![text("")],
        }
    };
    Table {
        id: "auroc".to_owned(),
        title: "Discrimination".to_owned(),
        columns: vec![
            words("Trigger"),
            words("Folds"),
            numbers("Columns", "columns of the representation"),
            numbers("AUROC", "of the repetition-averaged scores, 95% task-clustered"),
            numbers("Stem-clustered", "the same, 95% stem-clustered"),
            numbers("Per repetition", "pooled AUROC of single repetitions: mean (min\u{2013}max)"),
            numbers("AP", "average precision, mean over repetitions"),
            numbers("First", "AUROC on first compactions, with the scores of all"),
            numbers("Later", "AUROC on later compactions"),
            numbers("Distinct", "distinct repetition-averaged scores"),
        ],
        rows: cells
            .map(|(index, cell)| {
                let at = cell.pointer();
                Row {
                    cells: vec![
                        vec![code(cell.name.clone())],
                        folds(&cell.folds),
                        vec![context.source.count(&format!("{at}/columns"))],
                        context.source.estimate(&format!("{at}/auroc_averaged"), "task", SHARE),
                        context.source.interval(&format!("{at}/auroc_averaged"), "stem", SHARE).into_iter().collect(),
                        over_repetitions(context, &format!("{at}/auroc_per_repetition")),
                        vec![context.source.number(&format!("{at}/ap_per_repetition"), SHARE)],
                        subset(index, "first"),
                        subset(index, "later"),
                        vec![context.source.count(&format!("{at}/distinct_scores"))],
                    ],
                    marked: context.reading.headline == Some(index),
                    shades: Vec::new(),
                }
            })
            .collect(),
        notes: vec![vec![text(
            "The averaged score and single repetitions are different estimators; they part where a trigger has few \
             distinct scores. AUROC is undefined, never 0.5, where one class is missing.",
        )]],
        folded: true,
    }
}

fn sensitivity(context: &Context<'_>) -> Table {
    let rows = context.results.sensitivity.iter().enumerate().map(|(index, result)| {
        let at = format!("/sensitivity/{index}");
        let estimate = |name: &str, present: bool| {
            if present { context.source.estimate(&format!("{at}/{name}"), "task", SHARE) } else { vec![text("")] }
        };
        Row {
            cells: vec![
                vec![code(result.cell.clone())],
                vec![code(result.group.clone())],
                vec![code(result.target.clone())],
                folds(&result.folds),
                estimate("auroc", result.auroc.is_some()),
                if result.auroc_per_repetition.is_some() {
                    over_repetitions(context, &format!("{at}/auroc_per_repetition"))
                } else {
                    vec![text("")]
                },
                estimate("spearman", result.spearman.is_some()),
            ],
            ..Row::default()
        }
    });
    Table {
        id: "sensitivity".to_owned(),
        title: "The best triggers refitted to other targets, folds, and as a regression".to_owned(),
        columns: vec![
            words("Trigger"),
            words("Best of"),
            words("Target"),
            words("Folds"),
            numbers("AUROC", "of the repetition-averaged scores"),
            numbers("Per repetition", "mean (min\u{2013}max)"),
            numbers("Spearman", "rank correlation of a regression's prediction with the target"),
        ],
        rows: rows.collect(),
        notes: vec![vec![text("Named before any of these targets was looked at; no cell is chosen here.")]],
        folded: true,
    }
}

fn leave_one_out(context: &Context<'_>) -> Table {
    let rows = context.results.leave_one_stem_out.iter().enumerate().map(|(index, result)| {
        let at = format!("/leave_one_stem_out/{index}");
        Row {
            cells: vec![
                vec![code(result.cell.clone())],
                vec![context.source.number(&format!("{at}/mean"), SHARE)],
                vec![context.source.count(&format!("{at}/defined"))],
                vec![context.source.count(&format!("{at}/stems"))],
            ],
            ..Row::default()
        }
    });
    Table {
        id: "leave-one-stem-out".to_owned(),
        title: "Frozen policies with one stem left out".to_owned(),
        columns: vec![
            words("Trigger"),
            numbers("Mean within-stem AUROC", "over stems with both classes"),
            numbers("Stems used", "with both classes"),
            numbers("Stems", ""),
        ],
        rows: rows.collect(),
        notes: vec![vec![text("Another estimator than the pooled AUROC: only boundaries of one stem are ranked.")]],
        folded: true,
    }
}

/// Frozen policies by horizon and channel, as a heat table.
pub(super) fn grid(context: &Context<'_>) -> Section {
    let grid = &context.results.grid;
    let title = "Horizons and channels".to_owned();
    let id = "grid".to_owned();
    if grid.is_empty() {
        let line = vec![text(
            "Not computed in this run: the grid refits the frozen policies to every target and needs both arms and the \
             stage \u{201c}grid\u{201d}.",
        )];
        return Section { id, title, blocks: vec![Block::Absent { line }] };
    }
    let mut cells: Vec<&str> = Vec::new();
    grid.iter().for_each(|entry| {
        if !cells.contains(&entry.cell.as_str()) {
            cells.push(&entry.cell);
        }
    });
    // channel by channel, horizons ascending: that is how one reads whether a channel or a horizon is at work
    let targets: BTreeSet<(usize, &str)> = grid
        .iter()
        .map(|entry| {
            let target = entry.target.as_str();
            let channel = ["U@", "E@", "R@"].iter().position(|channel| target.contains(channel)).unwrap_or(3);
            (channel, target)
        })
        .collect();
    let rows = cells.iter().map(|cell| {
        let mut row = Row { cells: vec![vec![code(*cell)]], marked: false, shades: vec![None] };
        for (_, target) in &targets {
            let position = grid.iter().position(|entry| entry.cell == *cell && entry.target == *target);
            match position {
                Some(position) => {
                    row.cells.push(vec![context.source.number(&format!("/grid/{position}/auroc"), SHARE)]);
                    row.shades.push(grid[position].auroc.defined().map(shade));
                }
                None => {
                    row.cells.push(vec![text("")]);
                    row.shades.push(None);
                }
            }
        }
        row
    });
    let mut columns = vec![words("Trigger")];
    columns.extend(targets.iter().map(|(_, target)| numbers(target, "")));
    let table = Table {
        id: "grid".to_owned(),
        title: "AUROC of the frozen policies, refitted to each target".to_owned(),
        columns,
        rows: rows.collect(),
        notes: vec![vec![text(
            "Shade: blue below chance, amber above it, white at 0.5; the scale ends 0.2 away. U: blocked or refetch, E: \
             blocked, R: refetch; the number behind @ is the horizon in steps.",
        )]],
        folded: false,
    };
    Section { id, title, blocks: vec![Block::Table(table)] }
}

/// A shade from 0 (0.2 below chance or lower) to 8 (0.2 above or higher).
fn shade(auroc: f64) -> u8 {
    (4.0 + ((auroc - 0.5) / 0.05)).round().clamp(0.0, 8.0) as u8
}

#[cfg(test)]
mod tests {
    use super::shade;

    #[test]
    fn shades_are_symmetric_about_chance() {
        assert_eq!([0.1, 0.3, 0.5, 0.52, 0.6, 0.7, 0.9].map(shade), [0, 0, 4, 4, 6, 8, 8]);
    }
}
