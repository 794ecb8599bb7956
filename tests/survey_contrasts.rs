//! The survey's numbers by hand, and the page and text that show them.

#![cfg(test)]
#![cfg(all(feature = "import", feature = "study"))]

use foldline::import::session::{Builder, Compaction, Session};
use foldline::import::source::Limits;
use foldline::survey::collect::{Collected, Options, row};
use foldline::survey::measure::{Group, Survey, measure};
use foldline::survey::page::page;
use foldline::survey::text::text;
use foldline_features::Profile;
use serde_json::json;
use std::process::Command;

/// A session from a string: letters are reads of files of that name, capitals are reads that fail, `|` is a compaction.
fn session(id: &str, model: &str, script: &str) -> Session {
    let mut builder = Builder::new("pi", id.to_owned());
    builder.session().model = Some(model.to_owned());
    for (n, c) in script.chars().enumerate() {
        if c == '|' {
            builder.compaction(Compaction {
                tokens_before: Some(1000),
                tokens_after: Some(300),
                ..Compaction::default()
            });
            continue;
        }
        let call = format!("call{n}");
        builder.call(&call, "read", &json!({"path": format!("src/{}.rs", c.to_ascii_lowercase())}));
        builder.result(&call, "text".to_owned(), Some(c.is_ascii_uppercase()));
    }
    builder.finish()
}

fn options(k: usize) -> Options {
    Options { k, profile: Profile::coding_agent(), limits: Limits::default() }
}

fn survey(sessions: &[Session], k: usize) -> Survey {
    let mut collected = Collected { sources: 1, ..Collected::default() };
    collected.sessions = sessions.iter().map(|session| row(session, &options(k))).collect();
    measure(&collected, k, 500, 7)
}

/// (before, after, change) of the union channel.
fn union(group: &Group) -> (f64, f64, f64) {
    let contrast = &group.all[0];
    (contrast.before.expect("n > 0"), contrast.after.expect("n > 0"), contrast.change.defined().expect("n > 0"))
}

#[test]
fn windows_by_hand() {
    // before: b new, C failed; after: a again, d new -> union 1 and 1, blocked 1 and 0, refetch 0 and 1
    let one = row(&session("1", "m", "abC|ade"), &options(2));
    assert_eq!((one.first.n, one.first.before.0, one.first.after.0), (1, [1, 1, 0], [1, 0, 1]));
    assert_eq!(one.refetched.iter().collect::<Vec<_>>(), [(&"read src/a.rs".to_owned(), &1)]);
    assert_eq!((one.matched.n, one.nearby.n), (0, 0), "no room for neighbours");
    // a failed repeat is blocked and a refetch, once in the union; `a` after the compaction was not seen before it
    let two = row(&session("2", "m", "bc|AA"), &options(2));
    assert_eq!((two.first.before.0, two.first.after.0), ([0, 0, 0], [2, 2, 1]));
    assert!(two.refetched.is_empty());
    // too short on either side
    let short = row(&session("3", "m", "a|bcd"), &options(2));
    assert_eq!((short.first.n, short.short), (0, 1));
    // first and later, and windows that hold the other compaction
    let both = row(&session("4", "m", "ab|cd|ef"), &options(2));
    assert_eq!((both.first.n, both.later.n, both.overlapping), (1, 1, 0));
    let near = row(&session("5", "m", "abc|d|efg"), &options(2));
    assert_eq!((near.first.n, near.later.n, near.overlapping, near.looped), (1, 1, 2, false));
    // two gaps of one step in a row
    assert!(row(&session("6", "m", "ab|c|d|ef"), &options(2)).looped);
    // neighbours at k = 1: of a compaction behind step 3 of 6 the places 1 and 5
    let nearby = row(&session("7", "m", "aBc|abC"), &options(1));
    assert_eq!((nearby.matched.n, nearby.nearby.n), (1, 2));
    assert_eq!((nearby.matched.before.0, nearby.matched.after.0), ([0, 0, 0], [1, 0, 1]));
    // before place 1: a; after it: B failed; before place 5: b again; after it: C failed and again
    assert_eq!((nearby.nearby.before.0, nearby.nearby.after.0), ([1, 0, 1], [2, 2, 1]));
    // a second compaction within a neighbour's windows leaves none
    assert_eq!(row(&session("8", "m", "abcde|fghi|j"), &options(1)).matched.n, 1);
    assert_eq!(row(&session("9", "m", "abcde|fg|hij"), &options(1)).matched.n, 0);
}

#[test]
fn contrasts_within_groups() {
    // three sessions of model x change by +2, +1, 0 in the union; two of model y by -1 each; one without a compaction
    let sessions = [
        session("1", "x", "ab|ab"),
        session("2", "x", "ab|ac"),
        session("3", "x", "ab|cd"),
        session("4", "y", "aB|cd"),
        session("5", "y", "aB|cd"),
        session("6", "y", "aaaaaa"),
    ];
    let survey = survey(&sessions, 2);
    let names: Vec<&str> = survey.groups.iter().map(|group| group.model.as_str()).collect();
    assert_eq!(names, ["all", "x", "y"]);
    let [all, x, y] = &survey.groups[..] else { panic!("three groups") };
    assert_eq!(union(x), (0.0, 1.0, 1.0));
    assert_eq!(union(y), (1.0, 0.0, -1.0));
    assert!((union(all).2 - 0.2).abs() < 1e-12, "(2 + 1 + 0 - 1 - 1) / 5");
    assert_eq!((all.sessions, all.compacted_sessions, all.compactions), (6, 5, 5));
    assert_eq!((all.tokens_before.tokens, all.tokens_after.tokens), (Some(1000), Some(300)));
    // every resample of two equal sessions is the same
    assert_eq!((y.all[0].lo, y.all[0].hi), (Some(-1.0), Some(-1.0)));
    // resamples of {2, 1, 0} lie between 0 and 2 and are not all alike
    let (lo, hi) = (x.all[0].lo.expect("an interval"), x.all[0].hi.expect("an interval"));
    assert!((0.0..1.0).contains(&lo) && (1.0..=2.0).contains(&hi), "{lo} {hi}");
    assert!(x.later[0].change.defined().is_none() && x.later[0].lo.is_none(), "undefined, not 0");
}

#[test]
fn what_is_shown() {
    let hostile = session("<script>alert(1)</script>\u{1b}[2J", "x", "ab|ab");
    let sessions = [hostile, session("2", "x", "ab|c|d|ef")];
    let survey = survey(&sessions, 2);
    let shown = text(&survey);
    assert!(shown.lines().next().is_some_and(|line| line.starts_with("Observational:") && line.contains("causal")));
    assert!(!shown.contains('\u{1b}'), "no control characters of a log reach the terminal");
    let html = page(&survey).expect("renders");
    let first = html.split("<main>").nth(1).expect("a body");
    assert!(first.trim_start().starts_with("<p class=\"notice\">Observational:"));
    assert!(!html.contains("<script>"), "texts of logs are escaped");
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("src="), "self-contained");
    assert!(html.contains("read src&#x2f;a.rs") || html.contains("read src/a.rs"));
    let json = serde_json::to_value(&survey).expect("JSON");
    assert!(json["statement"].as_str().is_some_and(|text| text.starts_with("Observational")));
    assert_eq!(json["groups"][0]["all"][0]["change"]["point"].as_f64(), survey.groups[0].all[0].change.defined());
    assert_eq!(json["looped"][0]["session"], "pi:2");
}

#[test]
fn the_verb_reads_a_folder_and_says_what_it_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/import");
    let html = folder.path().join("survey.html");
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_foldline")).arg("survey").args(arguments).output().expect("the binary runs")
    };
    let html = html.to_str().expect("UTF-8");
    let output = run(&[fixtures, "--json", "--html", html, "-k", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let harnesses: Vec<&str> =
        json["groups"].as_array().expect("groups").iter().filter_map(|group| group["harness"].as_str()).collect();
    assert_eq!(harnesses, ["all", "anthropic", "atif", "inspect", "openai", "pair"]);
    // the archive holds the same sample as the document
    assert!(json["left_out"].to_string().contains("session already seen under the same id"));
    assert!(std::fs::read_to_string(html).expect("written").contains("What compaction cost"));
    let again = run(&[fixtures, "--json", "-k", "2", "--threads", "1"]);
    assert_eq!(again.stdout, output.stdout);
    assert_eq!(run(&["/no/such/folder"]).status.code(), Some(65));
    assert_eq!(run(&[]).status.code(), Some(2));
    assert_eq!(run(&[fixtures, "-k", "0"]).status.code(), Some(2));
}
