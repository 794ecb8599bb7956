//! One import: units in sorted order, read in parallel, written in order.

use super::account::Account;
use super::boundaries::{Options, of_session};
use super::formats::Format;
use super::line::Draft;
use super::session::Actions;
use super::source::{Limits, discover};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Lines of a unit beyond this stand in a temporary file until it is their turn.
const IN_MEMORY: usize = 16 << 20;

/// What one unit gave.
struct Unit {
    lines: tempfile::SpooledTempFile,
    /// Trajectory, bytes of its lines, account of it.
    sessions: Vec<(String, u64, Account)>,
    /// What concerns the unit as a whole.
    account: Account,
}

/// Imports every unit of a format below the given paths and writes boundaries to `out`.
///
/// The output does not depend on the number of threads. A session that was already seen under the same id is left out.
///
/// # Errors
/// When `out` or a temporary file cannot be written.
pub fn import_logs(
    format: Format,
    paths: &[PathBuf],
    limits: Limits,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<Account> {
    let mut account = Account::default();
    let units = discover(paths, &|path, is_folder| format.wants(path, is_folder), &mut account.left_out);
    account.merge(import_units(format, &units, limits, options, out)?);
    Ok(account)
}

/// As [`import_logs`], for units that are already known.
///
/// # Errors
/// When `out` or a temporary file cannot be written.
pub fn import_units(
    format: Format,
    units: &[PathBuf],
    limits: Limits,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<Account> {
    let mut account = Account::default();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for window in units.chunks(2 * rayon::current_num_threads()) {
        let read: Vec<io::Result<Unit>> =
            window.par_iter().map(|path| read_unit(format, path, limits, options)).collect();
        for unit in read {
            write_unit(unit?, &mut seen, &mut account, out)?;
        }
    }
    Ok(account)
}

fn read_unit(format: Format, path: &Path, limits: Limits, options: &Options) -> io::Result<Unit> {
    let mut unit =
        Unit { lines: tempfile::spooled_tempfile(IN_MEMORY), sessions: Vec::new(), account: Account::default() };
    let mut failed = None;
    let mut left_out = super::source::LeftOut::default();
    let result = format.read(path, limits, &mut left_out, &mut |session| {
        let mut account = Account::default();
        let (mut bytes, mut written) = (0, Ok(()));
        if session.actions == Actions::ToolCalls {
            count_unmapped(&session, options, &mut account);
        }
        let id = of_session(session, options, &mut account, &mut |draft: &Draft| {
            let line = draft.line() + "\n";
            bytes += line.len() as u64;
            if written.is_ok() {
                written = unit.lines.write_all(line.as_bytes());
            }
        });
        if let Err(error) = written {
            failed.get_or_insert(error);
        }
        unit.sessions.push((id, bytes, account));
    });
    if let Some(error) = failed {
        return Err(error);
    }
    unit.account.left_out.merge(left_out);
    match result {
        Ok(()) => unit.account.sources += 1,
        Err(error) => {
            let place = match &error {
                super::source::FileError::OtherKind(what) => format!("{}: {what}", path.display()),
                _ => path.display().to_string(),
            };
            let reason = match &error {
                super::source::FileError::OtherKind(_) => "file that is not of this kind".to_owned(),
                other => other.to_string(),
            };
            unit.account.left_out.add(reason, 1, Some(place));
        }
    }
    Ok(unit)
}

fn count_unmapped(session: &super::session::Session, options: &Options, account: &mut Account) {
    for step in &session.steps {
        // the name decides; a shell tool's classes are always known
        if options.profile.effect(&step.tool).is_none() {
            *account.unmapped.entry(step.tool.clone()).or_default() += 1;
        }
    }
}

fn write_unit(
    mut unit: Unit,
    seen: &mut BTreeSet<String>,
    account: &mut Account,
    out: &mut dyn Write,
) -> io::Result<()> {
    account.merge(unit.account);
    unit.lines.rewind()?;
    for (id, bytes, of_session) in unit.sessions {
        let mut lines = (&mut unit.lines).take(bytes);
        if seen.insert(id.clone()) {
            io::copy(&mut lines, out)?;
            account.merge(of_session);
        } else {
            io::copy(&mut lines, &mut io::sink())?;
            account.left_out.add("session already seen under the same id", 1, Some(id));
        }
    }
    Ok(())
}
