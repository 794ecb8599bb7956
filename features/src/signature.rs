//! Call signatures: what makes two calls the same call.
//!
//! Two syntaxes. *AppWorld*: code that calls `apis.APP.API(...)`, read with the convention of TRACE so that refetches
//! stay comparable with its cohort (protocol section 1). *Tool*: a tool call as JSON, whose signature is the tool's name
//! and the canonical JSON of its arguments.

use crate::shell::ShellTable;
use serde_json::Value;

/// A call found in an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Function and arguments in canonical form: two calls with the same `exact` are the same call.
    pub exact: String,
    /// `app.api`, or a tool's name.
    pub function: String,
}

/// All calls of an AppWorld action, in order.
///
/// The action is scanned from the left for `apis.APP.API(`. Arguments end at the matching parenthesis, counting only
/// `(` and `)`; the scan goes on behind it, so a call nested in arguments is no call of its own. An unclosed call is
/// skipped and the scan goes on behind its opening parenthesis. String literals are not recognised: brackets, commas
/// and white space in them count, so `f(a="x, y")` has two argument pieces. That is the convention the released
/// refetch flags were made with, not an oversight.
pub fn appworld_calls(action: &str) -> Vec<Call> {
    const OPENING: &str = "apis.";
    let mut calls = Vec::new();
    let mut rest = action;
    while let Some(at) = rest.find(OPENING) {
        let after = &rest[at + OPENING.len()..];
        let Some((function, arguments)) = split_function(after) else {
            rest = after;
            continue;
        };
        match closing_parenthesis(arguments) {
            Some(end) => {
                calls.push(Call {
                    exact: format!("{function}({})", canonical_arguments(&arguments[..end])),
                    function: function.to_owned(),
                });
                rest = &arguments[end + 1..];
            }
            None => rest = arguments,
        }
    }
    calls
}

/// `APP.API(` at the start of `text`: the function and what follows the parenthesis.
fn split_function(text: &str) -> Option<(&str, &str)> {
    let word = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let app = word(text);
    let api_and_rest = text[app..].strip_prefix('.')?;
    let api = word(api_and_rest);
    let end = app + 1 + api;
    let arguments = text[end..].strip_prefix('(')?;
    (app > 0 && api > 0).then(|| (&text[..end], arguments))
}

/// Byte index of the `)` that closes a call whose `(` stands just before `text`.
fn closing_parenthesis(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Argument text without white space, positional pieces in order, then keyword pieces sorted by code point.
fn canonical_arguments(text: &str) -> String {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut depth = 0i64;
    let pieces = compact.split(|c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    let (mut keyword, mut ordered): (Vec<&str>, Vec<&str>) =
        pieces.filter(|piece| !piece.is_empty()).partition(|piece| is_keyword(piece));
    keyword.sort_unstable();
    ordered.append(&mut keyword);
    ordered.join(",")
}

/// Whether a piece holds, anywhere, an `=` that is no part of `==`, `!=`, `<=` or `>=`.
fn is_keyword(piece: &str) -> bool {
    let bytes = piece.as_bytes();
    bytes.iter().enumerate().any(|(index, &byte)| {
        byte == b'='
            && bytes.get(index + 1) != Some(&b'=')
            && !index.checked_sub(1).is_some_and(|before| matches!(bytes[before], b'=' | b'!' | b'<' | b'>'))
    })
}

/// The signature of a tool call: name and canonical JSON of the arguments.
pub fn tool_call(name: &str, arguments: &Value) -> Call {
    let mut exact = name.to_owned();
    write_canonical(arguments, &mut exact);
    Call { exact, function: name.to_owned() }
}

/// All calls of a tool-calling action: a JSON object `{"name", "arguments"}` or a list of them. Anything else, such as
/// plain text, holds no call.
pub fn tool_calls(action: &str) -> Vec<Call> {
    tool_calls_with(action, None)
}

/// As [`tool_calls`], where a shell tool's function carries the class of its command.
pub fn tool_calls_with(action: &str, shell: Option<&ShellTable>) -> Vec<Call> {
    match serde_json::from_str::<Value>(action) {
        Ok(Value::Array(calls)) => calls.iter().filter_map(|call| one_tool_call(call, shell)).collect(),
        Ok(call) => one_tool_call(&call, shell).into_iter().collect(),
        Err(_) => Vec::new(),
    }
}

fn one_tool_call(call: &Value, shell: Option<&ShellTable>) -> Option<Call> {
    let name = call.get("name")?.as_str()?;
    let arguments = call.get("arguments").unwrap_or(&Value::Null);
    match shell.and_then(|shell| shell.function(name, arguments)) {
        Some(function) => Some(tool_call(&function, arguments)),
        None => Some(tool_call(name, arguments)),
    }
}

/// JSON without white space, object keys sorted by code point, whatever order the parser keeps.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// The function of an exact signature: what stands before its arguments.
pub fn function_of(exact: &str) -> &str {
    exact.split(['(', '{']).next().unwrap_or(exact)
}

/// The app of a function or of an exact signature: what stands before the first dot of its name; a tool without a dot
/// is its own app.
pub fn app_of(function: &str) -> &str {
    let name = function_of(function);
    name.split_once('.').map_or(name, |(app, _)| app)
}

/// The API of a function or of an exact signature: what stands behind the first dot of its name, or the whole name.
pub fn api_of(function: &str) -> &str {
    let name = function_of(function);
    name.split_once('.').map_or(name, |(_, api)| api)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exacts(action: &str) -> Vec<String> {
        appworld_calls(action).into_iter().map(|call| call.exact).collect()
    }

    #[test]
    fn the_conventions_of_trace_by_hand() {
        // (action, expected, which rule of protocol section 1)
        let cases: &[(&str, &[&str], &str)] = &[
            ("apis.a.f(y, b = 2, a=1)", &["a.f(y,a=1,b=2)"], "keywords sorted behind positional pieces"),
            (
                "apis.a.f(x==1, g(2, 3), b=2)",
                &["a.f(x==1,g(2,3),b=2)"],
                "== makes no keyword; commas in () do not split",
            ),
            ("apis.a.f(1", &[], "unclosed"),
            ("apis.a.f(1, apis.b.g(2)", &["b.g(2)"], "behind an unclosed call's parenthesis the scan goes on"),
            ("apis.a.f(apis.b.g(1))", &["a.f(apis.b.g(1))"], "nested call"),
            ("apis.a.f(a=\"x, y\")", &["a.f(y\",a=\"x)"], "string literals are not recognised"),
            ("apis.a .f(1) apis.a.f (1) apis.f(1)", &[], "no call without both names and the parenthesis"),
            ("apis.apis.b.c(1)", &["b.c(1)"], "apis.b. is no call; the scan goes on behind its first word"),
            ("apis.a.f(,,1,)", &["a.f(1)"], "empty pieces dropped"),
        ];
        for (action, expected, rule) in cases {
            assert_eq!(&exacts(action), expected, "{rule}: {action}");
        }
    }

    #[test]
    fn tool_signatures_do_not_depend_on_key_order() {
        let one = tool_calls(r#"{"name":"edit","arguments":{"b":[1, {"y":1,"x":2}],"a":"é"}}"#);
        let two = tool_calls(r#"[{"arguments":{"a":"é","b":[1,{"x":2,"y":1}]},"name":"edit"}]"#);
        assert_eq!(one, two);
        assert_eq!(one[0].exact, r#"edit{"a":"é","b":[1,{"x":2,"y":1}]}"#);
        assert!(tool_calls("ls -la").is_empty());
    }

    #[test]
    fn parts_of_a_name() {
        assert_eq!((app_of("venmo.login(a=x.y)"), api_of("venmo.login(a=x.y)")), ("venmo", "login"));
        assert_eq!((app_of("bash{\"a\":\"x.y\"}"), api_of("bash")), ("bash", "bash"));
    }
}
