//! Verdict sentences: what the numbers allow to be said, by fixed rules.
//!
//! An advantage is called one only where its 95% interval lies above zero; where the interval includes zero the
//! sentence says "no better than the random rule", whatever the point. An observational run says so before anything
//! else. Wherever a "best" is named, the sentence says how many it was chosen from.

use super::content::{Line, Number, Piece, Source, Style, Tone, Verdict, code, join, strong, text};
use super::reading::{Reading, is_rule, is_telling_rule, words_of};
use crate::results::{CellResult, Results};
use foldline_frontiers::yardstick::Yardstick;
use foldline_frontiers::{Estimate, Unit};

const SHARE: Style = Style::Decimals(3);
const DIFFERENCE: Style = Style::Signed(3);

/// How an interval of a difference lies to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Entirely above.
    Above,
    /// Around it.
    Around,
    /// Entirely below.
    Below,
    /// There is no interval.
    Unknown,
}

impl Side {
    /// The side of the task-clustered interval. An end that is exactly zero does not exclude zero.
    pub fn of(estimate: &Estimate) -> Side {
        match estimate.interval(Unit::Task).and_then(|interval| interval.ends()) {
            Some((lo, _)) if lo > 0.0 => Side::Above,
            Some((_, hi)) if hi < 0.0 => Side::Below,
            Some(_) => Side::Around,
            None => Side::Unknown,
        }
    }

    fn tone(self) -> Tone {
        match self {
            Side::Above => Tone::Better,
            Side::Around => Tone::Open,
            Side::Below => Tone::Worse,
            Side::Unknown => Tone::Note,
        }
    }
}

/// The words for an advantage over the random rule.
pub fn against_random(side: Side) -> &'static str {
    match side {
        Side::Above => "better than the random rule: the interval of the advantage lies above zero",
        Side::Around => "no better than the random rule: the interval of the advantage includes zero",
        Side::Below => "worse than the random rule: the interval of the advantage lies below zero",
        Side::Unknown => "not comparable with the random rule: the advantage has no interval",
    }
}

/// All verdicts, the most important first.
pub fn verdicts(results: &Results, source: &Source<'_>, reading: &Reading) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    if results.outcome.observational {
        verdicts.push(Verdict {
            tone: Tone::Note,
            line: vec![
                strong("Observational. "),
                text("This run has one arm only ("),
                code(results.outcome.target.clone()),
                text(
                    "): every figure describes what happened after these boundaries, and none says what compaction \
                     caused. \u{201c}Harmful\u{201d} below means that the target was positive.",
                ),
            ],
        });
    }
    let outcome = &results.outcome;
    verdicts.extend(one_class(outcome.positives, outcome.n, &outcome.target));
    let Some(index) = reading.headline else {
        verdicts.push(Verdict {
            tone: Tone::Note,
            line: vec![
                strong(if results.cells.is_empty() {
                    "No trigger was judged. "
                } else {
                    "No learned trigger was judged. "
                }),
                text("What stood in the way is listed under \u{201c}Not computed\u{201d}."),
            ],
        });
        return verdicts;
    };
    let cell = &results.cells[index];
    let at = cell.pointer();
    if results.outcome.positives > 0 {
        verdicts.push(by_count(cell, &at, source));
    }
    if cell.operating_point.blocked > 0 {
        verdicts.push(by_mass(cell, &at, source, results.outcome.observational));
        if !results.outcome.observational {
            verdicts.push(by_value(cell, &at, source));
        }
    }
    verdicts.extend(against_yardstick(results, cell, &at, source));
    verdicts.extend(without_learning(results, source));
    verdicts.push(multiplicity(results, cell, reading));
    verdicts
}

/// What stands first where all boundaries are alike.
pub(super) fn one_class(positives: usize, n: usize, target: &str) -> Option<Verdict> {
    let (head, tail) = match positives {
        0 => (
            "No boundary is harmful. ",
            " is positive at none of them, so there is nothing to avoid: shares avoided and AUROC are undefined, and no \
             trigger can be told from another.",
        ),
        positives if positives == n => (
            "Every boundary is harmful. ",
            " is positive at all of them, so there is nothing to tell apart: AUROC is undefined, and by count any choice of \
             boundaries is as good as a random one.",
        ),
        _ => return None,
    };
    let line = vec![strong(head), text("The target "), code(target), text(tail)];
    Some(Verdict { tone: Tone::Note, line })
}

fn by_count(cell: &CellResult, at: &str, source: &Source<'_>) -> Verdict {
    if cell.operating_point.blocked == 0 {
        return Verdict {
            tone: Tone::Open,
            line: vec![
                code(cell.name.clone()),
                strong(" blocks nothing"),
                text(
                    " at the operating point: no threshold keeps the share that must be retained and avoids anything.",
                ),
            ],
        };
    }
    if let Some(verdict) = undefined(&cell.advantage_count, &cell.name, "") {
        return verdict;
    }
    let side = Side::of(&cell.advantage_count);
    Verdict {
        tone: side.tone(),
        line: join([
            vec![code(cell.name.clone()), text(" is "), strong(against_random(side)), text(". It avoids ")],
            source.estimate(&format!("{at}/avoided"), "task", SHARE),
            vec![text(" of the harmful boundaries while retaining "), source.number(&format!("{at}/retained"), SHARE)],
            vec![text(" of the opportunities to compact; that is ")],
            source.estimate(&format!("{at}/advantage_count"), "task", DIFFERENCE),
            vec![text(" against a rule that blocks as many at random.")],
        ]),
    }
}

/// What is said of an advantage that does not exist.
fn undefined(advantage: &Estimate, name: &str, before: &str) -> Option<Verdict> {
    let reason = advantage.point.reason()?;
    Some(Verdict {
        tone: Tone::Note,
        line: vec![
            text(before),
            code(name),
            strong(" cannot be compared with the random rule"),
            text(format!(": {reason}.")),
        ],
    })
}

fn by_mass(cell: &CellResult, at: &str, source: &Source<'_>, observational: bool) -> Verdict {
    if let Some(verdict) = undefined(&cell.advantage_mass, &cell.name, "By burden mass ") {
        return verdict;
    }
    let side = Side::of(&cell.advantage_mass);
    Verdict {
        tone: side.tone(),
        line: join([
            vec![text("By burden mass it is "), strong(against_random(side)), text(" (")],
            source.estimate(&format!("{at}/advantage_mass"), "task", DIFFERENCE),
            vec![text("; it avoids ")],
            source.estimate(&format!("{at}/mass"), "task", SHARE),
            vec![text(if observational {
                " of the burdened steps)."
            } else {
                " of the burdened steps that compaction added)."
            })],
        ]),
    }
}

fn by_value(cell: &CellResult, at: &str, source: &Source<'_>) -> Verdict {
    let side = Side::of(&cell.signed_value_minus_e_rand);
    let words = match side {
        Side::Above => "what it blocks is worth more than a random choice of as many",
        Side::Around => "what it blocks is worth no more than a random choice of as many: the interval includes zero",
        Side::Below => "what it blocks is worth less than a random choice of as many",
        Side::Unknown => "the value of what it blocks has no interval",
    };
    Verdict {
        tone: side.tone(),
        line: join([
            vec![text("Counting what compaction helped as well as what it harmed, "), strong(words), text(" (")],
            source.estimate(&format!("{at}/signed_value_minus_e_rand"), "task", Style::Signed(1)),
            vec![text(" burdened steps, of ")],
            vec![source.number("/outcome/sum", Style::Decimals(1)), text(" in all).")],
        ]),
    }
}

/// What is said of a replicate that ranks nothing.
pub(super) fn without_replicate(replicate: &Yardstick) -> Option<Verdict> {
    let reason = replicate.auroc.mean.point.reason()?;
    let words = format!(" has no AUROC here: {reason}. So there is no yardstick to read a trigger by.");
    Some(Verdict { tone: Tone::Note, line: vec![strong("A replicate of the same boundary"), text(words)] })
}

fn against_yardstick(results: &Results, cell: &CellResult, at: &str, source: &Source<'_>) -> Option<Verdict> {
    let yardstick = results.yardstick.as_ref()?;
    let position = yardstick.triggers.iter().position(|trigger| trigger.cell == cell.name)?;
    let row = yardstick.rows.iter().position(|row| row.subset == "all" && !row.mirrored)?;
    if let Some(verdict) = without_replicate(&yardstick.rows[row].statistics) {
        return Some(verdict);
    }
    let trigger = &yardstick.triggers[position];
    let place = format!("/yardstick/triggers/{position}/comparison");
    let side = Side::of(&trigger.comparison.same_label_difference);
    let (tone, words) = match side {
        Side::Above => (Tone::Worse, "the replicate leads"),
        Side::Around => (Tone::Open, "neither leads: the interval includes zero"),
        Side::Below => (Tone::Better, "the trigger leads"),
        Side::Unknown => (Tone::Note, "the difference has no interval"),
    };
    Some(Verdict {
        tone,
        line: join([
            vec![text("A replicate of the same boundary reaches AUROC ")],
            source.estimate(&format!("/yardstick/rows/{row}/statistics/auroc"), "task", SHARE),
            vec![text(", the trigger ")],
            source.estimate(&format!("{at}/auroc_averaged"), "task", SHARE),
            vec![text(": by the overlap rule it "), strong(reading_words(&trigger.reading))],
            vec![text(". On the same half-sample labels "), strong(words), text(" (")],
            source.estimate(&format!("{place}/same_label_difference"), "task", DIFFERENCE),
            vec![text(" AUROC); the trigger recovers ")],
            vec![source.number(&format!("{place}/share_recovered"), Style::Decimals(2))],
            vec![text(" of the replicate\u{2019}s discrimination above chance.")],
        ]),
    })
}

/// The reading rule's sentence with a verb.
fn reading_words(reading: &str) -> String {
    if reading.starts_with("falls") { reading.to_owned() } else { format!("is {reading}") }
}

/// The rule without learning that has the largest advantage; those that look at nothing compete with nobody.
fn without_learning(results: &Results, source: &Source<'_>) -> Option<Verdict> {
    let rules: Vec<(usize, f64)> = results
        .cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| is_telling_rule(cell) && cell.operating_point.blocked > 0)
        .filter_map(|(index, cell)| Some((index, cell.advantage_count.point.defined()?)))
        .collect();
    let &(index, _) = rules.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let cell = &results.cells[index];
    let at = cell.pointer();
    let side = Side::of(&cell.advantage_count);
    Some(Verdict {
        tone: Tone::Note,
        line: join([
            vec![text("Without any learning, "), code(cell.name.clone()), text(format!(" ({}) is ", words_of(cell)))],
            vec![text(against_random(side)), text(" (")],
            source.estimate(&format!("{at}/advantage_count"), "task", DIFFERENCE),
            vec![text(", AUROC ")],
            source.estimate(&format!("{at}/auroc_averaged"), "task", SHARE),
            vec![text("); "), code("foldline compare"), text(" gives its paired difference to a learned trigger.")],
        ]),
    })
}

fn multiplicity(results: &Results, cell: &CellResult, reading: &Reading) -> Verdict {
    let derived =
        |name: &str, value: usize| Piece::Number(Number::new(format!("derived#{name}"), value as f64, Style::Count));
    let mut line: Line = vec![strong("Multiplicity. ")];
    if reading.named_by_user {
        line.extend([code(cell.name.clone()), text(" was named by the user. ")]);
    } else if reading.chosen_from > 1 {
        line.extend([
            code(cell.name.clone()),
            text(" is the best of "),
            derived("chosen_from", reading.chosen_from),
            text(" cells by mean AUROC over repetitions, and its intervals are not adjusted for that choice. "),
        ]);
    }
    let fitted = results.cells.iter().filter(|cell| !is_rule(cell));
    let above =
        |of: fn(&CellResult) -> &Estimate| fitted.clone().filter(|cell| Side::of(of(cell)) == Side::Above).count();
    let single = fitted.clone().count() == 1;
    line.extend([
        text("Of the "),
        derived("fitted", fitted.clone().count()),
        text(if single { " trigger" } else { " triggers" }),
        text(" judged here, the interval of the advantage lies above zero for "),
        derived("above_random_by_count", above(|cell| &cell.advantage_count)),
        text(" by count and for "),
        derived("above_random_by_mass", above(|cell| &cell.advantage_mass)),
        text(if single { " by mass." } else { " by mass; with many triggers some do so by chance." }),
    ]);
    Verdict { tone: Tone::Note, line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldline_frontiers::{Interval, Reason, Value};

    fn estimate(ends: Option<(f64, f64)>) -> Estimate {
        Estimate::new(Value::Defined(0.04)).with(Interval {
            no_interval: None,
            lo: ends.map(|ends| ends.0),
            hi: ends.map(|ends| ends.1),
            level: 0.95,
            unit: Unit::Task,
            draws: 10,
            dropped: 0,
            seed: None,
        })
    }

    #[test]
    fn an_advantage_needs_an_interval_above_zero() {
        let cases = [
            (
                Some((0.017, 0.070)),
                Side::Above,
                "better than the random rule: the interval of the advantage lies above zero",
            ),
            (
                Some((-0.001, 0.048)),
                Side::Around,
                "no better than the random rule: the interval of the advantage includes zero",
            ),
            // an end that is exactly zero excludes nothing
            (
                Some((0.0, 0.048)),
                Side::Around,
                "no better than the random rule: the interval of the advantage includes zero",
            ),
            (
                Some((-0.072, 0.0)),
                Side::Around,
                "no better than the random rule: the interval of the advantage includes zero",
            ),
            (
                Some((-0.072, -0.011)),
                Side::Below,
                "worse than the random rule: the interval of the advantage lies below zero",
            ),
            (None, Side::Unknown, "not comparable with the random rule: the advantage has no interval"),
        ];
        for (ends, side, words) in cases {
            assert_eq!(Side::of(&estimate(ends)), side);
            assert_eq!(against_random(side), words);
        }
    }

    #[test]
    fn an_undefined_advantage_says_why_and_the_readings_have_verbs() {
        let verdict =
            undefined(&Estimate::new(Value::Undefined(Reason::NoPositive)), "x", "").expect("it is undefined");
        assert_eq!(
            super::super::content::plain(&verdict.line),
            "x cannot be compared with the random rule: no boundary is positive."
        );
        assert_eq!(reading_words("falls short of it"), "falls short of it");
        assert_eq!(reading_words("within the range"), "is within the range");
    }
}
