//! The decision log as a file: lines are appended whole, so that several processes may share one.

use crate::cmd::say;
use foldline_models::policy::LogLine;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Size from which a log is set aside as `NAME.1` when it is opened, in bytes.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// An append-only log. A log that cannot be written never stops the answers.
#[derive(Debug)]
pub struct DecisionLog {
    file: File,
    path: PathBuf,
    failed: bool,
}

impl DecisionLog {
    /// Opens a log for appending.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(path: &Path) -> io::Result<DecisionLog> {
        if fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > MAX_LOG_BYTES) {
            let mut aside = path.as_os_str().to_owned();
            aside.push(".1");
            fs::rename(path, aside)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        Ok(DecisionLog { file: options.open(path)?, path: path.to_owned(), failed: false })
    }

    /// Appends a line; the first failure is said on stderr.
    pub fn write(&mut self, line: &LogLine) {
        if let Err(error) = self.file.write_all(line.to_json().as_bytes())
            && !self.failed
        {
            say(&format!("foldline: {}: the log cannot be written: {error}", self.path.display()));
            self.failed = true;
        }
    }

    /// Whether every line so far was written.
    pub fn is_complete(&self) -> bool {
        !self.failed
    }
}
