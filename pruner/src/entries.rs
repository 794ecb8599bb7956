//! Splitting a summary into entries.
//!
//! A summary is read line by line. Headings (`#`, underlined, `TASK STATE:`, `**Contacts:**`, any unindented line that
//! ends in a colon), code fences, tables, rules and tag lines are structure: they are never judged and never removed.
//! List items (bullets, numbers, checkboxes, nested or not) are entries. What an entry is made of is a set of byte
//! ranges of whole lines, so that removing it leaves every other byte as it was.
//!
//! Choices, where the paper (Appendix F: "an entry is each bullet line") leaves room:
//! - **\[choice\]** a nested item is an entry of its own and knows its parent; a parent stays while a child stays;
//! - **\[choice\]** an item whose text ends in a colon is a label for its children, hence structure; so is an item that
//!   holds a code fence;
//! - **\[choice\]** prose is untouched where the summary has list items; a summary without any has its prose lines as
//!   entries ([`Prose::Auto`]);
//! - **\[choice\]** an unindented line behind an item is prose, not a continuation of the item.

use crate::words::first_bytes;
use std::ops::Range;

/// What happens to lines that are neither list items nor structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prose {
    /// Untouched if the summary has list items; its lines are entries otherwise.
    #[default]
    Auto,
    /// Always untouched (the paper's setting).
    Keep,
    /// Every line of prose is an entry.
    Split,
}

/// How an entry is marked in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `-`, `*`, `+` or a bullet sign.
    Bullet,
    /// `1.` or `1)`.
    Numbered,
    /// `- [ ]` or `- [x]`.
    Checkbox,
    /// A line of prose.
    Prose,
}

/// One entry of a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `e1`, `e2`, ... in order of appearance.
    pub id: String,
    /// The text without marker and indentation; lines joined by a line feed.
    pub text: String,
    /// Byte ranges of whole lines, ascending, not touching another entry's. More than one where children stand between.
    pub ranges: Vec<Range<usize>>,
    /// Headings and labels above it, outermost first: at most the innermost [`DEEPEST_SECTION`], each cut at
    /// [`LONGEST_NAME`] bytes, since every entry has its own copy.
    pub section: Vec<String>,
    /// Index of the entry it is nested in.
    pub parent: Option<usize>,
    /// How it is marked.
    pub kind: Kind,
}

/// A summary and its entries.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The summary as it came.
    pub source: &'a str,
    /// Its entries in order.
    pub entries: Vec<Entry>,
    /// Number of headings and labels.
    pub headings: usize,
    /// Number of prose lines that are not entries.
    pub prose_lines: usize,
}

/// Splits a summary. Never fails: what it does not understand is prose or structure.
///
/// A summary that is one JSON document has no entries.
pub fn parse(source: &str, prose: Prose) -> Document<'_> {
    let trimmed = source.trim_start();
    if trimmed.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok() {
        return Document { source, entries: Vec::new(), headings: 0, prose_lines: 0 };
    }
    let lines = lines(source);
    let mut reader = Reader::default();
    let mut at = 0;
    while at < lines.len() {
        at += reader.take(source, &lines, at);
    }
    reader.finish(source, prose)
}

/// Byte ranges of lines, terminator included.
fn lines(source: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut lines = Vec::new();
    for piece in source.split_inclusive('\n') {
        lines.push(start..start + piece.len());
        start += piece.len();
    }
    lines
}

/// Names above an entry that are kept.
pub const DEEPEST_SECTION: usize = 8;
/// Bytes of such a name that are kept.
pub const LONGEST_NAME: usize = 200;

fn name(title: &str) -> String {
    first_bytes(title, LONGEST_NAME).to_string()
}

/// An entry or a label while it is being read.
struct Draft {
    text: String,
    ranges: Vec<Range<usize>>,
    section: Vec<String>,
    parent: Option<usize>,
    kind: Kind,
    structure: bool,
}

#[derive(Default)]
struct Reader {
    drafts: Vec<Draft>,
    /// Open items: (indentation, draft).
    open: Vec<(usize, usize)>,
    /// Headings above: (level, text).
    above: Vec<(usize, String)>,
    headings: usize,
    blanks: Option<Range<usize>>,
}

/// Level of a heading that is a line of its own without `#`: below all six.
const LABEL_LEVEL: usize = 7;

impl Reader {
    /// Reads the line at `at`, and what belongs to it; says how many lines that were.
    fn take(&mut self, source: &str, lines: &[Range<usize>], at: usize) -> usize {
        let range = lines[at].clone();
        let line = &source[range.clone()];
        let (indent, body) = indentation(line);
        let text = body.trim_end();
        if text.is_empty() {
            let start = self.blanks.take().map_or(range.start, |blanks| blanks.start);
            self.blanks = Some(start..range.end);
            return 1;
        }
        let blanks = self.blanks.take();
        if let Some(fence) = Fence::opens(text) {
            if let Some(owner) = self.owner(indent) {
                self.drafts[owner].structure = true;
            } else {
                self.open.clear();
            }
            let body = &lines[at + 1..];
            let closes = body.iter().position(|line| fence.closes(&source[line.clone()]));
            return 1 + closes.map_or(body.len(), |closes| closes + 1);
        }
        if let Some((level, title)) = hash_heading(indent, text) {
            self.heading(level, title);
            return 1;
        }
        if !is_rule(text)
            && let Some((kind, offset)) = marker(text)
        {
            self.item(indent, kind, text[offset..].trim(), range);
            return 1;
        }
        if let Some(owner) = self.owner(indent) {
            self.continues(owner, text, range, blanks);
            return 1;
        }
        self.open.clear();
        if let Some(next) = lines.get(at + 1)
            && let Some(level) = underline(&source[next.clone()])
            && !is_structure(text)
        {
            self.heading(level, text);
            return 2;
        }
        if let Some(title) = label(text) {
            self.heading(LABEL_LEVEL, title);
        } else if !is_structure(text) {
            let section = self.section(None);
            let prose = Draft {
                text: text.to_string(),
                ranges: vec![range],
                section,
                parent: None,
                kind: Kind::Prose,
                structure: false,
            };
            self.drafts.push(prose);
        }
        1
    }

    /// The innermost open item that a line of this indentation continues. Closes the items deeper than that.
    fn owner(&mut self, indent: usize) -> Option<usize> {
        while self.open.last().is_some_and(|&(open, _)| open >= indent) {
            self.open.pop();
        }
        self.open.last().map(|&(_, draft)| draft)
    }

    fn heading(&mut self, level: usize, title: &str) {
        self.open.clear();
        self.above.retain(|&(above, _)| above < level);
        self.above.push((level, name(title)));
        self.headings += 1;
    }

    fn section(&self, parent: Option<usize>) -> Vec<String> {
        match parent.map(|parent| &self.drafts[parent]) {
            Some(parent) if parent.structure => {
                let title = name(plain(plain(&parent.text).trim_end_matches([':', '：'])));
                let outer = parent.section.len().saturating_sub(DEEPEST_SECTION - 1);
                parent.section[outer..].iter().cloned().chain([title]).collect()
            }
            Some(parent) => parent.section.clone(),
            None => {
                let outer = self.above.len().saturating_sub(DEEPEST_SECTION);
                self.above[outer..].iter().map(|(_, title)| title.clone()).collect()
            }
        }
    }

    fn item(&mut self, indent: usize, kind: Kind, text: &str, range: Range<usize>) {
        let parent = self.owner(indent);
        let structure = text.is_empty() || plain(text).ends_with([':', '：']) || Fence::opens(text).is_some();
        let section = self.section(parent);
        self.open.push((indent, self.drafts.len()));
        self.drafts.push(Draft { text: text.to_string(), ranges: vec![range], section, parent, kind, structure });
    }

    fn continues(&mut self, owner: usize, text: &str, range: Range<usize>, blanks: Option<Range<usize>>) {
        let draft = &mut self.drafts[owner];
        draft.text.push('\n');
        draft.text.push_str(text);
        let range = match blanks {
            Some(blanks) if draft.ranges.last().is_some_and(|last| last.end == blanks.start) => blanks.start..range.end,
            _ => range,
        };
        match draft.ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => draft.ranges.push(range),
        }
    }

    fn finish(self, source: &str, prose: Prose) -> Document<'_> {
        let items = self.drafts.iter().any(|draft| draft.kind != Kind::Prose);
        let prose_counts = match prose {
            Prose::Auto => !items,
            Prose::Keep => false,
            Prose::Split => true,
        };
        let mut entries: Vec<Entry> = Vec::new();
        let mut place: Vec<Option<usize>> = Vec::with_capacity(self.drafts.len());
        let mut prose_lines = 0;
        for draft in self.drafts {
            // an entry under a label has the label's own parent
            let parent = draft.parent.and_then(|parent| place[parent]);
            if draft.structure || (draft.kind == Kind::Prose && !prose_counts) {
                prose_lines += usize::from(draft.kind == Kind::Prose);
                place.push(parent);
                continue;
            }
            place.push(Some(entries.len()));
            entries.push(Entry {
                id: format!("e{}", entries.len() + 1),
                text: draft.text,
                ranges: draft.ranges,
                section: draft.section,
                parent,
                kind: draft.kind,
            });
        }
        Document { source, entries, headings: self.headings, prose_lines }
    }
}

/// Columns of leading white space (a tab goes to the next multiple of four) and what follows; marks without width
/// (byte order mark, writing direction) before the text are skipped.
fn indentation(line: &str) -> (usize, &str) {
    let mut columns = 0;
    for (offset, sign) in line.char_indices() {
        match sign {
            ' ' | '\u{a0}' => columns += 1,
            '\u{3000}' => columns += 2,
            '\t' => columns = columns / 4 * 4 + 4,
            '\u{feff}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            _ => return (columns, &line[offset..]),
        }
    }
    (columns, "")
}

/// Kind of a list marker and the length of everything before the item's text.
fn marker(text: &str) -> Option<(Kind, usize)> {
    let first = text.chars().next()?;
    let (kind, after) = if matches!(first, '-' | '*' | '+' | '•' | '◦' | '▪' | '‣' | '·' | '・' | '–' | '—')
    {
        (Kind::Bullet, first.len_utf8())
    } else {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let point = text[digits..].chars().next()?;
        if digits == 0 || digits > 9 || !matches!(point, '.' | ')' | '、' | '．') {
            return None;
        }
        (Kind::Numbered, digits + point.len_utf8())
    };
    let rest = &text[after..];
    let wide = text[..after].ends_with(['・', '、', '．']);
    if !rest.is_empty() && !rest.starts_with([' ', '\t', '\u{a0}', '\u{3000}']) && !wide {
        return None;
    }
    let inner = rest.trim_start();
    let offset = text.len() - inner.len();
    match ["[ ]", "[x]", "[X]", "[-]"].iter().find(|tick| inner.starts_with(**tick)) {
        Some(tick) => Some((Kind::Checkbox, offset + tick.len())),
        None => Some((kind, offset)),
    }
}

/// Level and title of `## title`.
fn hash_heading(indent: usize, text: &str) -> Option<(usize, &str)> {
    let level = text.bytes().take_while(|&byte| byte == b'#').count();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || indent > 3 || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    Some((level, rest.trim().trim_end_matches('#').trim_end()))
}

/// Level of the heading that a line of `=` or `-` makes of the line above it.
fn underline(line: &str) -> Option<usize> {
    let text = line.trim();
    let only = |sign: char| text.len() >= 3 && text.chars().all(|other| other == sign);
    if only('=') { Some(1) } else { only('-').then_some(2) }
}

/// `---`, `***`, `_ _ _`.
fn is_rule(text: &str) -> bool {
    let mut signs = text.chars().filter(|sign| !sign.is_whitespace());
    let Some(first) = signs.next() else { return false };
    matches!(first, '-' | '*' | '_') && signs.clone().count() >= 2 && signs.all(|sign| sign == first)
}

/// Lines that are no prose though nothing else either: rules, table rows, tags, brackets of a data block.
fn is_structure(text: &str) -> bool {
    let tag = |open, close| text.starts_with(open) && text.ends_with(close);
    is_rule(text)
        || underline(text).is_some()
        || tag('|', '|')
        || tag('<', '>')
        || tag('[', ']')
        || text.starts_with(['{', '}', ']'])
        || !text.contains(char::is_alphanumeric)
}

/// Title of a line that is a heading without `#`: it ends in a colon, or is wholly bold, or is a few capital words.
fn label(text: &str) -> Option<&str> {
    let inner = plain(text);
    if let Some(title) = inner.strip_suffix([':', '：']) {
        return Some(plain(title));
    }
    let bold = text.len() > 4
        && ["**", "__"].iter().any(|mark| {
            text.strip_prefix(mark)
                .and_then(|rest| rest.strip_suffix(mark))
                .is_some_and(|inner| !inner.contains(mark) && !inner.ends_with(['.', '!', '?', '。']))
        });
    let capitals = text.len() <= 60
        && text.chars().filter(|sign| sign.is_alphabetic()).count() >= 4
        && text.chars().all(|sign| sign.is_uppercase() || matches!(sign, ' ' | '&' | '/' | '-'));
    (bold || capitals).then_some(inner)
}

/// Text without emphasis marks at its ends.
fn plain(text: &str) -> &str {
    text.trim().trim_matches(['*', '_']).trim()
}

/// An open code fence.
struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    fn opens(text: &str) -> Option<Fence> {
        let sign = text.chars().next().filter(|&sign| sign == '`' || sign == '~')?;
        let length = text.chars().take_while(|&other| other == sign).count();
        // a back tick in the rest is inline code, not a fence
        (length >= 3 && (sign == '~' || !text[length..].contains('`'))).then_some(Fence { sign, length })
    }

    fn closes(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|sign| sign == self.sign)
    }
}
