//! Output files: written whole or not at all.

use std::io::{self, Write};
use std::path::Path;

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file through a temporary neighbour and a rename, so that a reader or a crash never sees half of it.
///
/// # Errors
/// What the file system says; the target is then as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    stream_whole(path, |out| out.write_all(bytes))
}

/// Whether a file can be written at `path`, before the work that it is to hold.
///
/// # Errors
/// When it is a folder, or would stand in one that is not there.
pub fn check_target(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name a file in it"));
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let problem = format!("there is no folder {}; make it first", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    Ok(())
}

/// As [`write_whole`], with the content streamed by `fill`.
///
/// A link leads to what is written, a file keeps its permissions, and a device or a pipe is written to as it is: nothing
/// takes its place.
///
/// # Errors
/// What `fill` or the file system says; the target is then as it was.
pub fn stream_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    check_target(path)?;
    let existing = std::fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
        let mut out = io::BufWriter::new(std::fs::OpenOptions::new().write(true).open(path)?);
        fill(&mut out)?;
        return out.flush();
    }
    let target = if existing.is_some() { path.canonicalize()? } else { path.to_owned() };
    let folder = folder_of(&target);
    let file = tempfile::Builder::new().prefix(".foldline-").tempfile_in(folder)?;
    let mut out = io::BufWriter::new(file);
    fill(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // a temporary file is private; an output is as readable as any file the user makes, or as it was
        let permissions = existing.map_or(std::fs::Permissions::from_mode(0o644), |existing| existing.permissions());
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}
