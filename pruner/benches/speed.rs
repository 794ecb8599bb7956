//! Speed of everything but the judge's own thinking: 50 entries against 200 KB of history.

use foldline_pruner::entries::{Prose, parse};
use foldline_pruner::evidence::Evidence;
use foldline_pruner::history::{Span, Step};
use foldline_pruner::judge::{Asked, Judge};
use foldline_pruner::judges::lexical::Lexical;
use foldline_pruner::redact::{Clean, redact};

fn main() {
    divan::main();
}

/// 100 outputs of 2 KB of JSON-like text.
fn history() -> Vec<Step> {
    let line = |at: usize| {
        format!(
            "{{\"song_id\": {at}, \"title\": \"Song number {at}\", \"play_count\": {}, \"artist\": \"Name{}\"}}\n",
            at * 7,
            at % 90
        )
    };
    (0..100)
        .map(|step| Step {
            action: format!("apis.music.show_song(song_id={step})"),
            observation: (0..25).map(|at| line(step * 25 + at)).collect(),
        })
        .collect()
}

fn summary() -> String {
    let entry =
        |at: usize| format!("- Found song {at} \"Song number {at}\" by Name{} with {} plays\n", at % 90, at * 7);
    format!(
        "## Facts\n{}## Open TODOs\n{}",
        (0..25).map(entry).collect::<String>(),
        (25..50).map(entry).collect::<String>()
    )
}

#[divan::bench]
fn entries_and_evidence(bencher: divan::Bencher<'_, '_>) {
    let (history, summary) = (history(), summary());
    assert!(history.iter().map(|step| step.observation.len()).sum::<usize>() >= 180_000);
    bencher.bench(|| {
        let document = parse(&summary, Prose::Auto);
        let texts: Vec<&str> = document.entries.iter().map(|entry| entry.text.as_str()).collect();
        Evidence::find(&Span { history: &history, ..Span::default() }, &texts).chunks(0..texts.len()).len()
    });
}

#[divan::bench]
fn lexical_judge(bencher: divan::Bencher<'_, '_>) {
    let (history, summary) = (history(), summary());
    let document = parse(&summary, Prose::Auto);
    let asked: Vec<Asked<'_>> = document.entries.iter().map(Asked::from).collect();
    let span = Span { history: &history, ..Span::default() };
    bencher.bench(|| Lexical.judge(&span, &asked));
}

/// What a judge elsewhere costs before anything is sent: the same history, a password in every output.
#[divan::bench]
fn redaction(bencher: divan::Bencher<'_, '_>) {
    let (mut history, summary) = (history(), summary());
    for (at, step) in history.iter_mut().enumerate() {
        step.observation.push_str(&format!("{{\"password\": \"x{at}yz77\"}}\n"));
    }
    let document = parse(&summary, Prose::Auto);
    let asked: Vec<Asked<'_>> = document.entries.iter().map(Asked::from).collect();
    let span = Span { history: &history, ..Span::default() };
    bencher.bench(|| Clean::new(&span, &asked).entries().len());
}

/// Ten megabytes in one line.
#[divan::bench(args = ["{\"id\": 1, \"name\": \"Ann Lee\"}, ", "{\"password\": \"x1\"}, ", "-u a:", "word "])]
fn redaction_of_one_line(bencher: divan::Bencher<'_, '_>, part: &str) {
    let text = part.repeat(10_000_000 / part.len());
    bencher.bench(|| redact(&text).len());
}
