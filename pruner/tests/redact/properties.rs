//! What holds for any text.

use super::texts::{NO_SECRETS, SECRETS};
use foldline_pruner::redact::redact;
use proptest::prelude::*;

/// Text made of what the search looks for, so that its rules meet each other.
fn text() -> impl Strategy<Value = String> {
    let words: Vec<&str> = SECRETS.iter().map(|(text, _)| *text).chain(NO_SECRETS.iter().copied()).collect();
    let signs = vec![
        "password",
        "token",
        "=",
        ": ",
        "\"",
        "'",
        "`",
        " ",
        "\n",
        "\\n",
        "\\",
        "is ",
        "to ",
        "://",
        "@",
        ":",
        "--",
        "-p",
        "mysql ",
        "é",
        "日本",
        "a1b2c3",
        "x",
        "<",
        ">",
        "<secret_1>",
        "secret_2",
        "|",
        ",",
        "(",
        ")",
        "[",
        "]",
        "Bearer ",
        "Cookie: ",
        "Authorization: ",
        "eyJhbGciOiJ",
        ".",
        "ghp_abcdefghijkl12",
        "-----BEGIN PRIVATE KEY-----",
        "-----END",
        "/",
        "**",
        "key",
        "api ",
        "$",
        "{",
        "}",
        "sk-",
        "0123456789abcdef",
        "u:p@h",
        "1234",
        "; ",
    ];
    let part = prop_oneof![1 => prop::sample::select(words), 6 => prop::sample::select(signs)];
    prop_oneof![
        4 => prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_second_pass_finds_nothing_more(text in text()) {
        let once = redact(&text);
        prop_assert_eq!(&redact(&once), &once, "{:?}", text);
    }

    #[test]
    fn the_text_hardly_grows(text in text()) {
        prop_assert!(redact(&text).len() <= 4 * text.len() + 16, "{:?}", text);
    }
}
