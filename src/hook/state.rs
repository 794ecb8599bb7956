//! The side-car file of a session: what happened so far, as one JSON line an event.
//!
//! Several hook processes of one session may run at once. Every read and write therefore happens under an advisory lock
//! on a neighbouring `.lock` file; events are appended with one write each, and when the file grows beyond its bound it
//! is rewritten without the observations that no feature needs, through a temporary file and a rename. A half-written
//! line (a process that was killed) is skipped.

use foldline_features::PrefixStep;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Size from which a side-car file is rewritten without needless text, in bytes.
pub const MAX_STATE_BYTES: u64 = 32 << 20;
/// A boundary asked about more often than this counts as a new one, so that no session is stuck at one boundary.
pub const MAX_ASKS: u64 = 8;
/// How long to wait for another process: attempts of ten milliseconds.
const LOCK_ATTEMPTS: u32 = 100;

/// One event of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A tool call with its result.
    Step {
        /// The harness's id of the call; an id seen before is ignored.
        id: Option<String>,
        /// The call as JSON text.
        action: String,
        /// The result's text.
        observation: String,
        /// Whether it failed.
        is_error: Option<bool>,
    },
    /// The policy was asked.
    Asked {
        /// The boundary.
        boundary: String,
        /// It blocked, and the host was to obey.
        blocked: bool,
        /// Compactions of the session until then, and one; 0 in files of before this was noted.
        #[serde(default)]
        compaction_index: u64,
    },
    /// The context was compacted.
    Compacted {
        /// Tokens before, where known.
        tokens_before: Option<u64>,
        /// Tokens after, where known.
        tokens_after: Option<u64>,
    },
}

/// A session's state: its events, folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The steps, oldest first.
    pub steps: Vec<PrefixStep>,
    /// The id of the last step, where the harness gives one.
    pub last_id: Option<String>,
    /// Compactions noted.
    pub compactions: u64,
    /// Tokens before and after the last compaction noted.
    pub last_compaction: Option<(Option<u64>, Option<u64>)>,
    /// Boundaries blocked since the last compaction.
    pub blocks: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    ids: BTreeSet<String>,
    /// The boundary asked about last.
    current: Option<Current>,
    /// The highest compaction index of a question.
    compaction_index: u64,
    /// The last event was a compaction: another one then tells of the same.
    compacted_last: bool,
}

/// A boundary and the questions about it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Current {
    name: String,
    asks: u64,
    /// Blocks before its first question.
    before: u64,
    /// One of the answers was an obeyed block.
    blocked: bool,
}

impl State {
    /// Adds an event. Two compactions with nothing between them are one, told twice.
    pub fn apply(&mut self, event: Event) {
        let told = std::mem::replace(&mut self.compacted_last, matches!(event, Event::Compacted { .. }));
        match event {
            Event::Step { id, action, observation, is_error } => {
                if id.as_ref().is_some_and(|id| !self.ids.insert(id.clone())) {
                    return;
                }
                self.last_id = id;
                self.steps.push(PrefixStep { action, observation, tokens: None, is_error });
            }
            Event::Asked { boundary, blocked, compaction_index } => {
                let (asks, before) = self.asked(&boundary, compaction_index);
                // an answer of allow ends no row: a host that then fails to compact would be held back all over again
                self.blocks = before + u64::from(blocked);
                self.compaction_index = self.compaction_index.max(compaction_index);
                // once blocked, a boundary stays so: what follows an obeyed block must not be asked as if it had not been
                let blocked = blocked || self.blocked_at(&boundary);
                self.current = Some(Current { name: boundary, asks, before, blocked });
            }
            Event::Compacted { tokens_before, tokens_after } => {
                self.compactions += u64::from(!told);
                self.last_compaction = Some((tokens_before, tokens_after));
                self.blocks = 0;
                self.current = None;
            }
        }
    }

    /// How often `boundary` will have been asked about if it is asked now, and the blocks since the last compaction before
    /// it: the same number at every ask, so that asking twice gives one answer. A higher compaction index than before
    /// tells of a compaction, for harnesses where nothing else does.
    pub fn asked(&self, boundary: &str, compaction_index: u64) -> (u64, u64) {
        if compaction_index > self.compaction_index {
            return (1, 0);
        }
        match &self.current {
            Some(current) if current.name == boundary && current.asks < MAX_ASKS => (current.asks + 1, current.before),
            _ => (1, self.blocks),
        }
    }

    /// Whether the last questions were about `boundary` and one was answered with a block that the host obeyed.
    pub fn blocked_at(&self, boundary: &str) -> bool {
        self.current.as_ref().is_some_and(|current| current.name == boundary && current.blocked)
    }

    fn read(text: &[u8]) -> State {
        let mut state = State::default();
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(event) => state.apply(event),
                Err(_) => state.unreadable += 1,
            }
        }
        state
    }
}

/// A session's side-car file.
#[derive(Clone, Debug)]
pub struct Sidecar {
    path: PathBuf,
}

/// A side-car file, locked.
pub struct Locked<'a> {
    sidecar: &'a Sidecar,
    lock: File,
}

impl Sidecar {
    /// The file of a session in a folder, which is made if it is absent.
    ///
    /// # Errors
    /// When the folder cannot be made, or the file is something else than a plain file.
    pub fn new(folder: &Path, harness: &str, session: &str) -> io::Result<Sidecar> {
        make_private_folder(folder)?;
        let path = folder.join(format!("{harness}-{}.ndjson", safe_name(session)));
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => {
                Err(io::Error::other(format!("{} is no plain file; remove it", path.display())))
            }
            _ => Ok(Sidecar { path }),
        }
    }

    /// Locks the file against other processes of the session.
    ///
    /// # Errors
    /// When another process holds it for a second, or the lock file cannot be made.
    pub fn lock(&self) -> io::Result<Locked<'_>> {
        let path = self.path.with_extension("lock");
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other(format!("{} is no plain file; remove it", path.display())));
        }
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(&path)?;
        for _ in 0..LOCK_ATTEMPTS {
            match lock.try_lock() {
                Ok(()) => return Ok(Locked { sidecar: self, lock }),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{} is held by another process", path.display())))
    }
}

impl Locked<'_> {
    /// The session's state; a session without a file has none.
    ///
    /// # Errors
    /// When the file cannot be read or is beyond twice its bound.
    pub fn state(&self) -> io::Result<State> {
        self.bytes().map(|bytes| State::read(&bytes))
    }

    /// Appends an event.
    ///
    /// # Errors
    /// When the file cannot be written, or has no room even after it was rewritten.
    pub fn append(&self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_string(event).map_err(io::Error::other)?;
        line.push('\n');
        let size = fs::metadata(&self.sidecar.path).map_or(0, |found| found.len());
        if size + line.len() as u64 > MAX_STATE_BYTES {
            let kept = self.rewrite()?;
            if kept + line.len() as u64 > MAX_STATE_BYTES {
                return Err(io::Error::other(format!("{} has no room left", self.sidecar.path.display())));
            }
        }
        let mut file = private(OpenOptions::new().read(true).create(true).append(true)).open(&self.sidecar.path)?;
        if !ends_with_line_break(&mut file)? {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes())
    }

    /// Drops the observations of all but the last three steps, which no feature reads; gives the new size.
    fn rewrite(&self) -> io::Result<u64> {
        let bytes = self.bytes()?;
        let mut events: Vec<Event> =
            bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let mut newer = 0;
        for event in events.iter_mut().rev() {
            if let Event::Step { observation, .. } = event {
                newer += 1;
                if newer > 3 {
                    observation.clear();
                }
            }
        }
        let mut text = Vec::new();
        for event in &events {
            serde_json::to_writer(&mut text, event).map_err(io::Error::other)?;
            text.push(b'\n');
        }
        let folder = self.sidecar.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".foldline-").tempfile_in(folder)?;
        file.write_all(&text)?;
        file.persist(&self.sidecar.path).map_err(|error| error.error)?;
        Ok(text.len() as u64)
    }

    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match File::open(&self.sidecar.path) {
            Ok(file) => file.take(2 * MAX_STATE_BYTES).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(bytes)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // closing the file would release it too; a failure leaves nothing to be done
        self.lock.unlock().unwrap_or_default();
    }
}

fn ends_with_line_break(file: &mut File) -> io::Result<bool> {
    use std::io::{Seek, SeekFrom};
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0u8];
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}

/// A session id as part of a file name: letters, digits, `-` and `_` stay; anything else becomes `_`, and a hash of the
/// whole id keeps two ids apart.
fn safe_name(session: &str) -> String {
    let plain: String =
        session.chars().take(100).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    if plain == session && !plain.is_empty() {
        plain
    } else {
        format!("{plain}_{:08x}", foldline_features::extract::murmur3(session))
    }
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Options of a file that only its owner may read: it holds what the agent saw.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, observation: &str) -> Event {
        Event::Step {
            id: Some(id.to_owned()),
            action: "{\"name\":\"x\"}".to_owned(),
            observation: observation.to_owned(),
            is_error: Some(false),
        }
    }

    fn asked(boundary: &str, blocked: bool) -> Event {
        Event::Asked { boundary: boundary.to_owned(), blocked, compaction_index: 1 }
    }

    #[test]
    fn blocks_count_boundaries_since_the_last_compaction_and_not_questions() {
        let mut state = State::default();
        state.apply(asked("a", true));
        assert_eq!(state.asked("a", 1), (2, 0), "asking twice passes the same number");
        state.apply(asked("a", true));
        assert_eq!((state.blocks, state.asked("b", 1)), (1, (1, 1)));
        state.apply(asked("b", true));
        assert_eq!(state.asked("c", 1), (1, 2));
        state.apply(asked("c", false));
        assert_eq!(state.asked("d", 1), (1, 2), "allowed, and nothing was compacted");
        assert_eq!(state.asked("d", 2), (1, 0), "a compaction that only the question tells of");
        state.apply(asked("d", true));
        state.apply(Event::Compacted { tokens_before: None, tokens_after: None });
        assert_eq!((state.asked("d", 2), state.compactions), ((1, 0), 1));
    }

    #[test]
    fn a_boundary_that_never_moves_is_let_go() {
        let mut state = State::default();
        let mut asks = 0;
        while state.asked("same", 1).1 < 3 {
            state.apply(asked("same", true));
            asks += 1;
            assert!(asks < 100, "stuck");
        }
        assert_eq!(asks, 3 * MAX_ASKS);
    }

    #[test]
    fn files_survive_repetition_garbage_and_growth() {
        let folder = tempfile::tempdir().unwrap();
        let sidecar = Sidecar::new(folder.path(), "x", "s").unwrap();
        let locked = sidecar.lock().unwrap();
        assert_eq!(locked.state().unwrap(), State::default());
        locked.append(&step("1", "one")).unwrap();
        locked.append(&step("1", "again")).unwrap();
        let path = folder.path().join("x-s.ndjson");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"event\":\"st").unwrap();
        locked.append(&step("2", "two")).unwrap();
        let state = locked.state().unwrap();
        assert_eq!((state.steps.len(), state.unreadable, state.last_id.as_deref()), (2, 1, Some("2")));
        let large = "x".repeat(3 << 20);
        for id in 3..30 {
            locked.append(&step(&id.to_string(), &large)).unwrap();
        }
        assert!(fs::metadata(&path).unwrap().len() <= MAX_STATE_BYTES);
        let state = locked.state().unwrap();
        assert_eq!((state.steps.len(), state.unreadable), (29, 0));
        assert!(state.steps.iter().rev().take(3).all(|step| step.observation.len() == large.len()));
    }

    #[test]
    fn parallel_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    let sidecar = Sidecar::new(folder, "x", "s").unwrap();
                    for index in 0..10 {
                        sidecar.lock().unwrap().append(&step(&format!("{writer}-{index}"), "o")).unwrap();
                    }
                });
            }
        });
        let sidecar = Sidecar::new(folder.path(), "x", "s").unwrap();
        assert_eq!(sidecar.lock().unwrap().state().unwrap().steps.len(), 40);
    }

    #[test]
    fn session_ids_stay_in_the_folder() {
        assert_eq!(safe_name("01a2-b3"), "01a2-b3");
        assert!(!safe_name("../../etc/passwd").contains(['/', '.']));
        assert_ne!(safe_name("a/b"), safe_name("a.b"));
        assert!(safe_name(&"x".repeat(500)).len() < 120 && !safe_name("").is_empty());
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("x-dir.ndjson")).unwrap();
        assert!(Sidecar::new(folder.path(), "x", "dir").is_err());
    }
}
