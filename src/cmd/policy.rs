//! `foldline policy`: what a frozen policy does, and whether it may be used.

use super::{Failure, Global, print};
use clap::{Args as ClapArgs, Subcommand};
use foldline_models::policy::{Policy, PolicyError, Threshold};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Show what a frozen policy does, or verify that it may be used
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(Show),
    Verify(Verify),
}

/// What a policy does, in words, and in tokens for a given window
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline policy show policy.json --window 200000")]
struct Show {
    /// The frozen policy
    policy: PathBuf,
    /// A model's window in tokens
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    window: Option<u64>,
}

/// Check version, hash and shape, and replay the conformance vectors; exit code 65 if any policy is refused
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline policy verify policy.json")]
struct Verify {
    /// The frozen policies
    #[arg(required = true)]
    policies: Vec<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// `Failure::Data` when a policy is refused.
pub fn run(args: &Args, global: &Global) -> Result<(), Failure> {
    match &args.action {
        Action::Show(show) => {
            let policy = read(&show.policy)?;
            if global.json {
                print(&format!("{:#}\n", effective(&policy, show.window)))
            } else {
                print(&policy.describe(show.window))
            }
        }
        Action::Verify(verify) => self::verify(&verify.policies, global.json),
    }
}

/// Reads a policy for a verb that cannot do without it.
///
/// # Errors
/// `Failure::Data` naming the file and the reason.
pub fn read(path: &Path) -> Result<Policy, Failure> {
    Policy::read(path).map_err(|error| refused(path, &error))
}

fn refused(path: &Path, error: &PolicyError) -> Failure {
    Failure::Data(format!("{}: {error}", path.display()))
}

fn effective(policy: &Policy, window: Option<u64>) -> Value {
    let file = policy.file();
    let guards = &file.guards;
    let threshold = match file.threshold {
        Threshold::AtLeast(threshold) => json!(threshold),
        Threshold::Never => json!("never"),
    };
    json!({
        "name": file.name, "format": file.format, "created_by": file.created_by, "sha256": file.sha256,
        "profile": file.profile.name, "representation": file.representation.name, "learner": file.learner.name,
        "needs": policy.needs().iter().map(|need| need.field()).collect::<Vec<_>>(),
        "guards": guards, "evidence": file.evidence,
        "effective": {
            "window_tokens": window,
            "ceiling_tokens": window.map(|window| guards.ceiling_tokens(window)),
            "floor_tokens": window.map(|window| guards.min_fill_share.tokens(window)),
            "cooldown_tokens": window.map(|window| guards.cooldown_growth_share.tokens(window)),
            "rule_threshold": threshold,
        },
    })
}

fn verify(paths: &[PathBuf], as_json: bool) -> Result<(), Failure> {
    let mut first = None;
    for path in paths {
        let line = match Policy::read(path) {
            Ok(policy) => {
                let vectors = policy.file().conformance.len();
                if as_json {
                    json!({"policy": path, "ok": true, "sha256": policy.sha256(), "vectors": vectors}).to_string()
                } else {
                    format!("ok       {}: {} ({vectors} vectors)", path.display(), policy.sha256())
                }
            }
            Err(error) => {
                let line = if as_json {
                    json!({"policy": path, "ok": false, "reason": error.to_string()}).to_string()
                } else {
                    format!("refused  {}: {error}", path.display())
                };
                first.get_or_insert(refused(path, &error));
                line
            }
        };
        print(&format!("{line}\n"))?;
    }
    first.map_or(Ok(()), Err)
}
