//! What the tests of reports and comparisons share: an evaluated run.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the binary in a folder.
pub fn foldline(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foldline")).current_dir(folder).args(args).output().expect("the binary runs")
}

/// Runs it and expects success; gives stdout.
pub fn succeeds(folder: &Path, args: &[&str]) -> String {
    let output = foldline(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A folder with a simulated cohort and an evaluated run, `run`.
pub fn evaluated() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().expect("a folder");
    let simulate =
        ["simulate", "--boundaries", "120", "--with-tokens", "--out", "cohort.jsonl", "--method-map", "functions.csv"];
    succeeds(folder.path(), &simulate);
    let base = ["evaluate", "cohort.jsonl", "--methods", "functions.csv", "--draws", "60", "--protocol", "quick"];
    succeeds(folder.path(), &[&base[..], &["--out", "run"]].concat());
    folder
}
