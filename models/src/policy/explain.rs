//! Decisions and policies in plain words.

use super::answer::{Answer, Mode};
use super::guards::{DecidedBy, Decision, Facts, Guards, RetryAt, Threshold};
use super::load::Policy;
use std::fmt::Write;

/// Text of a file as it may be shown: a terminal would obey control characters, and a line break could feign a line of
/// ours, so they are escaped.
pub fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// One sentence that says what was decided, by whom, and on which numbers.
pub fn explain(policy: Option<&Policy>, facts: &Facts, answer: &Answer) -> String {
    let verb = match answer.decision {
        Decision::Allow => "Compact now",
        Decision::Block => "Do not compact yet",
    };
    let mut sentence = format!("{verb}: {}", reason(policy, facts, answer));
    match answer.retry_at {
        Some(RetryAt::AfterToolResult) => sentence.push_str("; ask again as soon as the tool result has landed"),
        Some(RetryAt::NextTurnEnd) => sentence.push_str("; ask again at the end of the next turn"),
        None => {}
    }
    if answer.mode == Mode::Shadow && answer.decision == Decision::Block {
        sentence.push_str(" (shadow mode: nothing is held back)");
    }
    sentence.push('.');
    sentence
}

fn reason(policy: Option<&Policy>, facts: &Facts, answer: &Answer) -> String {
    let guards = policy.map(|policy| &policy.file().guards);
    let known = |tokens: Option<u64>| tokens.map_or("an unknown number of".to_owned(), |tokens| tokens.to_string());
    // " of N tokens" where policy and window are known
    let of = |pick: &dyn Fn(&Guards, u64) -> u64| match (guards, facts.window_tokens) {
        (Some(guards), Some(window)) => format!(" of {} tokens (window {window})", pick(guards, window)),
        _ => String::new(),
    };
    let ctx = known(facts.ctx_tokens);
    match answer.decided_by {
        DecidedBy::ToolInFlight => "a tool call has no result yet".to_owned(),
        DecidedBy::Overflow => "the provider refused the context as too long".to_owned(),
        DecidedBy::Manual => "a person asked for it".to_owned(),
        DecidedBy::ImplausibleUsage => {
            let window = known(facts.window_tokens);
            format!("the token counts cannot be right (context {ctx}, window {window}), so the policy stands aside")
        }
        DecidedBy::HardCeiling => {
            format!(
                "{ctx} tokens are at or above the hard ceiling{}",
                of(&|guards, window| guards.ceiling_tokens(window))
            )
        }
        DecidedBy::MaxBlocks => {
            let cap = guards.map_or(String::new(), |guards| format!(" of {}", guards.max_consecutive_blocks));
            format!(
                "{} boundaries in a row were blocked, which reaches the cap{cap}",
                facts.consecutive_blocks.unwrap_or(0)
            )
        }
        DecidedBy::MissingFeature => {
            let what =
                answer.warnings.iter().find(|text| text.starts_with("the rule cannot")).or(answer.warnings.last());
            format!("something the policy needs is missing ({})", what.map_or("no detail", String::as_str))
        }
        DecidedBy::MinFill => {
            format!("{ctx} tokens are below the floor{}", of(&|guards, window| guards.min_fill_share.tokens(window)))
        }
        DecidedBy::Cooldown => format!(
            "at {ctx} tokens the context has not grown enough since the last compaction: it must grow by a share{}",
            of(&|guards, window| guards.cooldown_growth_share.tokens(window))
        ),
        DecidedBy::IneffectiveLast => format!(
            "the last compaction freed less than the share{}",
            of(&|guards, window| guards.cooldown_growth_share.tokens(window))
        ),
        DecidedBy::Rule => rule(answer),
        DecidedBy::PolicyError => {
            format!("the policy cannot be used ({})", answer.warnings.first().map_or("no detail", String::as_str))
        }
    }
}

fn rule(answer: &Answer) -> String {
    let score = answer.score.map_or("no score".to_owned(), |score| format!("score {score:.4}"));
    match (answer.threshold, answer.decision) {
        (Some(Threshold::AtLeast(threshold)), Decision::Block) => {
            format!("the rule sees a risky boundary ({score}, at or above the threshold {threshold:.4})")
        }
        (Some(Threshold::AtLeast(threshold)), Decision::Allow) => {
            format!("the rule sees no risk ({score}, below the threshold {threshold:.4})")
        }
        _ => format!("the rule never blocks ({score})"),
    }
}

impl Policy {
    /// What the policy does, in words; with a window, in tokens too.
    pub fn describe(&self, window_tokens: Option<u64>) -> String {
        let file = self.file();
        let mut text = String::new();
        let _ = writeln!(text, "{} ({}, written by {})", shown(&file.name), file.format, shown(&file.created_by));
        let _ = writeln!(text, "sha256 {}\n", file.sha256);
        let _ = writeln!(text, "Order of authority (the first that applies decides):");
        let guards = &file.guards;
        let tokens = |share: super::Share| match window_tokens {
            Some(window) => format!("{:?} of the window = {} tokens", share, share.tokens(window)),
            None => format!("{share:?} of the window"),
        };
        let ceiling = match window_tokens {
            Some(window) => format!(
                "{:?} of the window less {} reserved = {} tokens",
                guards.hard_ceiling_share,
                guards.summary_reserve_tokens,
                guards.ceiling_tokens(window)
            ),
            None => format!(
                "{:?} of the window less {} reserved tokens",
                guards.hard_ceiling_share, guards.summary_reserve_tokens
            ),
        };
        let never =
            |share: super::Share, sentence: String| if share.value() > 0.0 { sentence } else { "off".to_owned() };
        let rule = match file.threshold {
            Threshold::AtLeast(threshold) => format!("block when the score is at least {threshold}"),
            Threshold::Never => "never blocks".to_owned(),
        };
        let lines = [
            ("tool_in_flight", "block until the pending tool result has landed".to_owned()),
            ("overflow, manual", "allow".to_owned()),
            ("implausible_usage", "allow when the token counts cannot be right".to_owned()),
            ("hard_ceiling", format!("allow from {ceiling}")),
            ("max_blocks", format!("allow after {} blocks in a row", guards.max_consecutive_blocks)),
            ("missing_feature", "allow when the rule cannot be computed".to_owned()),
            ("min_fill", never(guards.min_fill_share, format!("block below {}", tokens(guards.min_fill_share)))),
            (
                "cooldown",
                never(
                    guards.cooldown_growth_share,
                    format!("block until the context has grown by {}", tokens(guards.cooldown_growth_share)),
                ),
            ),
            (
                "ineffective_last",
                never(guards.cooldown_growth_share, "block when the last compaction freed less than that".to_owned()),
            ),
            ("rule", rule),
        ];
        for (number, (name, sentence)) in lines.iter().enumerate() {
            let _ = writeln!(text, "{:>3}. {name:<18} {sentence}", number + 1);
        }
        let needs: Vec<&str> = self.needs().iter().map(|need| need.field()).collect();
        let _ = writeln!(
            text,
            "\nRule: {} on {} ({} columns, {} looked at); profile {}.",
            shown(&file.learner.name),
            shown(&file.representation.name),
            self.extractor().n_columns(),
            self.used_columns().len(),
            shown(&file.profile.name)
        );
        let _ = writeln!(text, "It needs: {}.", if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") });
        let columns: Vec<String> = self.extractor().columns().iter().map(|column| shown(column)).collect();
        let _ = writeln!(text, "\n{}", self.model().describe(&columns).trim_end());
        match &file.evidence {
            Some(evidence) => {
                let _ = writeln!(
                    text,
                    "\nEvidence ({}, {}, seed {}):",
                    shown(&evidence.cell),
                    shown(&evidence.target),
                    evidence.seed
                );
                let _ = writeln!(
                    text,
                    "  {} boundaries, {} tasks, {} stems, {} positive; corpus {}",
                    evidence.boundaries,
                    evidence.tasks,
                    evidence.stems,
                    evidence.positives,
                    shown(&evidence.corpus_sha256)
                );
                let _ = writeln!(text, "  {}\n  {}", shown(&evidence.folds), shown(&evidence.threshold_note));
                let quantities = [
                    ("AUROC", Some(&evidence.auroc)),
                    ("retained", Some(&evidence.retained)),
                    ("avoided", Some(&evidence.avoided)),
                    ("advantage by count", Some(&evidence.advantage_count)),
                    ("advantage by mass", Some(&evidence.advantage_mass)),
                    ("signed value", Some(&evidence.signed_value)),
                    ("AUROC in the run", evidence.run.as_ref().map(|run| &run.auroc)),
                    ("advantage in the run", evidence.run.as_ref().map(|run| &run.advantage_count)),
                    ("yardstick AUROC", evidence.run.as_ref().and_then(|run| run.yardstick.as_ref())),
                ];
                for (name, quantity) in quantities {
                    if let Some(quantity) = quantity {
                        let _ = writeln!(text, "  {name:<20} {}", shown(&quantity.in_words()));
                    }
                }
                let _ = writeln!(
                    text,
                    "  share of the training rows it blocks (optimistic): {:.3}\n  {}",
                    evidence.blocked_share_of_training_rows,
                    shown(&evidence.verdict)
                );
            }
            None => text.push_str("\nNo evidence: this policy was written by hand.\n"),
        }
        text
    }
}
