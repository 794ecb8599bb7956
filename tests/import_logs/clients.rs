//! Sessions that the real clients wrote in the harness end-to-end runs. `FOLDLINE_E2E_KEEP` names the folder in which those runs
//! keep their files; without it there is nothing to read.

use crate::support::{import, options};
use foldline::import::boundaries::Options;
use foldline::import::formats::{Format, detect};
use foldline::import::source::{LeftOut, discover, has_extension};
use serde_json::Value;
use std::collections::BTreeSet;

/// Compactions and tool results of a session, by a plain count of lines.
fn counted(lines: &[Value]) -> (u64, u64) {
    let is_compaction = |line: &&Value| line["type"] == "compaction" || line["subtype"] == "compact_boundary";
    let compactions = lines.iter().filter(is_compaction).count() as u64;
    let mut results: BTreeSet<&str> = BTreeSet::new();
    for message in lines.iter().map(|line| &line["message"]) {
        results.extend(message["toolCallId"].as_str());
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        results.extend(blocks.iter().filter_map(|block| block["tool_use_id"].as_str()));
    }
    (compactions, results.len() as u64)
}

#[test]
fn sessions_of_the_real_clients() {
    let Some(folder) = std::env::var_os("FOLDLINE_E2E_KEEP") else {
        println!("skipped: FOLDLINE_E2E_KEEP is not set");
        return;
    };
    let wanted = |path: &std::path::Path, is_folder: bool| !is_folder && has_extension(path, &["jsonl"]);
    let mut sessions = [0, 0];
    for path in discover(&[folder.into()], &wanted, &mut LeftOut::default()) {
        // beside the sessions the runs keep the clients' output, which begins like a session
        if !path.iter().any(|part| part == "sessions" || part == "projects") {
            continue;
        }
        let format = match detect(&path) {
            Some(format @ (Format::Pi | Format::ClaudeCode)) => format,
            _ => continue,
        };
        let text = std::fs::read_to_string(&path).expect("readable");
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let (bytes, account) = import(format, &path, &Options { every: Some(1000), ..options() });
        let place = path.display();
        assert_eq!((account.compactions, account.steps), counted(&lines), "{place}\n{}", account.text());
        for (reason, count, places) in account.left_out.iter() {
            assert!(
                !reason.contains("unknown") && !reason.contains("branch"),
                "{place}: {count} x {reason} {places:?}"
            );
        }
        let boundaries = crate::support::read(bytes, options().profile);
        assert_eq!(boundaries.len() as u64, account.boundaries(), "{place}");
        sessions[usize::from(format == Format::ClaudeCode)] += 1;
    }
    println!("{} sessions of pi, {} of Claude Code", sessions[0], sessions[1]);
    assert!(sessions[0] + sessions[1] > 0, "the folder holds no session");
}
