//! Logs as they really lie around: running sessions, damaged lines, wrong files. Skipped and counted by kind, never a panic.

use crate::support::{fixture, import, options, shared};
use foldline::import::formats::{Format, detect};
use foldline::import::run::import_logs;
use foldline::import::source::Limits;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn foldline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foldline")).args(arguments).output().expect("the binary runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8 path")
}

/// A pi session of version 3 with `steps` calls of bash.
fn pi_session(id: &str, steps: usize) -> String {
    let mut out = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/w\"}}\n");
    let mut parent = "null".to_owned();
    for n in 0..steps {
        let call = format!("\"call{n}\"");
        let _ = write!(
            out,
            "{{\"type\":\"message\",\"id\":\"a{n}\",\"parentId\":{parent},\"message\":{{\"role\":\"assistant\",\"content\":\
             [{{\"type\":\"toolCall\",\"id\":{call},\"name\":\"bash\",\"arguments\":{{\"command\":\"ls {n}\"}}}}]}}}}\n\
             {{\"type\":\"message\",\"id\":\"r{n}\",\"parentId\":\"a{n}\",\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\
             {call},\"content\":\"ok\",\"isError\":false}}}}\n"
        );
        parent = format!("\"r{n}\"");
    }
    out
}

#[test]
fn everything_that_can_be_wrong_with_a_folder_of_logs() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let put = |name: &str, bytes: &[u8]| std::fs::write(at(name), bytes).expect("written");
    put("good.jsonl", pi_session("good", 3).as_bytes());
    put("copy-of-good.jsonl", pi_session("good", 3).as_bytes());
    // a session that is being written
    let running = pi_session("running", 3);
    put("running.jsonl", &running.as_bytes()[..running.len() - 20]);
    // version 1 has no ids; one line of it is of a type that nobody knows, one is no JSON, one is no UTF-8
    let linear = pi_session("linear", 2)
        .replace("\"version\":3", "\"version\":1")
        .lines()
        .map(|line| {
            let line = line.split("\"id\":\"a").next().map_or(line, |_| line);
            let mut entry: serde_json::Value = serde_json::from_str(line).expect("JSON");
            if entry["type"] == "message" {
                let map = entry.as_object_mut().expect("an object");
                map.remove("id");
                map.remove("parentId");
            }
            entry.to_string() + "\n"
        })
        .collect::<String>();
    let mut linear = linear.into_bytes();
    linear.extend(b"{\"type\":\"telepathy\"}\n{\"type\":\n{\"type\":\"message\",\"x\":\"\xff\xfe\"}\n\n\r\n");
    put("linear.jsonl", &linear);
    // parents in a circle, and a parent that is gone
    let circle = "{\"type\":\"session\",\"id\":\"circle\"}\n{\"type\":\"label\",\"id\":\"x\",\"parentId\":\"y\"}\n\
                  {\"type\":\"label\",\"id\":\"y\",\"parentId\":\"x\"}\n";
    put("circle.jsonl", circle.as_bytes());
    let orphan = pi_session("orphan", 3).replace("\"parentId\":\"r1\"", "\"parentId\":\"gone\"");
    put("orphan.jsonl", orphan.as_bytes());
    put("picture.jsonl", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    put("empty.jsonl", b"");
    put("other.jsonl", b"{\"hello\": \"world\"}\n");
    put("notes.txt", b"not a log");
    // a gigabyte, without writing it
    let huge = std::fs::File::create(at("huge.jsonl")).expect("created");
    huge.set_len(1 << 30).expect("sparse");
    let expected_links = if cfg!(unix) { 2 } else { 0 };
    #[cfg(unix)]
    {
        std::fs::create_dir(at("deep")).expect("a folder");
        std::os::unix::fs::symlink(folder.path(), at("deep/loop")).expect("a link");
        std::os::unix::fs::symlink(at("good.jsonl"), at("link.jsonl")).expect("a link");
    }
    let (_, account) = import(Format::Pi, folder.path(), &options());
    let left_out = &account.left_out;
    for (reason, count) in [
        ("half-written last line", 1),
        ("line that is no JSON", 2),
        ("entry of unknown type \"telepathy\"", 1),
        ("entry whose parents form a circle", 1),
        ("entry whose parent is missing", 1),
        ("binary file", 1),
        ("file that is not of this kind", 2),
        ("file of another kind", 1),
        ("file larger than the limit (raise it with --max-file-mb)", 1),
        ("symbolic link (not followed)", expected_links),
        ("session already seen under the same id", 1),
        ("call without a result", 1),
    ] {
        assert_eq!(left_out.count(reason), count, "{reason} in\n{}", account.text());
    }
    // good 3, running 2 (its last result is cut), linear 2, circle 0, orphan 3
    assert_eq!((account.sessions, account.steps), (5, 10), "{}", account.text());

    let out = folder.path().join("corpus.out");
    let run = foldline(&["import", "pi", text(folder.path()), "--every", "1", "--out", text(&out), "--json"]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let account: serde_json::Value = serde_json::from_slice(&run.stdout).expect("the account");
    assert_eq!(account["steps"], 10);
    assert!(out.exists());
}

#[test]
fn a_log_that_a_crash_filled_with_zeros_is_still_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = pi_session("crashed", 3);
    let cut = &session.as_bytes()[..session.len() - 20];
    for zeros in [1, 5000] {
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, [cut, &vec![0; zeros]].concat()).expect("written");
        let (_, account) = import(Format::Pi, &path, &options());
        assert_eq!((account.sessions, account.steps), (1, 2), "{}", account.text());
        assert_eq!(account.left_out.count("half-written last line"), 1, "{}", account.text());
        assert_eq!(account.left_out.count("binary file"), 0);
    }
}

#[test]
fn nothing_readable_is_bad_data_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("corpus.jsonl");
    std::fs::write(folder.path().join("x.jsonl"), b"\0\0").expect("written");
    for source in [folder.path().to_owned(), folder.path().join("missing")] {
        let run = foldline(&["import", "claude-code", text(&source), "--out", text(&out)]);
        let errors = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(65), "{errors}");
        assert!(errors.contains("nothing could be read") && errors.contains("left out"), "{errors}");
        assert!(!out.exists());
        let run = foldline(&["import", "auto", text(&source)]);
        assert_eq!(run.status.code(), Some(65));
    }
    let unknown = foldline(&["import", "morse", "x"]);
    assert_eq!(unknown.status.code(), Some(2));
    let kinds = String::from_utf8_lossy(&unknown.stderr).into_owned();
    for kind in ["pi", "claude-code", "appworld", "pair", "trace", "auto"] {
        assert!(kinds.contains(kind), "{kinds}");
    }
    assert!(!kinds.contains("pair-trajectory") && kinds.matches("pair").count() == 1, "{kinds}");
    assert_eq!(foldline(&["import", "pi"]).status.code(), Some(2));
}

#[test]
fn long_lines_are_left_out_and_the_rest_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = pi_session("long", 3);
    session.insert_str(
        session.find("{\"type\":\"message\"").expect("a message"),
        &format!("{{\"x\":\"{}\"}}\n", "y".repeat(5000)),
    );
    std::fs::write(folder.path().join("long.jsonl"), session).expect("written");
    let limits = Limits { line_bytes: 1000, ..Limits::default() };
    let account =
        import_logs(Format::Pi, &[folder.path().to_owned()], limits, &options(), &mut Vec::new()).expect("read");
    assert_eq!((account.steps, account.left_out.count("line longer than the limit")), (3, 1));
}

#[test]
fn output_does_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    for n in 0..40 {
        let path = folder.path().join(format!("s{n}.jsonl"));
        std::fs::write(path, pi_session(&format!("s{n}"), 5 + n % 7)).expect("written");
    }
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let options = foldline::import::boundaries::Options { every: Some(20), ..options() };
        pool.install(|| import(Format::Pi, folder.path(), &options))
    };
    let ((one, account), (four, _)) = (run(1), run(4));
    assert_eq!(one, four);
    assert!(account.would_be_boundaries > 40);
}

/// Damages a text: cuts it, drops or repeats a line, or overwrites a byte.
fn damaged(bytes: &[u8], seed: u64) -> Vec<u8> {
    // a fixed sequence; which damages are tried must not change from run to run
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below.max(1)
    };
    let mut bytes = bytes.to_vec();
    match next(4) {
        0 => bytes.truncate(next(bytes.len())),
        1 => {
            let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
            let at = next(lines.len());
            lines.remove(at);
            bytes = lines.join(&b'\n');
        }
        2 => {
            let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
            let (from, to) = (next(lines.len()), next(lines.len()));
            lines.insert(to, lines[from]);
            bytes = lines.join(&b'\n');
        }
        _ => {
            for _ in 0..=next(4) {
                let at = next(bytes.len());
                bytes[at] = b"0[]{}\",:\\\xff nt-"[next(14)];
            }
        }
    }
    bytes
}

#[test]
fn damaged_logs_never_panic_whatever_reads_them() {
    let mut samples: Vec<PathBuf> = ["atif.json", "inspect.json", "inspect.eval", "openai.jsonl", "anthropic.json"]
        .into_iter()
        .map(fixture)
        .collect();
    samples.push(fixture("pair/trajectories/6ea6792_2.json"));
    for name in ["pi", "claude-code", "codex", "hermes_messages", "openhands"] {
        samples.extend(shared(&format!("transcripts/{name}.jsonl")));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let every = foldline::import::boundaries::Options { every: Some(10), ..options() };
    let mut read = 0u64;
    for sample in samples {
        let bytes = std::fs::read(&sample).expect("readable");
        let path = folder.path().join(sample.file_name().expect("a name"));
        for seed in 0..120 {
            std::fs::write(&path, damaged(&bytes, seed)).expect("written");
            let formats = detect(&path).into_iter().chain([Format::all()[seed as usize % Format::all().len()]]);
            for format in formats {
                let (_, account) = import(format, &path, &every);
                read += account.sources;
            }
        }
    }
    println!("{read} damaged files were read in part");
    assert!(read > 100);
}
