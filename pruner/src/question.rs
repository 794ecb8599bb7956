//! What a judge is asked, in our own words.
//!
//! It is the source question of the paper (Appendix F). Scores and thresholds belong to a wording, so the wording has a
//! version and a hash, both of which go into every account and every recorded score.

use std::ops::Range;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::evidence::Evidence;
use crate::judge::Wording;
use crate::redact::Clean;

/// Version of the wording; a changed text is a new version.
pub const VERSION: &str = "source/1";

const INSTRUCTIONS: &str = "The state shows one moment of an agent's run, at which a summary takes the place of the \
history. Look at `entries.{id}`, one entry of that summary. Did at least one piece of its information originally come from \
an output of the environment (the passages in `evidence`, the outputs in `recent`) or from the earlier summary in \
`previous`? Such information is, for instance, a value, a name, a result, or how something in the environment behaves. \
`task` and the agent's own actions are shown for context; they are no source.";

const YES: &str = "Some information in the entry came from an output of the environment or from the earlier summary.";

const NO: &str = "The entry holds only plans, intentions, decisions, or its author's reading of the task.";

/// The wording of the source question.
pub fn wording() -> Wording {
    let mut hash = Sha256::new();
    for part in [VERSION, INSTRUCTIONS, YES, NO] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    Wording { name: VERSION.to_string(), sha256: crate::hex(&hash.finalize()) }
}

/// The question about one entry, as plain text.
pub fn instructions(id: &str) -> String {
    INSTRUCTIONS.replace("{id}", id)
}

/// The question about one entry in the System One format. All texts are strings, because one of the two services takes
/// nothing else.
pub fn noul(id: &str) -> Value {
    json!({ "type": "noul", "instructions": instructions(id), "criteria": { "true": YES, "false": NO } })
}

/// Both answers in words, for judges that generate a token.
pub fn yes_no() -> String {
    format!("Answer with one word.\nyes: {YES}\nno: {NO}")
}

/// What is judged: task, retained interaction, earlier summary, and the entries of a range with their pooled evidence. It
/// takes nothing but what was cleaned, so that nothing else can be sent.
pub fn state(clean: &Clean, evidence: &Evidence<'_>, range: Range<usize>) -> Value {
    let span = clean.span();
    let recent: Vec<Value> =
        span.recent.iter().map(|step| json!({ "action": step.action, "output": step.observation })).collect();
    let mut texts = Map::new();
    let mut sections = Map::new();
    for entry in &clean.entries()[range.clone()] {
        texts.insert(entry.id.to_string(), entry.text.into());
        if !entry.section.is_empty() {
            sections.insert(entry.id.to_string(), entry.section.join(" > ").into());
        }
    }
    json!({
        "task": span.task,
        "recent": recent,
        "previous": span.previous,
        "evidence": evidence.chunks(range),
        "entries": texts,
        "sections": sections,
    })
}
