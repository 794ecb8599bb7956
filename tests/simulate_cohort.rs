//! Simulated cohorts: the published shape, reproducible bytes, and a law of burden that is what it says.

#![cfg(test)]
#![cfg(feature = "study")]

use foldline::simulate::harm::StepLaw;
use foldline::simulate::{Account, Cell, Cohort, Config, Given, Simulated, catalogue};
use foldline_features::corpus::{Options, Reader, boundary_line};
use foldline_features::profile::Profile;
use foldline_features::{Boundary, Burden, Horizon, Target};
use std::collections::BTreeSet;

fn cohort(config: &Config) -> Vec<Simulated> {
    Cohort::generate(config).expect("sizes fit").collect()
}

fn lines(config: &Config) -> String {
    Cohort::generate(config).expect("sizes fit").map(|s| boundary_line(&s.boundary) + "\n").collect()
}

/// Counts of arXiv 2610.08722: section 2, Table 1, Appendices B, C and E.
#[test]
fn the_default_cohort_has_the_published_shape() {
    let cohort = cohort(&Config::default());
    let distinct = |of: fn(&Boundary) -> &str| cohort.iter().map(|s| of(&s.boundary)).collect::<BTreeSet<_>>().len();
    assert_eq!(cohort.len(), 590);
    assert_eq!(distinct(|b| &b.boundary_id), 590);
    assert_eq!(distinct(|b| &b.task_id), 140);
    assert_eq!(distinct(|b| &b.stem), 48);
    assert_eq!(distinct(|b| &b.trajectory_id), 275);
    let first = cohort.iter().filter(|s| s.boundary.prefix.compaction_index == 1).count();
    assert_eq!((first, cohort.len() - first), (275, 315));

    let rollouts: usize = cohort.iter().map(|s| s.boundary.rollouts.len()).sum();
    assert_eq!(rollouts, 2 * 2320);
    assert!(cohort.iter().flat_map(|s| &s.boundary.rollouts).all(|rollout| rollout.steps.len() <= 5));

    let functions: BTreeSet<&String> = cohort.iter().flat_map(|s| &s.boundary.prefix.historical_functions).collect();
    let all: Vec<String> = catalogue::functions().iter().map(catalogue::Function::name).collect();
    assert_eq!(functions, all.iter().collect());
    let exact = cohort.iter().flat_map(|s| &s.boundary.prefix.historical_exact);
    assert!(exact.into_iter().all(|call| !call.starts_with("supervisor.complete_task")));

    let last = |s: &Simulated| s.boundary.prefix.tail.last().map_or(0, |text| text.chars().count());
    assert_eq!(cohort.iter().filter(|s| last(s) == 200).count(), 464);
    assert_eq!(cohort.iter().filter(|s| last(s) <= 60).count(), 74);
    let longest = cohort.iter().flat_map(|s| &s.boundary.prefix.tail).map(|text| text.chars().count()).max();
    assert_eq!(longest, Some(200));

    let profile = Profile::appworld();
    let cells: Vec<usize> = Cell::ALL
        .iter()
        .map(|&cell| {
            cohort
                .iter()
                .filter(|s| {
                    let names = &s.boundary.prefix.historical_functions;
                    let write = names.iter().any(|name| profile.is_write(name));
                    let substantive = names.iter().any(|name| profile.is_write(name) && !profile.is_session(name));
                    let seen = if substantive {
                        Cell::Substantive
                    } else if write {
                        Cell::LoginOnly
                    } else {
                        Cell::NoWrite
                    };
                    assert_eq!(seen, s.cell, "{}", s.boundary.boundary_id);
                    seen == cell
                })
                .count()
        })
        .collect();
    assert_eq!(cells, [96, 368, 126]);
}

/// Published: share of dU@3 > 0 0.583, mean 0.346 (arXiv 2610.08722, section 2); the population values of the law are
/// near them, and a cohort of 590 lies around those.
#[test]
fn burden_is_near_the_published_figures() {
    let (mut share, mut mean, mut pre, mut n) = (0.0, 0.0, 0.0, 0.0);
    for seed in 1..=8 {
        for simulated in cohort(&Config { seed, ..Config::default() }) {
            share += simulated.truth.positive_probability(Horizon::Three, Given::Prefix);
            mean += simulated.truth.expected_delta(Horizon::Three, Given::Prefix);
            pre += simulated.truth.expected_counts(Horizon::Three, Given::Prefix)[0];
            n += 1.0;
        }
    }
    assert!((share / n - 0.583).abs() < 0.02, "{}", share / n);
    assert!((mean / n - 0.346).abs() < 0.03, "{}", mean / n);
    assert!(pre / n > 0.3, "{}", pre / n);
}

/// The strict reader re-derives flags from signatures and deltas from rollouts; with the ordered steps it also
/// re-derives the four stated prefix fields.
#[test]
fn what_is_written_is_read_back_without_a_contradiction() {
    let options = [(false, false), (true, false), (true, true)];
    for (with_prefix, with_tokens) in options {
        let config = Config { with_prefix, with_tokens, ..Config::scaled(120) };
        let mut profile = Profile::appworld();
        profile.add_methods(&catalogue::method_map()).expect("a method map");
        let reading = Options { profile, strict: true, keep_steps: true };
        let text = std::io::Cursor::new(lines(&config).into_bytes());
        let mut reader = Reader::new("cohort", text, reading).expect("plain lines");
        let read: Vec<Boundary> = reader.by_ref().collect::<Result<_, _>>().expect("no problem");
        let made: Vec<Boundary> = cohort(&config).into_iter().map(|s| s.boundary).collect();
        assert_eq!(read.len(), made.len());
        for (read, made) in read.iter().zip(&made) {
            assert_eq!(read.prefix.historical_exact, made.prefix.historical_exact);
            assert_eq!(read.prefix.tail, made.prefix.tail);
            assert_eq!(read.rollouts, made.rollouts);
            assert_eq!(read.deltas, made.deltas);
            assert_eq!(read.context, made.context);
            assert_eq!(made.deltas.len(), 9);
        }
        assert_eq!(reader.notes().contradictions, 0);
        assert!(reader.notes().unknown_fields.is_empty() && reader.notes().unchecked_deltas.is_empty());
    }
}

#[test]
fn equal_configurations_give_equal_bytes_and_options_only_add() {
    let config = Config::scaled(100);
    assert_eq!(lines(&config), lines(&config));
    assert_ne!(lines(&config), lines(&Config { seed: 1, ..config.clone() }));

    let plain = cohort(&config);
    let rich = cohort(&Config { with_prefix: true, with_tokens: true, ..config.clone() });
    let strong = cohort(&Config { signal: 3.0, ..config });
    for ((plain, rich), strong) in plain.iter().zip(&rich).zip(&strong) {
        assert_eq!(plain.boundary.prefix, rich.boundary.prefix);
        assert_eq!(plain.boundary.rollouts, rich.boundary.rollouts);
        assert_eq!(plain.boundary.prefix, strong.boundary.prefix);
    }
}

/// The context before a compaction is the prompt or what the compaction before left, and the steps since.
#[test]
fn token_counts_add_up() {
    let cohort = cohort(&Config { with_prefix: true, with_tokens: true, ..Config::scaled(100) });
    let mut carried = 0;
    let mut steps = 0;
    for boundary in cohort.iter().map(|s| &s.boundary) {
        if boundary.prefix.compaction_index == 1 {
            (carried, steps) = (1100, 0);
        }
        let prefix = boundary.context.steps.as_ref().expect("asked for");
        let spent: u64 = prefix[steps..].iter().map(|step| step.tokens.expect("asked for")).sum();
        assert_eq!(boundary.context.tokens_before, Some(carried + spent));
        assert!(boundary.context.tokens_before > Some(4095));
        carried = boundary.context.tokens_after.expect("asked for");
        assert!(carried < 2000);
        steps = prefix.len();
    }
}

#[test]
fn without_signal_the_prefix_tells_less() {
    let bayes = |signal: f64| {
        let cohort = cohort(&Config { signal, ..Config::default() });
        let scores: Vec<f64> =
            cohort.iter().map(|s| s.truth.positive_probability(Horizon::Three, Given::Prefix)).collect();
        let labels: Vec<bool> = cohort
            .iter()
            .map(|s| Burden::of(&s.boundary).delta(Target::PRIMARY).is_some_and(|delta| delta.is_positive()))
            .collect();
        foldline_frontiers::auroc(&scores, &labels).ok().and_then(|value| value.defined()).expect("both classes")
    };
    // what is left at signal 0 is the number of rollouts (5 or 3): with more of them, fewer ties
    let (none, one, two) = (bayes(0.0), bayes(1.0), bayes(2.0));
    assert!(none < 0.60 && one > none + 0.05 && two > one + 0.05, "{none} {one} {two}");
}

/// Without completion or empty rollouts the count is binomial: (1/4)^3, 3·(3/4)(1/4)^2, ...
#[test]
fn the_law_of_a_rollout_by_hand() {
    let law = StepLaw { completion: 0.0, burden: 0.75, empty: 0.0 };
    assert_eq!(law.counts(3), [1.0 / 64.0, 9.0 / 64.0, 27.0 / 64.0, 27.0 / 64.0]);
    // one step, completed with probability 1/2 before it can be a burden, and a quarter of rollouts empty
    let law = StepLaw { completion: 0.5, burden: 0.5, empty: 0.25 };
    assert_eq!(law.counts(1), [0.25 + 0.75 * 0.75, 0.75 * 0.25]);
}

/// Over many boundaries, realised burden agrees with the closed form within five standard errors, whether the unseen
/// part is known or averaged out.
#[test]
fn realised_burden_follows_the_closed_form() {
    let cohort = cohort(&Config { seed: 5, ..Config::scaled(6_000) });
    for (given, horizon) in
        Horizon::ALL.map(|horizon| (Given::Everything, horizon)).into_iter().chain([(Given::Prefix, Horizon::Three)])
    {
        let target = Target::Paired(foldline_features::Channel::Union, horizon);
        let (mut off, mut square, mut off_share, mut variance, mut n) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for simulated in &cohort[..if given == Given::Prefix { 1_500 } else { 6_000 }] {
            let delta = Burden::of(&simulated.boundary).delta(target).expect("both arms");
            let difference = delta.value() - simulated.truth.expected_delta(horizon, given);
            off += difference;
            square += difference * difference;
            let p = simulated.truth.positive_probability(horizon, given);
            off_share += f64::from(u8::from(delta.is_positive())) - p;
            variance += p * (1.0 - p);
            n += 1.0;
        }
        // 1.3: boundaries of a task share a part of what is unseen
        assert!(off.abs() < 1.3 * 5.0 * f64::sqrt(square), "{given:?} {horizon:?}: {off} of {n}");
        assert!(off_share.abs() < 1.3 * 5.0 * f64::sqrt(variance), "{given:?} {horizon:?}: {off_share} of {n}");
    }
}

#[test]
fn sizes_that_do_not_nest_are_refused() {
    let refused = |config: Config| Cohort::generate(&config).expect_err("refused").to_string();
    assert!(refused(Config { stems: 200, ..Config::default() }).contains("140 tasks are too few"));
    assert!(refused(Config { boundaries: 100, ..Config::default() }).contains("100 boundaries are too few"));
    assert!(
        refused(Config { boundaries: 0, trajectories: 0, tasks: 0, stems: 0, ..Config::default() }).contains("0 stems")
    );
    assert!(refused(Config { rollouts_later: 0, ..Config::default() }).contains("rollouts an arm at later"));
    assert!(refused(Config { signal: f64::NAN, ..Config::default() }).contains("signal NaN"));
    assert_eq!(cohort(&Config::scaled(1)).len(), 1);
}

/// Means over cohorts of what the law was calibrated to (arXiv 2610.08722: share 0.583, mean 0.346, replicate 0.718,
/// boosted/H 0.657); printed for docs/simulate.md.
#[test]
#[ignore = "slow: run with --ignored"]
fn cohorts_meet_the_published_figures_on_average() {
    let figures = [
        ("share dU@3 > 0", 0.583, 0.015),
        ("mean dU@3", 0.346, 0.020),
        ("AUROC, boosted/H, stem-grouped folds", 0.657, 0.02),
        ("AUROC, replicate (split halves)", 0.718, 0.01),
    ];
    let seeds = 40;
    let mut values = vec![Vec::new(); figures.len()];
    for seed in 1..=seeds {
        let cohort = Cohort::generate(&Config { seed, ..Config::default() }).expect("the default fits");
        let mut account = Account::of(&cohort);
        cohort.for_each(|simulated| account.add(&simulated));
        let lines = account.lines();
        for (values, (what, ..)) in values.iter_mut().zip(figures) {
            let line = lines.iter().find(|line| line.what == what).expect("a line of the account");
            values.push(line.achieved.parse::<f64>().expect("a number"));
        }
    }
    for (values, (what, published, tolerance)) in values.iter().zip(figures) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt();
        println!("{what}: mean {mean:.3}, sd {sd:.3}; published {published}");
        assert!((mean - published).abs() <= tolerance, "{what}: {mean}");
    }
}
