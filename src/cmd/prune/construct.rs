//! `foldline prune construct`: labelled entries whose support is known because they were built.
//!
//! From each trajectory one value is taken that an output holds (a key and a number of three or more digits, an address or a full name) and that
//! neither the task nor the agent's actions hold. Four entries are made of it: the value as it is (`copied`, source yes);
//! one digit or name of it changed so that it stands nowhere (`changed_digit`, `changed_name`, source no), in the same
//! words; a plan or intention about the same key (`plan`, source no); and a restatement of the task (`task`, source no).
//! Nothing is drawn at random: choices follow from a hash of the trajectory's id.

use super::trajectories::{Trajectory, read};
use super::{Failure, say};
use crate::files::write_whole;
use clap::Args as ClapArgs;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Build labelled entries from trajectories: values copied, the same with one digit or name changed, plans, restatements
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  foldline prune construct --histories trajectories.jsonl --out built.jsonl
  foldline prune report --histories trajectories.jsonl --labels built.jsonl --json")]
pub struct Args {
    /// Trajectories, one a line: `trajectory_id`, `instruction`, `steps`
    #[arg(long, value_name = "FILE")]
    histories: PathBuf,
    /// Output: labels as `prune report --labels` reads them
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Characters of an observation that count, 0 for all
    #[arg(long, default_value_t = 800, value_name = "N")]
    cut: usize,
}

const REPORTS: [&str; 5] = [
    "{key}: {value}",
    "Found {key} {value}",
    "The {key} is {value}.",
    "Retrieved {key} = {value} from the app",
    "**{key}**: {value}",
];

const PLANS: [&str; 6] = [
    "Next, check whether the {key} is right before going on",
    "Will compare every {key} and decide what to do",
    "Need to verify the {key} of the remaining items",
    "Decide how to handle the {key} later",
    "Plan: go through all pages and collect each {key}",
    "The agent should look at the {key} first and then continue",
];

const RESTATEMENTS: [&str; 4] =
    ["Task: {task}", "**Goal:** {task}", "User constraints: {task}", "The user wants this: {task}"];

/// Runs the analysis.
///
/// # Errors
/// `Failure::Data` for trajectories that cannot be read, `Failure::Other` for the output.
pub fn run(args: &Args) -> Result<(), Failure> {
    let trajectories = read(&args.histories)?;
    let names = first_names(trajectories.values(), args.cut);
    let mut lines = String::new();
    let mut built = 0;
    for (id, trajectory) in &trajectories {
        for (kind, entry, source) in entries(id, trajectory, &names, args.cut) {
            let label = json!({
                "entry_id": format!("{id}/{kind}"), "trajectory_id": id, "entry": entry, "kind": kind,
                "source": if source { "yes" } else { "no" }, "steps_shown": trajectory.steps.len(),
            });
            lines.push_str(&format!("{label}\n"));
            built += 1;
        }
    }
    write_whole(&args.out, lines.as_bytes())
        .map_err(|error| Failure::Other(format!("{}: cannot be written: {error}", args.out.display())))?;
    say(&format!("{}: {built} entries from {} trajectories", args.out.display(), trajectories.len()));
    Ok(())
}

type Built = (&'static str, String, bool);

fn entries(id: &str, trajectory: &Trajectory, names: &BTreeSet<String>, cut: usize) -> Vec<Built> {
    let steps = trajectory.shown(None, cut);
    let outputs: String = steps.iter().map(|step| format!("{}\n", step.observation)).collect();
    let actions: String = steps.iter().map(|step| format!("{}\n", step.action)).collect();
    let task = trajectory.instruction.as_deref().unwrap_or("");
    let known = format!("{}\n{}", task.to_lowercase(), actions.to_lowercase());
    let fits = |(key, value): &(&str, &str)| {
        let told = known.contains(&value.to_lowercase());
        let secret = ["token", "password"].iter().any(|word| key.contains(word)) || value.contains("xxx");
        !told && !secret && (digits(value) >= 3 || value.contains('@') || is_full_name(value))
    };
    let pairs: BTreeSet<(&str, &str)> = pairs(&outputs).into_iter().filter(fits).collect();
    let pick = |what: &str, count: usize| (number(id, what) % count.max(1) as u64) as usize;
    let Some(&(key, value)) = pairs.iter().nth(pick("pair", pairs.len())) else { return Vec::new() };
    let everything = format!("{known}\n{}", outputs.to_lowercase());
    let Some((kind, altered)) = alter(id, value, &everything, names) else { return Vec::new() };
    let spoken = if number(id, "key").is_multiple_of(2) { key.replace('_', " ") } else { key.to_owned() };
    let fill = |template: &str, value: &str| template.replace("{key}", &spoken).replace("{value}", value);
    let report = REPORTS[pick("report", REPORTS.len())];
    let mut built = vec![
        ("copied", fill(report, value), true),
        (kind, fill(report, &altered), false),
        ("plan", fill(PLANS[pick("plan", PLANS.len())], ""), false),
    ];
    if !task.is_empty() {
        built.push(("task", RESTATEMENTS[pick("task", RESTATEMENTS.len())].replace("{task}", task), false));
    }
    built
}

/// `"key": "value"` and `"key": number` in a text.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    for (at, _) in text.match_indices("\": ") {
        let Some(start) = text[..at].rfind('"') else { continue };
        let key = &text[start + 1..at];
        let rest = &text[at + 3..];
        let value = match rest.strip_prefix('"') {
            Some(inner) => inner.split(['"', '\n', '\\']).next().unwrap_or(""),
            None => rest.split(|sign: char| !(sign.is_ascii_digit() || sign == '.')).next().unwrap_or(""),
        };
        // a value at the very end may have been cut
        let whole = rest.len() > value.len() + 1;
        let plain = !key.is_empty()
            && value.ends_with(|sign: char| sign.is_alphanumeric())
            && key.chars().all(|sign| sign.is_ascii_lowercase() || sign == '_');
        if plain && whole && (3..=40).contains(&value.chars().count()) {
            pairs.push((key, value));
        }
    }
    pairs
}

/// The value with one digit or its first name changed, so that it stands nowhere.
fn alter(id: &str, value: &str, everything: &str, names: &BTreeSet<String>) -> Option<(&'static str, String)> {
    let places: Vec<usize> = value.char_indices().filter(|(_, sign)| sign.is_ascii_digit()).map(|(at, _)| at).collect();
    if !places.is_empty() {
        let start = number(id, "digit") as usize;
        let options = (0..places.len() * 9).map(|at| (start + at) % (places.len() * 9));
        return options
            .map(|option| {
                let at = places[option / 9];
                let old = value.as_bytes()[at] - b'0';
                let new = (old + 1 + (option % 9) as u8) % 10;
                format!("{}{new}{}", &value[..at], &value[at + 1..])
            })
            .find(|altered| !everything.contains(&altered.to_lowercase()))
            .map(|altered| ("changed_digit", altered));
    }
    let end = value.find([' ', '.', '_', '-', '@'])?;
    let start = number(id, "name") as usize % names.len().max(1);
    let name =
        names.iter().cycle().skip(start).take(names.len()).find(|name| !everything.contains(&name.to_lowercase()))?;
    let name = if value.contains('@') { name.to_lowercase() } else { name.clone() };
    Some(("changed_name", format!("{name}{}", &value[end..])))
}

/// First words of full names in all outputs.
fn first_names<'a>(trajectories: impl Iterator<Item = &'a Trajectory>, cut: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for step in trajectories.flat_map(|trajectory| trajectory.shown(None, cut)) {
        for (key, value) in pairs(&step.observation) {
            if key == "name" && is_full_name(value) {
                names.extend(value.split(' ').next().map(str::to_owned));
            }
        }
    }
    names
}

fn digits(value: &str) -> usize {
    value.bytes().filter(u8::is_ascii_digit).count()
}

/// Two capitalised words.
fn is_full_name(value: &str) -> bool {
    let capital = |word: &str| {
        let mut signs = word.chars();
        signs.next().is_some_and(|sign| sign.is_ascii_uppercase())
            && word.len() > 1
            && signs.all(|sign| sign.is_ascii_lowercase())
    };
    value.split_once(' ').is_some_and(|(first, last)| capital(first) && capital(last))
}

/// A number that belongs to a trajectory and a purpose.
fn number(id: &str, what: &str) -> u64 {
    let mut hash = Sha256::new();
    hash.update(id.as_bytes());
    hash.update([0]);
    hash.update(what.as_bytes());
    let bytes = hash.finalize();
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
