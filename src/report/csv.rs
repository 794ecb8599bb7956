//! Tables as CSV: full values, one column more for each end of an interval and one for the reason where undefined.

use super::content::{Piece, Table};

fn field(text: &str) -> String {
    // a spreadsheet must not take a corpus string for a formula
    let risky = text.starts_with(['=', '+', '-', '@', '\t']) && text.parse::<f64>().is_err();
    let text = if risky { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// A table as CSV with a head.
pub fn render(table: &Table) -> String {
    let with_interval: Vec<bool> = (0..table.columns.len())
        .map(|column| {
            let of = |piece: &Piece| matches!(piece, Piece::Interval { .. } | Piece::NoInterval { .. });
            table.rows.iter().any(|row| row.cells.get(column).is_some_and(|line| line.iter().any(of)))
        })
        .collect();
    let mut head = Vec::new();
    for (column, interval) in table.columns.iter().zip(&with_interval) {
        head.push(field(&column.head));
        if *interval {
            head.push(field(&format!("{} lo", column.head)));
            head.push(field(&format!("{} hi", column.head)));
        }
    }
    let mut out = format!("{}\n", head.join(","));
    for row in &table.rows {
        let mut fields = Vec::new();
        for (line, interval) in row.cells.iter().zip(&with_interval) {
            let mut words = String::new();
            let mut ends = (String::new(), String::new());
            for piece in line {
                match piece {
                    Piece::Text { text } | Piece::Strong { text } | Piece::Code { text } => words.push_str(text),
                    Piece::Number(number) => words.push_str(&number.value.to_string()),
                    Piece::Undefined { reason } => words.push_str(&format!("undefined: {reason}")),
                    Piece::Interval { lo, hi, .. } => ends = (lo.value.to_string(), hi.value.to_string()),
                    Piece::NoInterval { reason } => {
                        let reason = field(&format!("undefined: {reason}"));
                        ends = (reason.clone(), reason);
                    }
                }
            }
            fields.push(field(&words));
            if *interval {
                fields.push(ends.0);
                fields.push(ends.1);
            }
        }
        out.push_str(&format!("{}\n", fields.join(",")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::content::{Number, Row, Style, code, numbers, words};

    #[test]
    fn values_are_full_and_formulas_are_defused() {
        let number = |value: f64| Number::new(String::new(), value, Style::Decimals(1));
        let table = Table {
            id: "t".to_owned(),
            title: "t".to_owned(),
            columns: vec![words("a,b"), numbers("x", "")],
            rows: vec![
                Row {
                    cells: vec![
                        vec![code("=cmd()")],
                        vec![
                            Piece::Number(number(0.123456)),
                            Piece::Interval { lo: number(-1.0), hi: number(2.5), how: String::new() },
                        ],
                    ],
                    ..Row::default()
                },
                Row {
                    cells: vec![vec![code("b\"c")], vec![Piece::Undefined { reason: "one class".to_owned() }]],
                    ..Row::default()
                },
            ],
            notes: Vec::new(),
            folded: false,
        };
        let expected = "\"a,b\",x,x lo,x hi\n'=cmd(),0.123456,-1,2.5\n\"b\"\"c\",undefined: one class,,\n";
        assert_eq!(render(&table), expected);
    }
}
