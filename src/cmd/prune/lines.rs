//! Lines of bounded length: a line that never ends must not fill the memory.

use std::io::{BufRead, Read, Result};

/// Bytes of a line, or of a request, at most.
pub const LONGEST: u64 = 64 << 20;

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The input has ended.
    End,
    /// A line, its terminator included.
    Whole,
    /// A line that is longer than [`LONGEST`]; it was skipped.
    TooLong,
}

/// Reads the next line into `line`.
pub fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<Line> {
    line.clear();
    input.by_ref().take(LONGEST + 1).read_until(b'\n', line)?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    if line.len() as u64 <= LONGEST || line.ends_with(b"\n") {
        return Ok(Line::Whole);
    }
    line.clear();
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        let ended = end.is_some() || used == 0;
        input.consume(used);
        if ended {
            return Ok(Line::TooLong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let long = vec![b'x'; LONGEST as usize + 10];
        let mut input: Vec<u8> = b"a\n".to_vec();
        input.extend(&long);
        input.extend(b"\nb");
        let mut input = input.as_slice();
        let mut line = Vec::new();
        let mut seen = Vec::new();
        loop {
            let read = next_line(&mut input, &mut line).unwrap();
            seen.push((read, line.clone()));
            if read == Line::End {
                break;
            }
        }
        let expected = [
            (Line::Whole, b"a\n".to_vec()),
            (Line::TooLong, vec![]),
            (Line::Whole, b"b".to_vec()),
            (Line::End, vec![]),
        ];
        assert_eq!(seen, expected);
    }
}
