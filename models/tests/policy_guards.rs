//! The order of authority: by hand, by the case file, and as properties over all inputs.

#![cfg(test)]

mod common;

use foldline_models::policy::guards::{Verdict, decide};
use foldline_models::policy::{
    DecidedBy, Decision, Facts, Guards, LastCompaction, Mode, Request, RetryAt, Share, Threshold, Trigger,
};
use proptest::prelude::*;
use serde_json::Value;

const WINDOW: u64 = 200_000;

/// A boundary at 60 % of the window with nothing else to say.
fn calm() -> Facts {
    Facts {
        ctx_tokens: Some(120_000),
        window_tokens: Some(WINDOW),
        tool_in_flight: Some(false),
        trigger: Some(Trigger::Auto),
        consecutive_blocks: Some(0),
        last_compaction: LastCompaction::None,
        ..Facts::default()
    }
}

fn blocking(facts: &Facts) -> Verdict {
    decide(&Guards::default(), Threshold::AtLeast(0.5), facts, Ok(0.9))
}

#[test]
fn each_authority_by_hand() {
    let last = |before, after| LastCompaction::Was { tokens_before: Some(before), tokens_after: Some(after) };
    use DecidedBy::*;
    use Decision::{Allow, Block};
    // (facts, decision, who, which sentence of the design)
    let cases: &[(Facts, Decision, DecidedBy, &str)] = &[
        (calm(), Block, Rule, "the rule, score 0.9 against 0.5"),
        (Facts { ctx_tokens: Some(180_000), ..calm() }, Allow, HardCeiling, "0.9 of 200,000 is 180,000, exactly"),
        (Facts { ctx_tokens: Some(179_999), ..calm() }, Block, Rule, "one token below"),
        (Facts { ctx_tokens: Some(200_000), ..calm() }, Allow, HardCeiling, "a full window is plausible"),
        (Facts { ctx_tokens: Some(200_001), ..calm() }, Allow, ImplausibleUsage, "more than the window is not"),
        (Facts { window_tokens: Some(0), ..calm() }, Allow, ImplausibleUsage, "a window of nothing"),
        (Facts { tool_in_flight: Some(true), ctx_tokens: Some(199_000), ..calm() }, Block, ToolInFlight, "strongest"),
        (Facts { trigger: Some(Trigger::Manual), ..calm() }, Allow, Manual, ""),
        (Facts { trigger: Some(Trigger::Overflow), ctx_tokens: Some(250_000), ..calm() }, Allow, Overflow, ""),
        (Facts { consecutive_blocks: Some(3), ..calm() }, Allow, MaxBlocks, ""),
        (Facts { consecutive_blocks: Some(2), ..calm() }, Block, Rule, ""),
        (Facts { last_compaction: last(150_000, 100_001), ..calm() }, Block, Cooldown, "19,999 of 20,000 grown"),
        (Facts { last_compaction: last(150_000, 100_000), ..calm() }, Block, Rule, "20,000 grown"),
        (Facts { last_compaction: last(109_999, 90_000), ..calm() }, Block, IneffectiveLast, "19,999 freed"),
        (Facts { last_compaction: last(110_000, 90_000), ..calm() }, Block, Rule, "20,000 freed"),
        (Facts { unreadable: vec!["trigger is 7".into()], ..calm() }, Allow, MissingFeature, ""),
        (Facts { implausible: vec!["ctx_tokens is -1".into()], ..calm() }, Allow, ImplausibleUsage, ""),
    ];
    for (facts, decision, by, why) in cases {
        let verdict = blocking(facts);
        assert_eq!((verdict.decision, verdict.decided_by), (*decision, *by), "{why}: {facts:?}");
    }
    assert_eq!(decide(&Guards::default(), Threshold::AtLeast(0.5), &calm(), Ok(0.4)).decision, Allow);
    let exactly = decide(&Guards::default(), Threshold::AtLeast(0.8), &calm(), Ok(0.8));
    assert_eq!(exactly.decision, Block, "a score equal to the threshold blocks");
    // a threshold that differs from 0.8 in the last bit; six digits would lose it
    let bit = decide(&Guards::default(), Threshold::AtLeast(0.800_000_000_000_000_2), &calm(), Ok(0.8));
    assert_eq!(bit.decision, Allow);
    assert_eq!(decide(&Guards::default(), Threshold::Never, &calm(), Ok(1.0)).decision, Allow);
    let missing = decide(&Guards::default(), Threshold::AtLeast(0.5), &calm(), Err(&["tail".to_owned()]));
    assert_eq!((missing.decision, missing.decided_by), (Allow, MissingFeature));
    let floor = Guards { min_fill_share: Share::new(0.7).unwrap(), ..Guards::default() };
    let verdict = decide(&floor, Threshold::AtLeast(0.5), &calm(), Ok(0.1));
    assert_eq!((verdict.decision, verdict.decided_by), (Block, MinFill));
    let reserve = Guards { summary_reserve_tokens: 60_000, ..Guards::default() };
    assert_eq!(decide(&reserve, Threshold::AtLeast(0.5), &calm(), Ok(0.9)).decided_by, HardCeiling);
}

#[test]
fn absent_facts_switch_their_guard_off_and_say_so() {
    let verdict = blocking(&Facts::default());
    assert_eq!((verdict.decision, verdict.decided_by), (Decision::Block, DecidedBy::Rule));
    for name in ["ctx_tokens", "window_tokens", "tool_in_flight", "trigger", "consecutive_blocks", "last_compaction"] {
        assert!(verdict.warnings.iter().any(|warning| warning.starts_with(name)), "{name}: {:?}", verdict.warnings);
    }
    assert!(blocking(&calm()).warnings.is_empty());
}

#[test]
fn the_recorded_cases() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/cases.jsonl");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: {path} is absent");
        return;
    };
    let word = |word: &str| match word {
        "max_defers" => "max_blocks".to_owned(),
        "defer" => "block".to_owned(),
        other => other.to_owned(),
    };
    let mut seen = 0;
    for case in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|c| c["kind"] == "policy")
    {
        let guards = Guards {
            hard_ceiling_share: Share::new(case["input"]["guards"]["hard_ceiling_share"].as_f64().unwrap()).unwrap(),
            max_consecutive_blocks: case["input"]["guards"]["max_consecutive_defers"].as_u64().unwrap(),
            cooldown_growth_share: Share::new(case["input"]["guards"]["cooldown_growth_share"].as_f64().unwrap())
                .unwrap(),
            ..Guards::default()
        };
        for (index, call) in case["input"]["calls"].as_array().unwrap().iter().enumerate() {
            let ctx = (call["ctx_share"].as_f64().unwrap() * WINDOW as f64).round() as u64;
            let growth = call.get("growth_since_last_share").and_then(Value::as_f64);
            let facts = Facts {
                ctx_tokens: Some(ctx),
                window_tokens: Some(WINDOW),
                tool_in_flight: call["tool_in_flight"].as_bool(),
                trigger: serde_json::from_value(call["trigger"].clone()).ok(),
                consecutive_blocks: Some(call.get("consecutive_defers").and_then(Value::as_u64).unwrap_or(0)),
                last_compaction: growth.map_or(LastCompaction::None, |share| LastCompaction::Was {
                    tokens_before: Some(WINDOW),
                    tokens_after: Some(ctx - (share * WINDOW as f64).round() as u64),
                }),
                ..Facts::default()
            };
            let verdict = decide(&guards, Threshold::AtLeast(0.5), &facts, Ok(0.9));
            let name = serde_json::to_value(verdict.decision).unwrap();
            assert_eq!(name, word(case["expect"]["decisions"][index].as_str().unwrap()), "{} call {index}", case["id"]);
            assert_eq!(
                verdict.decided_by.name(),
                word(case["expect"]["decided_by"][index].as_str().unwrap()),
                "{} call {index}",
                case["id"]
            );
            if verdict.decided_by == DecidedBy::ToolInFlight {
                assert_eq!(verdict.retry_at, Some(RetryAt::AfterToolResult));
            }
            seen += 1;
        }
    }
    assert!(seen >= 6, "the case file holds the policy cases");
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let tokens = || prop_oneof![Just(None), (0u64..400_000).prop_map(Some), any::<u64>().prop_map(Some)];
    let last = prop_oneof![
        Just(LastCompaction::Unknown),
        Just(LastCompaction::None),
        (tokens(), tokens())
            .prop_map(|(tokens_before, tokens_after)| LastCompaction::Was { tokens_before, tokens_after }),
    ];
    let trigger =
        prop_oneof![Just(None), Just(Some(Trigger::Auto)), Just(Some(Trigger::Manual)), Just(Some(Trigger::Overflow)),];
    let words = || prop_oneof![9 => Just(Vec::new()), 1 => Just(vec!["wrong".to_owned()])];
    (
        tokens(),
        tokens(),
        any::<Option<bool>>(),
        trigger,
        prop_oneof![Just(None), (0u64..8).prop_map(Some)],
        last,
        words(),
        words(),
    )
        .prop_map(|(ctx, window, in_flight, trigger, blocks, last, implausible, unreadable)| Facts {
            ctx_tokens: ctx,
            window_tokens: window,
            tool_in_flight: in_flight,
            trigger,
            consecutive_blocks: blocks,
            last_compaction: last,
            implausible,
            unreadable,
            ..Facts::default()
        })
}

fn any_guards() -> impl Strategy<Value = Guards> {
    let share = || (0u32..=1000).prop_map(|thousandths| Share::new(f64::from(thousandths) / 1000.0).expect("a share"));
    (share(), 0u64..50_000, 0u64..5, share(), share()).prop_map(|(ceiling, reserve, cap, floor, cooldown)| Guards {
        hard_ceiling_share: ceiling,
        summary_reserve_tokens: reserve,
        max_consecutive_blocks: cap,
        min_fill_share: floor,
        cooldown_growth_share: cooldown,
    })
}

fn any_score() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![Just(None), (0.0..=1.0f64).prop_map(Some), any::<f64>().prop_map(Some)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_is_never_stranded(facts in any_facts(), guards in any_guards(), score in any_score(), t in any::<f64>()) {
        let missing = ["tail".to_owned()];
        let threshold = if t.is_finite() { Threshold::AtLeast(t) } else { Threshold::Never };
        let ask = || decide(&guards, threshold, &facts, score.ok_or(&missing[..]));
        let verdict = ask();
        prop_assert_eq!(&verdict, &ask());
        prop_assert_eq!(verdict.decision == Decision::Block, verdict.retry_at.is_some());
        if facts.tool_in_flight == Some(true) {
            prop_assert_eq!(verdict.decided_by, DecidedBy::ToolInFlight);
            prop_assert_eq!(verdict.retry_at, Some(RetryAt::AfterToolResult));
            return Ok(());
        }
        prop_assert_ne!(verdict.retry_at, Some(RetryAt::AfterToolResult));
        // the ceiling, in a way that shares nothing with the code: exact thousandths
        if let (Some(ctx), Some(window)) = (facts.ctx_tokens, facts.window_tokens) {
            let share = (guards.hard_ceiling_share.value() * 1000.0).round() as u128;
            if (u128::from(ctx) + u128::from(guards.summary_reserve_tokens)) * 1000 >= share * u128::from(window) {
                prop_assert_eq!(verdict.decision, Decision::Allow);
            }
        }
        let forced = matches!(facts.trigger, Some(Trigger::Manual | Trigger::Overflow));
        let capped = facts.consecutive_blocks.unwrap_or(0) >= guards.max_consecutive_blocks;
        let wrong = score.is_none() || !facts.unreadable.is_empty() || !facts.implausible.is_empty();
        if forced || capped || wrong {
            prop_assert_eq!(verdict.decision, Decision::Allow);
        }
        if verdict.decision == Decision::Block {
            let by = [DecidedBy::MinFill, DecidedBy::Cooldown, DecidedBy::IneffectiveLast, DecidedBy::Rule];
            prop_assert!(by.contains(&verdict.decided_by));
        }
    }

    #[test]
    fn whatever_is_sent_gets_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let policy = common::policy();
        let request = Request::parse(&bytes, &policy.extractor().profile);
        let answer = policy.decide(&request, Mode::Enforce).answer;
        prop_assert_eq!(answer.decision, Decision::Allow);
        prop_assert_eq!(answer.decided_by, DecidedBy::MissingFeature);
    }

    #[test]
    fn shares_are_exact(thousandths in 0u64..=1000, window in any::<u64>()) {
        let share = Share::new(thousandths as f64 / 1000.0).unwrap();
        let exact = u128::from(thousandths) * u128::from(window);
        prop_assert_eq!(u128::from(share.tokens(window)), exact.div_ceil(1000));
    }
}

#[test]
fn shares_that_are_none() {
    for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY, 0.123_456_789_01] {
        assert!(Share::new(wrong).is_err(), "{wrong}");
    }
    assert!(Guards { hard_ceiling_share: Share::new(0.0).unwrap(), ..Guards::default() }.check().is_err());
    assert!(Guards { min_fill_share: Share::new(0.9).unwrap(), ..Guards::default() }.check().is_err());
    assert!(Guards::default().check().is_ok());
}
