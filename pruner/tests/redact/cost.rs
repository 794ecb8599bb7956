//! What it costs, on texts that invite looking ahead from every place.

use foldline_pruner::redact::{Redactor, redact};
use std::time::Duration;

/// Many secrets, secrets that begin alike, and texts of nothing but them.
#[test]
#[expect(clippy::disallowed_methods, reason = "a speed is measured")]
fn many_known_secrets_cost_no_more_than_their_text() {
    let nested: String = (3..100).map(|n| format!("password='{}' ", "a1,".repeat(n))).collect();
    let many: String = (0..20_000).map(|n| format!("password='abcdefgh{n}x' ")).collect();
    for (secrets, part) in
        [(&nested, "a1,"), (&nested, "a1,a1,a1,b "), (&many, "abcdefgh12345x "), (&many, "abcdefgh0 ")]
    {
        let mut redactor = Redactor::default();
        let started = std::time::Instant::now();
        redactor.learn(secrets);
        for _ in 0..100 {
            redactor.clean(&part.repeat(20_000 / part.len()));
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{part} took {:?}", started.elapsed());
        println!("{part:?} {:?}", started.elapsed());
    }
}

/// One and two megabytes of what once took quadratic time.
#[test]
#[expect(clippy::disallowed_methods, reason = "a speed is measured")]
fn twice_the_text_takes_twice_the_time() {
    let wall = "x<secret_1>";
    for (part, end) in [
        ("cookie: a=b\\n", ""),
        ("cookie: a=b\\r", ""),
        ("cookie: a=b\\r\\n", ""),
        ("authorization: Digest a\\n", ""),
        ("Host: h\\r\\nCookie: a=b\\r\\nAuthorization: Digest u=\\\"a\\\"\\r\\n", ""),
        ("password:", wall),
        ("password:", "("),
        ("password=", wall),
        ("password=a/", wall),
        ("--password=", wall),
        ("authorization:", "("),
        ("authorization:", wall),
        ("bearer x:", wall),
        ("-uuser:", wall),
        ("abc123,", " password='abc123,abc123,abc123,abc123,abc123,abc123,abc124'"),
        ("password=a1b2c3,", ""),
        (&format!("{}{wall} ", "password:".repeat(50)), ""),
    ] {
        let took = |size: usize| {
            let text = part.repeat(size / part.len()) + end;
            // the best of three: the machine is not alone
            let measured = (0..3).map(|_| {
                let started = std::time::Instant::now();
                assert!(redact(&text).len() <= 4 * size);
                started.elapsed()
            });
            measured.min().unwrap()
        };
        let [one, two] = [took(1_000_000), took(2_000_000)];
        assert!(one < Duration::from_secs(4), "{part:?} took {one:?}");
        let grown = two.as_secs_f64() / one.as_secs_f64().max(0.2);
        assert!(grown < 3.0, "{part:?}: {one:?}, then {two:?}");
        println!("{part:?}{end:?}: {one:?}, {two:?}");
    }
}

/// Ten megabytes in one line, of the kinds that invite looking ahead from every place.
#[test]
#[expect(clippy::disallowed_methods, reason = "a speed is measured")]
fn the_cost_is_linear() {
    let size = 10_000_000;
    for part in [
        "x",
        "word ",
        "password ",
        "password=",
        "password=\"",
        "password='\"",
        "password: ",
        "password is ",
        "token for a b c d ",
        "-----BEGIN PRIVATE KEY-----",
        "://a:b",
        "a://",
        "eyJaaaaaaaa.",
        "cookie: a=b ",
        "cookie:a=",
        "Authorization: Digest a",
        "Bearer ",
        "--password ",
        "mysql -p",
        "-u a:",
        "pwd\\\"",
        "日本",
        "/a.",
        ".a/",
        "{\"password\": \"x1\"}, ",
        "a1b2c3d4-",
        "pwd(",
        "password=$",
        "authorization:$",
        "pwd=your_",
        "pwd[",
        "{\"a\": 1, \"name\": \"Ann Lee\"}, ",
        "cookies={",
        "cookies={\"a\": \"\", ",
        "echo a ",
        "htpasswd -b ",
        "PASSWORD('",
        "identified by '",
        "password changed from a1b2c3 to ",
        " as the password",
        "$2y$",
        "a:5432:b:c:d1\n",
        "{\"name\": \"password\", \"value\": ",
        "password: “",
        "&quot;pwd&quot;: &quot;",
        "credentials: a:",
        "hooks.slack.com/triggers/",
        "dp.st.",
    ] {
        let text = part.repeat(size / part.len());
        let started = std::time::Instant::now();
        let cleaned = redact(&text);
        let took = started.elapsed();
        assert!(cleaned.len() <= 4 * size);
        assert!(took < Duration::from_secs(5), "{part:?} took {took:?}");
    }
}
