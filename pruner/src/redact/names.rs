//! Names of secrets: `DB_PASSWORD`, `SecretAccessKey`, `x-api-key`, `access token`.

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Always a secret: whatever stands there is replaced unless it is plainly something else.
    Password,
    /// Often something else (a counter, a special token of a model): the value must look like a secret itself.
    Token,
    /// `..._key`: mostly the key of a table, so the value must be long and random.
    Key,
    /// A short code of digits.
    Pin,
    /// A session: a long value that mixes letters and digits.
    Session,
}

/// Endings in lower case without separators, and whether they must be a word of their own within the name.
const ENDINGS: &[(&str, bool, Kind)] = &[
    ("password", false, Kind::Password),
    ("passwd", false, Kind::Password),
    ("passphrase", false, Kind::Password),
    ("passcode", false, Kind::Password),
    ("pwd", false, Kind::Password),
    ("pw", true, Kind::Password),
    ("secret", false, Kind::Password),
    ("secretkey", false, Kind::Password),
    ("secretaccesskey", false, Kind::Password),
    ("privatekey", false, Kind::Password),
    ("apikey", false, Kind::Password),
    ("authkey", false, Kind::Password),
    ("accountkey", false, Kind::Password),
    ("encryptionkey", false, Kind::Password),
    ("signingkey", false, Kind::Password),
    ("masterkey", false, Kind::Password),
    ("sharedkey", false, Kind::Password),
    ("accesstoken", false, Kind::Password),
    ("apitoken", false, Kind::Password),
    ("authtoken", false, Kind::Password),
    ("refreshtoken", false, Kind::Password),
    ("sessiontoken", false, Kind::Password),
    ("securitytoken", false, Kind::Password),
    ("bearertoken", false, Kind::Password),
    ("idtoken", true, Kind::Password),
    ("passwordhash", false, Kind::Password),
    ("passwordnew", false, Kind::Password),
    ("passwordold", false, Kind::Password),
    ("passwordagain", false, Kind::Password),
    ("passwordrepeat", false, Kind::Password),
    ("passwordconfirm", false, Kind::Password),
    ("passwordconfirmation", false, Kind::Password),
    ("passwordvalue", false, Kind::Password),
    ("secretvalue", false, Kind::Password),
    ("secretstring", false, Kind::Password),
    ("secretkeybase", false, Kind::Password),
    ("psk", true, Kind::Password),
    ("phpsessid", false, Kind::Password),
    ("jsessionid", false, Kind::Password),
    ("sessionid", false, Kind::Session),
    ("token", false, Kind::Token),
    ("pass", true, Kind::Token),
    ("auth", true, Kind::Token),
    ("cookie", true, Kind::Token),
    // also an attribute of HTML
    ("accesskey", false, Kind::Token),
    ("sid", true, Kind::Token),
    ("signature", true, Kind::Token),
    ("sig", true, Kind::Token),
    ("credential", false, Kind::Token),
    ("key", true, Kind::Key),
    ("pin", true, Kind::Pin),
    ("otp", true, Kind::Pin),
];

/// Words that make a name of the `key` or `token` behind them.
const BEFORE: &[&str] =
    &["api", "access", "secret", "private", "auth", "session", "refresh", "encryption", "signing", "account", "master"];

/// Whose `pass` it is, joined or not: `DBPASS`, `smtp_pass`. Other words end so too (`compass`, `first_pass`).
const OWNERS: &[&str] = &[
    "admin",
    "app",
    "auth",
    "become",
    "db",
    "database",
    "email",
    "ftp",
    "git",
    "http",
    "imap",
    "ldap",
    "login",
    "mail",
    "master",
    "mongo",
    "mysql",
    "pg",
    "postgres",
    "rabbitmq",
    "redis",
    "require",
    "root",
    "sftp",
    "smtp",
    "sql",
    "ssh",
    "sudo",
    "user",
    "wifi",
    "http_proxy",
];

/// Words that make a short secret of the `code` behind them; `time` as in "one-time".
const BEFORE_CODE: &[&str] = &["pin", "otp", "time", "access", "security", "verification", "recovery", "reset"];

/// Beginnings of what is a function about a password rather than a password.
const VERBS: &[&str] = &[
    "reset_",
    "set_",
    "get_",
    "show_",
    "change_",
    "update_",
    "send_",
    "delete_",
    "create_",
    "generate_",
    "check_",
    "has_",
];

/// What the name says, if anything; `before` is the word before it.
pub(super) fn kind(name: &str, before: &str) -> Option<Kind> {
    let said = |words: &[&str]| words.iter().any(|word| before.eq_ignore_ascii_case(word));
    if name.eq_ignore_ascii_case("code") && said(BEFORE_CODE) {
        return Some(Kind::Pin);
    }
    let name = name.trim_end_matches(|sign: char| sign.is_ascii_digit() || matches!(sign, '_' | '-'));
    let found = ENDINGS.iter().filter(|(ending, whole, _)| ends(name, ending, *whole)).map(|(_, _, kind)| *kind);
    let pass =
        name.len() > 4 && name.is_char_boundary(name.len() - 4) && name[name.len() - 4..].eq_ignore_ascii_case("pass");
    if pass && OWNERS.iter().any(|owner| ends(name[..name.len() - 4].trim_end_matches(['_', '-']), owner, true)) {
        return Some(Kind::Password);
    }
    // an ending that is longer says more
    let kind = found.min_by_key(|kind| *kind != Kind::Password)?;
    if kind == Kind::Password && VERBS.iter().any(|verb| name.starts_with(verb)) {
        return None;
    }
    let named = matches!(name, "key" | "Key" | "KEY" | "token" | "Token") && said(BEFORE);
    Some(if named { Kind::Password } else { kind })
}

/// Whether a name ends so, whatever its case and separators.
fn ends(name: &str, ending: &str, whole: bool) -> bool {
    let name = name.as_bytes();
    let mut at = name.len();
    for &wanted in ending.as_bytes().iter().rev() {
        while at > 0 && matches!(name[at - 1], b'_' | b'-') {
            at -= 1;
        }
        if at == 0 || name[at - 1].to_ascii_lowercase() != wanted {
            return false;
        }
        at -= 1;
    }
    let inner_capital = name[at].is_ascii_uppercase() && at > 0 && name[at - 1].is_ascii_lowercase();
    !whole || at == 0 || !name[at - 1].is_ascii_alphanumeric() || inner_capital
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_only_looks_like_one() {
        for name in [
            "PGPASSWORD",
            "MYSQL_PWD",
            "SecretAccessKey",
            "x-api-key",
            "clientSecret",
            "password2",
            "DB_PW",
            "DBPASS",
            "smtp_pass",
            "SSHPASS",
        ] {
            assert_eq!(kind(name, ""), Some(Kind::Password), "{name}");
        }
        for name in ["token", "csrf_token", "first_pass", "sid"] {
            assert_eq!(kind(name, ""), Some(Kind::Token), "{name}");
        }
        assert_eq!(kind("key", "API"), Some(Kind::Password));
        for name in [
            "tokens",
            "author",
            "secretary",
            "compass",
            "token_budget",
            "reset_password",
            "bypass",
            "monkey",
            "spin",
            "",
            "_",
        ] {
            assert_eq!(kind(name, ""), None, "{name}");
        }
    }
}
