//! Which harness can be held back, and what each adapter can tell a policy.

use foldline_models::policy::{Need, Policy};
use serde::Serialize;

/// Whether a harness can be told to compact later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Veto {
    /// It defers and the run goes on.
    Yes,
    /// It can only be watched.
    No,
}

/// One harness as it was checked.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Harness {
    /// The name used on the command line.
    pub name: &'static str,
    /// The versions looked at.
    pub versions: &'static str,
    /// Whether there is a veto that lets the run go on.
    pub veto: Veto,
    /// How it is expressed, or why there is none.
    pub how: &'static str,
    /// Whether this project installs an adapter for it.
    pub adapter: bool,
    /// Live facts the adapter gives.
    pub facts: &'static [&'static str],
    /// What to do.
    pub advice: &'static str,
}

const ALL_FACTS: &[&str] =
    &["ctx_tokens", "window_tokens", "trigger", "tool_in_flight", "consecutive_blocks", "last_compaction"];
/// Without `tool_in_flight`: these adapters are asked when no call is pending, or do not know.
const COUNTED_FACTS: &[&str] = &["ctx_tokens", "window_tokens", "trigger", "consecutive_blocks", "last_compaction"];

/// What every adapter's steps give. None knows a task's difficulty, and a summary's support exists only afterwards.
const GIVEN: [Need; 6] = [
    Need::PrefixSteps,
    Need::CompactionIndex,
    Need::HistoricalExact,
    Need::HistoricalFunctions,
    Need::Tail,
    Need::TailErrors,
];

/// Every harness that was looked at.
pub const HARNESSES: &[Harness] = &[
    Harness {
        name: "pi",
        versions: "0.73.1 and 1.6.0, run",
        veto: Veto::Yes,
        how: "extension event session_before_compact returns {cancel: true}",
        adapter: true,
        facts: COUNTED_FACTS,
        advice: "tool_in_flight is always false, since pi asks when the results of all calls have landed; before 0.79.10 the reason is not given and is inferred; a cancelled overflow would end the run, so it is always allowed",
    },
    Harness {
        name: "claude-code",
        versions: "2.1.332, run; a veto exists since 2.1.105",
        veto: Veto::Yes,
        how: "hook PreCompact prints {\"decision\":\"block\"}",
        adapter: true,
        facts: COUNTED_FACTS,
        advice: "tool_in_flight is always false and not measured; install PostToolUse and PostToolUseFailure too, or no feature is known; token counts lag by a step; lower the trigger with CLAUDE_AUTOCOMPACT_PCT_OVERRIDE, since by default it fires just below the hard ceiling and leaves nothing to defer",
    },
    Harness {
        name: "openhands",
        versions: "openhands-sdk 1.58.2, run",
        veto: Veto::Yes,
        how: "condenser's condensation_requirement returns None",
        adapter: true,
        facts: COUNTED_FACTS,
        advice: "a HARD requirement is passed on as overflow and never held back",
    },
    Harness {
        name: "hermes",
        versions: "hermes-agent 0.19.0, run",
        veto: Veto::Yes,
        how: "context engine's should_compress returns False",
        adapter: true,
        facts: COUNTED_FACTS,
        advice: "steps come from the post_tool_call hook; overflow compacts without asking",
    },
    Harness {
        name: "langchain",
        versions: "langchain 1.5.2, run",
        veto: Veto::Yes,
        how: "summarization middleware's before_model returns None",
        adapter: true,
        facts: ALL_FACTS,
        advice: "token counts are the middleware's estimate",
    },
    Harness {
        name: "codex",
        versions: "0.171.0, run",
        veto: Veto::No,
        how: "its PreCompact hook can only end the whole turn",
        adapter: false,
        facts: &[],
        advice: "observe only: import its sessions and look at them with survey; do not install a blocking hook",
    },
    Harness {
        name: "opencode",
        versions: "1.18.33, run (Kilo CLI 7 has the same types)",
        veto: Veto::No,
        how: "throwing in experimental.session.compacting ends the run",
        adapter: false,
        facts: &[],
        advice: "observe only; its own settings compaction.auto, prune and reserved are all there is",
    },
    Harness {
        name: "gemini-cli",
        versions: "source of 2026-08-21, read",
        veto: Veto::No,
        how: "hook PreCompress is advisory, and also fires when nothing is compressed",
        adapter: false,
        facts: &[],
        advice: "observe only",
    },
    Harness {
        name: "goose",
        versions: "source, read",
        veto: Veto::No,
        how: "it has no compaction event",
        adapter: false,
        facts: &[],
        advice: "set GOOSE_AUTO_COMPACT_THRESHOLD; nothing can be observed at the boundary",
    },
    Harness {
        name: "kimi-cli",
        versions: "1.52.0, read",
        veto: Veto::No,
        how: "the result of its PreCompact hook is not read",
        adapter: false,
        facts: &[],
        advice: "observe only",
    },
    Harness {
        name: "roo-code",
        versions: "documentation, read",
        veto: Veto::No,
        how: "no event was found, only a threshold setting",
        adapter: false,
        facts: &[],
        advice: "nothing can be observed at the boundary",
    },
];

/// Why a policy cannot be installed in a harness; empty if it can.
pub fn obstacles(harness: &Harness, policy: &Policy) -> Vec<String> {
    let mut obstacles = Vec::new();
    if harness.veto == Veto::No {
        obstacles.push(format!("{} cannot be held back: {}; {}", harness.name, harness.how, harness.advice));
    }
    for need in policy.needs().iter().filter(|need| !GIVEN.contains(need)) {
        let columns: Vec<String> = policy
            .used_columns()
            .iter()
            .filter(|&&column| policy.needs_of(column).contains(need))
            .map(|&column| policy.column_name(column))
            .collect();
        obstacles.push(format!(
            "the {} adapter cannot give {need}, which the policy needs for {}; fit it on a representation without",
            harness.name,
            columns.join(", ")
        ));
    }
    let file = policy.file();
    if file.profile.syntax != foldline_features::profile::Syntax::Tool {
        obstacles.push(format!(
            "the policy reads calls as its profile {} writes them, and {} gives tool calls; fit it on a corpus of tool calls",
            file.profile.name, harness.name
        ));
    }
    obstacles
}
