//! Which judge, and how it is reached. Keys come from the environment and from nowhere else.

use super::Failure;
use crate::input::read_text;
use clap::{Args, ValueEnum};
use foldline_pruner::history::Span;
use foldline_pruner::judge::{Answers, Asked, FaultKind, Judge, JudgeFault, Wording};
use foldline_pruner::judges::http::{Key, Link};
use foldline_pruner::judges::jev::{Jev, OPENROUTER, Service, TYPESAFE};
use foldline_pruner::judges::lexical::Lexical;
use foldline_pruner::judges::logprobs::LogProbs;
use foldline_pruner::judges::scores::Scores;
use std::path::PathBuf;
use std::time::Duration;

/// The judges by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Embedded, no network: wording and overlap
    Lexical,
    /// Jev, or any server that speaks System One
    Jev,
    /// Any OpenAI-compatible server that returns token probabilities
    Logprobs,
    /// Recorded scores
    Scores,
}

/// Where Jev is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServiceName {
    /// The vendor
    Typesafe,
    /// OpenRouter's decisions endpoint
    Openrouter,
}

impl ServiceName {
    fn service(self) -> Service {
        match self {
            ServiceName::Typesafe => TYPESAFE,
            ServiceName::Openrouter => OPENROUTER,
        }
    }
}

/// Options of the judge.
#[derive(Clone, Debug, Args)]
pub struct JudgeArgs {
    /// Who judges
    #[arg(long, value_enum, default_value = "lexical")]
    judge: Kind,
    /// Recorded scores for --judge scores: an account, a map of ids to numbers, or a list
    #[arg(long, value_name = "FILE", required_if_eq("judge", "scores"))]
    scores: Option<PathBuf>,
    /// Service of --judge jev: sets URL, model and key variable
    #[arg(long, value_enum, default_value = "typesafe")]
    service: ServiceName,
    /// Endpoint instead of the service's own; for --judge logprobs the base or the whole URL
    #[arg(long, value_name = "URL", required_if_eq("judge", "logprobs"))]
    url: Option<String>,
    /// Model instead of the service's own
    #[arg(long, value_name = "NAME", required_if_eq("judge", "logprobs"))]
    model: Option<String>,
    /// Environment variable that holds the key. With --url no key is sent unless this is given
    #[arg(long, value_name = "NAME")]
    key_variable: Option<String>,
    /// Seconds one attempt may take
    #[arg(long, default_value_t = 15.0, value_name = "SECONDS", value_parser = seconds)]
    deadline: f64,
    /// Further attempts after 408, 429 and 5xx
    #[arg(long, default_value_t = 2, value_name = "N")]
    retries: usize,
    /// Requests on their way at a time
    #[arg(long, default_value_t = 4, value_name = "N")]
    in_flight: usize,
    /// Tokens of a request at most; more entries go into further requests
    #[arg(long, default_value_t = 30_000, value_name = "N")]
    limit_tokens: usize,
    /// Folder that keeps answers between runs
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds between 0.001 and 3600".to_owned()),
    }
}

impl JudgeArgs {
    /// The judge.
    ///
    /// # Errors
    /// `Failure::Data` for recorded scores that cannot be read.
    pub fn judge(&self) -> Result<Box<dyn Judge>, Failure> {
        Ok(match self.judge {
            Kind::Lexical => Box::new(Lexical),
            Kind::Scores => {
                let path = self.scores.clone().unwrap_or_default();
                let scores = Scores::read(&read_text(&path)?);
                Box::new(scores.map_err(|error| Failure::Data(format!("{}: {error}", path.display())))?)
            }
            Kind::Jev => {
                let service = self.service.service();
                let variable = match (&self.key_variable, &self.url) {
                    (Some(name), _) => Some(name.as_str()),
                    (None, None) => Some(service.key_variable),
                    // a key meant for a service is not sent elsewhere
                    (None, Some(_)) => None,
                };
                let url = self.url.as_deref().unwrap_or(service.url);
                match self.link(url, self.model.as_deref().unwrap_or(service.model), variable) {
                    Ok(link) => Box::new(Jev::new(link)),
                    Err(fault) => Box::new(Unreachable(fault)),
                }
            }
            Kind::Logprobs => {
                let base = self.url.clone().unwrap_or_default();
                let base = base.trim_end_matches('/');
                let path = "/chat/completions";
                let url = if base.ends_with(path) { base.to_owned() } else { format!("{base}{path}") };
                match self.link(&url, self.model.as_deref().unwrap_or_default(), self.key_variable.as_deref()) {
                    Ok(link) => Box::new(LogProbs::new(link)),
                    Err(fault) => Box::new(Unreachable(fault)),
                }
            }
        })
    }

    fn link(&self, url: &str, model: &str, variable: Option<&str>) -> Result<Link, JudgeFault> {
        let mut link = Link::new(url, model);
        if let Some(name) = variable {
            let key = std::env::var(name).ok().filter(|key| !key.trim().is_empty());
            let missing = || format!("the environment variable {name} holds no key for the judge");
            link.key =
                Some(Key::new(key.ok_or_else(|| JudgeFault::new(FaultKind::JudgeUnavailable, missing()))?.trim()));
        }
        link.deadline = Duration::from_secs_f64(self.deadline);
        link.retries = self.retries;
        link.in_flight = self.in_flight;
        link.limit_tokens = self.limit_tokens;
        link.cache = self.cache.clone();
        Ok(link)
    }
}

/// A judge that cannot be asked. A summary must come through all the same.
struct Unreachable(JudgeFault);

impl Judge for Unreachable {
    fn name(&self) -> &'static str {
        "unreachable"
    }

    fn wording(&self) -> Wording {
        foldline_pruner::question::wording()
    }

    fn judge(&self, _: &Span<'_>, _: &[Asked<'_>]) -> Result<Answers, JudgeFault> {
        Err(self.0.clone())
    }
}
