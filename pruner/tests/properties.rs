//! What pruning may never do to a summary, on generated Markdown.

#![cfg(test)]

use foldline_pruner::account::Fate;
use foldline_pruner::entries::{Prose, parse};
use foldline_pruner::history::{Span, Step};
use foldline_pruner::judge::{Answers, Asked, Judge, JudgeFault, Wording};
use foldline_pruner::prune::{Options, prune};
use proptest::prelude::*;

/// Scores a text by its bytes: the same text, the same score.
struct ByText;

impl Judge for ByText {
    fn name(&self) -> &'static str {
        "test"
    }

    fn wording(&self) -> Wording {
        Wording { name: "test".into(), sha256: String::new() }
    }

    fn judge(&self, _: &Span<'_>, entries: &[Asked<'_>]) -> Result<Answers, JudgeFault> {
        let score = |text: &str| {
            let sum = text.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
            (sum % 10 != 9).then(|| f64::from(sum % 100) / 99.0)
        };
        Ok(Answers { scores: entries.iter().map(|entry| score(entry.text)).collect(), ..Answers::default() })
    }
}

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("found"),
        Just("id 7"),
        Just("`a_b(c)`"),
        Just("שלום"),
        Just("مرحبا 5"),
        Just("日本語の記録"),
        Just("**bold**"),
        Just("é"),
        Just("-"),
        Just("1."),
        Just("#x"),
        Just("[ ]"),
        Just("\"q\""),
        Just("🎲"),
        Just(":"),
        Just("a: b"),
    ];
    prop::collection::vec(word, 1..4).prop_map(|words| words.join(" "))
}

fn line() -> impl Strategy<Value = String> {
    let indent = prop_oneof![4 => Just(""), 2 => Just("  "), 1 => Just("    "), 1 => Just("\t"), 1 => Just("   ")];
    let marker = prop_oneof![
        6 => Just("- "), 2 => Just("* "), 2 => Just("1. "), 1 => Just("2) "), 2 => Just("- [ ] "), 1 => Just("- [x] "),
        1 => Just("• "), 2 => Just(""), 1 => Just("> "), 1 => Just("\u{200f}- "), 1 => Just("・"),
    ];
    prop_oneof![
        12 => (indent, marker, words()).prop_map(|(indent, marker, words)| format!("{indent}{marker}{words}")),
        3 => words().prop_map(|words| format!("## {words}")),
        2 => words().prop_map(|words| format!("{words}:")),
        2 => words().prop_map(|words| format!("- {words}:")),
        1 => Just("TASK STATE".to_string()),
        1 => words().prop_map(|words| format!("**{words}**")),
        3 => Just(String::new()),
        1 => Just("---".to_string()),
        1 => Just("===".to_string()),
        1 => Just("```".to_string()),
        1 => Just("  ```json".to_string()),
        1 => Just("| a | b |".to_string()),
        1 => Just("<tag>".to_string()),
    ]
}

fn summary() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..30), any::<bool>(), any::<bool>()).prop_map(|(lines, crlf, end)| {
        let terminator = if crlf { "\r\n" } else { "\n" };
        let mut text = lines.join(terminator);
        if end {
            text.push_str(terminator);
        }
        text
    })
}

fn modes() -> impl Strategy<Value = Prose> {
    prop_oneof![Just(Prose::Auto), Just(Prose::Keep), Just(Prose::Split)]
}

fn steps() -> Vec<Step> {
    vec![Step { action: String::new(), observation: "an output".into() }]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kept_bytes_are_identical_and_nothing_else_goes(text in summary(), prose in modes()) {
        let steps = steps();
        let span = Span { history: &steps, ..Span::default() };
        let (pruned, account) = prune(&text, &span, &ByText, &Options { prose, ..Options::default() });
        // rebuilt from the account alone: the input without the ranges of what was dropped
        let mut expected = String::new();
        for (at, sign) in text.char_indices() {
            let gone = account.entries.iter().any(|verdict| {
                verdict.fate == Fate::Dropped && verdict.ranges.iter().any(|[start, end]| (*start..*end).contains(&at))
            });
            if !gone {
                expected.push(sign);
            }
        }
        prop_assert_eq!(&pruned, &expected);
        prop_assert_eq!(account.changed, pruned != text);
        prop_assert_eq!(account.counts.dropped > 0, account.changed);
        // every line that is no entry stays, in order
        let document = parse(&text, prose);
        let own = |at: usize| document.entries.iter().any(|entry| entry.ranges.iter().any(|range| range.contains(&at)));
        let mut rest = pruned.as_str();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if !own(at) {
                let found = rest.find(line);
                prop_assert!(found.is_some(), "lost {:?}", line);
                rest = &rest[found.unwrap_or(0) + line.len()..];
            }
            at += line.len();
        }
    }

    #[test]
    fn pruning_is_idempotent(text in summary(), prose in modes()) {
        let steps = steps();
        let span = Span { history: &steps, ..Span::default() };
        let options = Options { prose, ..Options::default() };
        let (once, first) = prune(&text, &span, &ByText, &options);
        let (twice, second) = prune(&once, &span, &ByText, &options);
        prop_assert_eq!(&once, &twice, "{} then {}", first.status.name(), second.status.name());
    }

    #[test]
    fn a_shadow_changes_nothing_and_scores_the_same(text in summary(), prose in modes()) {
        let steps = steps();
        let span = Span { history: &steps, ..Span::default() };
        let (shadow, trial) = prune(&text, &span, &ByText, &Options { prose, shadow: true, ..Options::default() });
        prop_assert_eq!(&shadow, &text);
        prop_assert!(!trial.changed);
        let (_, real) = prune(&text, &span, &ByText, &Options { prose, ..Options::default() });
        prop_assert_eq!(trial.counts, real.counts);
        prop_assert_eq!(trial.status, real.status);
    }

    #[test]
    fn entries_lie_apart_and_cover_whole_lines(text in summary(), prose in modes()) {
        let document = parse(&text, prose);
        let mut ranges: Vec<_> = document.entries.iter().flat_map(|entry| entry.ranges.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        for pair in ranges.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
        for range in ranges {
            prop_assert!(range.start == 0 || text.as_bytes()[range.start - 1] == b'\n');
            prop_assert!(range.end == text.len() || text.as_bytes()[range.end - 1] == b'\n');
        }
        for (at, entry) in document.entries.iter().enumerate() {
            prop_assert!(entry.parent.is_none_or(|parent| parent < at));
            prop_assert!(!entry.text.is_empty());
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), prose in modes()) {
        let steps = steps();
        let span = Span { history: &steps, ..Span::default() };
        let judge = foldline_pruner::judges::lexical::Lexical;
        let (pruned, _) = prune(&text, &span, &judge, &Options { prose, ..Options::default() });
        prop_assert!(pruned.len() <= text.len());
    }
}
