//! Secrets told by their form or by what names them.

use super::texts::{NO_SECRETS, SECRETS};
use foldline_pruner::redact::redact;

#[test]
fn secrets_vanish_and_the_rest_stays() {
    let mut wrong = Vec::new();
    for (text, secret) in SECRETS {
        let expected = text.replacen(secret, "<secret_1>", 1);
        // the secret may also stand in its own name or be a letter of the rest: the last place counts then
        let last = text.rfind(secret).map(|at| format!("{}<secret_1>{}", &text[..at], &text[at + secret.len()..]));
        let cleaned = redact(text);
        if cleaned != expected && Some(&cleaned) != last.as_ref() {
            wrong.push(format!("{text}\n    {cleaned}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), SECRETS.len(), wrong.join("\n"));
}

#[test]
fn both_passwords_of_a_change_vanish() {
    for text in [
        "the password changed from {} to {}.",
        "password was changed from '{}' to '{}'",
        "changed the password from {} to {}",
    ] {
        let cleaned = redact(&text.replacen("{}", "hunter22", 1).replacen("{}", "hunter33", 1));
        assert!(!cleaned.contains("hunter"), "{cleaned}");
    }
    assert_eq!(redact("password changed from nothing to hunter33"), "password changed from nothing to <secret_1>");
}

/// Tokens of vendors; put together here so that no scanner takes this file for a leak.
#[test]
fn tokens_of_vendors_vanish() {
    let [mixed, hex] = ["a1B2c3D4e5F6g7H8i9J0k1L2m3N4", "0123456789abcdef0123456789abcdef"];
    let mut tokens: Vec<String> = [
        "xoxe-",
        "glpat-",
        "gldt-",
        "ntn_",
        "secret_",
        "r8_",
        "pplx-",
        "fw_",
        "sq0csp-",
        "EAAA",
        "EAA",
        "PMAK-",
        "NRAK-",
        "sntrys_",
        "ATATT",
        "glsa_",
        "pscale_tkn_",
        "sbp_",
        "dp.st.",
        "dp.st.dev.",
        "tskey-auth-",
        "GOCSPX-",
        "rk_live_",
        "sk_live_",
        "pk_live_",
        "sgp_",
        "lin_api_",
        "figd_",
        "shpat_",
    ]
    .iter()
    .map(|beginning| format!("{beginning}{mixed}"))
    .collect();
    tokens.extend([
        format!("dapi{hex}"),
        format!("key-{hex}"),
        format!("SK{hex}"),
        format!("patAbCdEfGh123456.{hex}{hex}"),
    ]);
    for token in tokens {
        assert_eq!(redact(&format!("see {token}, then")), "see <secret_1>, then", "{token}");
    }
}

#[test]
fn everything_else_stays_as_it_is() {
    let wrong: Vec<String> = NO_SECRETS
        .iter()
        .filter(|text| redact(text) != **text)
        .map(|text| format!("{text}\n    {}", redact(text)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), NO_SECRETS.len(), wrong.join("\n"));
}
