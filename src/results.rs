//! `results.json`: what an evaluation found, format `foldline.results/1`.
//!
//! The file is the whole content of a report: every number on a page stands here. It holds no path, time, thread count
//! or command line, so that equal input, seed and version give equal bytes. Undefined numbers are
//! `{"point": null, "reason": ...}`.

use crate::analyses::Answer;
use crate::evaluate::protocol::{CellName, Protocol};
use crate::summary::CorpusSummary;
use foldline_frontiers::importance::Importance;
use foldline_frontiers::ols::Regression;
use foldline_frontiers::placement::{CellMean, Contrast, Exposure};
use foldline_frontiers::ranking::{PerFold, PerRepetition};
use foldline_frontiers::yardstick::{AgainstReplicate, Yardstick};
use foldline_frontiers::{Estimate, FrontierPoint, Threshold, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format this version writes and reads.
pub const FORMAT: &str = "foldline.results/1";

/// The group of triggers whose scores came in a file.
pub const FOREIGN: &str = "foreign";

/// Points of a frontier that are recorded. A finer one would draw the same line and fill a disk.
pub const FRONTIER_POINTS: usize = 2000;

/// The corpus an evaluation ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorpusCard {
    /// SHA-256 of the file as stored, in hexadecimal.
    pub sha256: String,
    /// SHA-256 of the method map in force, in hexadecimal; absent where the read-verb rule decided.
    pub methods_sha256: Option<String>,
    /// Name of the profile.
    pub profile: String,
    /// Counts.
    pub summary: CorpusSummary,
    /// What was noticed while reading.
    pub notes: Vec<String>,
    /// What the corpus can answer.
    pub analyses: Vec<Answer>,
}

/// The primary target on the corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeCard {
    /// The target.
    pub target: String,
    /// One arm only: every figure describes what happened and none what compaction caused.
    pub observational: bool,
    /// Boundaries that have the target.
    pub n: usize,
    /// Boundaries left out because an arm has no rollout.
    pub left_out: usize,
    /// Boundaries with a positive target.
    pub positives: usize,
    /// Sum of the target over the boundaries, in burdened steps.
    pub sum: f64,
    /// Its mean.
    pub mean: f64,
    /// Sum of max(0, target).
    pub mass: f64,
}

/// One cell: a learner on a representation, or a rule, judged.
///
/// Estimates of the operating point reselect the threshold in every draw; those of the signed value hold it fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// `LEARNER/REPRESENTATION`, `rule/NAME`, or the name given to foreign scores, with `@GROUP` where an earlier group
    /// has a cell of that name. In the file it is the key.
    #[serde(skip)]
    pub name: String,
    /// The group of the protocol.
    pub group: String,
    /// What a fold kept together, folds and repetitions, such as `stem:5x20`.
    pub folds: String,
    /// Columns of the representation, 0 for a rule.
    pub columns: usize,
    /// AUROC of the repetition-averaged out-of-fold scores.
    pub auroc_averaged: Estimate,
    /// AUROC of all out-of-fold scores together, a boundary standing once for every repetition; the same as
    /// `auroc_averaged` with a single repetition. Task-clustered interval only where there are several.
    pub auroc_pooled: Estimate,
    /// Pooled AUROC of single repetitions: mean, min, max, no interval.
    pub auroc_per_repetition: PerRepetition,
    /// AUROC within folds; of a single repetition only.
    pub auroc_per_fold: Option<PerFold>,
    /// Positive rate of each fold; of a single repetition only.
    pub positive_rate_per_fold: Option<Vec<Value>>,
    /// Average precision of the repetition-averaged scores.
    pub ap: Estimate,
    /// Average precision of single repetitions.
    pub ap_per_repetition: PerRepetition,
    /// Distinct repetition-averaged scores.
    pub distinct_scores: usize,
    /// The point chosen on the frontier.
    pub operating_point: OperatingResult,
    /// allowed / n.
    pub retained: Estimate,
    /// Positives blocked / positives.
    pub avoided: Estimate,
    /// Burden mass blocked / burden mass.
    pub mass: Estimate,
    /// avoided − (1 − retained).
    pub advantage_count: Estimate,
    /// mass − (1 − retained).
    pub advantage_mass: Estimate,
    /// V, the sum of d over the blocked boundaries.
    pub signed_value: Estimate,
    /// V − E_rand.
    pub signed_value_minus_e_rand: Estimate,
    /// V / |B|.
    pub signed_value_per_blocked: Estimate,
    /// V − E_rand with max(0, d) in place of d.
    pub positive_part_minus_e_rand: Estimate,
    /// What V is made of.
    pub signed_parts: SignedParts,
    /// Thresholds at which the allowed set changes, ascending; all of them up to [`FRONTIER_POINTS`], evenly thinned
    /// beyond.
    pub frontier: Vec<FrontierPoint>,
    /// AUROC on parts of the boundaries.
    pub subsets: Vec<SubsetResult>,
    /// Fitted models of single-repetition cells in words, by fold.
    pub models: Vec<String>,
    /// Warnings of the fits, each once with the number of fits that gave it.
    pub warnings: Vec<String>,
}

impl CellResult {
    /// Whether this is the cell that a group calls `cell`.
    pub fn is(&self, group: &str, cell: &str) -> bool {
        let own = self.name.strip_suffix(group).and_then(|name| name.strip_suffix('@'));
        self.group == group && (self.name == cell || own == Some(cell))
    }

    /// JSON pointer (RFC 6901) of the cell in `results.json`.
    pub fn pointer(&self) -> String {
        format!("/cells/{}", self.name.replace('~', "~0").replace('/', "~1"))
    }
}

/// The operating point of a cell (protocol section 5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatingResult {
    /// The threshold: a score, or never.
    pub threshold: Threshold,
    /// Boundaries allowed.
    pub allowed: u64,
    /// Boundaries blocked.
    pub blocked: u64,
    /// Positive boundaries blocked.
    pub blocked_positives: u64,
    /// Standard deviation of avoided for a random rule that blocks as many.
    pub hypergeometric_sd: Value,
}

/// Parts of the signed plug-in value V = S+ + S− on the blocked boundaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignedParts {
    /// Sum of the positive d, S+.
    pub s_plus: f64,
    /// Sum of the negative d, S− (not positive).
    pub s_minus: f64,
    /// Blocked boundaries with d < 0.
    pub negative: u64,
    /// Sum of d over all boundaries.
    pub total: f64,
    /// Expectation of V when as many boundaries are blocked at random.
    pub e_rand: f64,
}

/// AUROC on a part of the boundaries, with the scores of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubsetResult {
    /// `first`, `later` or `|d| >= 1/5`.
    pub subset: String,
    /// Boundaries in it.
    pub n: usize,
    /// Positive ones.
    pub positives: usize,
    /// AUROC with its task-clustered interval where one was asked for.
    pub auroc: Estimate,
}

/// Which cell of a group is best, and out of how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The group.
    pub group: String,
    /// The cell; absent where no eligible cell has a defined AUROC.
    pub cell: Option<CellName>,
    /// Its key in `cells`; absent where there is none.
    pub key: Option<String>,
    /// Eligible cells it was chosen from; its interval is not adjusted for that.
    pub chosen_from: usize,
    /// Whether a cell was named by the user instead.
    pub overridden: bool,
}

/// An analysis that this corpus cannot answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The analysis.
    pub analysis: String,
    /// What is missing, and what to do.
    pub reason: String,
}

/// A table of the paper, or of its kind, ready to print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperTable {
    /// The caption.
    pub title: String,
    /// Column heads.
    pub columns: Vec<String>,
    /// Rows of cells, in the paper's order.
    pub rows: Vec<Vec<TableCell>>,
    /// Estimator, unit, draws, seed and choices, in sentences.
    pub notes: Vec<String>,
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TableCell {
    /// A statistic with or without an interval, and how many decimals the table prints.
    Number {
        /// The statistic.
        #[serde(flatten)]
        point: Value,
        /// Lower end of its interval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lo: Option<f64>,
        /// Upper end of its interval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hi: Option<f64>,
        /// Decimals printed.
        decimals: usize,
        /// Whether a plus sign is printed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        signed: bool,
    },
    /// Words or a count.
    Text(String),
}

impl TableCell {
    /// The cell as the table prints it; an undefined number is a dash with its reason.
    pub fn text(&self) -> String {
        match self {
            TableCell::Text(text) => text.clone(),
            TableCell::Number { point, lo, hi, decimals, signed } => {
                let print =
                    |value: f64| if *signed { format!("{value:+.decimals$}") } else { format!("{value:.decimals$}") };
                let point = match point {
                    Value::Defined(value) => print(*value),
                    Value::Undefined(reason) => return format!("– ({reason})"),
                };
                match (lo, hi) {
                    (Some(lo), Some(hi)) => format!("{point} [{}, {}]", print(*lo), print(*hi)),
                    _ => point,
                }
            }
        }
    }
}

/// A best cell refitted to another target, other folds or as a regression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensitivityResult {
    /// The cell; the regression variant bears its own learner's name.
    pub cell: String,
    /// The group whose best it is.
    pub group: String,
    /// The target refitted to.
    pub target: String,
    /// The folds.
    pub folds: String,
    /// AUROC of the repetition-averaged scores; absent for a regression.
    pub auroc: Option<Estimate>,
    /// Pooled AUROC of single repetitions; absent for a regression.
    pub auroc_per_repetition: Option<PerRepetition>,
    /// Spearman correlation of the averaged prediction with the target; of a regression only.
    pub spearman: Option<Estimate>,
}

/// One entry of the horizon x channel grid: a frozen policy refitted to a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridResult {
    /// The cell.
    pub cell: String,
    /// The target.
    pub target: String,
    /// Pooled AUROC.
    pub auroc: Value,
}

/// Leave-one-stem-out of a frozen policy: mean of within-stem AUROCs, another estimator than the pooled AUROC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaveOneOutResult {
    /// The cell.
    pub cell: String,
    /// Mean over stems with both classes.
    pub mean: Value,
    /// Their number.
    pub defined: usize,
    /// All stems.
    pub stems: usize,
}

/// The replicate yardstick (protocol section 5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct YardstickResult {
    /// Statistics by target and subset; the primary target on all boundaries comes first.
    pub rows: Vec<YardstickRow>,
    /// Each trigger against the replicate on the same boundaries.
    pub triggers: Vec<TriggerAgainstReplicate>,
    /// Intraclass correlations.
    pub icc: Vec<NamedEstimate>,
    /// Mean share of drawn boundaries whose resampled y is 1 in the nested bootstrap.
    pub nested_positive_rate: Value,
    /// Mean share of drawn boundaries whose resampled y differs from the realised one.
    pub nested_sign_changes: Value,
}

/// The yardstick for one target and subset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct YardstickRow {
    /// The target.
    pub target: String,
    /// `all`, `first` or `later`.
    pub subset: String,
    /// Whether the halves exchange roles.
    pub mirrored: bool,
    /// The statistics.
    pub statistics: Yardstick,
}

/// A trigger beside the replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerAgainstReplicate {
    /// The cell.
    pub cell: String,
    /// Differences and the share recovered.
    pub comparison: AgainstReplicate,
    /// The reading rule's sentence: the replicate's interval beside the trigger's own.
    pub reading: String,
}

/// A statistic with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedEstimate {
    /// What it is.
    pub name: String,
    /// The statistic.
    pub estimate: Estimate,
}

/// Permutation importance of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportanceResult {
    /// The cell.
    pub cell: String,
    /// Repetitions used.
    pub repetitions: usize,
    /// Each column by itself, in column order.
    pub columns: Vec<Importance>,
    /// Named groups of columns.
    pub groups: Vec<Importance>,
}

/// Burden by what the prefix holds (the paper's section 3 and Appendix C).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementResult {
    /// No write, session-only write, substantive write.
    pub groups: Vec<PlacementGroup>,
    /// The two write labels, original and post hoc.
    pub labels: Vec<PlacementLabel>,
    /// How much the rollouts of each arm could show.
    pub exposure: Vec<ExposureResult>,
    /// Boundaries with a write in the prefix whose prefix holds each session function.
    pub session_functions: Vec<(String, usize)>,
}

/// One group of boundaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementGroup {
    /// Its name.
    pub group: String,
    /// Boundaries, tasks, mean of the primary target.
    #[serde(flatten)]
    pub cell: CellMean,
    /// Mean number of steps before the boundary.
    pub prefix_steps: Value,
    /// Mean compaction index.
    pub compaction_index: Value,
}

/// Cells with and without a write label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementLabel {
    /// `original` (any write) or `post_hoc` (a substantive write).
    pub label: String,
    /// By target: both cells and their difference.
    pub contrasts: Vec<(String, Contrast)>,
    /// The primary target at first compactions only.
    pub first_only: Contrast,
    /// Difference of the primary target with its stem-clustered interval.
    pub by_stem: Estimate,
    /// Primary target on label, ln(1 + prefix steps), first flag and task indicators.
    pub regression: Option<Regression>,
}

/// Exposure of an arm through a horizon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExposureResult {
    /// `pre` or `post`.
    pub arm: String,
    /// The horizon.
    pub k: usize,
    /// Valid actions and completions.
    #[serde(flatten)]
    pub exposure: Exposure,
}

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// `foldline.results/1`.
    pub format: String,
    /// Version of foldline.
    pub version: String,
    /// Base seed of every stream.
    pub seed: u64,
    /// The corpus.
    pub corpus: CorpusCard,
    /// The protocol.
    pub protocol: Protocol,
    /// The primary target.
    pub outcome: OutcomeCard,
    /// Every cell, in the protocol's order; in the file an object keyed by the cells' names.
    #[serde(with = "by_name")]
    pub cells: Vec<CellResult>,
    /// The best cell of each group with eligible cells.
    pub best: Vec<Best>,
    /// Best cells refitted; empty where the stage did not run.
    pub sensitivity: Vec<SensitivityResult>,
    /// Frozen policies by target; empty where the stage did not run.
    pub grid: Vec<GridResult>,
    /// Frozen policies with one stem left out; empty where the stage did not run.
    pub leave_one_stem_out: Vec<LeaveOneOutResult>,
    /// The replicate yardstick.
    pub yardstick: Option<YardstickResult>,
    /// Burden by placement.
    pub placement: Option<PlacementResult>,
    /// Permutation importance.
    pub importance: Option<ImportanceResult>,
    /// Tables of the paper that the corpus can answer, by their number.
    pub tables: BTreeMap<String, PaperTable>,
    /// Analyses that this corpus cannot answer.
    pub refused: Vec<Refused>,
}

/// Cells as an object keyed by their names, in order.
mod by_name {
    use super::CellResult;
    use serde::de::{Error, MapAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt;

    pub(super) fn serialize<S: Serializer>(cells: &[CellResult], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(cells.iter().map(|cell| (&cell.name, cell)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CellResult>, D::Error> {
        deserializer.deserialize_map(Cells)
    }

    struct Cells;

    impl<'de> Visitor<'de> for Cells {
        type Value = Vec<CellResult>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of cells keyed by their names")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<CellResult>, A::Error> {
            let mut cells: Vec<CellResult> = Vec::new();
            while let Some((name, cell)) = map.next_entry::<String, CellResult>()? {
                if cells.iter().any(|other| other.name == name) {
                    return Err(A::Error::custom(format!("cell {name} stands twice")));
                }
                cells.push(CellResult { name, ..cell });
            }
            Ok(cells)
        }
    }
}
