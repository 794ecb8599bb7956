//! The survey on a folder of 1,000 generated sessions (200 MB): under 10 s and under 300 MB. Meant for an optimised build:
//! `cargo test --release --test survey_speed -- --ignored --nocapture`.

#![cfg(test)]
#![cfg(all(feature = "import", feature = "study"))]

use foldline::import::source::Limits;
use foldline::survey::collect::{Options, collect};
use foldline::survey::measure::measure;
use foldline_features::Profile;
use std::fmt::Write as _;
use std::path::Path;

const SESSIONS: u64 = 1000;
const STEPS: u64 = 130;

/// A fixed sequence of numbers.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// A pi session of about 200 kB with a compaction every 30,000 tokens of prompt.
fn write_session(folder: &Path, number: u64) -> u64 {
    let mut state = number;
    let mut out = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s{number}\",\"cwd\":\"/w\"}}\n");
    let (mut parent, mut prompt) = ("null".to_owned(), 2000);
    for n in 0..STEPS {
        let words: Vec<String> =
            (0..next(&mut state) % 360).map(|_| format!("w{:05x}", next(&mut state) % 3000)).collect();
        let file = next(&mut state) % 12;
        let is_error = next(&mut state).is_multiple_of(7);
        let text = words.join(" ");
        let _ = write!(
            out,
            "{{\"type\":\"message\",\"id\":\"a{n}\",\"parentId\":{parent},\"message\":{{\"role\":\"assistant\",\"model\":\"m{}\",\
             \"content\":[{{\"type\":\"toolCall\",\"id\":\"c{n}\",\"name\":\"read\",\"arguments\":{{\"path\":\"src/{file}.rs\"}}}}],\
             \"usage\":{{\"input\":{prompt},\"output\":50}}}}}}\n{{\"type\":\"message\",\"id\":\"r{n}\",\"parentId\":\"a{n}\",\
             \"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"c{n}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\
             \"isError\":{is_error}}}}}\n",
            number % 3
        );
        parent = format!("\"r{n}\"");
        prompt += text.len() / 3;
        if prompt > 30_000 {
            let _ = writeln!(
                out,
                "{{\"type\":\"compaction\",\"id\":\"k{n}\",\"parentId\":{parent},\"summary\":\"s\",\"tokensBefore\":{prompt}}}"
            );
            parent = format!("\"k{n}\"");
            prompt = 6000;
        }
    }
    std::fs::write(folder.join(format!("s{number}.jsonl")), &out).expect("written");
    out.len() as u64
}

/// The largest resident size of this process so far, in MB, where the system tells it.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().split(' ').next()?.parse::<u64>().ok()? / 1024)
}

#[test]
#[ignore = "writes 200 MB and wants an optimised build"]
#[expect(clippy::disallowed_methods, reason = "a speed is measured")]
fn a_thousand_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes: u64 = (0..SESSIONS).map(|number| write_session(folder.path(), number)).sum();
    assert!(bytes > 200_000_000, "{bytes}");
    let start = std::time::Instant::now();
    let options = Options { k: 3, profile: Profile::coding_agent(), limits: Limits::default() };
    let survey = measure(&collect(&[folder.path().to_owned()], &options), 3, 2000, 1);
    let seconds = start.elapsed().as_secs_f64();
    println!("{} MB in {seconds:.2} s, peak {:?} MB", bytes / 1_000_000, peak_mb());
    assert_eq!((survey.groups[0].sessions, survey.groups[0].steps), (SESSIONS, SESSIONS * STEPS));
    assert!(survey.groups[0].compactions > SESSIONS);
    assert!(seconds < 10.0 && peak_mb().is_none_or(|mb| mb < 300));
}
