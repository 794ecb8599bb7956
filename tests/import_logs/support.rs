//! What the import tests share.

use foldline::import::account::Account;
use foldline::import::boundaries::Options;
use foldline::import::formats::Format;
use foldline::import::run::import_logs;
use foldline::import::source::Limits;
use foldline_features::corpus::{Options as ReadOptions, Reader};
use foldline_features::{Boundary, Profile};
use std::io::Cursor;
use std::path::PathBuf;

/// The usual options.
pub fn options() -> Options {
    Options {
        every: None,
        profile: Profile::coding_agent(),
        with_prefix: true,
        recount: false,
        stem_is_folder: false,
        redactor: None,
    }
}

/// Imports into memory.
pub fn import(format: Format, path: impl Into<PathBuf>, options: &Options) -> (Vec<u8>, Account) {
    let mut out = Vec::new();
    let account =
        import_logs(format, &[path.into()], Limits::default(), options, &mut out).expect("memory can be written");
    (out, account)
}

/// Reads an imported corpus as any user of it would.
pub fn read(bytes: Vec<u8>, profile: Profile) -> Vec<Boundary> {
    let options = ReadOptions { keep_steps: true, ..ReadOptions::new(profile) };
    let reader = Reader::new("import", Cursor::new(bytes), options).expect("readable");
    reader.collect::<Result<_, _>>().expect("a corpus without a problem")
}

/// A committed fixture.
pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/import")).join(name)
}

/// A file of the shared data, or `None` with a printed line where it is not there.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")).join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}
