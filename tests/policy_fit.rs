//! From a cohort to a policy: `fit`, `export`, and the evidence.

#![cfg(feature = "study")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod policy_support;

use policy_support::{lines, run};
use serde_json::{Value, json};
use std::path::Path;

fn ok(arguments: &[&str]) -> Vec<u8> {
    let output = run(arguments, b"");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn cohort(folder: &Path, name: &str, seed: &str) -> String {
    let path = folder.join(name).to_str().unwrap().to_owned();
    ok(&["simulate", "--out", &path, "--boundaries", "200", "--seed", seed]);
    path
}

fn json_of(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_policy_with_its_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let corpus = cohort(folder.path(), "cohort.jsonl.gz", "7");
    let (model, policy, run_folder) = (at("model.json"), at("policy.json"), at("run"));
    ok(&["fit", &corpus, "--cell", "depth2/H", "--out", &model, "--seed", "11", "--threads", "2"]);
    ok(&[
        "evaluate",
        &corpus,
        "--cells",
        "depth2/H",
        "--stages",
        "cells",
        "--draws",
        "50",
        "--seed",
        "11",
        "--out",
        &run_folder,
    ]);
    ok(&[
        "export",
        &model,
        "--retain",
        "4/5",
        "--evidence",
        &run_folder,
        "--max-consecutive-blocks",
        "2",
        "--out",
        &policy,
    ]);
    let frozen = json_of(&policy);
    let fitted = json_of(&model);

    // the threshold, from the model file's own numbers and in another way than the code: sort, count, take the middle
    let d: Vec<f64> = serde_json::from_value(fitted["d"].clone()).unwrap();
    let scores: Vec<Vec<f64>> = serde_json::from_value(fitted["held_out_scores"].clone()).unwrap();
    let least = (d.len() * 4).div_ceil(5);
    let mut points: Vec<f64> = scores
        .iter()
        .map(|scores| {
            let mut best = (0usize, f64::INFINITY);
            let mut candidates = scores.clone();
            candidates.sort_by(|a, b| b.total_cmp(a));
            for &t in &candidates {
                let allowed = scores.iter().filter(|&&score| score < t).count();
                let hit = scores.iter().zip(&d).filter(|&(&score, &d)| score >= t && d > 0.0).count();
                if allowed >= least && hit > best.0 {
                    best = (hit, t);
                }
            }
            best.1
        })
        .collect();
    points.sort_by(f64::total_cmp);
    assert_eq!(points.len(), 20);
    let expected =
        if points[9].to_bits() == points[10].to_bits() { points[9] } else { points[9] / 2.0 + points[10] / 2.0 };
    assert_eq!(frozen["threshold"].as_f64().map(f64::to_bits), Some(expected.to_bits()));

    let evidence = &frozen["evidence"];
    let blocked: usize = scores.iter().map(|scores| scores.iter().filter(|&&score| score >= expected).count()).sum();
    let retained = 1.0 - blocked as f64 / (20.0 * d.len() as f64);
    assert!((evidence["retained"]["value"].as_f64().unwrap() - retained).abs() < 1e-12);
    let hits: usize = scores
        .iter()
        .map(|scores| scores.iter().zip(&d).filter(|&(&score, &d)| score >= expected && d > 0.0).count())
        .sum();
    let positives = d.iter().filter(|&&d| d > 0.0).count();
    let avoided = hits as f64 / (20.0 * positives as f64);
    assert!((evidence["avoided"]["value"].as_f64().unwrap() - avoided).abs() < 1e-12);
    assert!(
        (evidence["advantage_count"]["value"].as_f64().unwrap() - (avoided - (1.0 - retained))).abs() < 1e-12,
        "protocol section 5"
    );
    assert_eq!((&evidence["boundaries"], &evidence["positives"]), (&json!(d.len()), &json!(positives)));
    assert!(evidence["threshold_note"].as_str().unwrap().contains("median over repetitions"));

    // same folds, same seed: the run's AUROC is the model file's
    let results = json_of(&format!("{run_folder}/results.json"));
    let auroc = &results["cells"]["depth2/H"]["auroc_averaged"]["point"];
    assert!(auroc.is_number());
    assert_eq!(&evidence["run"]["auroc"]["value"], auroc);
    assert_eq!(&evidence["auroc"]["value"], auroc);
    assert_eq!(frozen["guards"]["max_consecutive_blocks"], 2);

    // what is exported decides as the model scored its own rows
    let plain = at("plain.jsonl");
    let packed = std::fs::read(&corpus).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(&packed[..]), &mut text).unwrap();
    std::fs::write(&plain, &text).unwrap();
    let answers = lines(&run(&["decide", &policy], text.as_bytes()).stdout);
    let training: Vec<f64> = serde_json::from_value(fitted["training_scores"].clone()).unwrap();
    assert_eq!(answers.len(), training.len());
    for (answer, score) in answers.iter().zip(&training) {
        assert_eq!(answer["score"].as_f64().map(f64::to_bits), Some(score.to_bits()));
    }

    // the same again, byte for byte, whatever the number of threads
    let (model2, policy2) = (at("model2.json"), at("policy2.json"));
    ok(&["fit", &corpus, "--cell", "depth2/H", "--out", &model2, "--seed", "11", "--threads", "1"]);
    assert_eq!(std::fs::read(&model).unwrap(), std::fs::read(&model2).unwrap());
    ok(&[
        "export",
        &model2,
        "--evidence",
        &run_folder,
        "--max-consecutive-blocks",
        "2",
        "--out",
        &policy2,
        "--threads",
        "1",
    ]);
    assert_eq!(std::fs::read(&policy).unwrap(), std::fs::read(&policy2).unwrap());

    // evidence of something else is refused
    let other = cohort(folder.path(), "other.jsonl.gz", "8");
    let refused = |arguments: &[&str], reason: &str| {
        let output = run(arguments, b"");
        assert_eq!(output.status.code(), Some(65), "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(reason), "{reason}: {text}");
        assert!(!Path::new(&at("refused.json")).exists(), "written whole or not at all");
    };
    let out = at("refused.json");
    for (corpus, cell, target, reason) in [
        (&other, "depth2/H", "dU@3", "the corpus of the run"),
        (&corpus, "stump/H", "dU@3", "the cells of the run"),
        (&corpus, "depth2/H", "dE@1", "the target of the run"),
    ] {
        let model = at("mismatch.json");
        ok(&["fit", corpus, "--cell", cell, "--target", target, "--out", &model]);
        refused(&["export", &model, "--evidence", &run_folder, "--out", &out], reason);
    }
    let mut cut = fitted.clone();
    cut["d"].as_array_mut().unwrap().pop();
    std::fs::write(at("cut.json"), cut.to_string()).unwrap();
    refused(&["export", &at("cut.json"), "--out", &out], "not of one length");
    std::fs::write(at("version.json"), r#"{"format":"foldline.model/9"}"#).unwrap();
    refused(&["export", &at("version.json"), "--out", &out], "foldline.model/9");
    let usage = |arguments: &[&str]| assert_eq!(run(arguments, b"").status.code(), Some(2), "{arguments:?}");
    usage(&["fit", &corpus, "--cell", "rule/random", "--out", &out]);
    usage(&["export", &model, "--retain", "1.5", "--out", &out]);
    usage(&["export", &model, "--hard-ceiling-share", "2", "--out", &out]);
    usage(&["export", &model, "--min-fill-share", "0.95", "--out", &out]);
}

/// Nothing to learn gives a constant, and a policy that never blocks, said in a word.
#[test]
fn a_cohort_without_harm_gives_a_policy_that_never_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let step = |refetch: bool| json!({"exact": "a.b()", "function": "a.b", "blocked": false, "refetch": refetch});
    let text: Vec<String> = (0..40)
        .map(|index| {
            json!({
                "boundary_id": format!("b{index}"), "task_id": format!("s{}_{}", index / 4, index % 4),
                "trajectory_id": format!("t{index}"), "difficulty": null, "compaction_index": 1, "prefix_steps": index,
                "historical_exact": ["a.b()"], "historical_functions": ["a.b"], "tail": ["x"],
                "rollouts": [
                    {"arm": "pre", "sample": 0, "steps": [step(true)], "completed": true},
                    {"arm": "post", "sample": 0, "steps": [step(false)], "completed": true}
                ]
            })
            .to_string()
        })
        .collect();
    std::fs::write(at("calm.jsonl"), text.join("\n")).unwrap();
    ok(&["fit", &at("calm.jsonl"), "--cell", "boosted/H", "--out", &at("model.json")]);
    ok(&["export", &at("model.json"), "--out", &at("policy.json")]);
    let policy = json_of(&at("policy.json"));
    assert_eq!(policy["threshold"], "never");
    assert!(policy["evidence"]["verdict"].as_str().unwrap().starts_with("Never blocks"));
    assert_eq!(policy["evidence"]["auroc"]["value"], Value::Null);
    assert!(policy["evidence"]["auroc"]["undefined"].is_string());
    let answer = &lines(&run(&["decide", &at("policy.json")], b"{}").stdout)[0];
    assert_eq!(
        (&answer["decision"], &answer["decided_by"], &answer["threshold"]),
        (&json!("allow"), &json!("rule"), &json!("never"))
    );
}
