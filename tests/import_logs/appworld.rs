//! Real AppWorld trajectories through the adapter: exactly the published would-be boundaries, and what redaction keeps.

use crate::support::{import, options, read, shared};
use foldline::import::boundaries::Options;
use foldline::import::formats::Format;
use foldline::import::redact::Redactor;
use foldline_features::{Boundary, Extractor, Profile, Representation};
use std::collections::BTreeMap;

fn by_id(boundaries: Vec<Boundary>) -> BTreeMap<String, Boundary> {
    boundaries.into_iter().map(|boundary| (boundary.boundary_id.clone(), boundary)).collect()
}

fn every(tokens: u64) -> Options {
    Options { every: Some(tokens), ..options() }
}

#[test]
fn every_4096_gives_the_88_published_boundaries() {
    let (Some(trajectories), Some(published)) =
        (shared("appworld/trajectories.jsonl"), shared("appworld/boundaries.jsonl"))
    else {
        return;
    };
    let (bytes, account) = import(Format::Appworld, &trajectories, &every(4096));
    let published = by_id(read(std::fs::read(published).expect("readable"), Profile::appworld()));
    let mut imported = by_id(read(bytes, Profile::appworld()));
    assert_eq!((imported.len(), published.len(), account.sessions), (88, 88, 287));
    assert_eq!(account.empty_rollouts, 14, "as the data's description says");
    for (id, expected) in &published {
        let boundary = imported.get_mut(id).unwrap_or_else(|| panic!("{id} is missing"));
        // token counts of single steps are more than the published file has
        for step in boundary.context.steps.iter_mut().flatten() {
            step.tokens = None;
        }
        assert_eq!(boundary, expected);
    }
    // from the text, where secrets have shorter stand-ins than what was counted
    let (bytes, account) = import(Format::Appworld, trajectories, &Options { recount: true, ..every(4096) });
    let recounted = by_id(read(bytes, Profile::appworld()));
    let same = |boundary: &Boundary| {
        published.get(&boundary.boundary_id).is_some_and(|p| p.prefix.prefix_steps == boundary.prefix.prefix_steps)
    };
    let kept = recounted.values().filter(|boundary| same(boundary)).count();
    println!(
        "tokens counted from the text: {} of {} steps differ; {} boundaries, {} of them as published, {} of 88 differ or are gone",
        account.recounted_differently,
        account.recounted,
        recounted.len(),
        kept,
        88 - kept
    );
    assert!(kept > 44 && account.recounted == account.steps);
}

#[test]
fn without_the_steps_the_derived_fields_are_the_same() {
    let Some(trajectories) = shared("appworld/trajectories.jsonl") else { return };
    let (with, _) = import(Format::Appworld, &trajectories, &every(4096));
    let (without, _) = import(Format::Appworld, &trajectories, &Options { with_prefix: false, ..every(4096) });
    assert!(without.len() * 2 < with.len());
    let (with, without) = (read(with, Profile::appworld()), read(without, Profile::appworld()));
    for (one, other) in with.iter().zip(&without) {
        assert_eq!((&one.prefix, &one.rollouts), (&other.prefix, &other.rollouts));
    }
}

#[test]
fn redaction_keeps_the_features() {
    let Some(trajectories) = shared("appworld/trajectories.jsonl") else { return };
    let redactor = Redactor::new(b"a key of this test".to_vec());
    let (plain, _) = import(Format::Appworld, &trajectories, &every(4096));
    let (bytes, _) = import(Format::Appworld, &trajectories, &Options { redactor: Some(redactor), ..every(4096) });
    let text = String::from_utf8(bytes.clone()).expect("UTF-8");
    for secret in ["gmail.com", "Melissa", "Gospel Glory", "access_token", "deniseburch"] {
        assert!(!text.contains(secret), "{secret} is still there");
    }
    let (plain, redacted) = (read(plain, Profile::appworld()), read(bytes, Profile::appworld()));
    assert_eq!(plain.len(), redacted.len());
    let extractor = |all: &[Boundary]| {
        let prefixes = all.iter().map(|boundary| &boundary.prefix);
        Extractor::for_cohort(Representation::R1, Profile::appworld(), prefixes)
    };
    let (one, other) = (extractor(&plain), extractor(&redacted));
    for (a, b) in plain.iter().zip(&redacted) {
        // rollouts: same length, same flags, same functions
        let flags = |boundary: &Boundary| -> Vec<_> {
            let steps = boundary.rollouts.iter().flat_map(|rollout| &rollout.steps);
            steps.map(|step| (step.function.clone(), step.blocked, step.refetch)).collect()
        };
        assert_eq!(flags(a), flags(b), "{}", a.boundary_id);
        assert_eq!(a.context.tokens_before, b.context.tokens_before);
        // H, functions and apps: bit-equal
        assert_eq!(one.row(&a.prefix), other.row(&b.prefix), "{}", a.boundary_id);
    }
    // variants of a scenario stay together
    let stems = |all: &[Boundary]| all.iter().map(|b| b.stem.clone()).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(stems(&plain), stems(&redacted));
}
