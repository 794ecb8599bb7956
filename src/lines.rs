//! Lines of bounded length from an untrusted stream.

use std::io::{self, BufRead, Read};

/// One line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A whole line.
    Whole(Vec<u8>),
    /// A line longer than the limit; it was skipped.
    TooLong,
}

/// Reads the next line of at most `limit` bytes; `None` at the end of the stream.
///
/// # Errors
/// What the stream says.
pub fn next_line(stream: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    stream.by_ref().take(limit as u64 + 2).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    let ended = line.last() == Some(&b'\n');
    if ended {
        line.pop();
    }
    if line.len() <= limit {
        return Ok(Some(Line::Whole(line)));
    }
    if !ended {
        skip_line(stream)?;
    }
    Ok(Some(Line::TooLong))
}

fn skip_line(stream: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = match stream.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match buffer.iter().position(|&byte| byte == b'\n') {
            Some(at) => {
                stream.consume(at + 1);
                return Ok(());
            }
            None if buffer.is_empty() => return Ok(()),
            None => {
                let read = buffer.len();
                stream.consume(read);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        let mut stream: &[u8] = b"ab\nabc\nabcd\nabcdefgh\n\nx";
        let mut read = || next_line(&mut stream, 3).unwrap();
        assert_eq!(read(), Some(Line::Whole(b"ab".to_vec())));
        assert_eq!(read(), Some(Line::Whole(b"abc".to_vec())));
        assert_eq!(read(), Some(Line::TooLong));
        assert_eq!(read(), Some(Line::TooLong));
        assert_eq!(read(), Some(Line::Whole(Vec::new())));
        assert_eq!(read(), Some(Line::Whole(b"x".to_vec())));
        assert_eq!(read(), None);
    }
}
