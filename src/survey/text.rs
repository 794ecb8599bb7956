//! The survey as text tables.

use super::measure::{Contrast, Group, Survey};
use std::fmt::Write;

/// The whole survey; its first line says what kind of evidence it is.
pub fn text(survey: &Survey) -> String {
    let mut out = format!("{}\n\n", survey.statement);
    let mut line = |text: String| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(format!("{} sources read, k = {} steps before and after each compaction", survey.sources, survey.k));
    line(String::new());
    let width = survey.groups.iter().map(|group| name(group).chars().count()).max().unwrap_or(0).max(7);
    line(format!(
        "{:width$}  {:>8} {:>9} {:>8} {:>8} {:>8} {:>11} {:>9} {:>9} {:>7}",
        "group",
        "sessions",
        "compacted",
        "steps",
        "blocked",
        "refetch",
        "compactions",
        "tok before",
        "tok after",
        "looped"
    ));
    for group in &survey.groups {
        let tokens = |tokens: Option<u64>| tokens.map_or("-".to_owned(), |tokens| tokens.to_string());
        line(format!(
            "{:width$}  {:>8} {:>9} {:>8} {:>8} {:>8} {:>11} {:>9} {:>9} {:>7}",
            name(group),
            group.sessions,
            group.compacted_sessions,
            group.steps,
            share(group.blocked_steps, group.steps),
            share(group.refetch_steps, group.steps),
            group.compactions,
            tokens(group.tokens_before.tokens),
            tokens(group.tokens_after.tokens),
            group.looped_sessions,
        ));
    }
    line("blocked, refetch: share of all steps; tok: median context size where recorded".to_owned());
    line(format!(
        "nearby: the places {} steps before and after a compaction, where neither holds another",
        2 * survey.k
    ));
    for group in survey.groups.iter().filter(|group| group.compactions > 0) {
        line(String::new());
        line(format!(
            "{}: mean count in the {} steps before and after, change within sessions [95% over sessions]",
            name(group),
            survey.k
        ));
        let rows = [
            ("compactions", &group.all),
            ("first ones", &group.first),
            ("later ones", &group.later),
            ("nearby", &group.nearby),
        ];
        for (what, contrasts) in rows {
            if contrasts.iter().all(|contrast| contrast.n == 0) {
                line(format!("  {what:12} none with {} steps on both sides", survey.k));
                continue;
            }
            for contrast in contrasts {
                line(format!("  {what:12} {}", contrast_text(contrast)));
            }
        }
        for (what, differences) in
            [("later less first", &group.later_less_first), ("beyond nearby", &group.beyond_nearby)]
        {
            for difference in differences {
                if let Some(value) = difference.difference.defined() {
                    let change = change_text(Some(value), difference.lo, difference.hi);
                    line(format!("  {what}, {:8} {change}", difference.channel));
                }
            }
        }
        if group.compacted_sessions < 10 {
            line("  fewer than 10 sessions: the intervals are too narrow to rely on".to_owned());
        }
        let notes = [
            (group.short, "compactions with fewer steps on one side have no contrast"),
            (group.overlapping, "compactions have another one within their windows"),
            (group.ineffective, "compactions freed less than a tenth of the context"),
        ];
        for (count, what) in notes {
            if count > 0 {
                line(format!("  {count} {what}"));
            }
        }
    }
    if !survey.refetched.is_empty() {
        line(String::new());
        line(format!("most fetched again within {} steps after a compaction, having been fetched before it", survey.k));
        for row in &survey.refetched {
            line(format!("  {:>6} x in {:>4} sessions  {}", row.times, row.sessions, printable(&row.what)));
        }
    }
    if !survey.looped.is_empty() {
        line(String::new());
        line(format!(
            "sessions where compaction looped (two neighbouring gaps shorter than {} steps, or two in a row that freed less than a tenth)",
            survey.k
        ));
        for row in &survey.looped {
            line(format!(
                "  {:>4} compactions in {:>5} steps  {}",
                row.compactions,
                row.steps,
                printable(&row.session)
            ));
        }
    }
    for row in &survey.left_out {
        let mut text = format!("left out: {} x {}", row.count, row.reason);
        if !row.places.is_empty() {
            let _ = write!(
                text,
                " ({}{})",
                row.places.join("; "),
                if row.count > row.places.len() as u64 { "; ..." } else { "" }
            );
        }
        line(printable(&text));
    }
    out
}

/// Harness and model.
pub fn name(group: &Group) -> String {
    if group.harness == "all" { "all".to_owned() } else { printable(&format!("{} {}", group.harness, group.model)) }
}

/// A share in percent; a dash without a whole.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}

fn contrast_text(contrast: &Contrast) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    format!(
        "{:8} {:>6} -> {:>6}  {}  (n {}, {} sessions)",
        contrast.channel,
        number(contrast.before),
        number(contrast.after),
        change_text(contrast.change.defined(), contrast.lo, contrast.hi),
        contrast.n,
        contrast.sessions
    )
}

/// A change with its interval, or why there is none.
pub fn change_text(value: Option<f64>, lo: Option<f64>, hi: Option<f64>) -> String {
    match (value, lo, hi) {
        (None, _, _) => "undefined: no place with enough steps on both sides".to_owned(),
        (Some(value), Some(lo), Some(hi)) => format!("{value:+.2} [{lo:+.2}, {hi:+.2}]"),
        (Some(value), _, _) => format!("{value:+.2} [no interval: fewer than two sessions]"),
    }
}

/// Text of a log without control characters, which could command the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
