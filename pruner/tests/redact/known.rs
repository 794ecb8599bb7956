//! Secrets that were found once, wherever else they stand.

use foldline_pruner::redact::{Redactor, redact};

#[test]
fn a_secret_is_known_again_where_nothing_names_it() {
    let mut redactor = Redactor::default();
    redactor.learn("{\"password\": \"x001abc\", \"pin\": \"4471\"}");
    assert_eq!(redactor.clean("used x001abc, card 4471"), "used <secret_1>, card 4471");
    assert_eq!(redactor.clean("token=b2b2b2b2 x001abc"), "token=<secret_3> <secret_1>");
    // an ordinary word is not looked for
    redactor.learn("password='melissa'");
    assert_eq!(redactor.clean("melissa"), "melissa");
}

#[test]
fn a_known_secret_goes_whatever_surrounds_it() {
    let secrets = [
        "P@ssw0rd!",
        "Tr0ub4dor&3",
        "abc,def9",
        "Qw3rty?",
        "a;b9cdef",
        "t0k|en9",
        "x001abc",
        "123456",
        "(a1b2c3",
        "pä55wört",
    ];
    let places = [
        "{}",
        "used {} there",
        "“{}”",
        "«{}»",
        "**{}**",
        "{}…",
        "{}—then",
        "→{}",
        "bob:{}",
        "bob/{}",
        "bob@{}",
        "{}\\nnext",
        "before\\n{}",
        "\u{200b}{}\u{200b}",
        "({}), [{}]; {}.",
        "{}={}",
        "日本「{}」",
    ];
    for secret in secrets {
        let mut redactor = Redactor::default();
        redactor.learn(&serde_json::json!({ "password": secret }).to_string());
        for place in places {
            let cleaned = redactor.clean(&place.replace("{}", secret));
            assert_eq!(cleaned, place.replace("{}", "<secret_1>"), "{secret} in {place}");
            assert_eq!(redactor.clean(&cleaned), cleaned);
        }
    }
    // part of a longer word, a shorter number, ordinary words
    let mut redactor = Redactor::default();
    redactor.learn(r#"{"password": "x001abc", "pin": "4471", "passwd": "swordfish", "pwd": "abcde"}"#);
    for text in ["x001abcd", "éx001abc", "4471", "swordfish", "abcde"] {
        assert_eq!(redactor.clean(text), text);
    }
    // the longest counts, and what overlaps goes together
    let mut redactor = Redactor::default();
    redactor.learn(r#"[{"password": "a1b2c3"}, {"password": "a1b2c3-d4"}, {"password": "d4-e5f6"}]"#);
    assert_eq!(redactor.clean("a1b2c3-d4 a1b2c3"), "<secret_2> <secret_1>");
    assert_eq!(redactor.clean("a1b2c3-d4-e5f6"), "<secret_4>");
    // a sentence ended behind it, or it did not
    let mut redactor = Redactor::default();
    redactor.learn("the password is hunter22!");
    assert_eq!(redactor.clean("hunter22! hunter22"), "<secret_1> <secret_2>");
    // no stand-in is taken apart
    let mut redactor = Redactor::default();
    redactor.learn(r#"{"password": "1>abcd!9"}"#);
    assert_eq!(redactor.clean("<secret_1>abcd!9"), "<secret_1>abcd!9");
}

#[test]
fn two_secrets_next_to_each_other() {
    assert_eq!(redact("AKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), "<secret_1>,<secret_2>");
    assert_eq!(redact("AccessKey=a1b2c3d4;SecretKey=x"), "AccessKey=<secret_1>;SecretKey=<secret_2>");
}
