//! Reads the reference cohort and its expected values for the tests that compare with them.

// each test file uses its own part of this module
#![expect(dead_code, reason = "shared by several test crates, none of which uses all of it")]

use foldline_features::corpus::{Corpus, Options, Reader, read_corpus};
use foldline_features::{Boundary, Burden, Channel, Extractor, Horizon, Profile, Representation, Table, Target};
use foldline_frontiers::{Clusters, Folds, Interval};
use serde_json::Value as Json;
use std::path::PathBuf;

/// A file of the shared test data, or nothing (and a line saying so) where it is absent.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let full = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(path);
    if full.exists() {
        return Some(full);
    }
    println!("skipped: {path} is not there");
    None
}

/// Parses a JSON file of the shared data.
pub(crate) fn json(path: &str) -> Option<Json> {
    Some(serde_json::from_str(&std::fs::read_to_string(shared(path)?).unwrap()).unwrap())
}

/// The reference cohort and what is expected of it.
pub(crate) struct Oracle {
    pub(crate) expected: Json,
    pub(crate) corpus: Corpus,
    pub(crate) burdens: Vec<Burden>,
    pub(crate) tasks: Clusters,
    pub(crate) stems: Clusters,
}

impl Oracle {
    pub(crate) fn load() -> Option<Oracle> {
        let expected = json("oracle/expected.json")?;
        let mut profile = Profile::appworld();
        profile.add_methods(&std::fs::read_to_string(shared("oracle/functions.csv")?).unwrap()).unwrap();
        let reader = Reader::open(&shared("oracle/cohort-1.jsonl.gz")?, Options::new(profile)).unwrap();
        let corpus = read_corpus(reader).unwrap();
        let burdens = corpus.boundaries.iter().map(Burden::of).collect();
        let clusters = |id: fn(&Boundary) -> &str| Clusters::new(&corpus.boundaries.iter().map(id).collect::<Vec<_>>());
        let (tasks, stems) = (clusters(|boundary| &boundary.task_id), clusters(|boundary| &boundary.stem));
        Some(Oracle { expected, corpus, burdens, tasks, stems })
    }

    pub(crate) fn boundaries(&self) -> &[Boundary] {
        &self.corpus.boundaries
    }

    /// Fold assignments of a file of the reference.
    pub(crate) fn folds(&self, file: &str) -> Folds {
        let ids: Vec<&str> = self.boundaries().iter().map(|boundary| boundary.boundary_id.as_str()).collect();
        Folds::from_csv(&std::fs::read_to_string(shared(file).unwrap()).unwrap(), &ids).unwrap()
    }

    pub(crate) fn table(&self, representation: Representation) -> Table {
        let prefixes = || self.boundaries().iter().map(|boundary| &boundary.prefix);
        let extractor = Extractor::for_cohort(representation, self.corpus.profile.clone(), prefixes());
        extractor.table(prefixes()).unwrap()
    }

    pub(crate) fn target(&self, target: Target) -> Outcome {
        let deltas: Vec<_> = self.burdens.iter().map(|burden| burden.delta(target).unwrap()).collect();
        Outcome {
            d: deltas.iter().map(|delta| delta.value()).collect(),
            y: deltas.iter().map(|delta| delta.is_positive()).collect(),
            mass: deltas.iter().map(|delta| delta.mass()).collect(),
        }
    }

    pub(crate) fn task_scores(&self, policy: &str) -> Vec<f64> {
        numbers(&self.expected["scores_task_folds"][policy])
    }

    pub(crate) fn stem_scores(&self, cell: &str) -> Vec<Vec<f64>> {
        self.expected["scores_stem_folds"][cell].as_array().unwrap().iter().map(numbers).collect()
    }
}

/// A target's delta, label and mass, one entry per boundary.
pub(crate) struct Outcome {
    pub(crate) d: Vec<f64>,
    pub(crate) y: Vec<bool>,
    pub(crate) mass: Vec<f64>,
}

pub(crate) fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// All nine paired targets.
pub(crate) fn targets() -> Vec<Target> {
    Channel::ALL.into_iter().flat_map(|c| Horizon::ALL.into_iter().map(move |h| Target::Paired(c, h))).collect()
}

#[track_caller]
pub(crate) fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected} within {tolerance}");
}

/// Compares an interval with an entry marked statistical: `lo` and `hi` within `tol_lo` and `tol_hi`, and one more
/// `step` for statistics that move along a frontier.
#[track_caller]
pub(crate) fn close_interval(found: &Interval, expected: &Json, step: f64, what: &str) {
    let (lo, hi) = found.ends().unwrap();
    let tolerance = |side: &str| expected.get(side).or(expected.get("tol")).unwrap().as_f64().unwrap() + step;
    close(lo, expected["lo"].as_f64().unwrap(), tolerance("tol_lo"), &format!("{what}, lower end"));
    close(hi, expected["hi"].as_f64().unwrap(), tolerance("tol_hi"), &format!("{what}, upper end"));
}
