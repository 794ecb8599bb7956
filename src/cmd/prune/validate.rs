//! A judge against labels: AUROC, precision and recall, with intervals over scenarios.

use super::Failure;
use super::trajectories::{Trajectory, json_lines, scenario_of, task_of};
use foldline_frontiers::estimate::{Interval, Reason, Unit, Value as Stat};
use foldline_frontiers::groups::{Group, ScoreRanks};
use foldline_frontiers::ranking::auroc_of_groups;
use foldline_frontiers::{Clusters, Draws, Streams};
use foldline_pruner::account::NEAR_LINE;
use foldline_pruner::history::Span;
use foldline_pruner::judge::{Asked, Judge};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// One labelled entry.
#[derive(Clone, Debug)]
pub struct Label {
    trajectory_id: String,
    summary_id: Option<String>,
    entry: String,
    steps_shown: Option<usize>,
    /// Whether it has a source.
    source: bool,
    /// Groups it is also counted in: `kind`, `status`.
    groups: Vec<String>,
}

/// A statistic with its interval.
#[derive(Clone, Debug, Serialize)]
pub struct Ranged {
    /// The statistic; null where it is undefined.
    pub point: Option<f64>,
    /// 2.5th percentile over draws.
    pub lo: Option<f64>,
    /// 97.5th percentile over draws.
    pub hi: Option<f64>,
    /// Why it is undefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Draws, and those in which it was undefined.
    pub draws: u32,
    /// Draws in which it was undefined, left out.
    pub dropped: u32,
}

impl Ranged {
    /// A statistic and its interval.
    pub fn new(point: Stat, interval: &Interval) -> Ranged {
        Ranged {
            point: point.defined(),
            lo: interval.lo,
            hi: interval.hi,
            reason: point.reason(),
            draws: interval.draws,
            dropped: interval.dropped,
        }
    }
}

/// How a group of labelled entries was scored.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KindRow {
    n: usize,
    n_pos: usize,
    /// Entries at or above the threshold.
    kept: usize,
    mean_score: Option<f64>,
    /// Share of the entries of this group (all of one label) that the other label's entries are ordered rightly against;
    /// null where the group holds both labels.
    auroc_against_rest: Option<f64>,
}

/// The whole validation.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// Labelled entries.
    pub n: usize,
    /// Of these, with a source.
    pub n_pos: usize,
    /// Of these, without a score.
    pub unscored: usize,
    /// Why they have none, by reason.
    pub unscored_reasons: BTreeMap<String, usize>,
    /// Scenarios: what the intervals resample.
    pub scenarios: usize,
    /// AUROC of the score for `source: yes`.
    pub auroc: Ranged,
    /// Share with a source among those kept.
    pub precision: Ranged,
    /// Share kept among those with a source.
    pub recall: Ranged,
    /// Share removed among those without a source.
    pub removed_without_source: Ranged,
    /// Scores within 0.05 of the threshold.
    pub near_line: usize,
    /// By the labels' own kinds and statuses.
    pub kinds: BTreeMap<String, KindRow>,
}

/// Reads labels: `trajectory_id`, `entry`, `source` (yes or no), and where recorded `summary_id`, `steps_shown`, `kind`,
/// `status`.
///
/// # Errors
/// `Failure::Data` naming file, line and field.
pub fn read_labels(path: &Path) -> Result<Vec<Label>, Failure> {
    let mut labels = Vec::new();
    for (number, value) in json_lines(path)? {
        let place = |problem: &str| Failure::Data(format!("{}:{number}: {problem}", path.display()));
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let source = match value["source"].as_str() {
            Some("yes") => true,
            Some("no") => false,
            _ => return Err(place("`source` is neither \"yes\" nor \"no\"")),
        };
        let group = |key: &str| text(key).map(|name| format!("{key}: {name}"));
        labels.push(Label {
            trajectory_id: text("trajectory_id").ok_or_else(|| place("no `trajectory_id`"))?,
            summary_id: text("summary_id"),
            entry: text("entry").ok_or_else(|| place("no `entry`"))?,
            steps_shown: value["steps_shown"].as_u64().map(|steps| steps as usize),
            source,
            groups: [group("kind"), group("status")].into_iter().flatten().collect(),
        });
    }
    Ok(labels)
}

/// What the labels are judged with.
pub struct Setting<'a> {
    /// Trajectories by id.
    pub trajectories: &'a BTreeMap<String, Trajectory>,
    /// Instructions by summary id; the trajectory's own is used where there is none.
    pub instructions: &'a BTreeMap<String, String>,
    /// Characters of an observation that count; 0: all.
    pub cut: usize,
    /// The threshold.
    pub tau: f64,
    /// Bootstrap draws.
    pub draws: u32,
    /// Base seed.
    pub seed: u64,
}

/// Scores every label and compares.
///
/// # Errors
/// `Failure::Data` for a label whose trajectory is missing.
pub fn validate(labels: &[Label], judge: &dyn Judge, setting: &Setting<'_>) -> Result<Validation, Failure> {
    let mut reasons = BTreeMap::new();
    let scores = score(labels, judge, setting, &mut reasons)?;
    let scored: Vec<(&Label, f64)> =
        labels.iter().zip(&scores).filter_map(|(label, score)| score.map(|score| (label, score))).collect();
    let values: Vec<f64> = scored.iter().map(|(_, score)| *score).collect();
    let sources: Vec<bool> = scored.iter().map(|(label, _)| label.source).collect();
    let scenarios: Vec<&str> = scored.iter().map(|(label, _)| scenario(label, setting)).collect();
    let clusters = Clusters::new(&scenarios);
    let draws = Draws::new(&Streams::new(setting.seed), Unit::Stem, clusters.len(), setting.draws);
    let ranks = ScoreRanks::new(&values).map_err(|error| Failure::Other(error.to_string()))?;
    let once = vec![1; clusters.len()];

    let auroc = |times: &[u32]| {
        let mut groups = vec![Group::default(); ranks.distinct().len()];
        for (row, &rank) in ranks.ranks().iter().enumerate() {
            groups[rank as usize].add(times[clusters.of()[row] as usize], sources[row], 0.0, 0.0);
        }
        auroc_of_groups(&groups)
    };
    // share of `hit` rows among `inside` rows
    let share = |times: &[u32], inside: &dyn Fn(usize) -> bool, hit: &dyn Fn(usize) -> bool| {
        let [mut all, mut hits] = [0u64; 2];
        for row in (0..values.len()).filter(|&row| inside(row)) {
            let times = u64::from(times[clusters.of()[row] as usize]);
            all += times;
            hits += if hit(row) { times } else { 0 };
        }
        if all == 0 { Stat::Undefined(Reason::ZeroDenominator) } else { Stat::Defined(hits as f64 / all as f64) }
    };
    let kept = |row: usize| values[row] >= setting.tau;
    let sourced = |row: usize| sources[row];
    let ranged = |statistic: &(dyn Fn(&[u32]) -> Stat + Sync)| {
        let drawn = draws.map(|| (), |(), times| statistic(times));
        Ranged::new(statistic(&once), &draws.interval(drawn))
    };
    Ok(Validation {
        n: labels.len(),
        n_pos: labels.iter().filter(|label| label.source).count(),
        unscored: labels.len() - scored.len(),
        unscored_reasons: reasons,
        scenarios: clusters.len(),
        auroc: ranged(&auroc),
        precision: ranged(&|times| share(times, &kept, &sourced)),
        recall: ranged(&|times| share(times, &sourced, &kept)),
        removed_without_source: ranged(&|times| share(times, &|row| !sourced(row), &|row| !kept(row))),
        near_line: values.iter().filter(|&&score| (score - setting.tau).abs() <= NEAR_LINE).count(),
        kinds: kinds(&scored, setting.tau),
    })
}

fn scenario<'a>(label: &'a Label, setting: &'a Setting<'_>) -> &'a str {
    let task = setting.trajectories.get(&label.trajectory_id).map(|trajectory| trajectory.task_id.as_str());
    scenario_of(task.unwrap_or_else(|| task_of(&label.trajectory_id)))
}

/// Trajectory, summary and number of steps shown: entries that are judged together.
type Together<'a> = (&'a str, Option<&'a str>, Option<usize>);

/// Scores, entries of one summary (or trajectory) together. Ids are counted within such a group.
fn score(
    labels: &[Label],
    judge: &dyn Judge,
    setting: &Setting<'_>,
    reasons: &mut BTreeMap<String, usize>,
) -> Result<Vec<Option<f64>>, Failure> {
    let mut groups: BTreeMap<Together<'_>, Vec<usize>> = BTreeMap::new();
    for (at, label) in labels.iter().enumerate() {
        let key = (label.trajectory_id.as_str(), label.summary_id.as_deref(), label.steps_shown);
        groups.entry(key).or_default().push(at);
    }
    let mut scores = vec![None; labels.len()];
    for ((id, summary, shown), members) in groups {
        let trajectory = setting.trajectories.get(id);
        let missing = || Failure::Data(format!("labels name trajectory {id}, which --histories does not hold"));
        let trajectory = trajectory.ok_or_else(missing)?;
        let steps = trajectory.shown(shown, setting.cut);
        let instruction = summary.and_then(|summary| setting.instructions.get(summary));
        let task = instruction.or(trajectory.instruction.as_ref()).map(String::as_str);
        let span = Span { task, history: &steps, ..Span::default() };
        let ids: Vec<String> = (1..=members.len()).map(|at| format!("e{at}")).collect();
        let asked: Vec<Asked<'_>> =
            members.iter().zip(&ids).map(|(&at, id)| Asked { id, text: &labels[at].entry, section: &[] }).collect();
        match judge.judge(&span, &asked) {
            Ok(answers) => {
                for (&at, score) in members.iter().zip(answers.scores) {
                    scores[at] = score;
                    if score.is_none() {
                        *reasons.entry("no answer".to_owned()).or_default() += 1;
                    }
                }
            }
            Err(fault) => *reasons.entry(fault.detail).or_default() += members.len(),
        }
    }
    Ok(scores)
}

fn kinds(scored: &[(&Label, f64)], tau: f64) -> BTreeMap<String, KindRow> {
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (label, _)) in scored.iter().enumerate() {
        for group in &label.groups {
            kinds.entry(group.clone()).or_default().push(at);
        }
    }
    let row = |members: &Vec<usize>| {
        let n_pos = members.iter().filter(|&&at| scored[at].0.source).count();
        let kept = members.iter().filter(|&&at| scored[at].1 >= tau).count();
        let mean = members.iter().map(|&at| scored[at].1).sum::<f64>() / members.len() as f64;
        let one_label = n_pos == 0 || n_pos == members.len();
        KindRow {
            n: members.len(),
            n_pos,
            kept,
            mean_score: Some(mean),
            auroc_against_rest: one_label.then(|| against(scored, members, n_pos > 0)).flatten(),
        }
    };
    kinds.iter().map(|(name, members)| (name.clone(), row(members))).collect()
}

/// AUROC of members, all of one label, against all entries of the other label.
fn against(scored: &[(&Label, f64)], members: &[usize], positive: bool) -> Option<f64> {
    let rest = scored.iter().filter(|(label, _)| label.source != positive).map(|(_, score)| (*score, !positive));
    let rows: Vec<(f64, bool)> = members.iter().map(|&at| (scored[at].1, positive)).chain(rest).collect();
    let (scores, labels): (Vec<f64>, Vec<bool>) = rows.into_iter().unzip();
    foldline_frontiers::auroc(&scores, &labels).ok()?.defined()
}

/// Instructions of summaries by id.
pub fn instructions(summaries: &[(usize, Value)]) -> BTreeMap<String, String> {
    let pair =
        |value: &Value| Some((value["summary_id"].as_str()?.to_owned(), value["instruction"].as_str()?.to_owned()));
    summaries.iter().filter_map(|(_, value)| pair(value)).collect()
}
