//! The page of a comparison: the same content model as a run's report, numbers from `compare.json`.

use super::content::{
    Block, Figure, LegendEntry, Line, Number, Piece, Plot, Report, Row, Section, Source, Style, Table, Tone, Verdict,
    brief, code, join, numbers, settle_intervals, strong, text, words,
};
use super::plot::forest::{ForestPlot, ForestRow};
use super::plot::frontier::{FrontierPlot, Mark, Series, View};
use super::reading::{SCORES_FROM_A_FILE, cell_words};
use super::thin::{most_points, thinned};
use super::verdicts::{Side, against_random, one_class, without_replicate};
use super::{FORMAT, RunReport, frontier_columns};
use crate::cmd::Failure;
use crate::compare::{Comparison, TriggerResult, YardstickComparison};
use foldline_frontiers::{Estimate, Unit};
use serde_json::json;

const SHARE: Style = Style::Decimals(3);
const DIFFERENCE: Style = Style::Signed(3);
/// Triggers that plots show at first: the reference and those that avoid most.
const MOST_SHOWN: usize = 6;

impl RunReport {
    /// The report of a comparison.
    ///
    /// # Errors
    /// `Failure::Other` when it cannot be turned into JSON.
    pub fn of_comparison(comparison: &Comparison, name: &str) -> Result<RunReport, Failure> {
        let document = serde_json::to_value(comparison)
            .map_err(|error| Failure::Other(format!("the comparison cannot be shown: {error}")))?;
        let source = Source::results(&document);
        let subtitle = join([
            source.counted("/n", "boundary", "boundaries"),
            vec![text(", ")],
            source.counted("/tasks", "task", "tasks"),
            vec![text("; target "), code(comparison.target.clone()), text(", positive at ")],
            vec![source.count("/positives"), text("; matched at "), code(comparison.retain.to_string())],
            vec![text(" retained; every trigger less "), code(comparison.reference.clone())],
        ]);
        let most = most_points(comparison.triggers.iter().map(|trigger| trigger.frontier.len()).collect());
        let replicate = replicate(comparison);
        let has_yardstick = replicate.is_some();
        let mut sections = vec![frontier(comparison, &source, replicate, most), differences(comparison, &source)];
        sections.push(yardstick(comparison, &source));
        sections.push(choices(comparison, &source));
        settle_intervals(&mut sections);
        let report = Report {
            format: FORMAT.to_owned(),
            name: name.to_owned(),
            subtitle,
            observational: comparison.observational,
            verdicts: verdicts(comparison, &source),
            sections,
        };
        let frontiers = json!({
            "n": comparison.n,
            "positives": comparison.positives,
            "series": comparison
                .triggers
                .iter()
                .map(|trigger| {
                    frontier_columns(&trigger.name, &trigger.frontier, trigger.operating_point.threshold, most)
                })
                .collect::<Vec<_>>(),
        });
        Ok(RunReport { report, frontiers, has_yardstick, document: "compare.json" })
    }
}

fn verdicts(comparison: &Comparison, source: &Source<'_>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    if comparison.observational {
        verdicts.push(Verdict {
            tone: Tone::Note,
            line: vec![
                strong("Observational. "),
                text("One arm only ("),
                code(comparison.target.clone()),
                text("): the figures describe what happened and none says what compaction caused."),
            ],
        });
    }
    verdicts.extend(one_class(comparison.positives, comparison.n, &comparison.target));
    if comparison.positives == 0 {
        return verdicts;
    }
    let side = Side::of(&comparison.triggers[0].advantage_count);
    verdicts.push(Verdict {
        tone: tone(side),
        line: join([
            vec![code(comparison.reference.clone()), text(" is "), strong(against_random(side)), text(" (")],
            source.estimate("/triggers/0/advantage_count", "task", DIFFERENCE),
            vec![text(" of the harmful boundaries avoided at "), code(comparison.retain.to_string())],
            vec![text(" retained; AUROC ")],
            source.estimate("/triggers/0/auroc", "task", SHARE),
            vec![text(").")],
        ]),
    });
    verdicts.extend(tally(comparison));
    verdicts.extend(largest(comparison, source));
    let ranking = |yardstick: &&YardstickComparison| without_replicate(&yardstick.statistics).is_none();
    verdicts.extend(comparison.yardstick.as_ref().and_then(|yardstick| without_replicate(&yardstick.statistics)));
    if let Some(yardstick) = comparison.yardstick.as_ref().filter(ranking) {
        let side = Side::of(&yardstick.triggers[0].comparison.same_label_difference);
        let (tone, sentence) = match side {
            Side::Above => (Tone::Worse, "the replicate leads"),
            Side::Around => (Tone::Open, "neither leads: the interval includes zero"),
            Side::Below => (Tone::Better, "the trigger leads"),
            Side::Unknown => (Tone::Note, "the difference has no interval"),
        };
        let at = "/yardstick/triggers/0/comparison";
        verdicts.push(Verdict {
            tone,
            line: join([
                vec![
                    text("Against a replicate of the same boundary, on the same half-sample labels, "),
                    strong(sentence),
                ],
                vec![text(" (")],
                source.estimate(&format!("{at}/same_label_difference"), "task", DIFFERENCE),
                vec![text(" AUROC); "), code(comparison.reference.clone()), text(" recovers ")],
                vec![source.number(&format!("{at}/share_recovered"), Style::Decimals(2))],
                vec![text(" of its discrimination above chance.")],
            ]),
        });
    }
    verdicts
}

fn tone(side: Side) -> Tone {
    match side {
        Side::Above => Tone::Better,
        Side::Around => Tone::Open,
        Side::Below => Tone::Worse,
        Side::Unknown => Tone::Note,
    }
}

/// How many triggers avoid more, as much, less; with one other trigger its own sentence says it.
fn tally(comparison: &Comparison) -> Option<Verdict> {
    let others = comparison.differences.len();
    if others < 2 {
        return None;
    }
    let of = |side: Side| comparison.differences.iter().filter(|d| Side::of(&d.avoided) == side).count();
    let derived =
        |name: &str, value: usize| Piece::Number(Number::new(format!("derived#{name}"), value as f64, Style::Count));
    let more = of(Side::Above);
    let mut line = vec![
        text("Of "),
        derived("others", others),
        text(" other triggers, "),
        derived("avoid_more", more),
        text(if more == 1 { " avoids more" } else { " avoid more" }),
        text(" than the reference at the same share retained, "),
        derived("avoid_less", of(Side::Below)),
        text(" less, and for "),
        derived("not_distinguishable", of(Side::Around)),
        text(" the interval of the difference includes zero"),
    ];
    if of(Side::Unknown) > 0 {
        line.extend([text("; for "), derived("without_interval", of(Side::Unknown)), text(" there is no interval")]);
    }
    line.push(text("."));
    Some(Verdict { tone: Tone::Note, line })
}

/// The difference in avoided with the largest size, or that there is none.
fn largest(comparison: &Comparison, source: &Source<'_>) -> Option<Verdict> {
    let sizes = comparison.differences.iter().enumerate();
    let sizes = sizes.filter_map(|(index, difference)| Some((index, difference.avoided.point.defined()?.abs())));
    let (position, size) = sizes.rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let difference = &comparison.differences[position];
    let several = comparison.differences.len() > 1;
    if several && size == 0.0 {
        let line = vec![text(
            "At the matched share every other trigger avoids exactly as much as the reference on these boundaries.",
        )];
        return Some(Verdict { tone: Tone::Open, line });
    }
    let side = Side::of(&difference.avoided);
    let sentence = match side {
        _ if size == 0.0 => "avoids exactly as much as the reference on these boundaries",
        Side::Above => "avoids more than the reference: the interval of the difference lies above zero",
        Side::Around => "is not distinguishable from the reference: the interval of the difference includes zero",
        Side::Below => "avoids less than the reference: the interval of the difference lies below zero",
        Side::Unknown => "cannot be told apart from the reference: the difference has no interval",
    };
    let name = code(difference.trigger.clone());
    Some(Verdict {
        tone: tone(side),
        line: join([
            if several {
                let before = "The largest difference to the reference at the matched share is that of ";
                vec![text(before), name, text(", which "), strong(sentence), text(" (")]
            } else {
                vec![text("At the matched share "), name, text(" "), strong(sentence), text(" (")]
            },
            source.estimate(&format!("/differences/{position}/avoided"), "task", DIFFERENCE),
            vec![text(" avoided, ")],
            source.estimate(&format!("/differences/{position}/auroc"), "task", DIFFERENCE),
            vec![text(if several {
                " AUROC). It is the largest of several: its interval is not adjusted for that."
            } else {
                " AUROC)."
            })],
        ]),
    })
}

fn ends(estimate: &Estimate) -> Option<(f64, f64)> {
    estimate.interval(Unit::Task).and_then(|interval| interval.ends())
}

/// Which triggers plots show at first.
fn shown(comparison: &Comparison) -> Vec<usize> {
    let avoided = |index: usize| comparison.triggers[index].avoided.point.defined().unwrap_or(f64::NEG_INFINITY);
    let mut others: Vec<usize> = (1..comparison.triggers.len()).collect();
    others.sort_by(|&a, &b| avoided(b).total_cmp(&avoided(a)).then(a.cmp(&b)));
    others.truncate(MOST_SHOWN - 1);
    others.sort_unstable();
    others.insert(0, 0);
    others
}

/// The replicate's operating point, where it has one.
fn replicate(comparison: &Comparison) -> Option<Mark> {
    let statistics = &comparison.yardstick.as_ref()?.statistics;
    let (x, y) = (statistics.retained.mean.point.defined()?, statistics.avoided.mean.point.defined()?);
    Some(Mark {
        x,
        y,
        x_ends: None,
        y_ends: ends(&statistics.avoided.mean),
        advantage_ends: ends(&statistics.advantage_count.mean),
        words: format!("replicate (yardstick, half-sample labels): retained {x:.3}, avoided {y:.3}"),
    })
}

/// What a trigger is, in words: names of scores from a file tell nothing.
fn trigger_words(trigger: &TriggerResult) -> String {
    match trigger.from.as_str() {
        "scores" => SCORES_FROM_A_FILE.to_owned(),
        // of two runs with the same cell each is called RUN:CELL
        _ => cell_words(trigger.name.rsplit(':').next().unwrap_or_default()),
    }
}

fn frontier(comparison: &Comparison, source: &Source<'_>, replicate: Option<Mark>, most: usize) -> Section {
    let shown = shown(comparison);
    let hue = |index: usize| match shown.iter().position(|&other| other == index) {
        Some(position) => (position, false),
        None => (index % 7, true),
    };
    let series: Vec<Series> = comparison
        .triggers
        .iter()
        .enumerate()
        .map(|(index, trigger)| Series {
            index,
            name: trigger.name.clone(),
            hue: hue(index).0,
            dashed: hue(index).1,
            shown: shown.contains(&index),
            points: thinned(&trigger.frontier, trigger.operating_point.threshold, most)
                .iter()
                .filter_map(|point| Some((point.retained, point.avoided.defined()?)))
                .collect(),
            thinned: trigger.frontier.len() > most,
            mark: trigger.avoided.point.defined().map(|avoided| Mark {
                x: comparison.retain.value(),
                y: avoided,
                x_ends: None,
                y_ends: ends(&trigger.avoided),
                advantage_ends: ends(&trigger.advantage_count),
                words: format!("{}: avoided {avoided:.3} at {} retained", trigger.name, comparison.retain),
            }),
        })
        .collect();
    let plot = |view: View, id: &str, title: &str, y_axis: &str| {
        let plot = FrontierPlot {
            label: title.to_owned(),
            y_axis: y_axis.to_owned(),
            view,
            by_mass: false,
            series: series.clone(),
            yardstick: replicate.clone(),
            retain: Some(comparison.retain.value()),
        };
        Plot {
            id: id.to_owned(),
            title: title.to_owned(),
            svg: plot.draw(),
            alone: Some(plot.draw_with_legend()),
            narrow: None,
        }
    };
    let legend = series.iter().map(|series| LegendEntry {
        name: series.name.clone(),
        series: series.index,
        hue: series.hue,
        shown: series.shown,
        fixed: false,
    });
    let mut caption = vec![text(
        "Markers stand at the matched share, the same for every trigger, with 95% task-clustered intervals. The reference \
         comes first. The right panel shows the same lines less the random rule, enlarged.",
    )];
    if series.iter().any(|series| series.thinned) {
        let most = Number::new("derived#line_points".to_owned(), most as f64, Style::Count);
        caption.extend([
            text(" Long lines are thinned: at most "),
            Piece::Number(most),
            text(" of their thresholds are drawn and can be read; "),
            code("compare.json"),
            text(" holds all."),
        ]);
    }
    let figure = Figure {
        plots: vec![
            plot(
                View::Share,
                "frontier",
                "Share of harmful boundaries avoided against opportunities retained",
                "harmful boundaries avoided",
            ),
            plot(
                View::Advantage,
                "frontier-advantage",
                "Advantage over the random rule, against opportunities retained",
                "harmful boundaries avoided, less the random rule",
            ),
        ],
        legend: legend.collect(),
        caption,
    };
    let rows = comparison.triggers.iter().enumerate().map(|(index, trigger)| {
        let at = format!("/triggers/{index}");
        let estimate = |name: &str, style: Style| source.estimate(&format!("{at}/{name}"), "task", style);
        Row {
            cells: vec![
                vec![code(trigger.name.clone())],
                vec![text(trigger_words(trigger))],
                estimate("auroc", SHARE),
                estimate("avoided", SHARE),
                estimate("advantage_count", DIFFERENCE),
                estimate("mass", SHARE),
                estimate("v", Style::Signed(1)),
            ],
            marked: index == 0,
            shades: Vec::new(),
        }
    });
    let mut table = Table {
        id: "triggers".to_owned(),
        title: "Triggers at the matched share".to_owned(),
        columns: vec![
            words("Trigger"),
            words("What it is"),
            numbers("AUROC", ""),
            numbers("Avoided", "share of harmful boundaries blocked"),
            numbers("\u{394} count", "avoided less 1 \u{2212} retained"),
            numbers("Mass", "share of the burden mass blocked"),
            numbers("V", "sum of the target over what is blocked, held fixed"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: false,
    };
    without_value(comparison, &mut table);
    Section {
        id: "frontier".to_owned(),
        title: "Side by side".to_owned(),
        blocks: vec![Block::Figure(figure), Block::Table(table)],
    }
}

/// With one arm nothing is said about signed value: its column goes.
fn without_value(comparison: &Comparison, table: &mut Table) {
    let value = table.columns.iter().position(|column| column.head == "V");
    if let Some(value) = value.filter(|_| comparison.observational) {
        table.columns.remove(value);
        table.rows.iter_mut().for_each(|row| drop(row.cells.remove(value)));
    }
}

fn differences(comparison: &Comparison, source: &Source<'_>) -> Section {
    let forest = |id: &str, axis: &str, field: &str, style: Style, of: fn(&crate::compare::Difference) -> &Estimate| {
        let rows = comparison.differences.iter().enumerate().map(|(index, difference)| {
            let line: Line = source.estimate(&format!("/differences/{index}/{field}"), "task", style);
            let side = Side::of(of(difference));
            ForestRow {
                label: difference.trigger.clone(),
                heading: None,
                point: of(difference).point.defined(),
                ends: ends(of(difference)),
                thin: None,
                numbers: brief(&line),
                hue: match side {
                    Side::Above => 2,
                    Side::Below => 1,
                    Side::Around | Side::Unknown => 7,
                },
                marked: false,
            }
        });
        let plot = ForestPlot {
            label: format!("{axis}, each trigger less {}", comparison.reference),
            axis: axis.to_owned(),
            rows: rows.collect(),
            reference: (0.0, "as the reference".to_owned()),
            band: None,
            bars: false,
        };
        Plot {
            id: id.to_owned(),
            title: plot.label.clone(),
            svg: plot.wide(),
            alone: None,
            narrow: Some(plot.narrow()),
        }
    };
    let figure = |plot: Plot| {
        Block::Figure(Figure {
            plots: vec![plot],
            legend: Vec::new(),
            caption: vec![text(
                "95% intervals of the paired difference, over the same resampled tasks. Colour: the interval lies above \
                 or below zero; grey: it includes zero, or there is none and the table says why.",
            )],
        })
    };
    let rows = comparison.differences.iter().enumerate().map(|(index, difference)| {
        let at = format!("/differences/{index}");
        let estimate = |name: &str, style: Style| source.estimate(&format!("{at}/{name}"), "task", style);
        Row {
            cells: vec![
                vec![code(difference.trigger.clone())],
                estimate("auroc", DIFFERENCE),
                estimate("avoided", DIFFERENCE),
                estimate("mass", DIFFERENCE),
                estimate("v", Style::Signed(1)),
                estimate("advantage_count", DIFFERENCE),
                estimate("advantage_mass", DIFFERENCE),
            ],
            ..Row::default()
        }
    });
    let mut table = Table {
        id: "differences".to_owned(),
        title: format!("Each trigger less {}", comparison.reference),
        columns: vec![
            words("Trigger"),
            numbers("AUROC", ""),
            numbers("Avoided", "at the matched share"),
            numbers("Mass", "at the matched share"),
            numbers("V", "at the matched share, in burdened steps"),
            numbers("\u{394} count", "difference of the advantages, each at its own operating point"),
            numbers("\u{394} mass", "the same by burden mass"),
        ],
        rows: rows.collect(),
        notes: vec![vec![text("Positive favours the trigger, negative the reference.")]],
        folded: false,
    };
    without_value(comparison, &mut table);
    Section {
        id: "differences".to_owned(),
        title: "Paired differences".to_owned(),
        blocks: vec![
            figure(forest(
                "difference-avoided",
                "difference in the share avoided at the matched share",
                "avoided",
                DIFFERENCE,
                |d| &d.avoided,
            )),
            figure(forest("difference-auroc", "difference in AUROC", "auroc", DIFFERENCE, |d| &d.auroc)),
            Block::Table(table),
        ],
    }
}

fn yardstick(comparison: &Comparison, source: &Source<'_>) -> Section {
    let (id, title) = ("yardstick".to_owned(), "Against a replicate of the same boundary".to_owned());
    let Some(yardstick) = &comparison.yardstick else {
        let reason = comparison.notes.iter().find(|note| note.starts_with("no yardstick"));
        let line = match reason {
            Some(reason) => vec![code(reason.clone())],
            None => {
                vec![text("Not asked for; "), code("--yardstick"), text(" adds it where both arms have two rollouts.")]
            }
        };
        return Section { id, title, blocks: vec![Block::Absent { line }] };
    };
    let at = "/yardstick/statistics";
    let prose = join([
        vec![text("The replicate reaches AUROC ")],
        source.estimate(&format!("{at}/auroc"), "task", SHARE),
        vec![text(" on ")],
        source.counted(&format!("{at}/n"), "boundary", "boundaries"),
        vec![text(" over ")],
        source.counted(&format!("{at}/splits"), "random split.", "random splits."),
    ]);
    let rows = yardstick.triggers.iter().enumerate().map(|(index, trigger)| {
        let at = format!("/yardstick/triggers/{index}/comparison");
        let estimate = |name: &str| source.estimate(&format!("{at}/{name}"), "task", DIFFERENCE);
        Row {
            cells: vec![
                vec![code(trigger.trigger.clone())],
                vec![source.number(&format!("{at}/trigger_auroc"), SHARE)],
                estimate("same_label_difference"),
                vec![source.number(&format!("{at}/share_recovered"), Style::Decimals(2))],
                estimate("mixed_label_difference"),
                vec![text(trigger.reading.clone())],
            ],
            marked: index == 0,
            shades: Vec::new(),
        }
    });
    let table = Table {
        id: "against-the-replicate".to_owned(),
        title: "Each trigger against the replicate, on the same half-sample labels".to_owned(),
        columns: vec![
            words("Trigger"),
            numbers("AUROC, same label", "against the half-sample label"),
            numbers("Replicate \u{2212} trigger", "both against the half-sample label"),
            numbers("Share recovered", "of the replicate\u{2019}s discrimination above chance"),
            numbers("Mixed-label", "context only: the labels differ"),
            words("Reading by the overlap rule"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: false,
    };
    Section { id, title, blocks: vec![Block::Prose { line: prose }, Block::Table(table)] }
}

fn choices(comparison: &Comparison, source: &Source<'_>) -> Section {
    let mut items = vec![
        vec![
            text("All triggers are judged in the same "),
            source.count("/draws"),
            text(" draws of tasks with replacement (base seed "),
            code(comparison.seed.to_string()),
            text("); an interval of a difference is that of the difference itself, 2.5 to 97.5 percentiles."),
        ],
        vec![
            text("Matched share: every trigger blocks exactly 1 \u{2212} "),
            code(comparison.retain.to_string()),
            text(
                " of the boundaries of a draw, highest scores first; of those that tie at the edge the fraction still \
                 needed, the expectation of breaking ties at random. So shares avoided can be compared directly.",
            ),
        ],
        vec![text("A fitted trigger\u{2019}s score is its mean over repetitions, out of fold.")],
        vec![text(
            "The reference is named by the user, or the first score file, or the best trigger of the first run; where it was \
             chosen as the best, differences to it inherit that choice.",
        )],
    ];
    if !comparison.observational {
        let value = "V: the blocked set of the rows as they are is held fixed in every draw, as for the signed value.";
        items.push(vec![text(value)]);
    }
    items.extend(comparison.notes.iter().map(|note| vec![code(note.clone())]));
    Section {
        id: "choices".to_owned(),
        title: "Every choice behind these numbers".to_owned(),
        blocks: vec![Block::List { items }],
    }
}
