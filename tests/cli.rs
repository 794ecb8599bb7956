//! The command line on good and bad input: exit codes, messages, and the same bytes whatever the number of threads.

#![cfg(test)]
#![cfg(feature = "study")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn foldline(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foldline")).current_dir(folder).args(args).output().expect("the binary runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a simulated cohort and its method map.
fn cohort(boundaries: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let args = ["simulate", "--boundaries", boundaries, "--out", "cohort.jsonl", "--method-map", "functions.csv"];
    let output = foldline(folder.path(), &args);
    assert!(output.status.success(), "{}", stderr(&output));
    folder
}

fn evaluate(folder: &Path, corpus: &str, more: &[&str]) -> Output {
    let base = ["evaluate", corpus, "--methods", "functions.csv", "--protocol", "quick", "--draws", "50"];
    foldline(folder, &[&base, more].concat())
}

/// Every file below a folder but the manifest, by name.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name != "manifest.json") {
                files.push((path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_same_bytes_whatever_the_threads() {
    let folder = cohort("120");
    for (threads, out) in [("1", "one"), ("2", "two"), ("2", "again")] {
        let output = evaluate(folder.path(), "cohort.jsonl", &["--threads", threads, "--out", out]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let one = contents(&folder.path().join("one"));
    assert!(one.iter().any(|(path, _)| path.ends_with("results.json")) && one.len() >= 4);
    assert_eq!(one, contents(&folder.path().join("two")));
    assert_eq!(one, contents(&folder.path().join("again")));
    assert!(!folder.path().join("one/.stages").exists(), "resume records go on success");
}

#[test]
fn a_stopped_run_goes_on() {
    let folder = cohort("120");
    let whole = evaluate(folder.path(), "cohort.jsonl", &["--out", "whole"]);
    assert!(whole.status.success(), "{}", stderr(&whole));
    // a folder that holds records and no results is a run that was stopped
    let stages = folder.path().join("stopped/.stages");
    std::fs::create_dir_all(&stages).unwrap();
    std::fs::write(stages.join("half-written.json"), "{\"scores\": [[0.1").unwrap();
    let resumed = evaluate(folder.path(), "cohort.jsonl", &["--out", "stopped"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert_eq!(contents(&folder.path().join("whole")), contents(&folder.path().join("stopped")));
}

/// A bad corpus and what the message must say; the exit code is 65 throughout.
#[test]
fn bad_corpora_are_refused_with_their_place() {
    let folder = cohort("60");
    let path = |name: &str| folder.path().join(name);
    let good = std::fs::read_to_string(path("cohort.jsonl")).unwrap();
    let first = good.lines().next().unwrap();
    let mut cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("nan.jsonl", first.replacen("\"prefix_steps\":", "\"prefix_steps\":NaN,\"x\":", 1).into_bytes(), &["line 1"]),
        ("twice.jsonl", format!("{first}\n{first}\n").into_bytes(), &["line 2", "boundary_id", "duplicate"]),
        (
            "future.jsonl",
            first.replacen("foldline.corpus/1", "foldline.corpus/9", 1).into_bytes(),
            &["line 1", "format"],
        ),
        ("cut.jsonl", good.as_bytes()[..good.len() - 40].to_vec(), &["line 60"]),
        ("empty.jsonl", Vec::new(), &["holds no boundary"]),
        ("binary.jsonl", vec![0xff, 0xfe, 0x00, 0x80], &["UTF-8"]),
    ];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(good.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    cases.push(("cut.jsonl.gz", packed[..packed.len() / 2].to_vec(), &["cut short"]));
    let mut one_arm = String::new();
    for line in good.lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["rollouts"].as_array_mut().unwrap().retain(|rollout| rollout["arm"] == "post");
        line.as_object_mut().unwrap().remove("deltas");
        one_arm.push_str(&format!("{line}\n"));
    }
    cases.push(("one-arm.jsonl", one_arm.into_bytes(), &["dU@3", "--target post.U@3"]));
    cases.push(("long.jsonl", vec![b'['; 200 << 20], &["line 1", "longer than"]));
    for (name, bytes, expected) in cases {
        std::fs::write(path(name), bytes).unwrap();
        let output = evaluate(folder.path(), name, &["--out", "run"]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(65), "{name}: {message}");
        assert!(message.contains(name), "{name}: {message}");
        for part in expected {
            assert!(message.contains(part), "{name}: {part:?} is not in {message}");
        }
        assert!(!path("run/results.json").exists(), "{name}: nothing half-written");
        std::fs::remove_file(path(name)).unwrap();
    }
    std::fs::create_dir(path("folder")).unwrap();
    for name in ["folder", "absent.jsonl"] {
        let output = evaluate(folder.path(), name, &["--out", "run"]);
        assert_eq!(output.status.code(), Some(65), "{name}: {}", stderr(&output));
    }
}

#[test]
fn wrong_usage_and_outputs_that_cannot_be_written() {
    let folder = cohort("60");
    // (arguments, exit code, what the message must say)
    let cases: [(&[&str], i32, &str); 8] = [
        (&["evaluate", "cohort.jsonl"], 2, "--out"),
        (&["evaluate", "cohort.jsonl", "--cells", "boosted/H9", "--out", "run"], 2, "R3"),
        (&["evaluate", "cohort.jsonl", "--target", "dU@4", "--out", "run"], 2, "dU@3"),
        (&["evaluate", "cohort.jsonl", "--retain", "1.5", "--out", "run"], 2, "share"),
        (&["evaluate", "cohort.jsonl", "--protocol", "absent.toml", "--out", "run"], 65, "absent.toml"),
        (&["evaluate", "cohort.jsonl", "--methods", "cohort.jsonl", "--out", "run"], 65, "function,method"),
        (
            &[
                "evaluate",
                "cohort.jsonl",
                "--methods",
                "functions.csv",
                "--protocol",
                "quick",
                "--draws",
                "9",
                "--out",
                "functions.csv/run",
            ],
            1,
            "functions.csv",
        ),
        (&["no-such-verb"], 2, "no-such-verb"),
    ];
    for (args, code, expected) in cases {
        let output = foldline(folder.path(), args);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
        assert!(message.contains(expected), "{args:?}: {expected:?} is not in {message}");
    }
    let help = foldline(folder.path(), &["evaluate", "--help"]);
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Examples"));
}

/// Corpora that can answer little: what is undefined is null with a reason, the rest is computed, exit 0.
#[test]
fn poor_corpora_are_answered_as_far_as_they_go() {
    let folder = cohort("60");
    let good = std::fs::read_to_string(folder.path().join("cohort.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = good.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    type Change = fn(&mut serde_json::Value);
    let cases: [(&str, Change); 4] = [
        ("one-task", |line| {
            line["task_id"] = "t_1".into();
            line["stem"] = "t".into();
        }),
        ("few-stems", |line| {
            let last = line["boundary_id"].as_str().unwrap().len() % 3;
            line["stem"] = format!("s{last}").into();
        }),
        ("one-rollout", |line| {
            let mut seen = Vec::new();
            line["rollouts"].as_array_mut().unwrap().retain(|rollout| {
                let new = !seen.contains(&rollout["arm"]);
                seen.push(rollout["arm"].clone());
                new
            });
            line.as_object_mut().unwrap().remove("deltas");
        }),
        ("no-burden", |line| {
            for rollout in line["rollouts"].as_array_mut().unwrap() {
                rollout["steps"] = serde_json::json!([]);
            }
            line.as_object_mut().unwrap().remove("deltas");
        }),
    ];
    for (name, change) in cases {
        let text: String = lines
            .iter()
            .map(|line| {
                let mut line = line.clone();
                change(&mut line);
                format!("{line}\n")
            })
            .collect();
        let file = format!("{name}.jsonl");
        std::fs::write(folder.path().join(&file), text).unwrap();
        let output = evaluate(folder.path(), &file, &["--out", name]);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let results = std::fs::read_to_string(folder.path().join(name).join("results.json")).unwrap();
        assert!(!results.contains("NaN") && !results.contains("inf"), "{name}");
        let results: serde_json::Value = serde_json::from_str(&results).unwrap();
        let refused = results["refused"].as_array().unwrap();
        match name {
            "one-task" | "few-stems" => {
                assert!(refused.iter().any(|r| r["reason"].as_str().unwrap().contains("folds")))
            }
            "one-rollout" => assert!(refused.iter().any(|r| r["analysis"].as_str().unwrap().contains("yardstick"))),
            _ => {
                let auroc = &results["cells"]["stump/six"]["auroc_averaged"];
                assert!(auroc["point"].is_null() && auroc["reason"] == "one_class", "{auroc}");
            }
        }
    }
}

/// Scores recorded as Parquet serve a comparison as those in CSV do, and folds read back give the same folds.
#[test]
#[cfg(feature = "tables")]
fn recorded_scores_and_folds_are_read_back() {
    let folder = cohort("120");
    let cells =
        ["evaluate", "cohort.jsonl", "--methods", "functions.csv", "--cells", "stump/six,logistic/H", "--draws", "50"];
    let run = |more: &[&str]| {
        let output = foldline(folder.path(), &[&cells, more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    };
    run(&["--folds", "stem:2", "--stages", "cells", "--out", "lines"]);
    run(&["--folds", "stem:2", "--stages", "cells", "--scores", "parquet", "--out", "table"]);
    run(&["--folds", "lines/folds.csv", "--stages", "cells", "--out", "again"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (lines, again) = (read("lines/scores.csv"), read("again/scores.csv"));
    assert_eq!(lines, again);
    assert!(lines.contains("\nstump/six,") && lines.contains("\nrule/prefix-length,"), "{}", &lines[..200]);
    assert!(!folder.path().join("table/scores.csv").exists());
    let compared = |run: &str| {
        let output = foldline(folder.path(), &["compare", run, "--draws", "50", "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).replace(run, "RUN")
    };
    assert_eq!(compared("lines"), compared("table"));
    // a later run in the same folder leaves no scores of the earlier one
    run(&["--folds", "stem:2", "--stages", "cells", "--out", "table"]);
    assert!(!folder.path().join("table/scores.parquet").exists());
    // what was damaged is refused with its line
    std::fs::write(folder.path().join("lines/scores.csv"), lines.replacen(",0,", ",x,", 1)).unwrap();
    let output = foldline(folder.path(), &["compare", "lines"]);
    assert_eq!(output.status.code(), Some(65));
    assert!(stderr(&output).contains("scores.csv: line 2: repetition \"x\" is no number"), "{}", stderr(&output));
}

#[test]
fn what_is_named_twice_is_refused() {
    let folder = cohort("60");
    for (given, said) in [
        (vec!["--cells", "stump/six,stump/six"], "cell stump/six stands twice"),
        (vec!["--cells", "stump/six", "--folds", "none"], "need folds"),
    ] {
        let args = [&["evaluate", "cohort.jsonl", "--out", "x"][..], &given].concat();
        let output = foldline(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said) && !folder.path().join("x").exists(), "{}", stderr(&output));
    }
    let protocol = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/evaluate/quick.toml")).unwrap();
    for (from, to, said) in [
        ("splits = 50", "splits = 0", "yardstick.splits is 0"),
        ("name = \"EXT-3\"", "name = \"EXT-2\"", "two groups are called EXT-2"),
    ] {
        std::fs::write(folder.path().join("p.toml"), protocol.replacen(from, to, 1)).unwrap();
        let output = foldline(folder.path(), &["evaluate", "cohort.jsonl", "--protocol", "p.toml", "--out", "x"]);
        assert_eq!(output.status.code(), Some(65), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    // the same cell under two fold plans is two cells
    std::fs::write(folder.path().join("p.toml"), protocol.replacen("\"boosted/H\"", "\"stump/six\"", 2)).unwrap();
    let output = evaluate(folder.path(), "cohort.jsonl", &["--out", "both", "--protocol", "p.toml"]);
    assert_eq!(output.status.code(), Some(2), "--protocol is given twice");
    let args =
        ["evaluate", "cohort.jsonl", "--draws", "20", "--protocol", "p.toml", "--stages", "cells", "--out", "both"];
    let output = foldline(folder.path(), &args);
    assert!(output.status.success(), "{}", stderr(&output));
    let results = std::fs::read_to_string(folder.path().join("both/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results["cells"]["stump/six"]["folds"], "task:5x1");
    assert_eq!(results["cells"]["stump/six@EXT-2"]["folds"], "stem:5x4");
}

/// What a tampered or foreign folder holds is refused with its place, never taken for the run's own, and left alone.
#[test]
fn folders_and_files_of_others_are_told_apart() {
    let folder = cohort("120");
    let path = |name: &str| folder.path().join(name);
    let evaluated = |more: &[&str]| {
        let base = ["evaluate", "cohort.jsonl", "--methods", "functions.csv", "--draws", "20", "--stages", "cells"];
        foldline(folder.path(), &[&base, more].concat())
    };
    let output = evaluated(&["--cells", "logistic/H", "--folds", "stem:1", "--out", "run"]);
    assert!(output.status.success(), "{}", stderr(&output));

    // a boundary recorded twice
    let outcomes = std::fs::read_to_string(path("run/outcomes.jsonl")).unwrap();
    std::fs::write(path("run/outcomes.jsonl"), format!("{outcomes}{}\n", outcomes.lines().next().unwrap())).unwrap();
    for args in
        [vec!["compare", "run"], vec!["yardstick", "cohort.jsonl", "--methods", "functions.csv", "--run", "run"]]
    {
        let output = foldline(folder.path(), &args);
        assert_eq!(output.status.code(), Some(65), "{}", stderr(&output));
        assert!(stderr(&output).contains("outcomes.jsonl: line 121: boundary"), "{}", stderr(&output));
    }
    // rollouts that are not the corpus's
    std::fs::write(path("run/outcomes.jsonl"), outcomes.replacen("\"task_id\":\"", "\"task_id\":\"x", 1)).unwrap();
    let args = ["yardstick", "cohort.jsonl", "--methods", "functions.csv", "--run", "run"];
    let output = foldline(folder.path(), &args);
    assert_eq!(output.status.code(), Some(65));
    assert!(stderr(&output).contains("expected a run on this corpus"), "{}", stderr(&output));
    std::fs::write(path("run/outcomes.jsonl"), &outcomes).unwrap();
    let output = foldline(folder.path(), &[&args[..], &["--target", "dE@3"]].concat());
    assert!(stderr(&output).contains("its target is dU@3; give --target dU@3"), "{}", stderr(&output));

    // scores from a file cannot bear a cell's name, and what they lack is said before anything is fitted
    std::fs::write(path("few.csv"), "boundary_id,score\nnobody,1\n").unwrap();
    for (given, code, said) in [
        ("boosted/H=few.csv", 2, "which no cell bears"),
        ("rule/random=few.csv", 2, "which no cell bears"),
        ("mine=few.csv", 65, "has no score"),
    ] {
        let output = evaluated(&["--cells", "boosted/H", "--foreign", given, "--out", "never"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(said) && !path("never").exists(), "{}", stderr(&output));
    }

    // a folder that only looks like a run's, and files in a run's folder that are not ours
    std::fs::create_dir_all(path("other/plots")).unwrap();
    std::fs::write(path("other/results.json"), "{}").unwrap();
    assert_eq!(evaluated(&["--cells", "stump/six", "--folds", "task", "--out", "other"]).status.code(), Some(2));
    std::fs::create_dir_all(path("run/plots")).unwrap();
    std::fs::write(path("run/plots/mine.txt"), "mine").unwrap();
    let output = evaluated(&["--cells", "stump/six", "--folds", "task", "--out", "run"]);
    assert!(output.status.success() && path("run/plots/mine.txt").exists(), "{}", stderr(&output));

    // a table's number that would lead out of the folder
    let results = std::fs::read_to_string(path("run/results.json")).unwrap();
    let table = r#""tables": {"../../escaped": {"title": "", "columns": [], "rows": [], "notes": []}, "#;
    std::fs::write(path("run/results.json"), results.replacen("\"tables\": {", table, 1).replace(", }", "}")).unwrap();
    let output = foldline(folder.path(), &["report", "run"]);
    assert_eq!(output.status.code(), Some(65), "{}", stderr(&output));
    assert!(stderr(&output).contains("no number of a table"), "{}", stderr(&output));
}

/// Where every task is a stem of its own a fold file serves both units, and its own sizes are what results say.
#[test]
fn folds_from_files_bear_their_own_sizes() {
    let folder = cohort("120");
    let text = std::fs::read_to_string(folder.path().join("cohort.jsonl")).unwrap();
    let alone: String = text
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["stem"] = line["task_id"].clone();
            format!("{line}\n")
        })
        .collect();
    std::fs::write(folder.path().join("alone.jsonl"), alone).unwrap();
    let run = |corpus: &str, more: &[&str]| {
        let base = ["evaluate", corpus, "--methods", "functions.csv", "--protocol", "quick", "--draws", "20"];
        let output = foldline(folder.path(), &[&base[..], &["--stages", "cells"], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    run("alone.jsonl", &["--out", "first"]);
    let said = run("alone.jsonl", &["--folds", "first/folds.csv", "--seed", "7", "--out", "second"]);
    assert_eq!(read("first/folds.csv"), read("second/folds.csv"));
    assert!(!said.contains("are drawn"), "{said}");

    // folds of tasks alone, in two repetitions and counted from 1
    let ids: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["task_id"].as_str().unwrap().to_owned())
        .collect();
    let tasks: std::collections::BTreeSet<&String> = ids.iter().collect();
    let mut folds = String::from("boundary_id,repetition,fold\n");
    for (line, task) in text.lines().zip(&ids) {
        let id = serde_json::from_str::<serde_json::Value>(line).unwrap()["boundary_id"].as_str().unwrap().to_owned();
        let number = tasks.iter().position(|other| *other == task).unwrap();
        folds.push_str(&format!("{id},0,{}\n{id},1,{}\n", 1 + number % 3, 1 + number % 2));
    }
    std::fs::write(folder.path().join("tasks.csv"), folds).unwrap();
    let said = run("cohort.jsonl", &["--folds", "tasks.csv", "--out", "third"]);
    assert!(said.contains("note: the folds of stem:5x4 are drawn"), "{said}");
    let results: serde_json::Value = serde_json::from_str(&read("third/results.json")).unwrap();
    assert_eq!(results["cells"]["stump/six"]["folds"], "task:3x2");
    assert_eq!(results["protocol"]["groups"][0]["folds"], "task:3x2");
    assert!(read("third/folds.csv").lines().any(|line| line.ends_with(",1,1,task:3x2")));
}
