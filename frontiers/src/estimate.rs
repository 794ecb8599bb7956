//! What an estimator returns: a number, or the reason why there is none, and its interval.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a statistic does not exist on these rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// No row at all.
    NoRows,
    /// All labels are equal, so there is no pair to rank.
    OneClass,
    /// No positive boundary, so no share of positives.
    NoPositive,
    /// The burden mass sums to 0, so no share of it.
    NoMass,
    /// Nothing is blocked, so nothing per blocked boundary.
    NothingBlocked,
    /// One of two variables is constant (or both ratings always agree by chance alone).
    NoVariation,
    /// Every group has one member, so there is no variation within groups.
    SingletonGroups,
    /// Fewer than two groups.
    TooFewGroups,
    /// One of the two cells holds no boundary.
    EmptyCell,
    /// None of the parts that would be averaged is defined.
    NoneDefined,
    /// Every bootstrap draw was undefined and dropped.
    AllDrawsDropped,
    /// The ratio's denominator is 0.
    ZeroDenominator,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoRows => "there is no row",
            Reason::OneClass => "all labels are equal",
            Reason::NoPositive => "no boundary is positive",
            Reason::NoMass => "the burden mass is zero",
            Reason::NothingBlocked => "nothing is blocked",
            Reason::NoVariation => "one of the variables is constant",
            Reason::SingletonGroups => "every group has one member",
            Reason::TooFewGroups => "there are fewer than two groups",
            Reason::EmptyCell => "one of the two cells is empty",
            Reason::NoneDefined => "no part of the mean is defined",
            Reason::AllDrawsDropped => "the statistic is undefined in every draw",
            Reason::ZeroDenominator => "the denominator is zero",
        })
    }
}

/// A statistic: a finite number, or the reason why it does not exist. Never NaN, never a stand-in such as 0.5.
///
/// In JSON `{"point": 0.62}` or `{"point": null, "reason": "one_class"}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "ValueRecord", try_from = "ValueRecord")]
pub enum Value {
    /// The statistic.
    Defined(f64),
    /// Why it does not exist.
    Undefined(Reason),
}

/// How a [`Value`] stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueRecord {
    point: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
}

impl From<Value> for ValueRecord {
    fn from(value: Value) -> ValueRecord {
        match value {
            Value::Defined(number) => ValueRecord { point: Some(number), reason: None },
            Value::Undefined(reason) => ValueRecord { point: None, reason: Some(reason) },
        }
    }
}

impl TryFrom<ValueRecord> for Value {
    type Error = String;

    fn try_from(record: ValueRecord) -> Result<Value, String> {
        match (record.point, record.reason) {
            (Some(number), None) if number.is_finite() => Ok(Value::Defined(number)),
            (None, Some(reason)) => Ok(Value::Undefined(reason)),
            _ => Err("expected a finite point, or a null point with a reason".to_owned()),
        }
    }
}

impl Value {
    /// The number, or nothing where it is undefined.
    pub fn defined(self) -> Option<f64> {
        match self {
            Value::Defined(number) => Some(number),
            Value::Undefined(_) => None,
        }
    }

    /// The reason where it is undefined.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Value::Defined(_) => None,
            Value::Undefined(reason) => Some(reason),
        }
    }

    /// Applies `f` to a defined number.
    pub fn map(self, f: impl FnOnce(f64) -> f64) -> Value {
        match self {
            Value::Defined(number) => Value::Defined(f(number)),
            undefined @ Value::Undefined(_) => undefined,
        }
    }

    /// `self − other`, undefined (with the first reason) where either is.
    pub fn minus(self, other: Value) -> Value {
        match (self, other) {
            (Value::Defined(a), Value::Defined(b)) => Value::Defined(a - b),
            (Value::Undefined(reason), _) | (_, Value::Undefined(reason)) => Value::Undefined(reason),
        }
    }

    /// `numerator / denominator`, undefined for a zero denominator.
    pub(crate) fn ratio(numerator: f64, denominator: f64, reason: Reason) -> Value {
        if denominator == 0.0 { Value::Undefined(reason) } else { Value::Defined(numerator / denominator) }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Defined(number) => write!(f, "{number}"),
            Value::Undefined(reason) => write!(f, "undefined: {reason}"),
        }
    }
}

/// What a bootstrap resamples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Tasks, each with all its boundaries.
    Task,
    /// Stems (scenarios), each with all boundaries of its tasks.
    Stem,
    /// Tasks, and within each copy of each boundary its rollouts.
    Nested,
    /// Nothing is resampled: percentiles over random splits.
    Split,
}

impl Unit {
    /// The word used in files.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Task => "task",
            Unit::Stem => "stem",
            Unit::Nested => "nested",
            Unit::Split => "split",
        }
    }

    /// How an interval over this unit is made, as files say it.
    pub fn method(self) -> &'static str {
        match self {
            Unit::Task | Unit::Stem | Unit::Nested => "percentile_bootstrap",
            Unit::Split => "percentiles_over_splits",
        }
    }
}

/// A percentile interval and how it was made.
///
/// In JSON `{"lo", "hi", "level", "method", "unit", "draws", "dropped", "seed"}`; the method follows from the unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "IntervalRecord", from = "IntervalRecord")]
pub struct Interval {
    /// Lower end; absent where every draw was dropped.
    pub lo: Option<f64>,
    /// Upper end; absent where every draw was dropped.
    pub hi: Option<f64>,
    /// Share of the draws between the ends, such as 0.95.
    pub level: f64,
    /// What was resampled.
    pub unit: Unit,
    /// Draws made, dropped ones included.
    pub draws: u32,
    /// Draws in which the statistic was undefined, left out of the percentiles.
    pub dropped: u32,
    /// Base seed of the draws; absent for draws that were given.
    pub seed: Option<u64>,
    /// Why there are no ends: one cluster only, or every draw was dropped. Absent where there are.
    pub no_interval: Option<Reason>,
}

impl Interval {
    /// Both ends, where there are any.
    pub fn ends(&self) -> Option<(f64, f64)> {
        Some((self.lo?, self.hi?))
    }

    /// Half of the width, where there is any.
    pub fn half_width(&self) -> Option<f64> {
        self.ends().map(|(lo, hi)| (hi - lo) / 2.0)
    }

    /// Whether both ends lie strictly on one side of 0.
    pub fn excludes_zero(&self) -> bool {
        self.ends().is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0)
    }
}

/// How an [`Interval`] stands in a file.
#[derive(Serialize, Deserialize)]
struct IntervalRecord {
    lo: Option<f64>,
    hi: Option<f64>,
    level: f64,
    #[serde(skip_deserializing)]
    method: &'static str,
    unit: Unit,
    draws: u32,
    dropped: u32,
    seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_interval: Option<Reason>,
}

impl From<Interval> for IntervalRecord {
    fn from(interval: Interval) -> IntervalRecord {
        let Interval { lo, hi, level, unit, draws, dropped, seed, no_interval } = interval;
        IntervalRecord { lo, hi, level, method: unit.method(), unit, draws, dropped, seed, no_interval }
    }
}

impl From<IntervalRecord> for Interval {
    fn from(record: IntervalRecord) -> Interval {
        let IntervalRecord { lo, hi, level, unit, draws, dropped, seed, no_interval, .. } = record;
        Interval { lo, hi, level, unit, draws, dropped, seed, no_interval }
    }
}

/// A statistic with the intervals computed for it (task, stem, nested), in that order.
///
/// In JSON the first interval stands beside the point, `{"point": 0.62, "lo": 0.57, "hi": 0.66, "level": 0.95, "method":
/// "percentile_bootstrap", "unit": "task", "draws": 2000, "dropped": 0, "seed": 1}`, and the ones over other units follow
/// in `other_intervals`; an undefined statistic is `{"point": null, "reason": ...}` and has no interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "EstimateRecord", try_from = "EstimateRecord")]
pub struct Estimate {
    /// The statistic on all rows.
    pub point: Value,
    /// Its intervals, the one that stands beside the point first; empty where none was asked for or the statistic is
    /// undefined. Added by [`Estimate::add`].
    pub intervals: Vec<Interval>,
}

/// How an [`Estimate`] stands in a file.
#[derive(Serialize, Deserialize)]
struct EstimateRecord {
    #[serde(flatten)]
    point: Value,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    first: Option<IntervalRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_intervals: Vec<Interval>,
}

impl From<Estimate> for EstimateRecord {
    fn from(estimate: Estimate) -> EstimateRecord {
        let mut intervals = estimate.intervals.into_iter();
        EstimateRecord {
            point: estimate.point,
            first: intervals.next().map(IntervalRecord::from),
            other_intervals: intervals.collect(),
        }
    }
}

impl TryFrom<EstimateRecord> for Estimate {
    type Error = String;

    fn try_from(record: EstimateRecord) -> Result<Estimate, String> {
        if record.first.is_none() && !record.other_intervals.is_empty() {
            return Err("other_intervals without a first one: expected lo, hi, level, unit, draws, dropped".to_owned());
        }
        let intervals = record.first.map(Interval::from).into_iter().chain(record.other_intervals);
        Ok(intervals.fold(Estimate::new(record.point), Estimate::with))
    }
}

impl Estimate {
    /// A statistic without an interval.
    pub fn new(point: Value) -> Estimate {
        Estimate { point, intervals: Vec::new() }
    }

    /// Adds an interval; an undefined statistic has none.
    pub fn add(&mut self, interval: Interval) {
        if self.point.defined().is_some() {
            self.intervals.push(interval);
        }
    }

    /// The same with one more interval.
    pub fn with(mut self, interval: Interval) -> Estimate {
        self.add(interval);
        self
    }

    /// The interval of a unit, where it was computed.
    pub fn interval(&self, unit: Unit) -> Option<&Interval> {
        self.intervals.iter().find(|interval| interval.unit == unit)
    }
}

/// An input that no estimator can work on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EstimatorError {
    /// Two slices that must be parallel are not.
    #[error("{what} has {found} entries, expected {expected} (one for each boundary)")]
    LengthMismatch {
        /// The slice.
        what: &'static str,
        /// Entries needed.
        expected: usize,
        /// Entries given.
        found: usize,
    },
    /// A number that is NaN or infinite.
    #[error("{what} of row {row} is {value}: expected a finite number")]
    NotFinite {
        /// The slice.
        what: &'static str,
        /// The row, from 0.
        row: usize,
        /// The number.
        value: f64,
    },
    /// An index beyond the end.
    #[error("{what} {index} is out of range: there are {count}")]
    OutOfRange {
        /// What is indexed.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A setting or an input that makes no sense, in words.
    #[error("{0}")]
    Invalid(String),
}

/// Refuses slices of different lengths.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), EstimatorError> {
    if expected == found { Ok(()) } else { Err(EstimatorError::LengthMismatch { what, expected, found }) }
}

/// Refuses NaN and infinities, naming the row.
pub(crate) fn all_finite(what: &'static str, values: &[f64]) -> Result<(), EstimatorError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(row) => Err(EstimatorError::NotFinite { what, row, value: values[row] }),
        None => Ok(()),
    }
}

/// Mean of the defined numbers, added in order and divided once, and how many there are.
pub(crate) fn mean_of_defined(values: &[Value]) -> (Value, usize) {
    let mut sum = 0.0;
    let mut count = 0usize;
    for number in values.iter().filter_map(|value| value.defined()) {
        sum += number;
        count += 1;
    }
    (Value::ratio(sum, count as f64, Reason::NoneDefined), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_is_null_with_a_reason() {
        let undefined = Estimate::new(Value::Undefined(Reason::OneClass));
        let text = serde_json::to_string(&undefined).unwrap();
        assert_eq!(text, r#"{"point":null,"reason":"one_class"}"#);
        assert_eq!(serde_json::from_str::<Estimate>(&text).unwrap(), undefined);
        assert!(serde_json::from_str::<Value>(r#"{"point":null}"#).is_err());
    }

    #[test]
    fn an_estimate_survives_its_file() {
        let interval = Interval {
            lo: Some(0.1),
            hi: Some(0.7),
            level: 0.95,
            unit: Unit::Task,
            draws: 10,
            dropped: 1,
            seed: Some(7),
            no_interval: None,
        };
        let no_interval = Some(Reason::AllDrawsDropped);
        let stem = Interval { unit: Unit::Stem, lo: None, hi: None, dropped: 10, no_interval, ..interval };
        let estimate = Estimate::new(Value::Defined(0.1 + 0.2)).with(interval).with(stem);
        let text = serde_json::to_string(&estimate).unwrap();
        let expected = concat!(
            r#"{"point":0.30000000000000004,"lo":0.1,"hi":0.7,"level":0.95,"method":"percentile_bootstrap","#,
            r#""unit":"task","draws":10,"dropped":1,"seed":7,"other_intervals":[{"lo":null,"hi":null,"level":0.95,"#,
            r#""method":"percentile_bootstrap","unit":"stem","draws":10,"dropped":10,"seed":7,"no_interval":"all_draws_dropped"}]}"#
        );
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Estimate>(&text).unwrap(), estimate);
        assert!(Estimate::new(Value::Undefined(Reason::NoMass)).with(interval).intervals.is_empty());
    }
}
