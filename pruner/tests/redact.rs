//! What is replaced before anything is sent, what stays, and what that costs.

#![cfg(test)]

use std::time::Duration;

use foldline_pruner::redact::{Redactor, redact};
use proptest::prelude::*;

/// Texts, and their only secret. It must vanish, and everything else must stay.
const SECRETS: &[(&str, &str)] = &[
    // URLs of any scheme
    ("postgres://user:pw@host/db", "pw"),
    ("DATABASE_URL=postgresql+asyncpg://app:S3cr%40t@10.0.0.3:5432/app?sslmode=require", "S3cr%40t"),
    ("https://user:tok3n@host/path", "tok3n"),
    ("redis://:pw@host:6379/0", "pw"),
    ("amqp://guest:gu:est@rabbit//", "gu:est"),
    ("git clone https://oauth2:glpat-AbCdEfGh12345678ijkl@gitlab.com/a/b.git", "glpat-AbCdEfGh12345678ijkl"),
    ("https://0123456789abcdef01@sentry.example/42", "0123456789abcdef01"),
    ("mysql://root:a/b#c@db/app", "a/b#c"),
    ("see (mongodb+srv://admin:hunter@cluster0.example.net) for it", "hunter"),
    ("GET /v1?api_key=Zk3jd93kd&page=2", "Zk3jd93kd"),
    ("https://api.example/v1/x?access_token=abc123def&q=1", "abc123def"),
    // AWS
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("\"SecretAccessKey\": \"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\",", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
    (
        "AWS Secret Access Key [None]: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    (
        "<SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY</SecretAccessKey>",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    ("the secret access key is wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY.", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("id AKIAIOSFODNN7EXAMPLE of the role", "AKIAIOSFODNN7EXAMPLE"),
    ("ASIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"),
    // headers
    ("Authorization: Bearer abc123", "abc123"),
    ("authorization = \"Basic dXNlcjpwYXNz\"", "dXNlcjpwYXNz"),
    ("curl -H 'Authorization: token abcdef1234' https://host", "abcdef1234"),
    ("{\"Authorization\": \"Bearer abc.def-123\"}", "abc.def-123"),
    ("Proxy-Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l", "YWxhZGRpbjpvcGVuc2VzYW1l"),
    ("Authorization: 0123456789abcdefghij", "0123456789abcdefghij"),
    (
        "Authorization: Digest username=\"u\", response=\"6629fae49393a05397450978507c4ef1\"",
        "username=\"u\", response=\"6629fae49393a05397450978507c4ef1\"",
    ),
    ("sent Bearer a1b2c3d4e5 with it", "a1b2c3d4e5"),
    ("Set-Cookie: sid=31d4d96e407aad42; Path=/; HttpOnly\r\nNext: 1", "sid=31d4d96e407aad42; Path=/; HttpOnly"),
    ("Cookie: theme=light; session=abc", "theme=light; session=abc"),
    ("curl -H 'Cookie: a=b; c=d' https://host", "a=b; c=d"),
    ("{\"set-cookie\": \"a=b; Secure\"}", "a=b; Secure"),
    ("X-Api-Key: 8f14e45f", "8f14e45f"),
    // settings
    ("PGPASSWORD=letmein psql -h db", "letmein"),
    ("MYSQL_PWD=abc", "abc"),
    ("DB_PASSWORD: swordfish", "swordfish"),
    ("DB_PASSWORD=p,a;s&s", "p,a;s&s"),
    ("export FOO_TOKEN=\"f00-b4r-b4z\"", "f00-b4r-b4z"),
    ("client_secret=Zx9", "Zx9"),
    ("api-key: Qm4rT0", "Qm4rT0"),
    ("docker run -e POSTGRES_PASSWORD=postgrespw img", "postgrespw"),
    ("  password: swordfish", "swordfish"),
    ("smtp_pass = 'gh7Kq2'", "gh7Kq2"),
    ("STRIPE_KEY=aaaa1111zbbb2222cccc3333", "aaaa1111zbbb2222cccc3333"),
    ("jdbc:postgresql://host/db?user=a&password=letmein", "letmein"),
    ("curl -d \"user=a&password=letmein&x=1\" https://h", "letmein"),
    ("psql \"host=h password=letmein dbname=x\"", "letmein"),
    ("Server=db;User Id=sa;Password=Str0ng!&Pass;Encrypt=true", "Str0ng!&Pass"),
    ("PGPASSWORD='a b c' psql", "a b c"),
    ("export TOKEN=abcdef", "abcdef"),
    ("PGPASSWORD=secret psql", "secret"),
    // JSON, YAML, Python, and JSON within JSON
    ("{\"password\": \"x\"}", "x"),
    ("{'access_token': 'x', 'n': 1}", "x"),
    ("{\"password\":\"correct horse battery staple\"}", "correct horse battery staple"),
    (r#"{\"password\": \"ab\\\"c1\"}"#, r#"ab\\\"c1"#),
    ("login(user='a', password='hunter22')", "hunter22"),
    ("login(user=a, password=hunter22, n=1)", "hunter22"),
    ("password: str = \"abc\"", "abc"),
    ("config[\"password\"] = \"abc\"", "abc"),
    ("let api_key = \"abc\";", "abc"),
    ("password := `abc`", "abc"),
    ("setenv(\"SECRET_KEY\", \"abc\")", "abc"),
    ("<password>hunter</password> 1", "hunter"),
    ("text \\npassword: hunter2\\nnext", "hunter2"),
    // command lines
    ("tool --password x --verbose", "x"),
    ("tool --password=x", "x"),
    ("tool --token abcdef12", "abcdef12"),
    ("[\"tool\", \"--password\", \"x y\"]", "x y"),
    ("mysql -u root -p'x y' db", "x y"),
    ("mysqldump -uroot -phunter db", "hunter"),
    ("curl -u user:pw https://host", "pw"),
    ("curl --user user:pw https://host", "pw"),
    ("curl -uuser:pw https://host", "pw"),
    ("docker login -u bob -p hunter2", "hunter2"),
    ("kubectl create secret generic x --from-literal=password=hunter", "hunter"),
    ("curl \\\n  -u 'user:p w' https://host", "p w"),
    ("sshpass -p x ssh host", "x"),
    ("sshpass -p'x' ssh host", "x"),
    ("redis-cli -a hunter ping", "hunter"),
    ("curl -b 'sid=abc' https://host", "sid=abc"),
    // prose
    ("the password is `hunter`", "hunter"),
    ("the password: hunter2", "hunter2"),
    ("the password: hunter2, then log in", "hunter2"),
    ("passcode for the alarm is 1234", "1234"),
    ("Password for venmo: x001abc", "x001abc"),
    ("changed the password to hunter2.", "hunter2"),
    ("password was changed to Hunter2", "Hunter2"),
    ("- **Password:** hunter2", "hunter2"),
    ("- **password**: `hunter`", "hunter"),
    ("Password (Spotify): hunter2", "hunter2"),
    ("logged in with password x001abc", "x001abc"),
    ("API key: Ab12", "Ab12"),
    ("the access token is 'abc'", "abc"),
    ("PIN is 1234", "1234"),
    ("| password | hunter2 |", "hunter2"),
    ("Password:\n  hunter2\n", "hunter2"),
    ("login(password='x001abc… [cut]", "x001abc"),
    ("unicode é password=“hunter2”", "hunter2"),
    ("Password is: hunter2", "hunter2"),
    ("use the passcode `1234` for the door", "1234"),
    ("your one-time code is 123456", "123456"),
    ("password - hunter2", "hunter2"),
    ("password → hunter2", "hunter2"),
    // by form
    ("AKIA_ wJalrXUtnFEMI7K7MDENG0bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI7K7MDENG0bPxRfiCYEXAMPLEKEY"),
    ("https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/a1b2c3d4e5f6", "T0AB12CD3/B0AB12CD3/a1b2c3d4e5f6"),
    ("sk-abcdefghijklmnopqrstuvwxyz", "sk-abcdefghijklmnopqrstuvwxyz"),
    (
        "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3 ends",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3",
    ),
    ("ghp_abcdefghijklmnop1234", "ghp_abcdefghijklmnop1234"),
    ("github_pat_11ABCDEFG0abcdefghij_klm", "github_pat_11ABCDEFG0abcdefghij_klm"),
    ("glpat-abcdefgh12345678abcd", "glpat-abcdefgh12345678abcd"),
    ("key sk-proj-0123456789abcdef.", "sk-proj-0123456789abcdef"),
    ("sk-ant-api03-abcdefgh1234", "sk-ant-api03-abcdefgh1234"),
    ("xoxb-123456789012-abcdefABCDEF12", "xoxb-123456789012-abcdefABCDEF12"),
    ("xoxs-123456789012-abcdefABCDEF12", "xoxs-123456789012-abcdefABCDEF12"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA1234567890abcdefghijklmnopqrstuv"),
    ("hf_abcdefghij1234567890", "hf_abcdefghij1234567890"),
    ("npm_abcdefghij1234567890", "npm_abcdefghij1234567890"),
    ("pypi-AgEIcHlwaS5vcmcCJDEy", "pypi-AgEIcHlwaS5vcmcCJDEy"),
    ("SG.abcdefghij1234567890.klmnopqrstuv", "SG.abcdefghij1234567890.klmnopqrstuv"),
    ("t xt0001xxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "xt0001xxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    (r#"{"out": "a\nghp_abcdefghijklmnop1234"}"#, "ghp_abcdefghijklmnop1234"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc+/\nd=\n-----END RSA PRIVATE KEY-----\n", "MIIabc+/\nd="),
    ("-----BEGIN PRIVATE KEY-----\\nMIIabc\\n-----END PRIVATE KEY-----", "\\nMIIabc\\n"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza", "b3BlbnNza"),
    // an ordinary word behind an unmistakable name
    ("{\"password\":\"Password1\"}", "Password1"),
    ("{\"password\": \"topsecret\"}", "topsecret"),
    ("{'password': 'adminpassword'}", "adminpassword"),
    ("POSTGRES_PASSWORD=mysecretpassword", "mysecretpassword"),
    ("password = \"supersecret\"", "supersecret"),
    ("API_TOKEN=swordfishtoken", "swordfishtoken"),
    ("{\"pass\": \"swordfish\"}", "swordfish"),
    ("password: \"correct horse from battery\"", "correct horse from battery"),
    ("client_secret: 'swordfish'", "swordfish"),
    ("passphrase=\"open the door for me\"", "open the door for me"),
    ("{\"api_key\": \"abcdef\", \"n\": 1}", "abcdef"),
    // joined names, and words behind them
    ("SSHPASS=swordfish", "swordfish"),
    ("DBPASS=swordfish", "swordfish"),
    ("dbpass: swordfish", "swordfish"),
    ("userpass = \"swordfish\"", "swordfish"),
    ("smtp_pass=swordfish", "swordfish"),
    ("ansible_ssh_pass=swordfish", "swordfish"),
    ("requirepass=swordfish", "swordfish"),
    ("\"passwordHash\": \"swordfish\"", "swordfish"),
    ("\"password_confirmation\": \"swordfish\"", "swordfish"),
    ("passwordNew: 'swordfish'", "swordfish"),
    ("secret_key_base: swordfish", "swordfish"),
    ("\"SecretString\": \"swordfish\"", "swordfish"),
    ("psk=swordfish", "swordfish"),
    // SQL
    ("CREATE USER u IDENTIFIED BY 'swordfish';", "swordfish"),
    ("alter user u identified by 'swordfish'", "swordfish"),
    ("ALTER USER u IDENTIFIED WITH caching_sha2_password BY 'swordfish';", "swordfish"),
    ("SET PASSWORD FOR u = PASSWORD('swordfish')", "swordfish"),
    ("CREATE ROLE u WITH PASSWORD 'swordfish'", "swordfish"),
    ("CREATE ROLE u WITH LOGIN ENCRYPTED PASSWORD 'swordfish'", "swordfish"),
    ("CREATE LOGIN u WITH PASSWORD = N'swordfish';", "swordfish"),
    // command lines
    ("[\"sshpass\",\"-p\",\"Sw0rd9xyz\",\"ssh\"]", "Sw0rd9xyz"),
    ("[\"sshpass\", \"-p\", \"Sw0rd9xyz\", \"ssh\"]", "Sw0rd9xyz"),
    ("az login -u bob -p swordfish", "swordfish"),
    ("mongo -u bob -p swordfish db", "swordfish"),
    ("ldapsearch -x -D cn=a -w swordfish -b dc=b", "swordfish"),
    ("sqlcmd -S host -U sa -P swordfish -Q q", "swordfish"),
    ("unzip -P swordfish a.zip", "swordfish"),
    ("7z x -pswordfish a.7z", "swordfish"),
    ("htpasswd -b .htpasswd bob swordfish", "swordfish"),
    ("htpasswd -nbB bob swordfish", "swordfish"),
    ("curl --oauth2-bearer swordfish https://h", "swordfish"),
    ("smbclient //h/s -U bob%swordfish", "swordfish"),
    ("echo swordfish | sudo -S ls", "swordfish"),
    ("echo -n 'sword fish' | sudo -kS ls", "sword fish"),
    ("kubectl create secret generic x --from-literal=db-password=swordfish", "swordfish"),
    ("ENV DB_PASSWORD swordfish", "swordfish"),
    ("#define WIFI_PASSWORD \"swordfish\"", "swordfish"),
    // pairs of name and value
    ("{\"name\":\"DB_PASSWORD\",\"value\":\"swordfish\"}", "swordfish"),
    ("{\"name\": \"DB_PASSWORD\", \"value\": \"swordfish\"}", "swordfish"),
    ("- name: DB_PASSWORD\n  value: swordfish\n", "swordfish"),
    ("- name: DB_PASSWORD\n  value: \"swordfish\"\n", "swordfish"),
    ("<add key=\"ApiKey\" value=\"swordfish\"/>", "swordfish"),
    ("<property name=\"password\" value=\"swordfish\"/>", "swordfish"),
    ("{&quot;password&quot;: &quot;swordfish&quot;}", "swordfish"),
    // cookies, sessions, webhooks
    ("get(url, cookies={\"sessionid\": \"swordfish\"})", "swordfish"),
    ("PHPSESSID=swordfish", "swordfish"),
    ("JSESSIONID=swordfish; Path=/", "swordfish"),
    ("session_id=0a1b2c3d4e5f60718293a4b5", "0a1b2c3d4e5f60718293a4b5"),
    ("https://canary.discord.com/api/webhooks/123456789012/a1b2c3d4e5f6", "123456789012/a1b2c3d4e5f6"),
    ("https://hooks.slack.com/workflows/T0AB12CD3/B0AB12CD3/a1b2c3d4e5f6", "T0AB12CD3/B0AB12CD3/a1b2c3d4e5f6"),
    ("https://hooks.slack.com/triggers/T0AB12CD3/123456/a1b2c3d4e5f6", "T0AB12CD3/123456/a1b2c3d4e5f6"),
    // sentences
    ("Use hunter22 as the password", "hunter22"),
    ("use `hunter22` as your new password.", "hunter22"),
    ("set P@ssword! as the database password", "P@ssword!"),
    ("the password should be hunter22", "hunter22"),
    ("the password should be: hunter22", "hunter22"),
    ("password: |\n  hunter22\n", "hunter22"),
    ("password: >-\n  hunter22\n", "hunter22"),
    ("the password remains hunter22.", "hunter22"),
    ("the password turned out to be hunter22", "hunter22"),
    ("log in with the password (hunter22)", "hunter22"),
    ("the password — hunter22", "hunter22"),
    ("credentials: bob:hunter22", "hunter22"),
    ("Credentials are bob:hunter22, ask Ann", "hunter22"),
    // files of passwords
    ("db.example:5432:app:bob:hunter22", "hunter22"),
    ("*:*:app:bob:hunter22\n", "hunter22"),
    ("bob:$apr1$ab12cd34$ABCDEFGHIJKLMNOPQRSTUV", "$apr1$ab12cd34$ABCDEFGHIJKLMNOPQRSTUV"),
    (
        "bob:$2y$05$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ12345",
        "$2y$05$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ12345",
    ),
];

/// Texts that hold no secret and must stay as they are, byte for byte.
const NO_SECRETS: &[&str] = &[
    "log in with the password from show_account_passwords",
    "the password field is required",
    "token_budget=7200",
    "max_tokens: 512",
    "n_tokens = 30",
    "tokens: 1,200",
    "from sk-learn import x; sk-learn==1.4.2",
    "author: x",
    "/home/user/project2/src/0a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p/main.rs",
    "/nix/store/0c5b8hm0z6s1h5x5q8zkqv1wp4l3ffyd-foo-1.2/bin",
    r"C:\Users\me\0a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p.txt",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "\"integrity\": \"sha512-AbCdEfGh1234567890AbCdEfGh1234567890AbCdEfGh==\"",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "session_id: 123",
    "mail a.very.long.address.with.many.parts.2023@example.com",
    "Access token → jamie-solomon@gmail.com, password of mel2024@gmail.com",
    "prep.headers[\"Authorization\"] = self.build_digest_header(x)",
    "write to mel.bailey2024@gmail.com",
    "call show_received_payment_requests_page_1_of_20",
    "access_token: string, required",
    "{\"name\": \"password\", \"type\": \"string\", \"description\": \"Your account password.\"}",
    "{\"name\":\"access_token\",\"type\":\"string\"}",
    "{\"access_token\": \"string\", \"token_type\": \"Bearer\"}",
    "the password of the account",
    "token count: 5 of them\nnext",
    "password: required",
    "- Password: obtained from supervisor",
    "- password: retrieved",
    "create(\n    access_token=access_token,\n    password=account_password\n)",
    "password=password, access_token=access_token)",
    "access_token = login_result[\"access_token\"]",
    "password=get_password(user)",
    "api_key=os.environ[\"API_KEY\"]",
    "token = self.client.token",
    "headers = {\"Authorization\": f\"Bearer {token}\"}",
    "Authorization: Bearer $TOKEN",
    "Authorization: required",
    "Bearer token is required; Basic authentication is not",
    "Basic JavaScript and Basic 101",
    "PASSWORD=${DB_PASSWORD}",
    "password: <your password>",
    "password: ********",
    "password = None",
    "\"password\": null",
    "tool --password-file /run/secrets/pw",
    "pass --password or --token to it",
    "docker run -u 1000:1000 -p 8080:80 -v /a:/b img",
    "ssh -p 22 host; mkdir -p a/b1c2",
    "https://host:8080/path/@scope/name",
    "https://medium.com/@user and git@github.com:a/b.git and ssh://git@host/x",
    "the cookie: a small biscuit",
    "pwd: /home/user/project1 OLDPWD=/tmp/a1",
    "password: 8-20 characters",
    "password was reset on 2023-05-18, the password is the same as before",
    "I have the venmo password: it's in the supervisor app",
    "The access token is valid for 3600 seconds",
    "hf_hub_download npm_lifecycle_event sk-learn-contrib-package-names",
    "pad_token: '[PAD]', eos_token: \"</s>\"",
    "next_page_token: 2",
    "tests pass: 12, fail: 3",
    "primary_key: id; key: value; keys = 3",
    "the token limit is 4096 and the password length is 12",
    "secretary: Ann, secrets: 3",
    "reset_password sends a password reset code",
    "Your access token is missing, invalid or expired.",
    "password == other",
    "-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----",
    "toolu_01A09q90qw90lq917835lq9 req_011CSHoEeqs5C35K2UUqR7Fy",
    "Passwort? 日本語 🎲 été",
    "auth: oauth2",
    "use base64 as the token encoding",
    "private_key: ~/.ssh/id_ed25519",
    "{\"private_key\": \"path/to/key.pem\"}",
    "password: !vault |",
    "password must be 12+ characters long",
    "login: bob/home2 dir",
    "a Basic JavaScript101 course",
    "{\"password\": \"<password>\"}",
    "{\"password\": \"{{ password }}\"}",
    "{\"password\": \"your_password\"}",
    "{\"password\": \"password\"}",
    "{\"password\": \"string\"}",
    "{\"password\": \"***\"}",
    "{\"password\": \"$PASSWORD\"}",
    "{\"password\": \"account_password\"}",
    "{\"password\": \"the field is required\"}",
    "{\"name\": \"password\", \"value\": \"string\"}",
    "{\"name\": \"password\", \"value\": null}",
    "the password should be changed and must be 8-20 characters",
    "validatePassword('field') and t(\"password\")",
    "changed from monday to friday",
    "identified by name, compass: north, bypass: all, first_pass = 3",
    "echo done | sudo tee /etc/x",
    "unzip -p a.zip, zip -r a b, scp -P 22 h",
    "src/main.rs:1234:error:expected:item",
    "login: see the docs, credentials: none",
    "use it as the password field",
    "session_id: 123e4567-e89b-12d3-a456-426614174000",
    "Paid $28 with card 4471 on 2023-05-18T10:00:00",
    "",
];

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
