//! What a shell command does: read, write, or only move the session.
//!
//! A coding agent does most of its work through one shell tool, so that the tool's name says nothing about what a step
//! did. A profile with a [`ShellTable`] takes the class of the command into the function: `Bash` running `git status` is
//! the function `Bash.read`, `git commit` is `Bash.write`, `cd src` is `Bash.session`. The set of functions stays closed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Which tools are shells, and which commands do what.
///
/// An entry of a list is a command (`grep`), a command and its subcommand (`git status`), or a command and an option that
/// makes the difference (`sed -i`). The more specific entry decides; a command in no list is a write **\[choice\]**: what is
/// unknown may change something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShellTable {
    /// Names of shell tools.
    pub tools: BTreeSet<String>,
    /// Argument fields that may hold the command, the first present one counts.
    pub fields: Vec<String>,
    /// Commands that change nothing, test runners and builds included **\[choice\]**.
    pub read: BTreeSet<String>,
    /// Commands that change something.
    pub write: BTreeSet<String>,
    /// Commands that only move or set up the shell session.
    pub session: BTreeSet<String>,
    /// Commands that run the command behind them (`sudo`, `timeout`).
    pub wrappers: BTreeSet<String>,
}

/// The class of a command, in ascending order of what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellClass {
    /// Moves or sets up the shell session.
    Session,
    /// Changes nothing.
    Read,
    /// May change something.
    Write,
}

impl ShellClass {
    /// All classes.
    pub const ALL: [ShellClass; 3] = [ShellClass::Session, ShellClass::Read, ShellClass::Write];

    /// The word behind the dot of a function's name.
    pub fn name(self) -> &'static str {
        match self {
            ShellClass::Session => "session",
            ShellClass::Read => "read",
            ShellClass::Write => "write",
        }
    }
}

impl ShellTable {
    /// The function of a tool call: `TOOL.CLASS` for a shell tool whose command is readable, else `None`.
    pub fn function(&self, tool: &str, arguments: &Value) -> Option<String> {
        if !self.tools.contains(tool) {
            return None;
        }
        let command = self.fields.iter().find_map(|field| command_text(arguments.get(field)?))?;
        Some(format!("{tool}.{}", self.class(&command).name()))
    }

    /// The class a function's name states: `Bash.read` with the shell tool `Bash` is a read.
    pub fn class_of(&self, function: &str) -> Option<ShellClass> {
        let (tool, class) = function.rsplit_once('.')?;
        self.tools.contains(tool).then(|| ShellClass::ALL.into_iter().find(|c| c.name() == class)).flatten()
    }

    /// The class of a command line: that of its strongest simple command, where write is stronger than read and read
    /// stronger than session; a redirection into a file is a write. Quotes and here-documents are respected;
    /// substitutions are not looked into **\[choice\]**.
    pub fn class(&self, command: &str) -> ShellClass {
        self.class_within(command, 0)
    }

    fn class_within(&self, command: &str, depth: u8) -> ShellClass {
        let commands = simple_commands(command);
        commands.iter().map(|simple| self.class_of_simple(simple, depth)).max().unwrap_or(ShellClass::Session)
    }

    fn class_of_simple(&self, simple: &Simple, depth: u8) -> ShellClass {
        if simple.writes_file {
            return ShellClass::Write;
        }
        let mut words = simple.words.as_slice();
        loop {
            let Some(first) = words.first() else { return ShellClass::Session };
            let name = first.rsplit('/').next().unwrap_or(first);
            let is_assignment = first
                .split_once('=')
                .is_some_and(|(left, _)| !left.is_empty() && left.chars().all(|c| c.is_alphanumeric() || c == '_'));
            // an option or a number behind a wrapper is the wrapper's own (`timeout 60`, `nice -n 5`)
            let is_own = words.len() < simple.words.len() && (first.starts_with('-') || first.parse::<f64>().is_ok());
            if is_assignment || is_own || self.wrappers.contains(name) {
                words = &words[1..];
                continue;
            }
            if matches!(name, "bash" | "sh" | "zsh" | "dash")
                && depth < 4
                && let Some(at) = words
                    .iter()
                    .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
                && let Some(script) = words.get(at + 1)
            {
                return self.class_within(script, depth + 1);
            }
            return self.class_of_words(name, &words[1..]);
        }
    }

    fn class_of_words(&self, name: &str, arguments: &[String]) -> ShellClass {
        let lists =
            [(&self.write, ShellClass::Write), (&self.read, ShellClass::Read), (&self.session, ShellClass::Session)];
        let subcommand = subcommand(arguments).map(|word| format!("{name} {word}"));
        for (list, class) in lists {
            if arguments
                .iter()
                .filter(|word| word.starts_with('-'))
                .any(|word| list.contains(&format!("{name} {word}")) || short_option_matches(list, name, word))
            {
                return class;
            }
        }
        for (list, class) in lists {
            if subcommand.as_ref().is_some_and(|pair| list.contains(pair)) {
                return class;
            }
        }
        lists.into_iter().find(|(list, _)| list.contains(name)).map_or(ShellClass::Write, |(_, class)| class)
    }
}

/// `-i.bak` and `-ni` hold the option `-i`.
fn short_option_matches(list: &BTreeSet<String>, name: &str, word: &str) -> bool {
    !word.starts_with("--")
        && word.chars().skip(1).take_while(|c| c.is_alphanumeric()).any(|c| list.contains(&format!("{name} -{c}")))
}

/// The first argument that is no option; the value of `-C` and `-c` is passed over (`git -C dir status`).
fn subcommand(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "-c" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            word => return Some(word),
        }
    }
    None
}

/// A command as text: a string, or the list form `["bash", "-lc", "make"]`.
fn command_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let quoted: Vec<String> = words?.into_iter().map(|w| format!("'{}'", w.replace('\'', "'\\''"))).collect();
            (!quoted.is_empty()).then(|| quoted.join(" "))
        }
        _ => None,
    }
}

/// One command between operators.
#[derive(Debug, Default)]
struct Simple {
    words: Vec<String>,
    writes_file: bool,
}

/// Splits a command line at `&&`, `||`, `|`, `;`, `&` and line ends outside quotes.
fn simple_commands(text: &str) -> Vec<Simple> {
    let mut scan = Scan { rest: text.chars().peekable(), ..Scan::default_of() };
    scan.run();
    scan.done
}

struct Scan<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    done: Vec<Simple>,
    simple: Simple,
    word: Option<String>,
    redirects: bool,
    heredoc: Option<String>,
    reads_delimiter: bool,
}

impl<'a> Scan<'a> {
    fn default_of() -> Scan<'a> {
        Scan {
            rest: "".chars().peekable(),
            done: Vec::new(),
            simple: Simple::default(),
            word: None,
            redirects: false,
            heredoc: None,
            reads_delimiter: false,
        }
    }

    fn run(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => self.quoted('\''),
                '"' => self.quoted('"'),
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(next) => self.word.get_or_insert_default().push(next),
                },
                '#' if self.word.is_none() => while self.rest.next_if(|&next| next != '\n').is_some() {},
                '\n' => {
                    self.end_command();
                    self.skip_heredoc();
                }
                ';' | '|' => self.end_command(),
                '&' if self.redirects && self.word.is_none() => {
                    // `2>&1` duplicates a stream and writes no file
                    self.redirects = false;
                    while self.rest.next_if(char::is_ascii_alphanumeric).is_some() {}
                }
                '&' => match self.rest.next_if_eq(&'>') {
                    Some(_) => self.redirects = true,
                    None => self.end_command(),
                },
                '>' => {
                    // a number just before `>` is the stream, no argument
                    if self.word.as_deref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
                        self.word = None;
                    }
                    self.end_word();
                    self.rest.next_if_eq(&'>');
                    self.rest.next_if_eq(&'|');
                    self.redirects = true;
                }
                '<' => {
                    self.end_word();
                    if self.rest.next_if_eq(&'<').is_some() {
                        // `<<<` is a string, `<<` and `<<-` a document
                        if self.rest.next_if_eq(&'<').is_none() {
                            self.rest.next_if_eq(&'-');
                            self.reads_delimiter = true;
                        }
                    }
                }
                '(' | ')' | '{' | '}' if self.word.is_none() => {}
                c if c.is_whitespace() => self.end_word(),
                c => self.word.get_or_insert_default().push(c),
            }
        }
        self.end_command();
    }

    fn quoted(&mut self, quote: char) {
        let word = self.word.get_or_insert_default();
        while let Some(c) = self.rest.next() {
            match c {
                c if c == quote => return,
                '\\' if quote == '"' => word.extend(self.rest.next()),
                c => word.push(c),
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.reads_delimiter {
            self.reads_delimiter = false;
            self.heredoc = Some(word);
        } else if self.redirects {
            self.redirects = false;
            self.simple.writes_file |= !matches!(word.as_str(), "/dev/null" | "/dev/stderr" | "/dev/stdout");
        } else {
            self.simple.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let simple = std::mem::take(&mut self.simple);
        if !simple.words.is_empty() || simple.writes_file {
            self.done.push(simple);
        }
    }

    fn skip_heredoc(&mut self) {
        let Some(delimiter) = self.heredoc.take() else { return };
        loop {
            let mut line = String::new();
            let mut ended = false;
            for c in self.rest.by_ref() {
                if c == '\n' {
                    ended = true;
                    break;
                }
                line.push(c);
            }
            if line.trim() == delimiter || !ended {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn table() -> ShellTable {
        ShellTable {
            tools: set(&["Bash"]),
            fields: vec!["command".to_owned(), "cmd".to_owned()],
            read: set(&["cat", "grep", "git status", "sed", "make test", "find", "echo"]),
            write: set(&["git", "sed -i", "find -delete", "rm", "make"]),
            session: set(&["cd", "export"]),
            wrappers: set(&["sudo", "timeout", "env"]),
        }
    }

    #[test]
    fn commands_by_hand() {
        use ShellClass::{Read, Session, Write};
        let cases = [
            ("cat src/lib.rs", Read),
            ("cd src && cat lib.rs | grep 'x > y; rm z'", Read),
            ("git status", Read),
            ("git -C dir --no-pager status", Read),
            ("git commit -m 'git status'", Write),
            ("sed -n 1,5p f", Read),
            ("sed -i.bak s/a/b/ f", Write),
            ("sed -ni s/a/b/ f", Write),
            ("find . -name '*.rs'", Read),
            ("find . -delete", Write),
            ("make test 2>&1", Read),
            ("make test > /dev/null 2>&1", Read),
            ("make test &> log", Write),
            ("make", Write),
            ("cat a >> b", Write),
            ("A=1 sudo timeout 60 cat f", Read),
            ("/usr/bin/cat f", Read),
            ("bash -lc 'cat f'", Read),
            ("bash -lc 'cat f; rm f'", Write),
            ("./script.sh", Write),
            ("cd src", Session),
            ("", Session),
            ("cat <<EOF\nrm -rf /\nEOF\ngrep x f", Read),
            ("cat <<EOF > f\nx\nEOF", Write),
            ("cat \"unclosed", Read),
        ];
        for (command, class) in cases {
            assert_eq!(table().class(command), class, "{command}");
        }
    }

    #[test]
    fn functions_carry_the_class() {
        let table = table();
        let call = |arguments: &str| serde_json::from_str::<Value>(arguments).expect("JSON");
        assert_eq!(table.function("Bash", &call(r#"{"command":"cat f"}"#)).as_deref(), Some("Bash.read"));
        assert_eq!(table.function("Bash", &call(r#"{"cmd":["bash","-lc","rm f"]}"#)).as_deref(), Some("Bash.write"));
        assert_eq!(table.function("Bash", &call(r#"{"other":1}"#)), None);
        assert_eq!(table.function("Read", &call(r#"{"command":"cat f"}"#)), None);
        assert_eq!(table.class_of("Bash.session"), Some(ShellClass::Session));
        assert_eq!(table.class_of("Read.session"), None);
    }
}
