//! How an entry is worded: a report of what happened, or a plan, a goal, a reason, an empty field.

use super::lists::{
    GOAL_MODIFIERS, GOAL_PHRASES, GOALS, MODALS, OPEN_LABELS, OUTCOME_WORDS, OUTCOMES, PLACEHOLDERS, PLANS, STRATEGIES,
    VERBS, is_past,
};

/// Cues of wording, each present or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// Opens with a past form: something was done.
    pub(super) done: bool,
    /// Opens with an -ing form.
    pub(super) doing: bool,
    /// Opens like an instruction or a plan, or is labelled as open work.
    pub(super) plan: bool,
    /// Says that it restates the task, a goal or a constraint.
    pub(super) goal: bool,
    /// Obligation, future or restriction anywhere.
    pub(super) modal: bool,
    /// Gives a reason for a way of working.
    pub(super) strategy: bool,
    /// An empty field.
    pub(super) placeholder: bool,
    /// Reports an outcome, and is no plan.
    pub(super) outcome: bool,
}

impl Form {
    pub(super) fn of(text: &str) -> Form {
        let text = text.to_lowercase().replace('’', "'");
        let head = Head::of(&text);
        let first = head.words.first().copied().unwrap_or("");
        let all = words(&text);
        let label = words(head.label);
        let open = |words: &[&str]| words.iter().take(2).any(|word| OPEN_LABELS.contains(word));
        let empty = placeholder(&text, &all);
        // "Remaining: none" is a report
        let closed = empty && open(&label);
        let plan = !closed
            && (VERBS.contains(&first) || PLANS.contains(&first) || open(&label) || head.tag.starts_with("unresolved"));
        let outcome = all
            .iter()
            .any(|word| OUTCOME_WORDS.contains(word) || OUTCOMES.iter().any(|beginning| word.starts_with(beginning)))
            || text.contains(['✅', '✓', '✔', '→'])
            || text.contains("=>")
            || text.contains("->");
        Form {
            done: is_past(first),
            doing: first.len() > 4 && first.ends_with("ing"),
            plan,
            goal: is_goal(&label) || is_goal(&words(head.tag)) || holds(&all, GOAL_PHRASES),
            modal: holds(&all, MODALS),
            strategy: holds(&all, STRATEGIES),
            placeholder: empty && !closed,
            outcome: outcome && !plan,
        }
    }
}

/// The beginning of an entry, taken apart: `(tag) **Label**: first words`.
struct Head<'a> {
    tag: &'a str,
    label: &'a str,
    words: Vec<&'a str>,
}

/// Words that may stand before the verb of a report.
const LEADING: &[&str] = &[
    "the",
    "agent",
    "successfully",
    "first",
    "initially",
    "then",
    "user",
    "attempted",
    "also",
    "and",
    "all",
    "initial",
    "i",
    "we",
];

impl<'a> Head<'a> {
    fn of(text: &'a str) -> Head<'a> {
        let mut rest = text.trim_start_matches(|sign: char| !sign.is_alphanumeric() && sign != '(');
        let mut tag = "";
        if let Some(inner) = rest.strip_prefix('(')
            && let Some((inside, behind)) = inner.split_once(')')
            && !inside.contains(char::is_whitespace)
        {
            tag = inside;
            rest = behind;
        }
        let rest = rest.trim_start_matches(|sign: char| !sign.is_alphanumeric());
        let mut label = "";
        let mut body = rest;
        if let Some((before, behind)) = rest.split_once(':') {
            let name = before.trim_matches(['*', ' ', '_', '`']);
            let behind = behind.trim_start_matches(['*', '_']);
            let fits = name.chars().count() <= 40 && !name.contains('*') && !name.is_empty();
            if fits && (behind.is_empty() || behind.starts_with(char::is_whitespace)) {
                label = name;
                body = behind;
            }
        }
        let words = words(body);
        let skipped = words.iter().take_while(|word| LEADING.contains(word)).count();
        Head { tag, label, words: words[skipped..].to_vec() }
    }
}

/// Words with inner hyphens and apostrophes.
fn words(text: &str) -> Vec<&str> {
    text.split(|sign: char| !(sign.is_alphanumeric() || matches!(sign, '\'' | '-')))
        .map(|word| word.trim_matches(['\'', '-']))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Whether one of the phrases stands among the words.
fn holds(words: &[&str], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| {
        let count = phrase.split(' ').count();
        words.windows(count).any(|window| window.iter().copied().eq(phrase.split(' ')))
    })
}

/// `current goal`, `user constraints`, `conditions to avoid ...`.
fn is_goal(label: &[&str]) -> bool {
    let rest: Vec<&str> = label.iter().copied().skip_while(|word| GOAL_MODIFIERS.contains(word)).collect();
    match rest.first() {
        Some(first) if GOALS.contains(first) => rest.len() == 1 || first.starts_with("condition"),
        _ => false,
    }
}

fn placeholder(text: &str, all: &[&str]) -> bool {
    let none = |words: &[&str]| matches!(words.first(), Some(&"none" | &"nothing"));
    let behind_colon = text.split_once(':').is_some_and(|(_, behind)| none(&words(behind)));
    let slash = text.match_indices("n/a").any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric) && !text[at + 3..].starts_with(char::is_alphanumeric)
    });
    let no_need = all.iter().position(|&word| word == "no").is_some_and(|no| {
        all[no + 1..].iter().take(4).any(|word| matches!(*word, "needed" | "required" | "necessary"))
    });
    slash || none(all) || behind_colon || no_need || holds(all, PLACEHOLDERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_and_plans() {
        assert!(Form::of("**Login**: Logged into the app").done);
        assert!(Form::of("✅ Found the note").done);
        assert!(Form::of("Finding the endpoint").doing);
        assert!(Form::of("Send the reminders").plan);
        assert!(Form::of("Next step: use the card").plan);
        assert!(Form::of("(unresolved_subgoal) pay 68").plan);
        assert!(!Form::of("Remaining subgoals: None").plan);
        assert!(!Form::of("Remaining subgoals: None").placeholder);
        assert!(!Form::of("Need to verify the total").outcome);
    }

    #[test]
    fn goals_reasons_and_empty_fields() {
        for text in ["**Task:** pay all", "Current goal: pay", "(constraint) private", "Conditions to avoid harm: none"]
        {
            assert!(Form::of(text).goal, "{text}");
        }
        assert!(!Form::of("**Task completed**: paid").goal);
        assert!(Form::of("Batched the calls to avoid redundant ones").strategy);
        assert!(Form::of("**song_ids**: N/A (not a music task)").placeholder);
        assert!(Form::of("None needed for continuation").placeholder);
    }
}
