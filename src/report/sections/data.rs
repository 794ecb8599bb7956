//! Where the numbers come from: data card, the paper's tables, what was not computed, command and manifest.

use super::Context;
use crate::report::content::{
    Block, Line, Piece, Row, Section, Style, Table, code, join, numbers, text, ticked, words,
};
use crate::results::{PaperTable, TableCell};
use std::collections::BTreeMap;

pub(super) fn card(context: &Context<'_>) -> Section {
    let corpus = &context.results.corpus;
    let count = |name: &str| context.source.count(&format!("/corpus/summary/{name}"));
    let row = |name: &str, line: Line| Row { cells: vec![vec![text(name)], line], ..Row::default() };
    let slash = |names: &[&str]| -> Line {
        let mut line = Vec::new();
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                line.push(text(" / "));
            }
            line.push(count(name));
        }
        line
    };
    let mut arms = Vec::new();
    for (index, name) in corpus.summary.rollouts_per_arm.keys().enumerate() {
        if index > 0 {
            arms.push(text(", "));
        }
        let place = format!("/corpus/summary/rollouts_per_arm/{}", name.replace('~', "~0").replace('/', "~1"));
        arms.extend([code(name.clone()), text(" at "), context.source.count(&place)]);
    }
    let mut rows = vec![
        row("Boundaries", vec![count("boundaries")]),
        row("Tasks / stems / trajectories", slash(&["tasks", "stems", "trajectories"])),
        row("First / later compactions", slash(&["first", "later"])),
        row("Rollouts before / after compaction", slash(&["rollouts_pre", "rollouts_post"])),
        row("Rollouts an arm (before/after) at boundaries", arms),
        row("Rollout steps", vec![count("steps")]),
        row("Functions in prefixes", vec![count("functions")]),
        row("No / session-only / substantive write", slash(&["no_write", "session_only_write", "substantive_write"])),
        row(
            "Longest last observation",
            join([
                context.source.counted("/corpus/summary/longest_last_observation", "character", "characters"),
                vec![text(", at ")],
                context.source.counted("/corpus/summary/last_observations_at_longest", "boundary", "boundaries"),
                vec![text(" (many at one length mean that the corpus caps observations)")],
            ]),
        ),
        row("Last observation of at most 60 characters", vec![count("last_observations_at_most_60")]),
        row("With difficulty / tokens / summary", slash(&["with_difficulty", "with_tokens", "with_summary"])),
        row("Steps whose flags contradict their signatures", vec![count("contradictions")]),
        row("Profile", vec![code(corpus.profile.clone())]),
        row("SHA-256 of the corpus", vec![code(corpus.sha256.clone())]),
    ];
    rows.push(row(
        "SHA-256 of the method map",
        match &corpus.methods_sha256 {
            Some(sha256) => vec![code(sha256.clone())],
            None => vec![text("none; the read-verb rule decided")],
        },
    ));
    if !corpus.summary.unmapped_functions.is_empty() {
        rows.push(row("Functions in no method map", vec![code(corpus.summary.unmapped_functions.join(", "))]));
    }
    let card = Table {
        id: "data-card".to_owned(),
        title: "The corpus".to_owned(),
        columns: vec![words("What"), words("How many")],
        rows,
        notes: corpus.notes.iter().map(|note| ticked(note)).collect(),
        folded: false,
    };
    let outcome = outcome_line(context);
    let targets = corpus.summary.targets.keys().map(|target| {
        let at = format!("/corpus/summary/targets/{target}");
        Row {
            cells: vec![
                vec![code(target.clone())],
                vec![context.source.count(&format!("{at}/n"))],
                vec![context.source.count(&format!("{at}/positive"))],
                vec![context.source.number(&format!("{at}/mean"), Style::Signed(3))],
            ],
            marked: *target == context.results.outcome.target,
            shades: Vec::new(),
        }
    });
    let targets = Table {
        id: "targets".to_owned(),
        title: "Targets".to_owned(),
        columns: vec![
            words("Target"),
            numbers("Boundaries", "that have it"),
            numbers("Positive", "boundaries on which it is positive"),
            numbers("Mean", "in burdened steps"),
        ],
        rows: targets.collect(),
        notes: Vec::new(),
        folded: false,
    };
    let answers = corpus.analyses.iter().map(|answer| Row {
        cells: vec![
            vec![text(answer.analysis.clone())],
            match &answer.missing {
                None => vec![text("yes")],
                Some(missing) => join([vec![text("no: ")], ticked(missing)]),
            },
        ],
        ..Row::default()
    });
    let answers = Table {
        id: "analyses".to_owned(),
        title: "What this corpus can answer, and what is missing for the rest".to_owned(),
        columns: vec![words("Analysis"), words("Possible")],
        rows: answers.collect(),
        notes: Vec::new(),
        folded: false,
    };
    Section {
        id: "data".to_owned(),
        title: "Data card".to_owned(),
        blocks: vec![Block::Prose { line: outcome }, Block::Table(card), Block::Table(targets), Block::Table(answers)],
    }
}

fn outcome_line(context: &Context<'_>) -> Line {
    let source = &context.source;
    join([
        vec![text("Primary target "), code(context.results.outcome.target.clone()), text(": known at ")],
        source.counted("/outcome/n", "boundary", "boundaries"),
        vec![text(" ("), source.count("/outcome/left_out"), text(" left out, an arm without rollouts), positive at ")],
        vec![source.count("/outcome/positives"), text(", mean ")],
        vec![source.number("/outcome/mean", Style::Signed(3)), text(" burdened steps.")],
    ])
}

/// The paper's tables, as the run computed them.
pub(super) fn tables(context: &Context<'_>) -> Section {
    let mut tables: Vec<(&String, &PaperTable)> = context.results.tables.iter().collect();
    tables.sort_by_key(|(number, _)| (number.parse::<u32>().unwrap_or(u32::MAX), (*number).clone()));
    let mut blocks: Vec<Block> =
        tables.iter().map(|(number, table)| Block::Table(paper_table(context, number, table))).collect();
    if blocks.is_empty() {
        blocks.push(Block::Absent {
            line: vec![
                text("This run holds none of the paper\u{2019}s tables; they come with the protocol "),
                code("paper"),
            ],
        });
    }
    Section { id: "tables".to_owned(), title: "The paper\u{2019}s tables on this corpus".to_owned(), blocks }
}

/// One of the paper's tables.
pub(super) fn paper_table(context: &Context<'_>, number: &str, table: &PaperTable) -> Table {
    let numeric =
        |column: usize| table.rows.iter().any(|row| matches!(row.get(column), Some(TableCell::Number { .. })));
    let rows = table.rows.iter().enumerate().map(|(r, row)| Row {
        cells: row
            .iter()
            .enumerate()
            .map(|(c, cell)| {
                let at = format!("/tables/{number}/rows/{r}/{c}");
                match cell {
                    TableCell::Text(words) => vec![code(words.clone())],
                    TableCell::Number { lo, hi, decimals, signed, .. } => {
                        let style = if *signed { Style::Signed(*decimals) } else { Style::Decimals(*decimals) };
                        let mut line = vec![context.source.number(&at, style)];
                        if let (Some(_), Some(_)) = (lo, hi) {
                            let end = |end: &str| match context.source.number(&format!("{at}/{end}"), style) {
                                Piece::Number(number) => Some(number),
                                _ => None,
                            };
                            if let (Some(lo), Some(hi)) = (end("lo"), end("hi")) {
                                line.push(Piece::Interval { lo, hi, how: "95% interval".to_owned() });
                            }
                        }
                        line
                    }
                }
            })
            .collect(),
        ..Row::default()
    });
    Table {
        id: format!("paper-{number}"),
        title: format!("Table {number}. {}", table.title),
        columns: table
            .columns
            .iter()
            .enumerate()
            .map(|(index, head)| if numeric(index) { numbers(head, "") } else { words(head) })
            .collect(),
        rows: rows.collect(),
        notes: table.notes.iter().map(|note| vec![text(note.clone())]).collect(),
        folded: true,
    }
}

/// Analyses that were not computed, those with the same reason together.
pub(super) fn absent(context: &Context<'_>) -> Section {
    let (id, title) = ("absent".to_owned(), "Not computed, and why".to_owned());
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for refused in &context.results.refused {
        let analyses = by_reason.entry(refused.reason.as_str()).or_default();
        if !analyses.contains(&refused.analysis.as_str()) {
            analyses.push(&refused.analysis);
        }
    }
    if by_reason.is_empty() {
        let line = vec![text("Everything that the protocol asks for was computed.")];
        return Section { id, title, blocks: vec![Block::Prose { line }] };
    }
    let rows = by_reason.into_iter().map(|(reason, analyses)| {
        let mut line = Vec::new();
        for (index, analysis) in analyses.into_iter().enumerate() {
            if index > 0 {
                line.push(text("; "));
            }
            line.push(code(analysis));
        }
        Row { cells: vec![line, ticked(reason)], ..Row::default() }
    });
    let table = Table {
        id: "absent".to_owned(),
        title: "Analyses that this run does not hold".to_owned(),
        columns: vec![words("Analysis"), words("What is missing")],
        rows: rows.collect(),
        notes: Vec::new(),
        folded: false,
    };
    Section { id, title, blocks: vec![Block::Table(table)] }
}

/// The command and the manifest.
pub(super) fn provenance(context: &Context<'_>) -> Section {
    let (id, title) = ("provenance".to_owned(), "How this was made".to_owned());
    let Some(manifest) = context.manifest else {
        let line = vec![text("The run folder holds no readable manifest, so its command is unknown.")];
        return Section { id, title, blocks: vec![Block::Absent { line }] };
    };
    let source = &context.manifest_source;
    let row = |name: &str, line: Line| Row { cells: vec![vec![text(name)], line], ..Row::default() };
    let mut rows = vec![
        row("foldline", vec![code(manifest.version.clone())]),
        row("Base seed", vec![code(manifest.seed.to_string())]),
        row("Threads", vec![source.count("/threads")]),
        row("Seconds", vec![source.number("/elapsed_seconds", Style::Decimals(1))]),
        row("Started (UTC)", vec![code(utc(manifest.started_unix_seconds))]),
        row("Corpus", vec![code(manifest.corpus.clone())]),
        row("SHA-256 of the corpus", vec![code(manifest.corpus_sha256.clone())]),
    ];
    for (index, (stage, _)) in manifest.stages.iter().enumerate() {
        rows.push(Row {
            cells: vec![
                vec![text("Seconds of stage "), code(stage.clone())],
                vec![source.number(&format!("/stages/{index}/1"), Style::Decimals(2))],
            ],
            ..Row::default()
        });
    }
    let command: Vec<String> = manifest.command.iter().map(|word| quoted(word)).collect();
    let table = Table {
        id: "manifest".to_owned(),
        title: "Manifest".to_owned(),
        columns: vec![words("What"), words("Value")],
        rows,
        notes: vec![vec![text(
            "Threads and times are of this run alone: everything else is a function of corpus, seed and version.",
        )]],
        folded: false,
    };
    Section {
        id,
        title,
        blocks: vec![
            Block::Literal { title: "Command".to_owned(), text: command.join(" "), folded: false },
            Block::Table(table),
        ],
    }
}

/// A word of a command line as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Seconds since 1970 as a date and time (proleptic Gregorian calendar, days counted from 0000-03-01).
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // `date -u -d @SECONDS`
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_796_033_522, "2026-11-30 10:12:02"),
            (4_107_542_399, "2100-02-28 23:59:59"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }

    #[test]
    fn a_command_can_be_pasted_back() {
        assert_eq!(quoted("a/b=c"), "a/b=c");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
    }
}
