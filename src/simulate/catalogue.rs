//! The functions that simulated agents call: 119 in 8 apps, with their HTTP methods.
//!
//! Names printed in arXiv 2610.08722 (its documentation calls, Table 4's aliases, Table 5's session endpoints, the
//! boundary of section 2) stand as printed; all others are invented, so that no real endpoint map is shipped. Every
//! GET name passes the read-verb rule of protocol section 1 and no other name does, so that a cohort has the same
//! write labels with the map and without it.

/// HTTP method of a function: GET reads, the others write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Writes.
    Post,
    /// Writes.
    Delete,
    /// Writes.
    Patch,
}

impl Method {
    /// The word used in method maps.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
            Method::Patch => "PATCH",
        }
    }
}

/// What a function does to the state of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// GET.
    Read,
    /// A write to a session endpoint (login, logout, ...).
    Session,
    /// A write to application data.
    Substantive,
}

/// One function of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The app it belongs to.
    pub app: &'static str,
    /// Its name within the app.
    pub api: &'static str,
    /// Its HTTP method.
    pub method: Method,
}

impl Function {
    /// `app.api`, as in `historical_functions`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.app, self.api)
    }

    /// Read, session or substantive (protocol section 1, *Write labels*).
    pub fn kind(&self) -> Kind {
        if self.method == Method::Get {
            Kind::Read
        } else if SESSION_APIS.contains(&self.api) {
            Kind::Session
        } else {
            Kind::Substantive
        }
    }
}

/// API names of session endpoints (protocol section 1).
pub const SESSION_APIS: [&str; 7] = [
    "login",
    "logout",
    "set_access_token",
    "signup",
    "send_verification_code",
    "reset_password",
    "send_password_reset_code",
];

/// The call that ends a task; it occurs in rollouts only, as in the paper's corpus (its feature 17 is constant zero).
pub const COMPLETE: Function = Function { app: "supervisor", api: "complete_task", method: Method::Post };

/// Apps of which a scenario uses one or two, most frequent first.
pub const TASK_APPS: [&str; 6] = ["spotify", "phone", "venmo", "file_system", "simple_note", "gmail"];

type Names = &'static [&'static str];

/// App, then its GET, POST, DELETE and PATCH names.
const APPS: [(&str, Names, Names, Names, Names); 8] = [
    ("api_docs", &["show_api_doc", "show_api_descriptions", "show_app_descriptions", "search_api_docs"], &[], &[], &[]),
    (
        "supervisor",
        &[
            "show_account_passwords",
            "show_account_profile",
            "show_account",
            "show_account_usernames",
            "show_phone_contacts",
            "show_account_credentials",
            "show_standing_orders",
        ],
        &[],
        &[],
        &[],
    ),
    (
        "spotify",
        &[
            "show_moodboards",
            "show_moodboard",
            "search_tunes",
            "show_tune",
            "get_music_queue",
            "show_bands",
            "search_bands",
            "show_band",
            "show_music_player",
            "show_mixtapes",
            "search_mixtapes",
            "show_mixtape",
            "list_encores",
            "show_stage_plan",
            "show_tune_mood",
            "get_listening_streak",
            "show_backing_vocals",
        ],
        &[
            "login",
            "send_password_reset_code",
            "reset_password",
            "pin_tune",
            "start_mixtape",
            "append_tune",
            "applaud_band",
            "queue_encore",
            "rate_moodboard",
        ],
        &["drop_mixtape"],
        &["retitle_mixtape"],
    ),
    (
        "phone",
        &[
            "show_pager_notes",
            "search_pager_notes",
            "show_pager_note",
            "get_contact",
            "show_wake_timers",
            "show_wake_timer",
            "search_call_threads",
            "show_call_thread",
            "list_ring_melodies",
            "show_ring_melody",
            "get_moon_phase",
        ],
        &["login", "set_access_token", "send_pager_note", "start_wake_timer", "dial_thread", "pick_ring_melody"],
        &["drop_pager_note"],
        &["shift_wake_timer"],
    ),
    (
        "venmo",
        &[
            "show_received_payment_requests",
            "show_balance",
            "show_friends",
            "search_purses",
            "show_purse",
            "show_ledger_lines",
            "show_ledger_line",
            "show_transaction_aggregate_stats",
            "show_api_descriptions",
            "list_payback_plans",
            "show_payback_plan",
            "search_kittys",
            "show_kitty",
            "get_exchange_mood",
        ],
        &[
            "login",
            "logout",
            "send_verification_code",
            "pay_back",
            "ask_payback",
            "open_kitty",
            "fill_kitty",
            "befriend_purse",
            "applaud_ledger_line",
        ],
        &["close_kitty"],
        &[],
    ),
    (
        "file_system",
        &[
            "list_directory",
            "read",
            "read_file",
            "show_file_metadata",
            "show_shelves",
            "show_shelf",
            "search_shelves",
            "show_pinned_papers",
            "list_strongboxes",
            "show_strongbox",
            "show_paper_trail",
        ],
        &["login", "shelve_paper", "copy_shelf", "bundle_papers", "unbundle_papers", "pin_paper"],
        &["shred_paper"],
        &[],
    ),
    (
        "simple_note",
        &[
            "search_jottings",
            "show_jotting",
            "show_api_descriptions",
            "list_jotting_tags",
            "show_jotting_tag",
            "show_drafts",
            "show_draft",
            "search_drafts",
            "get_word_tally",
        ],
        &["login", "jot_down", "tag_jotting"],
        &["erase_jotting"],
        &["amend_jotting"],
    ),
    ("gmail", &["show_letters", "show_letter", "search_letters"], &["login", "post_letter"], &[], &[]),
];

/// All 119 functions, app by app; within an app reads stand first, most frequent first.
pub fn functions() -> Vec<Function> {
    let mut functions = Vec::with_capacity(119);
    for (app, gets, posts, deletes, patches) in APPS {
        let groups = [(Method::Get, gets), (Method::Post, posts), (Method::Delete, deletes), (Method::Patch, patches)];
        for (method, names) in groups {
            functions.extend(names.iter().map(|api| Function { app, api, method }));
        }
    }
    functions
}

/// The kind of a function of the catalogue, named `app.api`.
pub fn kind_of(name: &str) -> Option<Kind> {
    let (app, api) = name.split_once('.')?;
    let (_, gets, posts, deletes, patches) = APPS.iter().find(|row| row.0 == app)?;
    if gets.contains(&api) {
        Some(Kind::Read)
    } else if [posts, deletes, patches].iter().any(|names| names.contains(&api)) {
        Some(if SESSION_APIS.contains(&api) { Kind::Session } else { Kind::Substantive })
    } else {
        None
    }
}

/// The method map of a cohort, `function,method,session`, with the completion call as its last row.
pub fn method_map() -> String {
    let mut text = String::from("function,method,session\n");
    for function in functions().iter().chain([&COMPLETE]) {
        let session = u8::from(function.kind() == Kind::Session);
        text.push_str(&format!("{},{},{session}\n", function.name(), function.method.name()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Counts of arXiv 2610.08722, Appendix B: 119 functions, 76 GET, 35 POST, 5 DELETE, 3 PATCH; 11 session and 32
    /// substantive writes; 8 apps.
    #[test]
    fn the_catalogue_has_the_published_counts() {
        let all = functions();
        let count = |method| all.iter().filter(|f| f.method == method).count();
        assert_eq!(all.iter().map(Function::name).collect::<BTreeSet<_>>().len(), 119);
        assert_eq!(
            [count(Method::Get), count(Method::Post), count(Method::Delete), count(Method::Patch)],
            [76, 35, 5, 3]
        );
        assert_eq!(all.iter().filter(|f| f.kind() == Kind::Session).count(), 11);
        assert_eq!(all.iter().filter(|f| f.kind() == Kind::Substantive).count(), 32);
        assert_eq!(all.iter().map(|f| f.app).collect::<BTreeSet<_>>().len(), 8);
    }

    #[test]
    fn the_read_verb_rule_gives_the_same_labels() {
        for function in functions() {
            let read = ["show_", "search_", "get_", "read", "list_", "download_"]
                .iter()
                .any(|verb| function.api.starts_with(verb))
                || function.api.ends_with("_exists");
            assert_eq!(read, function.method == Method::Get, "{}", function.name());
        }
    }
}
