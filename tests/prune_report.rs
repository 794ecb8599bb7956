//! `foldline prune report`: the judge measured, real summaries pruned, run records compared.

#![cfg(test)]
#![cfg(all(feature = "prune", feature = "study"))]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn shared(name: &str) -> Option<String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")).join(name);
    if path.exists() {
        return Some(path.display().to_string());
    }
    writeln!(std::io::stdout(), "{}: absent, not tested", path.display()).expect("stdout is open");
    None
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("foldline-prune-report-{name}-{}", std::process::id()))
}

fn foldline(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_foldline")).arg("prune").args(args).output().expect("it was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The figures that docs/prune.md prints; a change of the rules must change both.
#[test]
fn the_lexical_judge_on_labelled_real_entries() {
    let (Some(summaries), Some(histories), Some(labels)) =
        (shared("summaries/summaries.jsonl"), shared("appworld/trajectories.jsonl"), shared("summaries/labels.jsonl"))
    else {
        return;
    };
    let args = [
        "report",
        "--summaries",
        &summaries,
        "--histories",
        &histories,
        "--labels",
        &labels,
        "--judge",
        "lexical",
        "--json",
    ];
    let report = foldline(&args);
    assert_eq!((&report["n"], &report["n_pos"], &report["unscored"]), (&json!(120), &json!(99), &json!(0)));
    let [point, lo, hi] = ["point", "lo", "hi"].map(|key| number(&report["auroc"][key]));
    assert!(point >= 0.97 && lo >= 0.93 && lo <= point && point <= hi, "{point} [{lo}, {hi}]");
    assert!(number(&report["precision"]["point"]) >= 0.95);
    assert!(number(&report["recall"]["point"]) >= 0.94);
    // the same numbers whatever the number of threads
    let one = foldline(&[&args[..], &["--threads", "1"]].concat());
    assert_eq!(report, one);
}

#[test]
fn the_lexical_judge_on_entries_whose_support_is_known_by_construction() {
    let Some(histories) = shared("appworld/trajectories.jsonl") else { return };
    let built = temporary("built.jsonl");
    let path = built.display().to_string();
    foldline(&["construct", "--histories", &histories, "--out", &path]);
    let report = foldline(&["report", "--histories", &histories, "--labels", &path, "--json"]);
    std::fs::remove_file(built).unwrap();
    assert!(number(&report["n"]) >= 300.0);
    assert!(number(&report["auroc"]["point"]) >= 0.98, "{}", report["auroc"]);
    for kind in ["changed_digit", "changed_name", "plan", "task"] {
        let auroc = number(&report["kinds"][format!("kind: {kind}")]["auroc_against_rest"]);
        assert!(auroc >= 0.95, "{kind}: {auroc}");
    }
}

/// Every layout of the real summaries is split, and what is kept is what the model wrote, line by line.
#[test]
fn real_summaries_are_split_and_pruned() {
    let (Some(summaries), Some(histories)) =
        (shared("summaries/summaries.jsonl"), shared("appworld/trajectories.jsonl"))
    else {
        return;
    };
    let report = foldline(&["report", "--summaries", &summaries, "--histories", &histories, "--json"]);
    let layouts = report["shares"]["layouts"].as_object().unwrap();
    assert_eq!(layouts.len(), 20);
    for (name, layout) in layouts {
        // a summary that is one code block has no entries
        assert_eq!(number(&layout["all"]["entries"]) > 0.0, name != "json", "{name}");
    }
    assert_eq!(report["shares"]["total"]["summaries"], 198);

    let text = std::fs::read_to_string(&summaries).unwrap();
    let trajectories = std::fs::read_to_string(&histories).unwrap();
    let steps: std::collections::BTreeMap<String, Vec<foldline_pruner::history::Step>> = trajectories
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            let steps = serde_json::from_value(value["steps"].clone()).unwrap();
            (value["trajectory_id"].as_str().unwrap().to_owned(), steps)
        })
        .collect();
    let judge = foldline_pruner::judges::lexical::Lexical;
    let options = foldline_pruner::prune::Options::default();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let summary = value["summary"].as_str().unwrap();
        let span = foldline_pruner::history::Span {
            task: value["instruction"].as_str(),
            history: &steps[value["trajectory_id"].as_str().unwrap()],
            ..Default::default()
        };
        let (pruned, account) = foldline_pruner::prune::prune(summary, &span, &judge, &options);
        let mut kept = pruned.split_inclusive('\n').peekable();
        for line in summary.split_inclusive('\n') {
            if kept.peek() == Some(&line) {
                kept.next();
            } else {
                assert!(!line.starts_with('#'), "{}: a heading went", value["summary_id"]);
            }
        }
        assert_eq!(kept.next(), None, "{}: something was rewritten", value["summary_id"]);
        let (again, _) = foldline_pruner::prune::prune(&pruned, &span, &judge, &options);
        assert_eq!(again, pruned, "{}: {}", value["summary_id"], account.reason);
    }
}

/// Three tasks, two runs an arm, by hand. Acc: arm 4/6, other 2/6; Pass^2: 1/3 and 0.
#[test]
fn two_arms_of_run_records() {
    let dir = temporary("runs");
    let run = |name: &str, solved: [bool; 3], steps: f64| {
        let folder = dir.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let line = |(at, success): (usize, bool)| {
            json!({ "task_id": format!("s{at}_1"), "success": success, "num_steps": steps, "peak_prompt_tokens": 4000,
                "cumulative_input_tokens": 9000, "n_compressions": 1, "difficulty": at + 1 })
            .to_string()
        };
        let text: Vec<String> = solved.into_iter().enumerate().map(line).collect();
        std::fs::write(folder.join("run_records.jsonl"), text.join("\n")).unwrap();
        folder.display().to_string()
    };
    let [a1, a2] = [run("a1", [true, true, false], 10.0), run("a2", [true, false, true], 12.0)];
    let [b1, b2] = [run("b1", [true, false, false], 11.0), run("b2", [false, false, true], 13.0)];
    let report = foldline(&["report", "--runs", &a1, &a2, "--against", &b1, &b2, "--json", "--draws", "500"]);
    std::fs::remove_dir_all(dir).unwrap();
    let all = &report["arms"]["runs"]["rows"]["all"];
    assert!((number(&all["acc"]) - 2.0 / 3.0).abs() < 1e-12);
    assert!((number(&all["pass_k"]) - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(all["acc_sd"], 0.0);
    assert_eq!(report["arms"]["against"]["rows"]["all"]["pass_k"], 0.0);
    let difference = &report["arms"]["differences"]["all"];
    assert!((number(&difference["acc"]["point"]) - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(difference["acc"]["tasks"], 3);
    // the third task differs by nothing, the other two by a half: the interval spans these
    assert!(
        (number(&difference["acc"]["lo"]) - 0.0).abs() < 1e-12
            && (number(&difference["acc"]["hi"]) - 0.5).abs() < 1e-12
    );
    assert_eq!((&difference["steps"]["point"], &difference["steps"]["lo"]), (&json!(-1.0), &json!(-1.0)));
    assert_eq!(report["arms"]["runs"]["rows"]["3"]["tasks"], 1);
}

/// A run with three compactions: shares by boundary and persistence, by hand.
#[test]
fn summaries_in_sequence() {
    let dir = temporary("sequence");
    std::fs::create_dir_all(&dir).unwrap();
    let step = |observation: &str| json!({ "step": 1, "code": "x", "observation": observation });
    let compaction =
        |summary: &str| json!({ "compression_before_step": 2, "kind": "update", "summary": summary, "error": null });
    let summary = |plan: &str| format!("## Decisions\n- Found song 4711 by Zoe Miller\n## Open TODOs\n- {plan}\n");
    let document = json!({ "instruction": "Play a song", "events": [
        step("song 4711 by Zoe Miller"), compaction(&summary("Need to decide what should be done next")),
        step("ok"), compaction(&summary("Need to decide what should be done next.")),
        step("ok"), compaction(&summary("Will look at something else then")),
    ] });
    std::fs::write(dir.join("t1.json"), document.to_string()).unwrap();
    let report = foldline(&["report", "--trajectories", &dir.display().to_string(), "--json"]);
    std::fs::remove_dir_all(dir).unwrap();
    let boundaries = &report["shares"]["boundaries"];
    // the second plan is that of the first summary, which was not pruned here and is a source
    for (name, share, count) in [("first", 0.5, 1.0), ("second", 0.0, 0.0), ("later", 0.5, 1.0)] {
        assert_eq!(boundaries[name]["summaries"], 1, "{name}");
        assert_eq!(boundaries[name]["reasoning"]["share"], share, "{name}");
        assert_eq!(boundaries[name]["unsupported_reasoning_per_summary"], count, "{name}");
    }
    // the plan of the first boundary lives one summary longer, the found song two
    let persistence = &report["persistence"];
    assert_eq!(persistence["unsupported"][0], json!({ "later": 1, "at_risk": 1, "present": 1, "share": 1.0 }));
    assert_eq!(persistence["unsupported"][1], json!({ "later": 2, "at_risk": 1, "present": 0, "share": 0.0 }));
    assert_eq!(persistence["supported"][1], json!({ "later": 2, "at_risk": 1, "present": 1, "share": 1.0 }));
    assert_eq!((&persistence["equal"], &persistence["similar"]), (&json!(3), &json!(0)));
}
