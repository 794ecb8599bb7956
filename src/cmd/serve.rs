//! `foldline serve`: the policy over HTTP.

use super::decide::open_log;
use super::{Failure, say};
use crate::serve::{Door, Service};
use clap::Args as ClapArgs;
use foldline_models::policy::{Mode, Policy};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Answer "compact now?" over HTTP on loopback: POST /v1/decide, GET /healthz, GET /policy
///
/// A request's body is one request as `decide` takes it; the answer is one answer. When the policy cannot be used, every
/// request is answered with allow and policy_error, and /healthz says so with status 503. Interrupt or termination
/// finishes what has begun and stops.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  foldline serve policy.json --listen 127.0.0.1:8484 &\n  curl -s http://127.0.0.1:8484/v1/decide -d '{\"features\":{\"n_exact\":42}}'"
)]
pub struct Args {
    /// The frozen policy
    policy: PathBuf,
    /// Loopback address; port 0 takes a free one and says which on stderr
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8484", conflicts_with = "unix")]
    listen: SocketAddr,
    /// Listen on a Unix socket instead
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Tell hosts to obey; without it answers are for the record (shadow mode)
    #[arg(long)]
    enforce: bool,
    /// Ask for the bearer token that stands in this environment variable
    #[arg(long, value_name = "VARIABLE")]
    token_env: Option<String>,
    /// Append one JSON line a decision to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Usage` for an address that is not loopback or an empty token, `Failure::Other` when the address cannot be
/// bound or the log not opened.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.unix.is_none() && !args.listen.ip().is_loopback() {
        return Err(Failure::Usage(format!("{} is no loopback address; put a proxy before it", args.listen)));
    }
    let token = match &args.token_env {
        None => None,
        Some(name) => match std::env::var(name) {
            Ok(token) if !token.is_empty() => Some(token),
            _ => return Err(Failure::Usage(format!("the environment variable {name} holds no token"))),
        },
    };
    let policy = Policy::read(&args.policy).map_err(|error| format!("{}: {error}", args.policy.display()));
    if let Err(problem) = &policy {
        say(&format!("foldline: {problem}; every request will be answered with allow"));
    }
    let door = args.unix.clone().map_or(Door::Tcp(args.listen), Door::Unix);
    let mode = if args.enforce { Mode::Enforce } else { Mode::Shadow };
    let log = open_log(args.log.as_deref())?.map(Mutex::new);
    let service = Arc::new(Service { policy, mode, token, log });
    // one thread answers thousands of requests a second, and leaves the others to the agent
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.and_then(|runtime| runtime.block_on(crate::serve::run(&door, service)));
    served.map_err(|error| match &args.unix {
        Some(path) => Failure::Other(format!("cannot listen on {}: {error}", path.display())),
        None => Failure::Other(format!("cannot listen on {}: {error}", args.listen)),
    })
}
