//! The embedded judge: no network, no model, only wording and overlap.
//!
//! It is a linear score over a few cues, put through the logistic function. Evidence: values, phrases and words of the
//! entry that stand in an output (or in the previous summary) and not in the task. Against: words of the task, values
//! found nowhere, and the wording of plans, goals, reasons and empty fields. What only the agent wrote is no source.
//! The weights were rounded to quarters from a fit to entries that we labelled ourselves; `docs/prune.md` says how well
//! it does and where it fails. It reads English; in other languages only the overlap counts.

mod atoms;
mod form;
mod lists;
mod sources;
mod stem;

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::history::Span;
use crate::judge::{Answers, Asked, Judge, JudgeFault, Wording};
use atoms::{Atoms, PhraseKind, ValueKind};
use form::Form;
use sources::{ACTION, OUTPUT, Sources, TASK};
use stem::stem;

/// The lexical judge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lexical;

/// Name and version of the rules; a change of a weight or a list is a new version.
const RULES: &str = "lexical/1";

/// Weights of the cues (log-odds). Positive: has a source.
mod weight {
    /// An entry without any cue is more often a report than not.
    pub(super) const BASE: f64 = 0.75;
    /// Values and phrases of an output that the task does not hold, saturating.
    pub(super) const SUPPORTED: f64 = 2.25;
    /// Share of values and phrases that stand nowhere.
    pub(super) const ABSENT: f64 = -1.0;
    /// All values and phrases stand nowhere: altered or invented.
    pub(super) const ALL_ABSENT: f64 = -4.5;
    /// Share of values that only the agent wrote.
    pub(super) const OWN: f64 = -0.5;
    /// All values are the agent's own, such as an account it was given.
    pub(super) const ALL_OWN: f64 = -1.0;
    /// Share of words that an output holds and the task does not.
    pub(super) const NEW_SHARE: f64 = 1.0;
    /// Number of such words, saturating.
    pub(super) const NEW_COUNT: f64 = 0.75;
    /// Share of words that the task holds.
    pub(super) const TASK_SHARE: f64 = -1.5;
    pub(super) const DONE: f64 = 1.75;
    pub(super) const DOING: f64 = 0.25;
    pub(super) const OUTCOME: f64 = 1.0;
    pub(super) const PLAN: f64 = -1.0;
    pub(super) const GOAL: f64 = -2.25;
    pub(super) const MODAL: f64 = -0.75;
    pub(super) const STRATEGY: f64 = -0.25;
    /// A reason for a way of working, and no value of an output.
    pub(super) const ONLY_STRATEGY: f64 = -1.0;
    pub(super) const PLACEHOLDER: f64 = -2.25;
}

/// Weight of a phrase beside that of a value.
const PHRASE: f64 = 0.8;

impl Judge for Lexical {
    fn name(&self) -> &'static str {
        "lexical"
    }

    fn wording(&self) -> Wording {
        // the rules are this source text
        let mut hash = Sha256::new();
        for part in [
            include_str!("mod.rs"),
            include_str!("atoms.rs"),
            include_str!("form.rs"),
            include_str!("lists.rs"),
            include_str!("sources.rs"),
            include_str!("stem.rs"),
        ] {
            hash.update(part.as_bytes());
        }
        Wording { name: RULES.to_string(), sha256: crate::hex(&hash.finalize()) }
    }

    fn judge(&self, span: &Span<'_>, entries: &[Asked<'_>]) -> Result<Answers, JudgeFault> {
        let atoms: Vec<Atoms> = entries.iter().map(|entry| Atoms::of(entry.text)).collect();
        let sources = Sources::look_up(span, &atoms);
        let scores = entries
            .iter()
            .zip(&atoms)
            .map(|(entry, atoms)| Some(logistic(log_odds(&Form::of(entry.text), atoms, &sources))))
            .collect();
        Ok(Answers { scores, ..Answers::default() })
    }
}

fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

fn log_odds(form: &Form, atoms: &Atoms, sources: &Sources) -> f64 {
    let mut found = 0.0;
    let mut fields = 0.0;
    let mut own = 0.0;
    let mut absent = 0.0;
    let mut stems: BTreeSet<String> = atoms.stems.clone();
    for value in &atoms.values {
        let places = sources.value(value);
        let field = matches!(value.kind, ValueKind::Field | ValueKind::Call);
        if value.kind == ValueKind::Field && places & (OUTPUT | TASK) == 0 {
            Atoms::add_parts(&mut stems, &value.text);
        } else if places & TASK != 0 {
        } else if places & OUTPUT != 0 {
            *(if field { &mut fields } else { &mut found }) += value.weight();
        } else if places & ACTION != 0 {
            own += value.weight();
        } else {
            absent += value.weight();
        }
    }
    for (phrase, kind) in &atoms.phrases {
        let places = sources.phrase(phrase);
        // a quotation may be loose; it is absent if a word of it is
        let loose = *kind == PhraseKind::Quote
            && phrase.split(' ').filter(|word| !word.is_empty()).all(|word| sources.stem(stem(word)) & OUTPUT != 0);
        if places & TASK != 0 {
        } else if places & OUTPUT != 0 {
            found += PHRASE;
        } else if places & ACTION == 0 && !loose {
            absent += PHRASE;
        }
    }
    let mut new = 0.0;
    let mut asked = 0.0;
    for word in &stems {
        let places = sources.stem(word);
        if places & TASK != 0 {
            asked += 1.0;
        } else if places & OUTPUT != 0 {
            new += 1.0;
        }
    }
    let words = stems.len() as f64 + 1.0;
    let claims = found + absent + own + 0.3;
    let cue = |present: bool, weight: f64| if present { weight } else { 0.0 };
    weight::BASE
        // a plan that names a function says nothing of what the function did
        + weight::SUPPORTED * saturating(found + if form.plan { fields / 2.0 } else { fields })
        + weight::ABSENT * absent / claims
        + cue(absent >= 0.7 && found < 0.3, weight::ALL_ABSENT)
        + weight::OWN * own / claims
        + cue(own >= 0.7 && found < 0.3, weight::ALL_OWN)
        + weight::NEW_SHARE * new / words
        + weight::NEW_COUNT * saturating(new / 3.0)
        + weight::TASK_SHARE * asked / words
        + cue(form.done, weight::DONE)
        + cue(form.doing, weight::DOING)
        + cue(form.outcome, weight::OUTCOME)
        + cue(form.plan, weight::PLAN)
        + cue(form.goal, weight::GOAL)
        + cue(form.modal, weight::MODAL)
        + cue(form.strategy, weight::STRATEGY)
        + cue(form.strategy && found < 0.3, weight::ONLY_STRATEGY)
        + cue(form.placeholder, weight::PLACEHOLDER)
}

fn saturating(amount: f64) -> f64 {
    1.0 - (-amount).exp()
}
