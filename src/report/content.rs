//! The content of a report, free of any format: sections of sentences, tables and plots.
//!
//! Every format is a rendering of the same content, so no number can differ between them. A number is made by
//! [`Source`] from a place in `results.json` and keeps that place, so that each one on a page can be traced.

use foldline_frontiers::Reason;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// How a number is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// An integer with thousands separated by commas.
    Count,
    /// A fixed number of decimals.
    Decimals(usize),
    /// A fixed number of decimals and always a sign.
    Signed(usize),
    /// Four significant digits: thresholds and scores, whose scale is the trigger's own.
    Significant,
}

/// A number as a reader sees it, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// JSON pointer (RFC 6901) into `results.json`, or into `manifest.json` behind `manifest#`.
    pub source: String,
    /// The full value.
    pub value: f64,
    /// As printed, with a typographic minus.
    pub text: String,
}

impl Number {
    /// Prints a value.
    pub fn new(source: String, value: f64, style: Style) -> Number {
        Number { source, value, text: print(value, style) }
    }
}

/// Prints a value; a negative zero and what rounds to it lose their minus.
pub fn print(value: f64, style: Style) -> String {
    let text = match style {
        Style::Count => group_thousands(value),
        Style::Decimals(decimals) => format!("{value:.decimals$}"),
        Style::Signed(decimals) => format!("{value:+.decimals$}"),
        Style::Significant => significant(value),
    };
    let zero = text.chars().all(|c| matches!(c, '0' | '.' | '-' | '+'));
    let text = if zero { text.replace('-', if matches!(style, Style::Signed(_)) { "+" } else { "" }) } else { text };
    text.replace('-', "\u{2212}")
}

fn group_thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |rest| ("-", rest));
    let mut out = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A run of a sentence or of a table's cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Piece {
    /// Plain words.
    Text {
        /// The words.
        text: String,
    },
    /// Words that carry the weight of the sentence.
    Strong {
        /// The words.
        text: String,
    },
    /// A name or a literal from the run: shown as it is, in the type of code.
    Code {
        /// The literal.
        text: String,
    },
    /// A number.
    Number(Number),
    /// The interval of the number before it.
    Interval {
        /// Lower end.
        lo: Number,
        /// Upper end.
        hi: Number,
        /// What was resampled and how often, in words.
        how: String,
    },
    /// A number that does not exist, and why.
    Undefined {
        /// The reason, in words.
        reason: String,
    },
    /// The number before it has no interval though one was asked for, and why.
    NoInterval {
        /// The reason, in words.
        reason: String,
    },
}

/// A sentence, or what stands in a cell of a table.
pub type Line = Vec<Piece>;

/// Plain words.
pub fn text(text: impl Into<String>) -> Piece {
    Piece::Text { text: text.into() }
}

/// Words with weight.
pub fn strong(text: impl Into<String>) -> Piece {
    Piece::Strong { text: text.into() }
}

/// A literal.
pub fn code(text: impl Into<String>) -> Piece {
    Piece::Code { text: text.into() }
}

/// Words in which literals stand between backticks.
pub fn ticked(words: &str) -> Line {
    let parts = words.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(index, part)| if index % 2 == 1 { code(part) } else { text(part) }).collect()
}

/// Joins parts of a sentence.
pub fn join(parts: impl IntoIterator<Item = Line>) -> Line {
    parts.into_iter().flatten().collect()
}

/// The words of a line without any mark-up.
pub fn plain(line: &[Piece]) -> String {
    line.iter()
        .map(|piece| match piece {
            Piece::Text { text } | Piece::Strong { text } | Piece::Code { text } => text.clone(),
            Piece::Number(number) => number.text.clone(),
            Piece::Interval { lo, hi, .. } => format!(" [{}, {}]", lo.text, hi.text),
            Piece::Undefined { reason } => format!("\u{2013} ({reason})"),
            Piece::NoInterval { reason } => format!(" [no interval: {reason}]"),
        })
        .collect()
}

/// The words of a line for a plot, which has no room for the reason of a missing interval.
pub fn brief(line: &[Piece]) -> String {
    let brief = |piece: &Piece| match piece {
        Piece::NoInterval { .. } => format!(" {NO_INTERVAL}"),
        other => plain(std::slice::from_ref(other)),
    };
    line.iter().map(brief).collect()
}

/// What a plot says in place of an interval that does not exist.
pub const NO_INTERVAL: &str = "[no interval]";

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// The head.
    pub head: String,
    /// What the column means, for a tooltip and the notes; may be empty.
    pub meaning: String,
    /// Whether it holds numbers, which stand at the right.
    pub numeric: bool,
}

/// A column of words.
pub fn words(head: &str) -> Column {
    Column { head: head.to_owned(), meaning: String::new(), numeric: false }
}

/// A column of numbers.
pub fn numbers(head: &str, meaning: &str) -> Column {
    Column { head: head.to_owned(), meaning: meaning.to_owned(), numeric: true }
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// One line for each column.
    pub cells: Vec<Line>,
    /// Whether the row is one of those that the verdict speaks of.
    pub marked: bool,
    /// For heat tables: a shade from 0 to 8 for each cell, 4 in the middle; empty elsewhere.
    pub shades: Vec<Option<u8>>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Its name in files and links.
    pub id: String,
    /// The caption.
    pub title: String,
    /// Columns; the first names the row.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
    /// Notes below it.
    pub notes: Vec<Line>,
    /// Whether a page shows it closed at first.
    pub folded: bool,
}

/// A plot, drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// Its name in files and links.
    pub id: String,
    /// What it shows, in words; also its text for screen readers.
    pub title: String,
    /// SVG for wide screens.
    #[serde(skip)]
    pub svg: String,
    /// SVG for a file of its own, where it needs more than the page's, such as a legend.
    #[serde(skip)]
    pub alone: Option<String>,
    /// SVG for narrow screens where it differs.
    #[serde(skip)]
    pub narrow: Option<String>,
}

/// A figure of one or more plots that share a legend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its plots, side by side where there is room.
    pub plots: Vec<Plot>,
    /// The series one can switch on and off; empty for a figure without a legend.
    pub legend: Vec<LegendEntry>,
    /// How to read it.
    pub caption: Line,
}

/// One entry of a legend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LegendEntry {
    /// The name.
    pub name: String,
    /// Which series of the plots it is.
    pub series: usize,
    /// Colour and dash, a number from 0 to 7.
    pub hue: usize,
    /// Whether it is shown at first.
    pub shown: bool,
    /// A symbol that is always shown, such as the yardstick's diamond: it cannot be switched.
    pub fixed: bool,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// A paragraph.
    Prose {
        /// Its words.
        line: Line,
    },
    /// An analysis that is absent, with its reason.
    Absent {
        /// The reason.
        line: Line,
    },
    /// A list.
    List {
        /// Its items.
        items: Vec<Line>,
    },
    /// Literal text with a title, closed at first.
    Literal {
        /// The title.
        title: String,
        /// The text.
        text: String,
        /// Whether a page shows it closed at first.
        folded: bool,
    },
    /// A table.
    Table(Table),
    /// A figure.
    Figure(Figure),
}

/// A section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Its name in links.
    pub id: String,
    /// The heading.
    pub title: String,
    /// Its parts.
    pub blocks: Vec<Block>,
}

/// What a verdict says, so that a page can show it by more than words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Better than the comparison, the interval excludes zero.
    Better,
    /// No better: the interval includes zero.
    Open,
    /// Worse, the interval excludes zero.
    Worse,
    /// A warning or a condition under which the rest is read.
    Note,
}

/// One verdict sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What it says.
    pub tone: Tone,
    /// The sentence.
    pub line: Line,
}

/// The content of one run's report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// `foldline.report/1`.
    pub format: String,
    /// Name of the run, which tells several runs on a page apart.
    pub name: String,
    /// What was judged, in one line.
    pub subtitle: Line,
    /// One arm only.
    pub observational: bool,
    /// The verdicts.
    pub verdicts: Vec<Verdict>,
    /// The sections, the first screen first.
    pub sections: Vec<Section>,
}

/// Says once below a table why it has no intervals, where that holds for all its rows.
pub fn settle_intervals(sections: &mut [Section]) {
    let blocks = sections.iter_mut().flat_map(|section| &mut section.blocks);
    for table in blocks.filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None }) {
        let pieces = || table.rows.iter().flat_map(|row| row.cells.iter().flatten());
        let reasons: BTreeSet<&str> = pieces()
            .filter_map(|piece| if let Piece::NoInterval { reason } = piece { Some(reason.as_str()) } else { None })
            .collect();
        if reasons.is_empty() || pieces().any(|piece| matches!(piece, Piece::Interval { .. })) {
            continue;
        }
        let reasons: Vec<&str> = reasons.into_iter().collect();
        let note = vec![strong("No interval"), text(format!(" stands in this table: {}.", reasons.join("; ")))];
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.retain(|piece| !matches!(piece, Piece::NoInterval { .. }));
        }
        table.notes.insert(0, note);
    }
}

impl Report {
    /// Every table, in order.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Every plot, in order.
    pub fn plots(&self) -> impl Iterator<Item = &Plot> {
        let figures = self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Figure(figure) => Some(&figure.plots),
            _ => None,
        });
        figures.flatten()
    }
}

/// Makes numbers from places of a JSON document.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    document: &'a Json,
    prefix: &'static str,
}

impl<'a> Source<'a> {
    /// Numbers of `results.json`.
    pub fn results(document: &'a Json) -> Source<'a> {
        Source { document, prefix: "" }
    }

    /// Numbers of `manifest.json`.
    pub fn manifest(document: &'a Json) -> Source<'a> {
        Source { document, prefix: "manifest#" }
    }

    fn at(&self, pointer: &str) -> Option<&'a Json> {
        self.document.pointer(pointer)
    }

    /// The number at a place: a plain number, or the `point` of a statistic with its reason where it is undefined.
    pub fn number(&self, pointer: &str, style: Style) -> Piece {
        let make = |pointer: String, value: f64| Piece::Number(Number::new(pointer, value, style));
        match self.at(pointer) {
            Some(Json::Number(number)) => {
                make(format!("{}{pointer}", self.prefix), number.as_f64().unwrap_or_default())
            }
            Some(Json::Object(statistic)) => {
                if let Some(Json::Number(number)) = statistic.get("point") {
                    return make(format!("{}{pointer}/point", self.prefix), number.as_f64().unwrap_or_default());
                }
                let reason = statistic.get("reason").and_then(reason);
                let words = reason.map_or_else(|| "not computed".to_owned(), |reason| reason.to_string());
                Piece::Undefined { reason: words }
            }
            _ => Piece::Undefined { reason: "not computed".to_owned() },
        }
    }

    /// A count and what is counted, in the singular or plural.
    pub fn counted(&self, pointer: &str, one: &str, many: &str) -> Line {
        let single = self.at(pointer).and_then(Json::as_u64) == Some(1);
        vec![self.count(pointer), text(format!(" {}", if single { one } else { many }))]
    }

    /// A count.
    pub fn count(&self, pointer: &str) -> Piece {
        self.number(pointer, Style::Count)
    }

    /// A statistic followed by its interval: the one of `unit` (`task`, `stem`, `nested`) where it was computed.
    pub fn estimate(&self, pointer: &str, unit: &str, style: Style) -> Line {
        let mut line = vec![self.number(pointer, style)];
        line.extend(self.interval(pointer, unit, style));
        line
    }

    /// The interval of a statistic alone, or why it has none though one was asked for.
    pub fn interval(&self, pointer: &str, unit: &str, style: Style) -> Option<Piece> {
        let others = || self.at(&format!("{pointer}/other_intervals"))?.as_array();
        let places = std::iter::once(pointer.to_owned())
            .chain((0..others().map_or(0, Vec::len)).map(|index| format!("{pointer}/other_intervals/{index}")));
        let of_unit = |place: &String| self.at(&format!("{place}/unit")).and_then(Json::as_str) == Some(unit);
        let interval = places.into_iter().find(of_unit)?;
        let end = |end: &str| {
            let place = format!("{interval}/{end}");
            let value = self.at(&place)?.as_f64()?;
            Some(Number::new(format!("{}{place}", self.prefix), value, style))
        };
        let (Some(lo), Some(hi)) = (end("lo"), end("hi")) else {
            // files of before there was a reason lack ends only where every draw was dropped
            let reason = self.at(&format!("{interval}/no_interval")).and_then(reason);
            return Some(Piece::NoInterval { reason: reason.unwrap_or(Reason::AllDrawsDropped).to_string() });
        };
        let field = |name: &str| self.at(&format!("{interval}/{name}")).and_then(Json::as_u64).unwrap_or(0);
        // short: it stands behind every interval of a page
        let draws = if field("draws") == 1 { "draw" } else { "draws" };
        let mut how = format!("95%, {unit}-clustered, {} {draws}", field("draws"));
        if field("dropped") > 0 {
            how.push_str(&format!(", {} dropped as undefined", field("dropped")));
        }
        Some(Piece::Interval { lo, hi, how })
    }
}

/// A reason as it stands in a file.
fn reason(recorded: &Json) -> Option<Reason> {
    serde_json::from_value(recorded.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_people_expect() {
        let cases = [
            (1234567.0, Style::Count, "1,234,567"),
            (590.0, Style::Count, "590"),
            (0.20639, Style::Decimals(3), "0.206"),
            (-0.0001, Style::Decimals(3), "0.000"),
            (-0.0001, Style::Signed(3), "+0.000"),
            (-0.0626, Style::Signed(3), "\u{2212}0.063"),
            (0.05321, Style::Significant, "0.05321"),
            (12345.6, Style::Significant, "12346"),
            (0.5, Style::Significant, "0.5"),
        ];
        for (value, style, expected) in cases {
            assert_eq!(print(value, style), expected);
        }
    }

    #[test]
    fn a_number_remembers_its_place_and_an_undefined_one_its_reason() {
        let document = serde_json::json!({"a": {"point": 0.25, "lo": 0.2, "hi": 0.3, "level": 0.95,
            "unit": "task", "draws": 10, "dropped": 1, "seed": 1, "other_intervals": [
            {"lo": 0.1, "hi": 0.4, "level": 0.95, "unit": "nested", "draws": 10, "dropped": 0, "seed": 1}]},
            "b": {"point": null, "reason": "one_class"}});
        let source = Source::results(&document);
        let line = source.estimate("/a", "task", Style::Decimals(2));
        assert_eq!(plain(&line), "0.25 [0.20, 0.30]");
        assert!(matches!(&line[0], Piece::Number(number) if number.source == "/a/point"));
        assert!(matches!(&line[1], Piece::Interval { how, .. } if how.contains("1 dropped")));
        assert_eq!(plain(&[source.number("/b", Style::Count)]), "\u{2013} (all labels are equal)");
        assert!(source.interval("/a", "stem", Style::Count).is_none());
        let nested = source.interval("/a", "nested", Style::Decimals(1));
        assert!(matches!(nested, Some(Piece::Interval { lo, .. }) if lo.source == "/a/other_intervals/0/lo"));
    }

    #[test]
    fn an_interval_that_is_missing_says_why() {
        let statistic = |no_interval: Json| {
            let mut statistic = serde_json::json!({"point": 0.25, "lo": null, "hi": null, "level": 0.95, "unit": "task",
                "draws": 10, "dropped": 10, "seed": 1});
            if !no_interval.is_null() {
                statistic["no_interval"] = no_interval;
            }
            statistic
        };
        let document = serde_json::json!({"one": statistic("too_few_groups".into()), "old": statistic(Json::Null)});
        let source = Source::results(&document);
        let line = source.estimate("/one", "task", Style::Decimals(2));
        assert_eq!(plain(&line), "0.25 [no interval: there are fewer than two groups]");
        assert_eq!(brief(&line), "0.25 [no interval]");
        let old = source.estimate("/old", "task", Style::Decimals(2));
        assert_eq!(plain(&old), "0.25 [no interval: the statistic is undefined in every draw]");
    }

    #[test]
    fn a_table_without_any_interval_says_so_once() {
        let none = || vec![text("0.25"), Piece::NoInterval { reason: "because".to_owned() }];
        let number = || Number::new(String::new(), 0.1, Style::Decimals(1));
        let some = vec![Piece::Interval { lo: number(), hi: number(), how: String::new() }];
        let table = |cells: Vec<Line>| {
            Block::Table(Table {
                id: "t".to_owned(),
                title: "t".to_owned(),
                columns: vec![words("a"), words("b")],
                rows: vec![Row { cells, ..Row::default() }],
                notes: Vec::new(),
                folded: false,
            })
        };
        let blocks = vec![table(vec![none(), none()]), table(vec![none(), some])];
        let mut sections = [Section { id: "s".to_owned(), title: "s".to_owned(), blocks }];
        settle_intervals(&mut sections);
        let Block::Table(without) = &sections[0].blocks[0] else { unreachable!() };
        assert_eq!(plain(&without.rows[0].cells.concat()), "0.250.25");
        assert_eq!(plain(&without.notes[0]), "No interval stands in this table: because.");
        let Block::Table(with) = &sections[0].blocks[1] else { unreachable!() };
        assert!(with.notes.is_empty() && plain(&with.rows[0].cells[0]) == "0.25 [no interval: because]");
    }

    #[test]
    fn one_is_singular() {
        let document = serde_json::json!({"one": 1, "two": 2});
        let counted = |at: &str| plain(&Source::results(&document).counted(at, "task", "tasks"));
        assert_eq!((counted("/one"), counted("/two")), ("1 task".to_owned(), "2 tasks".to_owned()));
    }
}
