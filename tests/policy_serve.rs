//! The HTTP service, and the document that describes it.

#![cfg(all(feature = "serve", unix))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod policy_stump;
mod policy_support;

use policy_stump::stump_in;
use policy_support::{lines, program, run};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A running service, stopped at the end of the test.
struct Served {
    child: Child,
    address: String,
    stderr: BufReader<ChildStderr>,
}

impl Served {
    fn start(policy: &Path, more: &[&str]) -> Served {
        let mut child = program()
            .args(["serve", policy.to_str().unwrap(), "--listen", "127.0.0.1:0"])
            .args(more)
            .env("FOLDLINE_TEST_TOKEN", "secret")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the service ended");
            if let Some(address) = line.trim().strip_prefix("foldline: listening on http://") {
                break address.to_owned();
            }
        };
        Served { child, address, stderr }
    }

    fn send(&self, request: &[u8]) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // a server that refuses early may close before everything is sent
        stream.write_all(request).unwrap_or_default();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap_or_default();
        parse(&String::from_utf8_lossy(&text))
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, Value) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    fn stop(mut self) -> (i32, String) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(asked.success());
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), rest)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

fn parse(text: &str) -> (u16, Value) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

fn document() -> Value {
    serde_json::from_str(include_str!("../docs/openapi.json")).unwrap()
}

/// The body fits what the document says of this status: every required field, none that is not described.
fn fits(document: &Value, method: &str, path: &str, status: u16, body: &Value) {
    let responses = &document["paths"][path][method]["responses"];
    let response = &responses[status.to_string()];
    assert!(response.is_object(), "{method} {path} answered {status}, which is not documented");
    let name = response["content"]["application/json"]["schema"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
    let schema = &document["components"]["schemas"][name];
    let fields: BTreeSet<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    for required in schema["required"].as_array().unwrap() {
        assert!(fields.contains(required.as_str().unwrap()), "{path} {status}: {required} is missing in {body}");
    }
    for field in fields {
        let described = &schema["properties"][field];
        assert!(described.is_object(), "{path} {status}: {field} is not described");
        if let Some(allowed) = described["enum"].as_array() {
            assert!(allowed.contains(&body[field]), "{path} {status}: {field} is {}", body[field]);
        }
        if let Some(wanted) = described.get("const") {
            assert_eq!(&body[field], wanted);
        }
    }
}

#[test]
fn the_document_says_what_the_service_does() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let document = document();
    let served = Served::start(&policy, &["--enforce", "--token-env", "FOLDLINE_TEST_TOKEN"]);
    let token = "Authorization: Bearer secret\r\n";
    let question =
        json!({"boundary_id": "b", "features": {"n_exact": 9}, "ctx_tokens": 1, "window_tokens": 2}).to_string();
    let huge = vec![b' '; (8 << 20) + 1];
    let mut seen = BTreeSet::new();
    let asked: &[(&str, &str, &str, &[u8], u16)] = &[
        ("POST", "/v1/decide", token, question.as_bytes(), 200),
        ("POST", "/v1/decide", token, b"{}", 200),
        ("POST", "/v1/decide", token, b"{\"half", 400),
        ("POST", "/v1/decide", token, b"\xff\xfe", 400),
        ("POST", "/v1/decide", token, b"[]", 400),
        ("POST", "/v1/decide", token, &huge, 413),
        ("POST", "/v1/decide", "", question.as_bytes(), 401),
        ("POST", "/v1/decide", "Authorization: Bearer secre\r\n", question.as_bytes(), 401),
        ("POST", "/v1/decide", "Authorization: Basic secret\r\n", question.as_bytes(), 401),
        ("GET", "/policy", token, b"", 200),
        ("GET", "/policy", "", b"", 401),
        ("GET", "/healthz", "", b"", 200),
    ];
    for (method, path, headers, body, expected) in asked {
        let (status, answer) = served.ask(method, path, headers, body);
        assert_eq!(status, *expected, "{method} {path}");
        fits(&document, &method.to_lowercase(), path, status, &answer);
        if *path == "/v1/decide" && status != 401 && status != 200 {
            assert_eq!(answer["decision"], "allow");
        }
        seen.insert((path.to_string(), status));
    }
    let (_, answer) = served.ask("POST", "/v1/decide", token, question.as_bytes());
    assert_eq!(
        (&answer["decision"], &answer["mode"], &answer["boundary_id"]),
        (&json!("block"), &json!("enforce"), &json!("b"))
    );
    assert_eq!(served.ask("GET", "/nothing", token, b"").0, 404);
    assert_eq!(served.ask("GET", "/v1/decide", token, b"").0, 405);

    let broken = folder.path().join("broken.json");
    std::fs::write(&broken, "{").unwrap();
    let stranded = Served::start(&broken, &[]);
    for (method, path) in [("GET", "/healthz"), ("GET", "/policy")] {
        let (status, answer) = stranded.ask(method, path, "", b"");
        assert_eq!(status, 503);
        fits(&document, "get", path, status, &answer);
        seen.insert((path.to_owned(), status));
    }
    let (status, answer) = stranded.ask("POST", "/v1/decide", "", question.as_bytes());
    assert_eq!((status, &answer["decision"], &answer["decided_by"]), (200, &json!("allow"), &json!("policy_error")));
    fits(&document, "post", "/v1/decide", 200, &answer);

    // a body that never comes is the one case this test does not wait for
    seen.insert(("/v1/decide".to_owned(), 408));
    for (path, methods) in document["paths"].as_object().unwrap() {
        for responses in methods.as_object().unwrap().values() {
            for status in responses["responses"].as_object().unwrap().keys() {
                assert!(seen.contains(&(path.clone(), status.parse().unwrap())), "{path} {status} was never seen");
            }
        }
    }
}

#[test]
fn it_finishes_what_it_has_begun_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let log = folder.path().join("log.ndjson");
    let served = Served::start(&policy, &["--log", log.to_str().unwrap()]);
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let question = b"{\"features\":{\"n_exact\":9}}";
    let head = format!("POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", question.len());
    stream.write_all(head.as_bytes()).unwrap();
    // one whole exchange in between: the first request's head has been read by then
    assert_eq!(served.ask("GET", "/healthz", "", b"").0, 200);
    let stopping = std::thread::spawn(move || served.stop());
    while TcpStream::connect(stream.peer_addr().unwrap()).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    stream.write_all(question).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(parse(&text).0, 200, "{text}");
    let (code, stderr) = stopping.join().unwrap();
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(lines(&std::fs::read(&log).unwrap()).len(), 1);
}

#[test]
fn a_unix_socket_and_what_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let policy = stump_in(folder.path());
    let socket = folder.path().join("socket");
    let mut child = program()
        .args(["serve", policy.to_str().unwrap(), "--unix", socket.to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(parse(&text).0, 200);
    let status = |arguments: &[&str]| run(arguments, b"").status.code();
    let policy = policy.to_str().unwrap();
    assert_eq!(status(&["serve", policy, "--unix", socket.to_str().unwrap()]), Some(1), "in use");
    assert_eq!(status(&["serve", policy, "--unix", policy]), Some(1), "a file that is no socket stays");
    assert!(Path::new(policy).is_file());
    assert_eq!(status(&["serve", policy, "--listen", "0.0.0.0:0"]), Some(2), "not loopback");
    assert_eq!(status(&["serve", policy, "--token-env", "FOLDLINE_NO_SUCH_TOKEN"]), Some(2));
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!socket.exists(), "the socket goes with the service");
}
