//! What a policy answers at a live boundary is, bit for bit, what the fitted model gives on the evaluation's matrix.

#![expect(clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

use foldline::policy::{Guards, Mode, Parts, Policy, Request, Threshold};
use foldline_features::corpus::{Corpus, Options, Reader, read_corpus};
use foldline_features::{Burden, Extractor, Profile, Representation, Target};
use foldline_models::{Learner, fit};
use std::io::Read;
use std::path::{Path, PathBuf};

fn shared(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")).join(path);
    if !path.exists() {
        println!("skipped: {} is absent", path.display());
        return None;
    }
    Some(path)
}

fn lines(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text.lines().map(str::to_owned).collect()
}

fn profile(methods: Option<PathBuf>) -> Profile {
    let mut profile = Profile::appworld();
    if let Some(methods) = methods {
        profile.add_methods(&std::fs::read_to_string(methods).unwrap()).unwrap();
    }
    profile
}

fn corpus(path: &Path, profile: Profile) -> Corpus {
    read_corpus(Reader::open(path, Options::new(profile)).unwrap()).unwrap()
}

/// Fits on a corpus, freezes, writes, reads, and asks about every line of a corpus file.
fn identical(corpus: &Corpus, path: &Path, y: &[f64], cell: (Learner, Representation)) {
    let (learner, representation) = cell;
    let prefixes = || corpus.boundaries.iter().map(|boundary| &boundary.prefix);
    let extractor = Extractor::for_cohort(representation, corpus.profile.clone(), prefixes());
    let table = extractor.table(prefixes()).unwrap();
    let rows: Vec<u32> = (0..table.n_rows() as u32).collect();
    let model = fit(learner, &table, &rows, y).unwrap().model;
    let expected = model.score_rows(&table, &rows);
    // as `fit` does: of a map only what the cohort shows, which changes no feature of the cohort
    let mut frozen = extractor;
    if let Some(effects) = &mut frozen.profile.effects {
        effects
            .retain(|function, _| corpus.boundaries.iter().any(|b| b.prefix.historical_functions.contains(function)));
    }
    let policy = Policy::freeze(Parts {
        name: "identity".to_owned(),
        created_by: "a test".to_owned(),
        extractor: frozen,
        learner: learner.to_string(),
        model,
        threshold: Threshold::AtLeast(0.5),
        guards: Guards::default(),
        evidence: None,
        rows: table.rows().iter().take(8).cloned().collect(),
    })
    .unwrap();
    let policy = Policy::parse(policy.to_json().as_bytes()).unwrap();
    let lines = lines(path);
    assert_eq!(lines.len(), expected.len());
    for ((line, expected), row) in lines.iter().zip(&expected).zip(table.rows()) {
        let request = Request::parse(line.as_bytes(), &policy.extractor().profile);
        let decided = policy.decide(&request, Mode::Shadow);
        let score = decided.answer.score.unwrap_or_else(|| panic!("{learner}/{representation}: {:?}", decided.answer));
        assert_eq!(score.to_bits(), expected.to_bits(), "{learner}/{representation}");
        assert_eq!(decided.row.as_ref(), Some(row), "{learner}/{representation}");
    }
}

#[test]
fn on_the_reference_cohort() {
    let (Some(path), methods) = (shared("oracle/cohort-1.jsonl.gz"), shared("oracle/functions.csv")) else { return };
    let corpus = corpus(&path, profile(methods));
    let label = |boundary| Burden::of(boundary).delta(Target::PRIMARY).expect("both arms").is_positive();
    let y: Vec<f64> = corpus.boundaries.iter().map(|boundary| f64::from(u8::from(label(boundary)))).collect();
    let cells = [
        (Learner::Stump, Representation::Six),
        (Learner::LogisticGd, Representation::Pair),
        (Learner::Depth2, Representation::SixSub),
        (Learner::Logistic, Representation::H),
        (Learner::Boosted, Representation::HT),
        (Learner::Logistic, Representation::R1),
        (Learner::Boosted, Representation::R2),
        (Learner::Boosted, Representation::R3),
    ];
    for cell in cells {
        identical(&corpus, &path, &y, cell);
    }
}

/// Real boundaries carry no rollouts here; the labels are made up, since it is the features that are compared.
#[test]
fn on_the_real_boundaries() {
    for name in ["boundaries.jsonl", "boundaries_dense.jsonl.gz", "boundaries_under_compaction.jsonl"] {
        let Some(path) = shared("appworld").map(|folder| folder.join(name)) else { return };
        let corpus = corpus(&path, profile(shared("appworld/methods.csv")));
        let y: Vec<f64> = (0..corpus.boundaries.len()).map(|index| f64::from(u8::from(index * 7 % 3 == 0))).collect();
        for cell in [(Learner::Boosted, Representation::H), (Learner::Boosted, Representation::R3)] {
            identical(&corpus, &path, &y, cell);
        }
    }
}
