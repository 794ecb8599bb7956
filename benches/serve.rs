//! How many decisions a second `serve` answers on its one thread, and how late the latest ones are.
//!
//! Wanted: at least 2,000 a second with the 99th percentile under 5 ms. Two clients keep one connection each and ask
//! about an example boundary. Run with `cargo bench --bench serve`; `FOLDLINE_BENCH_REQUESTS` sets the number.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CLIENTS: usize = 2;

fn main() {
    let requests = std::env::var("FOLDLINE_BENCH_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/policies");
    let question = std::fs::read_to_string(format!("{folder}/requests.ndjson")).unwrap();
    let question = question.lines().next().unwrap();
    for policy in ["boosted-h", "boosted-r3"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_foldline"))
            .args(["serve", &format!("{folder}/{policy}.json"), "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap().to_owned();
        let started = Instant::now();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (address, question) = (address.clone(), question.to_owned());
                std::thread::spawn(move || client(&address, &question, requests / CLIENTS))
            })
            .collect();
        let mut times: Vec<Duration> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        let seconds = started.elapsed().as_secs_f64();
        child.kill().unwrap();
        child.wait().unwrap();
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        println!(
            "{policy}: {:.0} decisions/s, median {:.3} ms, p99 {:.3} ms, longest {:.3} ms",
            times.len() as f64 / seconds,
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
}

fn client(address: &str, question: &str, requests: usize) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let request =
        format!("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{question}", question.len());
    (0..requests)
        .map(|_| {
            let asked = Instant::now();
            stream.write_all(request.as_bytes()).unwrap();
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            assert!(body.starts_with(b"{\"boundary_id\""), "an answer");
            asked.elapsed()
        })
        .collect()
}
