//! Burden by what the prefix holds: groups, contrasts of the two write labels, and the controlled regression.

use super::Context;
use super::ranking::ends;
use crate::report::content::{
    Block, Figure, Line, Plot, Row, Section, Style, Table, brief, code, numbers, text, words,
};
use crate::report::plot::forest::{ForestPlot, ForestRow};
use crate::results::PlacementResult;
use foldline_frontiers::{Estimate, Unit};

const DIFFERENCE: Style = Style::Signed(3);
const SLOPES: [&str; 3] = ["write label", "ln(1 + prefix steps)", "first compaction"];

pub(super) fn section(context: &Context<'_>) -> Section {
    let (id, title) = ("placement".to_owned(), "Does it matter where in a trajectory compaction falls?".to_owned());
    let Some(placement) = &context.results.placement else {
        let line = vec![text("Not computed in this run: it needs both arms and the stage \u{201c}placement\u{201d}.")];
        return Section { id, title, blocks: vec![Block::Absent { line }] };
    };
    let blocks = vec![
        Block::Prose {
            line: vec![text(
                "Boundaries grouped by what stands before them. A write label that follows prefix length and compaction \
                 index measures the phase of the trajectory rather than placement: read a contrast beside the regression \
                 that holds these fixed.",
            )],
        },
        Block::Figure(forest(context, placement)),
        Block::Table(groups(context, placement)),
        Block::Table(contrasts(context, placement)),
        Block::Table(regressions(context, placement)),
        Block::Table(exposure(context, placement)),
    ];
    Section { id, title, blocks }
}

/// The label in words.
fn label_words(label: &str) -> String {
    match label {
        "original" => "any write".to_owned(),
        "post_hoc" => "substantive write".to_owned(),
        other => other.to_owned(),
    }
}

fn forest(context: &Context<'_>, placement: &PlacementResult) -> Figure {
    let row = |label: String, heading: Option<&str>, estimate: &Estimate, at: &str, hue: usize| {
        let line = context.source.estimate(at, "task", DIFFERENCE);
        ForestRow {
            label,
            heading: heading.map(str::to_owned),
            point: estimate.point.defined(),
            ends: ends(estimate, Unit::Task),
            thin: None,
            numbers: brief(&line),
            hue,
            marked: false,
        }
    };
    let mut rows: Vec<ForestRow> = Vec::new();
    for (index, group) in placement.groups.iter().enumerate() {
        let heading = (index == 0).then_some("mean of the target by group");
        rows.push(row(group.group.clone(), heading, &group.cell.mean, &format!("/placement/groups/{index}/mean"), 0));
    }
    let mut heading = Some("with the label less without it");
    for (index, label) in placement.labels.iter().enumerate() {
        let at = format!("/placement/labels/{index}");
        let words = label_words(&label.label);
        if let Some(position) = label.contrasts.iter().position(|(target, _)| *target == context.results.outcome.target)
        {
            let place = format!("{at}/contrasts/{position}/1/difference");
            rows.push(row(words.clone(), heading.take(), &label.contrasts[position].1.difference, &place, 1));
        }
        let place = format!("{at}/first_only/difference");
        rows.push(row(format!("{words}, first only"), heading.take(), &label.first_only.difference, &place, 1));
        if let Some(slope) = label.regression.as_ref().and_then(|regression| regression.slopes.first()) {
            let place = format!("{at}/regression/slopes/0");
            rows.push(row(format!("{words}, controlled"), heading.take(), slope, &place, 2));
        }
    }
    let plot = ForestPlot {
        label: "Mean burden by placement, and differences by write label".to_owned(),
        axis: format!("{} in burdened steps", context.results.outcome.target),
        rows,
        reference: (0.0, "no difference".to_owned()),
        band: None,
        bars: false,
    };
    Figure {
        plots: vec![Plot {
            id: "placement".to_owned(),
            title: plot.label.clone(),
            svg: plot.wide(),
            alone: None,
            narrow: Some(plot.narrow()),
        }],
        legend: Vec::new(),
        caption: vec![text(format!(
            "95% task-clustered intervals. Controlled: the slope of the label beside ln(1 + prefix steps), a \
             first-compaction flag and task indicators. The label \u{201c}substantive write\u{201d} is post hoc.{}",
            plot.missing_intervals()
        ))],
    }
}

fn groups(context: &Context<'_>, placement: &PlacementResult) -> Table {
    let rows = placement.groups.iter().enumerate().map(|(index, group)| {
        let at = format!("/placement/groups/{index}");
        let number = |name: &str, style: Style| vec![context.source.number(&format!("{at}/{name}"), style)];
        Row {
            cells: vec![
                vec![text(group.group.clone())],
                number("boundaries", Style::Count),
                number("clusters", Style::Count),
                number("prefix_steps", Style::Decimals(1)),
                number("compaction_index", Style::Decimals(2)),
                context.source.estimate(&format!("{at}/mean"), "task", DIFFERENCE),
            ],
            ..Row::default()
        }
    });
    Table {
        id: "placement-groups".to_owned(),
        title: "Boundaries by what the prefix holds".to_owned(),
        columns: vec![
            words("Prefix"),
            numbers("Boundaries", ""),
            numbers("Tasks", ""),
            numbers("Prefix steps", "mean"),
            numbers("Compaction index", "mean"),
            numbers("Mean target", "95% task-clustered"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: false,
    }
}

fn contrasts(context: &Context<'_>, placement: &PlacementResult) -> Table {
    let mut rows = Vec::new();
    for (index, label) in placement.labels.iter().enumerate() {
        let at = format!("/placement/labels/{index}");
        let mut add = |target: Line, at: String, marked: bool| {
            let estimate = |name: &str| context.source.estimate(&format!("{at}/{name}"), "task", DIFFERENCE);
            rows.push(Row {
                cells: vec![
                    vec![text(label_words(&label.label))],
                    target,
                    vec![context.source.count(&format!("{at}/with/boundaries"))],
                    estimate("with/mean"),
                    vec![context.source.count(&format!("{at}/without/boundaries"))],
                    estimate("without/mean"),
                    estimate("difference"),
                    vec![context.source.count(&format!("{at}/clusters_with_both"))],
                ],
                marked,
                shades: Vec::new(),
            });
        };
        for (position, (target, _)) in label.contrasts.iter().enumerate() {
            let marked = *target == context.results.outcome.target;
            add(vec![code(target.clone())], format!("{at}/contrasts/{position}/1"), marked);
        }
        let primary = vec![code(context.results.outcome.target.clone()), text(", first compactions only")];
        add(primary, format!("{at}/first_only"), false);
    }
    let notes = placement.labels.iter().enumerate().map(|(index, label)| {
        let at = format!("/placement/labels/{index}/by_stem");
        let mut line = vec![text(format!(
            "{}: the primary difference with its stem-clustered interval is ",
            label_words(&label.label)
        ))];
        line.extend(context.source.estimate(&at, "stem", DIFFERENCE));
        line.push(text("."));
        line
    });
    Table {
        id: "placement-contrasts".to_owned(),
        title: "With a write label and without it".to_owned(),
        columns: vec![
            words("Label"),
            words("Target"),
            numbers("n with", ""),
            numbers("Mean with", ""),
            numbers("n without", ""),
            numbers("Mean without", ""),
            numbers("Difference", "with less without, 95% task-clustered"),
            numbers("Tasks with both", "tasks that have boundaries in both cells"),
        ],
        rows,
        notes: notes.collect(),
        folded: true,
    }
}

fn regressions(context: &Context<'_>, placement: &PlacementResult) -> Table {
    let mut rows = Vec::new();
    for (index, label) in placement.labels.iter().enumerate() {
        let Some(regression) = &label.regression else { continue };
        for slope in 0..regression.slopes.len() {
            let at = format!("/placement/labels/{index}/regression/slopes/{slope}");
            rows.push(Row {
                cells: vec![
                    vec![text(label_words(&label.label))],
                    vec![text(SLOPES.get(slope).copied().unwrap_or("further column"))],
                    context.source.estimate(&at, "task", DIFFERENCE),
                ],
                ..Row::default()
            });
        }
    }
    Table {
        id: "placement-regression".to_owned(),
        title: "Controlled: the primary target within tasks".to_owned(),
        columns: vec![words("Label"), words("Column"), numbers("Slope", "in burdened steps, 95% task-clustered")],
        rows,
        notes: vec![vec![text(
            "Ordinary least squares with an indicator for each task. Draws whose columns are rank-deficient take the slopes \
             of least norm and stay in the interval.",
        )]],
        folded: false,
    }
}

fn exposure(context: &Context<'_>, placement: &PlacementResult) -> Table {
    let rows = placement.exposure.iter().enumerate().map(|(index, exposure)| {
        let at = format!("/placement/exposure/{index}");
        let number = |name: &str, style: Style| vec![context.source.number(&format!("{at}/{name}"), style)];
        Row {
            cells: vec![
                vec![text(exposure.arm.clone())],
                number("k", Style::Count),
                number("rollouts", Style::Count),
                number("valid_actions", Style::Decimals(3)),
                number("completed", Style::Decimals(3)),
            ],
            ..Row::default()
        }
    });
    Table {
        id: "exposure".to_owned(),
        title: "How much the rollouts of each arm could show".to_owned(),
        columns: vec![
            words("Arm"),
            numbers("Horizon", "in steps"),
            numbers("Rollouts", ""),
            numbers("Valid actions", "mean within the horizon"),
            numbers("Completed", "share that ended complete within it"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: true,
    }
}
