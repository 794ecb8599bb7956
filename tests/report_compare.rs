//! `foldline compare`: paired differences, the yardstick, foreign scores, and refusals that name the difference.

#![cfg(feature = "study")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read what it made has failed")]

mod report_support;

use report_support::{evaluated, foldline, succeeds};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;

fn compared(folder: &Path, more: &[&str]) -> Json {
    let args = [&["compare", "--draws", "60", "--json"], more].concat();
    serde_json::from_str(&succeeds(folder, &args)).unwrap()
}

fn refused(folder: &Path, args: &[&str], code: i32, named: &str) {
    let output = foldline(folder, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(named), "{said}");
}

/// Scores of a cell as a file that a user would bring: the mean over repetitions.
fn scores_of(folder: &Path, cell: &str, name: &str, keep: usize) -> Vec<(String, f64)> {
    let text = std::fs::read_to_string(folder.join("run/scores.csv")).unwrap();
    assert!(text.starts_with("cell,boundary_id,repetition,fold,score\n"));
    let mut of: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with(&format!("{cell},"))) {
        let fields: Vec<&str> = line.split(',').collect();
        of.entry(fields[1]).or_default().push(fields[4].parse().unwrap());
    }
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    let rows: Vec<(String, f64)> = of.iter().take(keep).map(|(id, scores)| ((*id).to_owned(), mean(scores))).collect();
    let lines: String = rows.iter().map(|(id, score)| format!("{id},{score}\n")).collect();
    std::fs::write(folder.join(name), format!("boundary_id,score\n{lines}")).unwrap();
    rows
}

#[test]
fn a_cell_against_its_own_scores_differs_by_nothing_and_agrees_with_the_run() {
    let folder = evaluated();
    scores_of(folder.path(), "boosted/H", "same.csv", usize::MAX);
    let more = ["run", "--cells", "boosted/H", "--foreign", "same=same.csv", "--yardstick"];
    let comparison = compared(folder.path(), &more);
    for statistic in ["auroc", "avoided", "mass", "v", "advantage_count", "advantage_mass"] {
        let difference = &comparison["differences"][0][statistic];
        for number in [&difference["point"], &difference["lo"], &difference["hi"]] {
            assert!(number.as_f64().unwrap().abs() < 1e-12, "{statistic}: {difference}");
        }
    }
    // the same estimators in the same draws as the evaluation's: seed and number of draws are equal
    let results: Json =
        serde_json::from_slice(&std::fs::read(folder.path().join("run/results.json")).unwrap()).unwrap();
    let cell = &results["cells"]["boosted/H"];
    let triggers = comparison["triggers"].as_array().unwrap();
    let trigger = triggers.iter().find(|trigger| trigger["name"] == "boosted/H").unwrap();
    for field in ["point", "lo", "hi", "method", "unit", "draws", "seed"] {
        assert!(!cell["auroc_averaged"][field].is_null());
        assert_eq!(trigger["auroc"][field], cell["auroc_averaged"][field], "{field}");
    }
    assert_eq!(trigger["operating_point"]["avoided"]["point"], cell["avoided"]["point"]);
    let against = results["yardstick"]["triggers"].as_array().unwrap();
    let recorded = against.iter().find(|against| against["cell"] == "boosted/H").unwrap();
    let own = comparison["yardstick"]["triggers"].as_array().unwrap();
    let own = own.iter().find(|own| own["trigger"] == "boosted/H").unwrap();
    if results["protocol"]["yardstick"]["splits"] == 200 {
        assert_eq!(own["comparison"]["share_recovered"], recorded["comparison"]["share_recovered"]);
    }
}

#[test]
fn at_the_matched_share_it_is_the_frontier_between_two_thresholds() {
    let folder = evaluated();
    let comparison = compared(folder.path(), &["run"]);
    let retain: f64 = comparison["retain"].as_str().unwrap().parse().unwrap();
    for trigger in comparison["triggers"].as_array().unwrap() {
        let points: Vec<(f64, f64)> = trigger["frontier"]
            .as_array()
            .unwrap()
            .iter()
            .map(|point| (point["retained"].as_f64().unwrap(), point["avoided"]["point"].as_f64().unwrap()))
            .collect();
        // linear interpolation on the recorded frontier, an independent way to the same number
        let above = points.iter().position(|point| point.0 >= retain - 1e-12).unwrap();
        let (a, b) = (points[above.saturating_sub(1)], points[above]);
        let share = if b.0 > a.0 { (retain - a.0) / (b.0 - a.0) } else { 1.0 };
        let expected = a.1 + share * (b.1 - a.1);
        let avoided = trigger["avoided"]["point"].as_f64().unwrap();
        assert!((avoided - expected).abs() < 1e-9, "{}: {avoided} is not {expected}", trigger["name"]);
    }
}

#[test]
fn a_corpus_and_scores_are_enough() {
    let folder = evaluated();
    scores_of(folder.path(), "boosted/H", "judge.csv", usize::MAX);
    let corpus = ["--corpus", "cohort.jsonl", "--methods", "functions.csv", "--foreign", "judge=judge.csv"];
    let comparison = compared(folder.path(), &[&corpus[..], &["--yardstick"]].concat());
    let names: Vec<&str> =
        comparison["triggers"].as_array().unwrap().iter().map(|trigger| trigger["name"].as_str().unwrap()).collect();
    assert_eq!(names[0], "judge");
    assert!(names.contains(&"rule/prefix-length") && names.contains(&"rule/token-budget"), "{names:?}");
    assert!(comparison["yardstick"]["statistics"]["auroc"]["point"].as_f64().unwrap() > 0.5);
    let text = succeeds(folder.path(), &[&["compare", "--draws", "60"], &corpus[..]].concat());
    assert!(text.contains("random rule") && text.contains("Each trigger less judge"), "{text}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_difference() {
    let folder = evaluated();
    let path = folder.path();
    let again = |name: &str| {
        let run = path.join(name);
        std::fs::create_dir_all(&run).unwrap();
        for entry in std::fs::read_dir(path.join("run")).unwrap().map(Result::unwrap).filter(|e| e.path().is_file()) {
            std::fs::copy(entry.path(), run.join(entry.file_name())).unwrap();
        }
        run
    };
    // one boundary less
    let fewer = again("fewer");
    let outcomes = std::fs::read_to_string(fewer.join("outcomes.jsonl")).unwrap();
    let first = outcomes.lines().next().unwrap();
    let id = serde_json::from_str::<Json>(first).unwrap()["boundary_id"].as_str().unwrap().to_owned();
    std::fs::write(fewer.join("outcomes.jsonl"), &outcomes[first.len() + 1..]).unwrap();
    refused(path, &["compare", "run", "fewer"], 65, &format!("fewer lacks 1 boundary: {id}"));
    // another task
    let changed = again("changed");
    std::fs::write(changed.join("outcomes.jsonl"), outcomes.replacen("\"task_id\":\"", "\"task_id\":\"x", 1)).unwrap();
    refused(path, &["compare", "run", "changed"], 65, "1 boundary with another task or other rollouts");
    // counts that no rollout has
    let broken = again("broken");
    std::fs::write(broken.join("outcomes.jsonl"), outcomes.replacen("[[0,0,0", "[[0,9,0", 1)).unwrap();
    refused(path, &["compare", "broken"], 65, "counts that no rollout can have");
    // another target
    let other =
        ["evaluate", "cohort.jsonl", "--methods", "functions.csv", "--draws", "20", "--target", "dE@1", "--cells"];
    succeeds(path, &[&other[..], &["logistic/H", "--folds", "stem:5x1", "--out", "other"]].concat());
    refused(path, &["compare", "run", "other"], 65, "the target is dU@3 in one and dE@1 in the other");
    // scores that do not cover the boundaries, unknown names
    scores_of(path, "boosted/H", "some.csv", 100);
    refused(path, &["compare", "run", "--foreign", "some=some.csv"], 65, "boundaries have no score");
    refused(path, &["compare", "run", "--cells", "boosted/X"], 2, "boosted/X");
    refused(path, &["compare", "run", "--against", "nobody"], 2, "nobody");
    refused(path, &["compare", "run", "--cells", "boosted/H"], 2, "at least two");
}

/// The verdicts of a comparison as sentences.
fn verdicts(folder: &Path, more: &[&str]) -> Vec<String> {
    let text = succeeds(folder, &[&["compare", "--draws", "60"], more].concat());
    text.lines().filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect()
}

#[test]
fn the_sentences_fit_the_number_of_triggers_and_a_difference_of_zero() {
    let folder = evaluated();
    let path = folder.path();
    for name in ["same.csv", "again.csv"] {
        scores_of(path, "boosted/H", name, usize::MAX);
    }
    let cells = ["run", "--cells", "boosted/H", "--foreign"];
    // one other trigger: neither "of several" nor a tally
    let one = verdicts(path, &[&cells[..], &["boosted/same=same.csv"]].concat());
    let sentence =
        "At the matched share boosted/H avoids exactly as much as the reference on these boundaries (+0.000 [";
    assert!(one.iter().any(|verdict| verdict.starts_with(sentence)), "{one:#?}");
    assert!(one.iter().all(|verdict| !verdict.contains("several") && !verdict.contains("other trigger")), "{one:#?}");
    // two that are the same as the reference
    let two = verdicts(path, &[&cells[..], &["boosted/same=same.csv", "--foreign", "again=again.csv"]].concat());
    let equal = "At the matched share every other trigger avoids exactly as much as the reference on these boundaries.";
    assert!(two.iter().any(|verdict| verdict == equal), "{two:#?}");
    assert!(two.iter().any(|verdict| verdict.starts_with("Of 2 other triggers, 0 avoid more than")), "{two:#?}");
    // several that differ
    let all = verdicts(path, &["run"]);
    assert!(all.iter().any(|verdict| verdict.contains("It is the largest of several")), "{all:#?}");
}

#[test]
fn scores_from_a_file_are_no_learner_whatever_their_name() {
    let folder = evaluated();
    let path = folder.path();
    scores_of(path, "boosted/H", "same.csv", usize::MAX);
    let names = ["--foreign", "boosted/judge=same.csv", "--foreign", "rule/mine=same.csv", "--out", "named"];
    succeeds(path, &[&["compare", "run", "--cells", "logistic/H", "--draws", "60"], &names[..]].concat());
    let table = std::fs::read_to_string(path.join("named/tables/triggers.csv")).unwrap();
    for row in ["boosted/judge,scores from a file,", "rule/mine,scores from a file,"] {
        assert!(table.contains(row), "{table}");
    }
    assert!(table.contains("logistic/H,logistic regression on history summaries,"), "{table}");
}
