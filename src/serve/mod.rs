//! The policy over HTTP/1.1, on loopback or a Unix socket.
//!
//! As everywhere, whatever is wrong with a request is answered with allow: the body of an error status is an answer too,
//! so that a client that looks at nothing but the body does the right thing.

mod connections;

pub use connections::{Door, run};

use crate::decision_log::DecisionLog;
use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use foldline_models::policy::{Decided, Facts, LogLine, MAX_REQUEST_BYTES, Mode, Policy, Request};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a client may take to send a request's body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// What the routes share.
pub struct Service {
    /// The policy, or why it cannot be used.
    pub policy: Result<Policy, String>,
    /// Whether hosts are to obey.
    pub mode: Mode,
    /// The bearer token that `/v1/decide` and `/policy` ask for.
    pub token: Option<String>,
    /// The decision log.
    pub log: Option<Mutex<DecisionLog>>,
}

/// The routes.
pub fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/v1/decide", post(decide))
        .route("/healthz", get(health))
        .route("/policy", get(policy))
        .fallback(async || problem(StatusCode::NOT_FOUND, "no such path: /v1/decide, /healthz and /policy are there"))
        .method_not_allowed_fallback(async || problem(StatusCode::METHOD_NOT_ALLOWED, "this path has another method"))
        .with_state(service)
}

fn json_response(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

fn problem(status: StatusCode, text: &str) -> Response {
    json_response(status, json!({"error": text}).to_string())
}

async fn decide(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    if let Some(refusal) = service.refusal(request.headers()) {
        return refusal;
    }
    let body = tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(request.into_body(), MAX_REQUEST_BYTES)).await;
    let (status, request) = match body {
        Ok(Ok(bytes)) => match serde_json::from_slice::<Value>(&bytes) {
            Ok(Value::Object(map)) => (StatusCode::OK, Request::of_object_for(service.policy.as_ref().ok(), &map)),
            Ok(_) => (StatusCode::BAD_REQUEST, unreadable("the request is no JSON object".to_owned())),
            Err(error) => (StatusCode::BAD_REQUEST, unreadable(format!("the request is not JSON: {error}"))),
        },
        Ok(Err(error)) if is_too_long(&error) => {
            (StatusCode::PAYLOAD_TOO_LARGE, unreadable(format!("the request is longer than {MAX_REQUEST_BYTES} bytes")))
        }
        Ok(Err(error)) => (StatusCode::BAD_REQUEST, unreadable(format!("the request cannot be read: {error}"))),
        Err(_) => (StatusCode::REQUEST_TIMEOUT, unreadable("the request took too long to arrive".to_owned())),
    };
    let decided = match &service.policy {
        Ok(policy) => policy.decide(&request, service.mode),
        Err(reason) => Decided::policy_error(&request, reason, service.mode),
    };
    if let Some(log) = &service.log {
        let line = LogLine::new("serve", service.policy.as_ref().ok(), &request, &decided, 0);
        log.lock().unwrap_or_else(PoisonError::into_inner).write(&line);
    }
    json_response(status, decided.answer.to_json())
}

fn unreadable(text: String) -> Request {
    Request { facts: Facts { unreadable: vec![text], ..Facts::default() }, ..Request::default() }
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.to_string().contains("length limit"))
}

async fn health(State(service): State<Arc<Service>>) -> Response {
    let version = env!("CARGO_PKG_VERSION");
    match &service.policy {
        Ok(policy) => json_response(
            StatusCode::OK,
            json!({"status": "ok", "version": version, "policy_sha": policy.sha256(), "mode": service.mode})
                .to_string(),
        ),
        Err(reason) => json_response(
            StatusCode::SERVICE_UNAVAILABLE,
            json!({"status": "policy_error", "version": version, "reason": reason, "mode": service.mode}).to_string(),
        ),
    }
}

async fn policy(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    if let Some(refusal) = service.refusal(&headers) {
        return refusal;
    }
    match &service.policy {
        Ok(policy) => json_response(StatusCode::OK, policy.to_json()),
        Err(reason) => problem(StatusCode::SERVICE_UNAVAILABLE, reason),
    }
}

impl Service {
    /// The answer to a request without the right token; none where no token is asked for.
    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let wanted = self.token.as_ref()?;
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or("");
        if same(given, wanted) {
            return None;
        }
        let mut refusal = problem(StatusCode::UNAUTHORIZED, "the bearer token is missing or wrong");
        refusal.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        Some(refusal)
    }
}

/// Compares two secrets in a time that depends on neither: their hashes, byte by byte, to the end.
fn same(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one.as_bytes()), Sha256::digest(other.as_bytes()));
    one.iter().zip(other.iter()).fold(0u8, |difference, (a, b)| difference | (a ^ b)) == 0
}
