//! One decision of a frozen policy, from a prefix and from a request's text.
//!
//! Wanted: under 20 µs on H and under 100 µs on R3 (median). The answers are checked before anything is timed.

use divan::{Bencher, black_box};
use foldline_models::policy::{Mode, Policy, Request};

const H: &[u8] = include_bytes!("../../tests/policies/boosted-h.json");
const R3: &[u8] = include_bytes!("../../tests/policies/boosted-r3.json");
const REQUESTS: &str = include_str!("../../tests/policies/requests.ndjson");

fn main() {
    for policy in [H, R3] {
        let (policy, _, request) = given(policy);
        assert!(policy.decide(&request, Mode::Enforce).answer.score.is_some(), "the rule must be asked");
    }
    divan::main();
}

/// A policy with the longest request that it scores.
fn given(policy: &[u8]) -> (Policy, &'static str, Request) {
    let policy = Policy::parse(policy).expect("an example policy");
    let scored = REQUESTS.lines().filter(|line| {
        let request = Request::parse(line.as_bytes(), &policy.extractor().profile);
        policy.decide(&request, Mode::Enforce).answer.score.is_some()
    });
    let line = scored.max_by_key(|line| line.len()).expect("an example request");
    let request = Request::parse(line.as_bytes(), &policy.extractor().profile);
    (policy, line, request)
}

fn decide(bencher: Bencher, policy: &[u8]) {
    let (policy, _, request) = given(policy);
    bencher.bench_local(|| policy.decide(black_box(&request), Mode::Enforce));
}

fn parse_and_decide(bencher: Bencher, policy: &[u8]) {
    let (policy, line, _) = given(policy);
    bencher.bench_local(|| {
        let request = Request::parse(black_box(line.as_bytes()), &policy.extractor().profile);
        policy.decide(&request, Mode::Enforce)
    });
}

#[divan::bench]
fn decide_h(bencher: Bencher) {
    decide(bencher, H);
}

#[divan::bench]
fn decide_r3(bencher: Bencher) {
    decide(bencher, R3);
}

#[divan::bench]
fn parse_and_decide_h(bencher: Bencher) {
    parse_and_decide(bencher, H);
}

#[divan::bench]
fn parse_and_decide_r3(bencher: Bencher) {
    parse_and_decide(bencher, R3);
}

#[divan::bench]
fn read_policy_h() -> Policy {
    Policy::parse(black_box(H)).expect("an example policy")
}

#[divan::bench]
fn read_policy_r3() -> Policy {
    Policy::parse(black_box(R3)).expect("an example policy")
}
