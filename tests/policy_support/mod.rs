//! The program, run with a text on stdin.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The program under test: the one just built, or the one that `FOLDLINE_BIN` names.
pub fn program() -> Command {
    Command::new(std::env::var_os("FOLDLINE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_foldline").into()))
}

/// The program with a text on stdin.
pub fn run(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let text = stdin.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&text).unwrap_or_default());
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer ends");
    output
}

/// Lines of JSON.
pub fn lines(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}
