//! The report as Markdown.

use super::content::{Block, Line, Piece, Report, Table, Tone, plain};

/// Text that Markdown shows as it stands, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A literal between as many backticks as it takes.
fn literal(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() { " " } else { "" };
    // a bar would end the cell of a table even inside backticks
    format!("{fence}{pad}{}{pad}{fence}", text.replace('|', "\\|"))
}

fn line(pieces: &Line) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text { text } => escaped(text),
            Piece::Strong { text } => {
                let trimmed = text.trim();
                let (before, after) = text.split_once(trimmed).unwrap_or(("", ""));
                format!("{before}**{}**{after}", escaped(trimmed))
            }
            Piece::Code { text } if text.is_empty() => String::new(),
            Piece::Code { text } => literal(text),
            Piece::Undefined { .. } | Piece::NoInterval { .. } => escaped(&plain(std::slice::from_ref(piece))),
            Piece::Number(_) => plain(std::slice::from_ref(piece)),
            Piece::Interval { lo, hi, .. } => format!(" \\[{}, {}\\]", lo.text, hi.text),
        })
        .collect()
}

/// A table as Markdown, its caption and notes included.
pub fn table(table: &Table) -> String {
    let mut out = format!("**{}**\n\n", escaped(&table.title));
    let heads: Vec<String> = table.columns.iter().map(|column| escaped(&column.head)).collect();
    out.push_str(&format!("| {} |\n", heads.join(" | ")));
    let rule: Vec<&str> = table.columns.iter().map(|column| if column.numeric { "--:" } else { ":--" }).collect();
    out.push_str(&format!("| {} |\n", rule.join(" | ")));
    for row in &table.rows {
        let cells: Vec<String> = row.cells.iter().map(line).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    let meanings: Vec<String> = table
        .columns
        .iter()
        .filter(|column| !column.meaning.is_empty())
        .map(|column| format!("{}: {}", escaped(&column.head), escaped(&column.meaning)))
        .collect();
    if !meanings.is_empty() {
        out.push_str(&format!("\n{}.\n", meanings.join("; ")));
    }
    for note in &table.notes {
        out.push_str(&format!("\n{}\n", line(note)));
    }
    out
}

/// The whole report. Plots are named by their files, whose paths begin with `plots`.
pub fn render(report: &Report, plots: &str) -> String {
    let mut out = format!("# foldline report: {}\n\n{}\n\n", escaped(&report.name), line(&report.subtitle));
    for verdict in &report.verdicts {
        let sign = match verdict.tone {
            Tone::Better => "+",
            Tone::Open => "\u{2248}",
            Tone::Worse => "\u{2212}",
            Tone::Note => "i",
        };
        out.push_str(&format!("- ({sign}) {}\n", line(&verdict.line)));
    }
    for section in &report.sections {
        out.push_str(&format!("\n## {}\n", escaped(&section.title)));
        for block in &section.blocks {
            out.push('\n');
            match block {
                Block::Prose { line: words } | Block::Absent { line: words } => {
                    out.push_str(&format!("{}\n", line(words)));
                }
                Block::List { items } => items.iter().for_each(|item| out.push_str(&format!("- {}\n", line(item)))),
                Block::Literal { title, text, .. } => {
                    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
                    out.push_str(&format!("{}:\n\n{indented}", escaped(title)));
                }
                Block::Table(content) => out.push_str(&table(content)),
                Block::Figure(figure) => {
                    for plot in &figure.plots {
                        out.push_str(&format!("![{}]({plots}{}.svg)\n", escaped(&plot.title), plot.id));
                    }
                    out.push_str(&format!("\n{}\n", line(&figure.caption)));
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::content::{Row, code, strong, text, words};

    #[test]
    fn nothing_from_a_corpus_becomes_markup() {
        let content = Table {
            id: "t".to_owned(),
            title: "a|b".to_owned(),
            columns: vec![words("x")],
            rows: vec![Row {
                cells: vec![vec![text("<script>|*b*"), code("a`b|c\nd"), strong("x ")]],
                ..Row::default()
            }],
            notes: Vec::new(),
            folded: false,
        };
        let out = table(&content);
        assert!(out.contains("\\<script\\>\\|\\*b\\*``a`b\\|c d``**x** "), "{out}");
        assert_eq!(out.lines().count(), 5);
    }
}
