//! The first screen: the frontier, and the table of operating points.

use super::Context;
use crate::report::content::{
    Block, Figure, LegendEntry, Line, Number, Piece, Plot, Row, Section, Style, Table, code, join, numbers, text, words,
};
use crate::report::plot::frontier::{FrontierPlot, View};
use crate::report::reading::{is_rule, words_of};

const SHARE: Style = Style::Decimals(3);
const DIFFERENCE: Style = Style::Signed(3);
/// What is said where nothing was split in halves.
pub(super) const NO_YARDSTICK: &str = "There is no yardstick in this run.";
/// Up to this many cells one table holds them all.
const ONE_TABLE: usize = 14;

pub(super) fn section(context: &Context<'_>) -> Section {
    let all: Vec<usize> = (0..context.results.cells.len()).collect();
    let mut blocks = vec![Block::Figure(figure(context, false))];
    if all.len() <= ONE_TABLE {
        blocks.push(Block::Table(operating_points(context, &all, "operating-points", "Operating points", true)));
    } else {
        let first: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&index| context.reading.shown.contains(&index) || is_rule(&context.results.cells[index]))
            .collect();
        blocks.push(Block::Table(operating_points(context, &first, "operating-points", "Operating points", true)));
        let title = "Operating points of every trigger";
        blocks.push(Block::Table(Table {
            folded: true,
            ..operating_points(context, &all, "operating-points-all", title, true)
        }));
    }
    Section { id: "frontier".to_owned(), title: "What a trigger avoids, and what it costs".to_owned(), blocks }
}

/// The frontier in both views, by count or by mass.
pub(super) fn figure(context: &Context<'_>, by_mass: bool) -> Figure {
    let series = context.series(by_mass);
    let yardstick = context.yardstick_mark(by_mass);
    let (name, id) = if by_mass { ("burden mass", "mass-frontier") } else { ("harmful boundaries", "frontier") };
    let plot = |view: View, id: String, title: String, y_axis: String| {
        let plot = FrontierPlot {
            label: title.clone(),
            y_axis,
            view,
            by_mass,
            series: series.clone(),
            yardstick: yardstick.clone(),
            retain: Some(context.results.protocol.retain.value()),
        };
        Plot { id, title, svg: plot.draw(), alone: Some(plot.draw_with_legend()), narrow: None }
    };
    let mut legend: Vec<LegendEntry> = series
        .iter()
        .map(|series| LegendEntry {
            name: series.name.clone(),
            series: series.index,
            hue: series.hue,
            shown: series.shown,
            fixed: false,
        })
        .collect();
    legend.sort_by_key(|entry| !entry.shown);
    let mut caption: Line = vec![
        text(
            "Each point of a line is one threshold. The marker is the operating point: among thresholds that retain at least ",
        ),
        code(context.results.protocol.retain.to_string()),
        text(
            " of the opportunities, the one that avoids most; whiskers are 95% task-clustered intervals with the \
             threshold reselected in every draw. The right panel shows the same lines less the random rule, enlarged. ",
        ),
    ];
    caption.push(text(match (&yardstick, context.yardstick()) {
        (Some(_), _) => {
            "The diamond is a replicate of the same boundary used as a trigger, judged on half-sample labels: a \
             yardstick, no policy."
                .to_owned()
        }
        (None, Some(statistics)) => {
            let share = if by_mass { &statistics.mass } else { &statistics.avoided };
            let reason = share.mean.point.reason().or(statistics.retained.mean.point.reason());
            let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            format!("A replicate of the same boundary has no operating point{why}.")
        }
        (None, None) => NO_YARDSTICK.to_owned(),
    }));
    if series.iter().any(|series| series.thinned) {
        let most = Number::new("derived#line_points".to_owned(), context.most_points as f64, Style::Count);
        caption.extend([
            text(" Long lines are thinned: to keep the page small at most "),
            Piece::Number(most),
            text(" of their thresholds are drawn and can be read, evenly chosen, both ends and the operating point among \
                 them; "),
            code("results.json"),
            text(" holds more."),
        ]);
    }
    Figure {
        plots: vec![
            plot(
                View::Share,
                id.to_owned(),
                format!("Share of {name} avoided against opportunities retained"),
                format!("{name} avoided"),
            ),
            plot(
                View::Advantage,
                format!("{id}-advantage"),
                format!("Advantage over the random rule in {name} avoided, against opportunities retained"),
                format!("{name} avoided, less the random rule"),
            ),
        ],
        legend,
        caption,
    }
}

fn operating_points(context: &Context<'_>, rows: &[usize], id: &str, title: &str, yardstick: bool) -> Table {
    let source = &context.source;
    let mut table_rows: Vec<Row> = rows
        .iter()
        .map(|&index| {
            let cell = &context.results.cells[index];
            let at = cell.pointer();
            let estimate = |name: &str, style: Style| source.estimate(&format!("{at}/{name}"), "task", style);
            Row {
                cells: vec![
                    vec![code(cell.name.clone())],
                    vec![text(words_of(cell))],
                    folds(&cell.folds),
                    estimate("retained", SHARE),
                    estimate("avoided", SHARE),
                    estimate("advantage_count", DIFFERENCE),
                    estimate("mass", SHARE),
                    estimate("advantage_mass", DIFFERENCE),
                    vec![source.number(&format!("{at}/auroc_averaged"), SHARE)],
                ]
                .into_iter()
                .enumerate()
                // the interval of what is retained is in the files; here it would only crowd the table
                .map(|(column, line)| if column == 3 { line.into_iter().take(1).collect() } else { line })
                .collect(),
                marked: context.reading.headline == Some(index),
                shades: Vec::new(),
            }
        })
        .collect();
    let row = context
        .results
        .yardstick
        .as_ref()
        .and_then(|yardstick| yardstick.rows.iter().position(|row| row.subset == "all" && !row.mirrored));
    if let Some(row) = row.filter(|_| yardstick) {
        let at = format!("/yardstick/rows/{row}/statistics");
        let estimate = |name: &str, style: Style| source.estimate(&format!("{at}/{name}"), "task", style);
        table_rows.push(Row {
            cells: vec![
                vec![text("replicate")],
                vec![text("yardstick, no policy")],
                vec![text("halves")],
                vec![source.number(&format!("{at}/retained"), SHARE)],
                estimate("avoided", SHARE),
                estimate("advantage_count", DIFFERENCE),
                estimate("mass", SHARE),
                estimate("advantage_mass", DIFFERENCE),
                vec![source.number(&format!("{at}/auroc"), SHARE)],
            ],
            ..Row::default()
        });
    }
    Table {
        id: id.to_owned(),
        title: title.to_owned(),
        columns: vec![
            words("Trigger"),
            words("What it is"),
            words("Folds"),
            numbers("Retained", "share of opportunities still allowed to compact"),
            numbers("Avoided", "share of harmful boundaries blocked"),
            numbers("\u{394} count", "avoided less 1 \u{2212} retained, what a random rule avoids"),
            numbers("Mass", "share of the burden mass blocked"),
            numbers("\u{394} mass", "mass less 1 \u{2212} retained"),
            numbers("AUROC", "of the repetition-averaged out-of-fold scores"),
        ],
        rows: table_rows,
        notes: vec![join([vec![text(
            "Brackets, where they stand: 95% task-clustered percentile intervals. Rows stand at their own retained shares and under their \
             own folds, so compare advantages (\u{394}) rather than raw shares. The replicate is judged on half-sample \
             labels.",
        )]])],
        folded: false,
    }
}

/// A fold plan as it stands in the protocol.
pub(super) fn folds(plan: &str) -> Line {
    if plan == "none" { vec![text("none")] } else { vec![code(plan)] }
}
