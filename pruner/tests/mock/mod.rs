//! A judge server on loopback that gives canned replies and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the server gives back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Reply {
        Reply { status: 200, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn status(status: u16) -> Reply {
        Reply { status, headers: Vec::new(), body: "{}".into() }
    }
}

/// One request as it came.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

type Answer = dyn Fn(usize, &Request) -> Reply + Send + Sync;

pub(crate) struct Mock {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Mock {
    /// A server whose n-th request is answered by `answer(n, request)`.
    pub(crate) fn start(answer: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Mock {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let url = format!("http://{}/v1/systemone", listener.local_addr().expect("a bound socket has an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer): (_, Arc<Answer>) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        Mock { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no handler panics").clone()
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Request>>, answer: &Answer) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    loop {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse()))
            .and_then(Result::ok)
            .unwrap_or(0usize);
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let request = Request { head, body: String::from_utf8_lossy(&body).into_owned() };
        let number = {
            let mut seen = seen.lock().expect("no handler panics");
            seen.push(request.clone());
            seen.len() - 1
        };
        let reply = answer(number, &request);
        let mut text = format!("HTTP/1.1 {} X\r\nContent-Length: {}\r\n", reply.status, reply.body.len());
        for (name, value) in reply.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = &stream;
        if stream.write_all(format!("{text}\r\n{}", reply.body).as_bytes()).is_err() {
            return;
        }
    }
}
