//! What a threshold on the score buys: the frontier, the operating point and the signed plug-in value (protocol
//! section 5).
//!
//! A threshold t allows compaction where score < t (strictly) and blocks it where score >= t.

use crate::estimate::{EstimatorError, Reason, Value, all_finite, same_length};
use crate::groups::{Group, ScoreRanks, group_rows};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A threshold on the score. In JSON a number or `"never"`; infinity is a word, never a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "ThresholdRecord", from = "ThresholdRecord")]
pub enum Threshold {
    /// Block where score >= this.
    At(f64),
    /// t = +inf: block nothing (Global ON).
    Never,
}

/// How a [`Threshold`] stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ThresholdRecord {
    At(f64),
    Word(Word),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Never,
}

impl From<Threshold> for ThresholdRecord {
    fn from(threshold: Threshold) -> ThresholdRecord {
        match threshold {
            Threshold::At(score) => ThresholdRecord::At(score),
            Threshold::Never => ThresholdRecord::Word(Word::Never),
        }
    }
}

impl From<ThresholdRecord> for Threshold {
    fn from(record: ThresholdRecord) -> Threshold {
        match record {
            ThresholdRecord::At(score) => Threshold::At(score),
            ThresholdRecord::Word(Word::Never) => Threshold::Never,
        }
    }
}

impl Threshold {
    /// Whether a boundary with this score is blocked.
    pub fn blocks(self, score: f64) -> bool {
        match self {
            Threshold::At(threshold) => score >= threshold,
            Threshold::Never => false,
        }
    }

    /// The lowest group it blocks; the number of groups if it blocks none.
    pub(crate) fn first_blocked(self, ranks: &ScoreRanks) -> usize {
        match self {
            Threshold::At(threshold) => ranks.first_blocked(threshold),
            Threshold::Never => ranks.distinct().len(),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::At(threshold) => write!(f, "{threshold}"),
            Threshold::Never => f.write_str("never"),
        }
    }
}

/// The share of boundaries that must stay allowed, as an exact fraction.
///
/// Parsed from a decimal ("0.8"), a fraction ("4/5") or a percentage ("80%"), without going through a float:
/// (1 − 0.8)·10 is 1.9999999999999996 in doubles and would lose a row. In JSON a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Retain {
    numerator: u64,
    denominator: u64,
}

impl Retain {
    /// The paper's operating point, 4/5.
    pub const PAPER: Retain = Retain { numerator: 4, denominator: 5 };

    /// A fraction between 0 and 1.
    ///
    /// # Errors
    /// `Invalid` for a zero denominator or a fraction above 1.
    pub fn new(numerator: u64, denominator: u64) -> Result<Retain, EstimatorError> {
        if denominator == 0 || numerator > denominator {
            return Err(EstimatorError::Invalid(format!(
                "retain {numerator}/{denominator}: expected a share from 0 to 1, such as 0.8 or 4/5"
            )));
        }
        // lowest terms, so that 8/10 and 4/5 are equal
        let (mut a, mut b) = (numerator, denominator);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        let (numerator, denominator) = (numerator / a, denominator / a);
        // products with counts of boundaries must fit into 128 bits
        if denominator > 1_000_000_000 {
            return Err(EstimatorError::Invalid(format!(
                "retain {numerator}/{denominator}: expected a share with at most nine decimals"
            )));
        }
        Ok(Retain { numerator, denominator })
    }

    /// ceil(r·n), in integers: how many of n boundaries must stay allowed.
    pub fn min_allowed(self, n: u64) -> u64 {
        let product = u128::from(self.numerator) * u128::from(n);
        // at most n, because the fraction is at most 1
        product.div_ceil(u128::from(self.denominator)) as u64
    }

    /// Numerator and denominator, in lowest terms.
    pub fn parts(self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// The share as a float, for printing.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl FromStr for Retain {
    type Err = EstimatorError;

    fn from_str(text: &str) -> Result<Retain, EstimatorError> {
        let wrong =
            || EstimatorError::Invalid(format!("retain {text:?}: expected a share from 0 to 1, such as 0.8 or 4/5"));
        let digits = |text: &str| -> Result<u64, EstimatorError> {
            let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            all_digits.then(|| text.parse().ok()).flatten().ok_or_else(wrong)
        };
        let trimmed = text.trim();
        if let Some((numerator, denominator)) = trimmed.split_once('/') {
            return Retain::new(digits(numerator)?, digits(denominator)?);
        }
        let (number, percent) = match trimmed.strip_suffix('%') {
            Some(number) => (number, 100u64),
            None => (trimmed, 1),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let scale = 10u64.checked_pow(u32::try_from(fraction.len()).map_err(|_| wrong())?).ok_or_else(wrong)?;
        // ".8" is a number, "" is not
        let whole = digits(if whole.is_empty() && number.starts_with('.') { "0" } else { whole })?;
        let numerator = whole.checked_mul(scale).and_then(|whole| whole.checked_add(digits(fraction).ok()?));
        Retain::new(numerator.ok_or_else(wrong)?, scale.checked_mul(percent).ok_or_else(wrong)?)
    }
}

impl TryFrom<String> for Retain {
    type Error = EstimatorError;

    fn try_from(text: String) -> Result<Retain, EstimatorError> {
        text.parse()
    }
}

impl From<Retain> for String {
    fn from(retain: Retain) -> String {
        retain.to_string()
    }
}

/// A decimal where it is exact in at most six digits, else a fraction; parses back to an equal share.
impl fmt::Display for Retain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = u128::from(self.numerator) * 1_000_000;
        if millionths.is_multiple_of(u128::from(self.denominator)) {
            let digits = format!("{:07}", millionths / u128::from(self.denominator));
            let (whole, fraction) = digits.split_at(digits.len() - 6);
            let fraction = fraction.trim_end_matches('0');
            if fraction.is_empty() { f.write_str(whole) } else { write!(f, "{whole}.{fraction}") }
        } else {
            write!(f, "{}/{}", self.numerator, self.denominator)
        }
    }
}

/// What one threshold does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontierPoint {
    /// The threshold.
    pub threshold: Threshold,
    /// Boundaries allowed (score < t).
    pub allowed: u64,
    /// Boundaries blocked.
    pub blocked: u64,
    /// Positive boundaries blocked.
    pub blocked_positives: u64,
    /// allowed / n.
    pub retained: f64,
    /// blocked positives / positives.
    pub avoided: Value,
    /// Burden mass blocked / burden mass.
    pub mass: Value,
    /// avoided − (1 − retained): above the random rule by count.
    pub advantage_count: Value,
    /// mass − (1 − retained): above the random rule by burden mass.
    pub advantage_mass: Value,
}

/// All points of the frontier: thresholds ascending over the distinct scores, then `Never`.
///
/// `groups` are lowest score first, `scores` their scores. The first point is Global OFF (retained 0, avoided 1), the
/// last Global ON (1, 0). No point is dropped and none lies between two thresholds. Empty without a row.
pub fn frontier_of_groups(groups: &[Group], scores: &[f64]) -> Vec<FrontierPoint> {
    let n: u64 = groups.iter().map(|group| u64::from(group.rows)).sum();
    if n == 0 {
        return Vec::new();
    }
    let positives: u64 = groups.iter().map(|group| u64::from(group.positive)).sum();
    // from the top, so that the lowest threshold blocks exactly the total
    let mut sums = vec![(Threshold::Never, 0u64, 0u64, 0.0)];
    for (group, &score) in groups.iter().zip(scores).rev() {
        let (_, rows, positive, mass) = sums[sums.len() - 1];
        sums.push((
            Threshold::At(score),
            rows + u64::from(group.rows),
            positive + u64::from(group.positive),
            mass + group.mass,
        ));
    }
    let total_mass = sums[sums.len() - 1].3;
    sums.into_iter()
        .rev()
        .map(|(threshold, blocked, blocked_positives, mass)| {
            let retained = (n - blocked) as f64 / n as f64;
            let avoided = Value::ratio(blocked_positives as f64, positives as f64, Reason::NoPositive);
            let mass = Value::ratio(mass, total_mass, Reason::NoMass);
            FrontierPoint {
                threshold,
                allowed: n - blocked,
                blocked,
                blocked_positives,
                retained,
                avoided,
                mass,
                advantage_count: avoided.map(|avoided| avoided - (1.0 - retained)),
                advantage_mass: mass.map(|mass| mass - (1.0 - retained)),
            }
        })
        .collect()
}

/// The frontier of scored boundaries; see [`frontier_of_groups`].
///
/// # Errors
/// `LengthMismatch`, `NotFinite`.
pub fn frontier(scores: &[f64], labels: &[bool], mass: &[f64]) -> Result<Vec<FrontierPoint>, EstimatorError> {
    let ranks = ScoreRanks::new(scores)?;
    Ok(frontier_of_groups(&group_rows(&ranks, labels, mass, &[])?, ranks.distinct()))
}

/// The best point of a frontier that keeps enough boundaries allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatingPoint {
    /// The share that must stay allowed.
    pub retain: Retain,
    /// ceil(r·n).
    pub min_allowed: u64,
    /// The point chosen.
    #[serde(flatten)]
    pub point: FrontierPoint,
    /// Standard deviation of avoided for a random rule that blocks as many, see [`hypergeometric_sd`].
    pub hypergeometric_sd: Value,
}

/// The point with the largest avoided share among those with allowed >= ceil(r·n); ties: the larger retained.
///
/// Without a positive every point avoids nothing that exists, and the tie rule gives `Never` **\[choice\]**. The
/// threshold is chosen on the rows it is judged on: it describes a frontier and is no promise for new rows. `None` for
/// an empty frontier.
pub fn operating_point(frontier: &[FrontierPoint], retain: Retain) -> Option<OperatingPoint> {
    let n = frontier.last()?.allowed;
    let min_allowed = retain.min_allowed(n);
    // the last point allows everything, so at least one is feasible
    let point = frontier
        .iter()
        .filter(|point| point.allowed >= min_allowed)
        .max_by_key(|point| (point.blocked_positives, point.allowed))?;
    let positives = frontier.first()?.blocked_positives;
    Some(OperatingPoint {
        retain,
        min_allowed,
        point: *point,
        hypergeometric_sd: hypergeometric_sd(n, positives, point.blocked),
    })
}

/// Standard deviation of the avoided share when `blocked` of `n` boundaries, `positives` of them positive, are blocked
/// uniformly at random: sqrt(b·(P/n)(1−P/n)(n−b)/(n−1))/P.
///
/// Undefined without a positive; 0 for n = 1.
pub fn hypergeometric_sd(n: u64, positives: u64, blocked: u64) -> Value {
    if n <= 1 {
        return if positives == 0 { Value::Undefined(Reason::NoPositive) } else { Value::Defined(0.0) };
    }
    let (n, positives, blocked) = (n as f64, positives as f64, blocked as f64);
    let share = positives / n;
    let variance = blocked * share * (1.0 - share) * (n - blocked) / (n - 1.0);
    Value::ratio(variance.sqrt(), positives, Reason::NoPositive)
}

/// What blocking a set of boundaries is worth, in burden-steps, with harm avoided and benefit given up both counted.
///
/// No clamping and no percentage of the total, which may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignedValue {
    /// Boundaries blocked, |B|.
    pub blocked: u64,
    /// Sum of d over B.
    pub v: f64,
    /// Sum of the positive d over B.
    pub s_plus: f64,
    /// Sum of the negative d over B (not positive); V = S+ + S−.
    pub s_minus: f64,
    /// Boundaries of B with d < 0.
    pub negative: u64,
    /// Sum of d over all boundaries.
    pub total: f64,
    /// Expectation of V when |B| boundaries are blocked at random: |B|/n · total.
    pub e_rand: f64,
    /// V − E_rand.
    pub v_minus_e_rand: f64,
    /// V / |B|; undefined when nothing is blocked.
    pub v_per_blocked: Value,
    /// The positive-part version, with max(0, d) in place of d: S+ − |B|/n · sum of max(0, d).
    pub positive_part_minus_e_rand: f64,
}

/// The signed plug-in value of blocking where `threshold` says so.
///
/// # Errors
/// `LengthMismatch`; `NotFinite`; `Invalid` without a row.
pub fn signed_value(scores: &[f64], d: &[f64], threshold: Threshold) -> Result<SignedValue, EstimatorError> {
    same_length("d", scores.len(), d.len())?;
    all_finite("score", scores)?;
    all_finite("d", d)?;
    if scores.is_empty() {
        return Err(EstimatorError::Invalid("no row to value".to_owned()));
    }
    let mut value = SignedValue {
        blocked: 0,
        v: 0.0,
        s_plus: 0.0,
        s_minus: 0.0,
        negative: 0,
        total: d.iter().sum(),
        e_rand: 0.0,
        v_minus_e_rand: 0.0,
        v_per_blocked: Value::Undefined(Reason::NothingBlocked),
        positive_part_minus_e_rand: 0.0,
    };
    for (&score, &d) in scores.iter().zip(d) {
        if threshold.blocks(score) {
            value.blocked += 1;
            value.v += d;
            value.s_plus += d.max(0.0);
            value.s_minus += d.min(0.0);
            value.negative += u64::from(d < 0.0);
        }
    }
    let share = value.blocked as f64 / scores.len() as f64;
    let positive_total: f64 = d.iter().map(|d| d.max(0.0)).sum();
    value.e_rand = share * value.total;
    value.v_minus_e_rand = value.v - value.e_rand;
    value.v_per_blocked = Value::ratio(value.v, value.blocked as f64, Reason::NothingBlocked);
    value.positive_part_minus_e_rand = value.s_plus - share * positive_total;
    Ok(value)
}
