//! What a corpus's environment looks like: how calls are written, what an error is, which functions write.
//!
//! A profile is part of every frozen policy, so that features are computed at a live boundary as they were when the
//! policy was fitted.

use crate::boundary::PrefixStep;
use crate::shell::{ShellClass, ShellTable};
use crate::signature::{Call, api_of, appworld_calls, tool_calls_with};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How an action's calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Syntax {
    /// Code with `apis.APP.API(...)`.
    Appworld,
    /// A JSON object `{"name", "arguments"}`, or a list of them.
    Tool,
}

/// What a function does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// May change something.
    Write,
}

/// Which observations are errors of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FailureContract {
    /// An observation that begins with one of these is an error.
    #[serde(default)]
    pub begins_with: Vec<String>,
    /// An observation that, trimmed of white space, equals one of these is an error.
    #[serde(default)]
    pub equals_trimmed: Vec<String>,
    /// The recorded error flag of a step counts; the two text rules are then not asked where it is present.
    #[serde(default)]
    pub error_flag: bool,
}

impl FailureContract {
    /// Whether an observation, with the environment's error flag where one is recorded, is an error.
    pub fn is_failure(&self, observation: &str, is_error: Option<bool>) -> bool {
        if let (true, Some(flag)) = (self.error_flag, is_error) {
            return flag;
        }
        self.begins_with.iter().any(|prefix| observation.starts_with(prefix.as_str()))
            || self.equals_trimmed.iter().any(|whole| observation.trim() == whole)
    }
}

/// An environment's conventions (protocol section 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// `appworld`, `tool`, or a name of the user's.
    pub name: String,
    /// How calls are written.
    pub syntax: Syntax,
    /// What an error is.
    pub failure: FailureContract,
    /// Effects of functions. `None`: the AppWorld read-verb rule decides.
    #[serde(default)]
    pub effects: Option<BTreeMap<String, Effect>>,
    /// API names (or tool names) that only open, close or restore a session.
    #[serde(default)]
    pub session: BTreeSet<String>,
    /// The app whose calls look up documentation.
    pub docs_app: String,
    /// The function that ends a task.
    pub completion: String,
    /// Shell tools whose commands are classed; the class becomes part of the function (`Bash.read`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<ShellTable>,
}

/// Session endpoints of AppWorld (the paper's Appendix A).
const SESSION: [&str; 7] = [
    "login",
    "logout",
    "set_access_token",
    "signup",
    "send_verification_code",
    "reset_password",
    "send_password_reset_code",
];

/// The 18 explicit aliases of the paper's Table 4: names that occur in trajectories and in no route.
const ALIASES: [(&str, Effect); 18] = [
    ("file_system.list_directory", Effect::Read),
    ("file_system.read", Effect::Read),
    ("file_system.read_file", Effect::Read),
    ("file_system.show_file_metadata", Effect::Read),
    ("phone.get_contact", Effect::Read),
    ("phone.set_access_token", Effect::Write),
    ("simple_note.show_api_descriptions", Effect::Read),
    ("spotify.get_music_queue", Effect::Read),
    ("spotify.show_music_player", Effect::Read),
    ("supervisor.show_account", Effect::Read),
    ("supervisor.show_account_credentials", Effect::Read),
    ("supervisor.show_account_profile", Effect::Read),
    ("supervisor.show_account_usernames", Effect::Read),
    ("supervisor.show_phone_contacts", Effect::Read),
    ("venmo.show_api_descriptions", Effect::Read),
    ("venmo.show_balance", Effect::Read),
    ("venmo.show_friends", Effect::Read),
    ("venmo.show_transaction_aggregate_stats", Effect::Read),
];

impl Profile {
    /// The AppWorld profile, without a method map: the read-verb rule of the paper's Appendix B decides what writes.
    pub fn appworld() -> Profile {
        Profile {
            name: "appworld".to_owned(),
            syntax: Syntax::Appworld,
            failure: FailureContract {
                begins_with: vec!["Execution failed. Traceback:".to_owned()],
                equals_trimmed: vec!["No code available to execute.".to_owned()],
                error_flag: false,
            },
            effects: None,
            session: SESSION.map(str::to_owned).into(),
            docs_app: "api_docs".to_owned(),
            completion: "supervisor.complete_task".to_owned(),
            shell: None,
        }
    }

    /// The embedded profile of coding agents, as a file that users can edit.
    pub const CODING_AGENT: &str = include_str!("coding_agent.toml");

    /// The profile of coding agents: common tools by effect, shell commands by class, from an embedded table that a user's
    /// own TOML file can replace.
    pub fn coding_agent() -> Profile {
        Profile::from_toml(Profile::CODING_AGENT).expect("the embedded profile is tested")
    }

    /// The tool-calling profile of the protocol, where a function is a tool's name and nothing else: the same table without
    /// classes of shell commands.
    pub fn tool_calling() -> Profile {
        Profile { name: "tool".to_owned(), shell: None, ..Profile::coding_agent() }
    }

    /// A profile from TOML with the fields of this struct; `effects` and `session` may be left out.
    ///
    /// # Errors
    /// A sentence with line, field and what was expected.
    pub fn from_toml(text: &str) -> Result<Profile, String> {
        toml::from_str(text).map_err(|error| format!("is no profile: {error}"))
    }

    /// A tool-calling profile with the given effects and session tools; errors are the environment's own flags.
    pub fn tool(effects: BTreeMap<String, Effect>, session: BTreeSet<String>) -> Profile {
        Profile {
            name: "tool".to_owned(),
            syntax: Syntax::Tool,
            failure: FailureContract { error_flag: true, ..FailureContract::default() },
            effects: Some(effects),
            session,
            docs_app: "docs".to_owned(),
            completion: "complete_task".to_owned(),
            shell: None,
        }
    }

    /// Adds a method map (`function,method` CSV with a header; further columns are ignored). From then on the map, and
    /// for AppWorld the 18 aliases of Table 4, decide alone what writes; where both name a function the map decides.
    ///
    /// # Errors
    /// A sentence naming the line, when a line has no method, the method is not an HTTP method, or two lines of the maps
    /// disagree about a function.
    pub fn add_methods(&mut self, csv: &str) -> Result<(), String> {
        let stated = parse_methods(csv)?;
        let is_appworld = self.syntax == Syntax::Appworld;
        let effects = self.effects.get_or_insert_with(|| {
            let aliases: &[(&str, Effect)] = if is_appworld { &ALIASES } else { &[] };
            aliases.iter().map(|&(function, effect)| (function.to_owned(), effect)).collect()
        });
        for (function, (effect, line)) in stated {
            let alias = is_appworld && ALIASES.iter().any(|&(name, _)| name == function);
            match effects.insert(function.clone(), effect) {
                Some(other) if other != effect && !alias => {
                    return Err(format!(
                        "line {line}: {function} is {effect:?} here and {other:?} in an earlier map; remove one of them"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What a function does; `None` when there is a map and the function is not in it (*unmapped*).
    ///
    /// Without a map, a read is an API whose name begins with `show_`, `search_`, `get_`, `read` or `list_` (the paper's
    /// Appendix B), or with `download_` except `download_song`, or ends in `_exists` **\[choice\]**; this differs from the
    /// real map on 2 of AppWorld's 457 endpoints.
    pub fn effect(&self, function: &str) -> Option<Effect> {
        if let Some(class) = self.shell.as_ref().and_then(|shell| shell.class_of(function)) {
            return Some(if class == ShellClass::Write { Effect::Write } else { Effect::Read });
        }
        match &self.effects {
            Some(effects) => effects.get(function).copied(),
            None => {
                let api = api_of(function);
                let begins = ["show_", "search_", "get_", "read", "list_", "download_"];
                let is_read = (begins.iter().any(|verb| api.starts_with(verb)) && api != "download_song")
                    || api.ends_with("_exists");
                Some(if is_read { Effect::Read } else { Effect::Write })
            }
        }
    }

    /// Whether a function writes; an unmapped function counts as a read.
    pub fn is_write(&self, function: &str) -> bool {
        self.effect(function) == Some(Effect::Write)
    }

    /// Whether a function or exact signature only opens, closes or restores a session.
    pub fn is_session(&self, function: &str) -> bool {
        self.session.contains(api_of(function))
    }

    /// All calls of an action, in order.
    pub fn calls(&self, action: &str) -> Vec<Call> {
        match self.syntax {
            Syntax::Appworld => appworld_calls(action),
            Syntax::Tool => tool_calls_with(action, self.shell.as_ref()),
        }
    }

    /// Whether a step of a prefix failed.
    pub fn step_failed(&self, step: &PrefixStep) -> bool {
        self.failure.is_failure(&step.observation, step.is_error)
    }
}

fn effect_of(method: &str) -> Option<Effect> {
    match method {
        "GET" | "get" | "HEAD" | "read" => Some(Effect::Read),
        "POST" | "PUT" | "PATCH" | "DELETE" | "post" | "put" | "patch" | "delete" | "write" => Some(Effect::Write),
        _ => None,
    }
}

/// `function,method` lines: effect and line number by function.
fn parse_methods(csv: &str) -> Result<BTreeMap<String, (Effect, usize)>, String> {
    let mut effects: BTreeMap<String, (Effect, usize)> = BTreeMap::new();
    for (index, line) in csv.lines().enumerate() {
        let line_number = index + 1;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        let mut cells = line.split(',').map(str::trim);
        let (function, method) = (cells.next().unwrap_or(""), cells.next());
        if index == 0 && (function, method) == ("function", Some("method")) {
            continue;
        }
        let wrong = |problem: String| {
            let expected = "expected the columns `function,method`, with GET, POST, PUT, PATCH or DELETE as method";
            Err(format!("line {line_number}: {problem}; {expected}"))
        };
        let effect = match method.map(|method| (effect_of(method), method)) {
            _ if index == 0 && line.split(',').any(|cell| cell.trim() == "function") => {
                return wrong(format!("the header is {line:?}"));
            }
            _ if function.is_empty() => return wrong("it names no function".to_owned()),
            None => return wrong(format!("{function} has no method")),
            Some((Some(effect), _)) => effect,
            Some((None, method)) if effect_of(function).is_some() => {
                return wrong(format!(
                    "{function} stands where the function should and {method} where the method should"
                ));
            }
            Some((None, method)) => return wrong(format!("the method of {function} is {method:?}")),
        };
        if let Some((other, before)) =
            effects.insert(function.to_owned(), (effect, line_number)).filter(|(e, _)| *e != effect)
        {
            return Err(format!(
                "line {line_number}: {function} is {effect:?} here and {other:?} on line {before}; remove one of them"
            ));
        }
    }
    if effects.is_empty() {
        return Err("it holds no `function,method` line".to_owned());
    }
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_profile_reads_and_writes() {
        let profile = Profile::coding_agent();
        assert!(profile.is_write("Edit") && !profile.is_write("Read") && profile.effect("no_such_tool").is_none());
        assert!(profile.failure.is_failure("", Some(true)) && !profile.failure.is_failure("Error", Some(false)));
    }

    #[test]
    fn the_map_decides_alone_once_given() {
        let mut profile = Profile::appworld();
        assert!(profile.is_write("venmo.send_money") && !profile.is_write("spotify.download_receipt"));
        assert!(profile.is_write("spotify.download_song") && !profile.is_write("file_system.file_exists"));
        profile.add_methods("function,method,path\nvenmo.show_x,POST,/x\n").expect("a map");
        assert_eq!(profile.effect("venmo.show_x"), Some(Effect::Write));
        assert_eq!(profile.effect("phone.set_access_token"), Some(Effect::Write), "Table 4");
        assert_eq!(profile.effect("venmo.send_money"), None);
        assert!(profile.add_methods("venmo.show_x,GET").is_err_and(|error| error.contains("earlier map")));
        for (map, expected) in [
            ("venmo.show_x", "line 1: venmo.show_x has no method"),
            ("function,method\nGET,venmo.show_x\n", "line 2: GET stands where the function should"),
            ("method,function\nGET,venmo.show_x\n", "line 1: the header is \"method,function\""),
            ("function,path,method\nvenmo.show_x,/x,GET\n", "line 1: the header is"),
            ("function\nvenmo.show_x\n", "line 1: the header is"),
            ("function,method\n\nvenmo.show_x,FETCH\n", "line 3: the method of venmo.show_x is \"FETCH\""),
            ("function,method\n,GET\n", "line 2: it names no function"),
        ] {
            let error = profile.add_methods(map).expect_err(map);
            assert!(error.starts_with(expected) && error.contains("`function,method`"), "{error}");
        }
    }
}
