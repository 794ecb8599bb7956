//! Folds: which boundary is scored by a model that saw none of its group (protocol section 4).

use crate::streams::Streams;
use std::collections::{BTreeMap, BTreeSet};

/// Fold assignments of n boundaries in one or more repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    k: usize,
    /// `[repetition][row]`, 0 to k − 1.
    assignment: Vec<Vec<u32>>,
}

/// Why a corpus cannot be folded, or a fold file not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// More folds than groups.
    #[error(
        "{folds} folds need at least {folds} {unit}s, and the corpus has {groups}: use fewer folds, or add boundaries of \
         other {unit}s"
    )]
    TooFewGroups {
        /// Folds asked for.
        folds: usize,
        /// Distinct groups.
        groups: usize,
        /// What a group is (task, stem).
        unit: String,
    },
    /// Fewer than two folds, or no repetition.
    #[error("{folds} folds and {repetitions} repetitions: at least 2 folds and 1 repetition are needed")]
    TooFewFolds {
        /// Folds asked for.
        folds: usize,
        /// Repetitions asked for.
        repetitions: usize,
    },
    /// All boundaries of a repetition are in one fold.
    #[error(
        "repetition {repetition}: all {rows} boundaries are in fold {fold}, so no row is left to train its model on"
    )]
    NoTrainingRows {
        /// The repetition.
        repetition: usize,
        /// The fold.
        fold: usize,
        /// Boundaries in it.
        rows: usize,
    },
    /// A line of a fold file.
    #[error("line {line}: {problem}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A file of several plans without the one that is wanted.
    #[error("holds the plans {held}: keep the lines of the one to use")]
    OtherPlans {
        /// The plans it holds.
        held: String,
    },
    /// A boundary of the corpus that the fold file leaves out.
    #[error(
        "boundary {boundary_id:?} has no fold in repetition {repetition} ({missing} missing in all): every boundary of the \
         corpus needs a line for every repetition"
    )]
    Missing {
        /// The first boundary without a fold.
        boundary_id: String,
        /// Its repetition.
        repetition: usize,
        /// How many (boundary, repetition) pairs are missing.
        missing: usize,
    },
}

impl Folds {
    /// Folds that keep every group whole: `groups[row]` is the row's task or stem id.
    ///
    /// In each repetition the distinct ids, sorted bytewise, are shuffled once and position i goes to fold i mod k, so
    /// that folds are balanced in groups, not in rows. The result depends on the set of ids only, not on row order.
    /// Repetition r shuffles with stream `(seed, "folds/UNIT", r)` **\[choice\]**: the seed of a repetition is derived
    /// from the base seed, the unit's name and its number.
    ///
    /// `unit` (task, stem) names the groups in messages and in the stream.
    ///
    /// # Errors
    /// `TooFewGroups`, `TooFewFolds`.
    pub fn grouped<S: AsRef<str>>(
        groups: &[S],
        unit: &str,
        k: usize,
        repetitions: usize,
        streams: &Streams,
    ) -> Result<Folds, FoldError> {
        if k < 2 || repetitions == 0 {
            return Err(FoldError::TooFewFolds { folds: k, repetitions });
        }
        let distinct: Vec<&str> = groups.iter().map(AsRef::as_ref).collect::<BTreeSet<&str>>().into_iter().collect();
        if distinct.len() < k {
            return Err(FoldError::TooFewGroups { folds: k, groups: distinct.len(), unit: unit.to_owned() });
        }
        let stage = format!("folds/{unit}");
        let assignment = (0..repetitions)
            .map(|repetition| {
                let mut shuffled = distinct.clone();
                streams.stream(&stage, repetition as u64).shuffle(&mut shuffled);
                let fold_of: BTreeMap<&str, u32> =
                    shuffled.into_iter().enumerate().map(|(position, id)| (id, (position % k) as u32)).collect();
                groups.iter().map(|group| fold_of[group.as_ref()]).collect()
            })
            .collect();
        Ok(Folds { k, assignment })
    }

    /// Folds of one repetition in which every distinct group is a fold of its own (leave one out), numbered in bytewise
    /// order of the ids.
    ///
    /// # Errors
    /// `TooFewGroups` with fewer than two groups.
    pub fn leave_one_out<S: AsRef<str>>(groups: &[S], unit: &str) -> Result<Folds, FoldError> {
        let distinct: BTreeSet<&str> = groups.iter().map(AsRef::as_ref).collect();
        if distinct.len() < 2 {
            return Err(FoldError::TooFewGroups { folds: 2, groups: distinct.len(), unit: unit.to_owned() });
        }
        let fold_of: BTreeMap<&str, u32> = distinct.iter().zip(0..).map(|(&id, fold)| (id, fold)).collect();
        Ok(Folds { k: distinct.len(), assignment: vec![groups.iter().map(|group| fold_of[group.as_ref()]).collect()] })
    }

    /// Number of folds.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Number of repetitions.
    pub fn repetitions(&self) -> usize {
        self.assignment.len()
    }

    /// Number of boundaries.
    pub fn n_rows(&self) -> usize {
        self.assignment.first().map_or(0, Vec::len)
    }

    /// The fold of every row in a repetition.
    pub fn of(&self, repetition: usize) -> &[u32] {
        &self.assignment[repetition]
    }

    /// The rows of a fold, ascending: scored by the model of that fold.
    pub fn test_rows(&self, repetition: usize, fold: usize) -> Vec<u32> {
        self.rows_where(repetition, |of| of as usize == fold)
    }

    /// All other rows, ascending: what the model of the fold is fitted on.
    pub fn training_rows(&self, repetition: usize, fold: usize) -> Vec<u32> {
        self.rows_where(repetition, |of| of as usize != fold)
    }

    fn rows_where(&self, repetition: usize, keep: impl Fn(u32) -> bool) -> Vec<u32> {
        (0u32..).zip(&self.assignment[repetition]).filter(|&(_, &of)| keep(of)).map(|(row, _)| row).collect()
    }

    /// Rows in every fold of a repetition.
    pub fn rows_per_fold(&self, repetition: usize) -> Vec<usize> {
        let mut counts = vec![0; self.k];
        self.assignment[repetition].iter().for_each(|&fold| counts[fold as usize] += 1);
        counts
    }

    /// In how many (repetition, group) pairs a group stands in more than one fold, so that training and test rows share
    /// it. 0 for folds made by [`Folds::grouped`] on these groups; a fold file may hold anything.
    pub fn groups_on_both_sides<S: AsRef<str>>(&self, groups: &[S]) -> usize {
        self.assignment
            .iter()
            .map(|folds| {
                let mut seen: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
                for (group, &fold) in groups.iter().zip(folds) {
                    seen.entry(group.as_ref()).or_default().insert(fold);
                }
                seen.values().filter(|folds| folds.len() > 1).count()
            })
            .sum()
    }

    /// The first repetitions only.
    pub fn first_repetitions(&self, count: usize) -> Folds {
        Folds { k: self.k, assignment: self.assignment.iter().take(count).cloned().collect() }
    }

    /// The assignments as CSV (`boundary_id,repetition,fold`), repetition by repetition in corpus order.
    pub fn to_csv<S: AsRef<str>>(&self, boundary_ids: &[S]) -> String {
        csv_of(self.lines(boundary_ids).map(|(id, repetition, fold)| [id.to_owned(), repetition, fold]), HEADER)
    }

    /// Several plans in one CSV, each line with the name of its plan in a fourth column, `plan`.
    pub fn several_to_csv<S: AsRef<str>>(plans: &[(String, &Folds)], boundary_ids: &[S]) -> String {
        let lines = plans.iter().flat_map(|(plan, folds)| {
            folds.lines(boundary_ids).map(|(id, repetition, fold)| [id.to_owned(), repetition, fold, plan.clone()])
        });
        csv_of(lines, &[HEADER, &["plan"]].concat())
    }

    fn lines<'a, S: AsRef<str>>(&'a self, ids: &'a [S]) -> impl Iterator<Item = (&'a str, String, String)> {
        self.assignment.iter().enumerate().flat_map(move |(repetition, folds)| {
            ids.iter().zip(folds).map(move |(id, fold)| (id.as_ref(), repetition.to_string(), fold.to_string()))
        })
    }

    /// Reads assignments written by [`Folds::to_csv`] (or by anything that writes those columns) for the boundaries of a
    /// corpus, in its order. Lines and columns may stand in any order; folds are numbered anew from 0, in the order of the
    /// numbers in the file.
    ///
    /// # Errors
    /// `Line` for a wrong header, a number that is none, an unknown boundary or one given twice; `Missing` for a
    /// boundary without a line; `NoTrainingRows` where one fold holds everything.
    pub fn from_csv<S: AsRef<str>>(text: &str, boundary_ids: &[S]) -> Result<Folds, FoldError> {
        Folds::of_plan(text, boundary_ids, "")
    }

    /// As [`Folds::from_csv`], for a file that may hold several plans: of those only the lines of `plan` are read.
    ///
    /// # Errors
    /// As [`Folds::from_csv`], and `OtherPlans` where several plans are there and `plan` is not.
    pub fn of_plan<S: AsRef<str>>(text: &str, boundary_ids: &[S], plan: &str) -> Result<Folds, FoldError> {
        let row_of: BTreeMap<&str, usize> = boundary_ids.iter().map(AsRef::as_ref).zip(0..).collect();
        let n = boundary_ids.len();
        let problem = |line, problem: String| FoldError::Line { line, problem };
        let mut records = records(text)?;
        let plans: BTreeSet<&str> = records.iter().filter_map(|line| line.plan.as_deref()).collect();
        if plans.len() > 1 {
            if !plans.contains(plan) {
                return Err(FoldError::OtherPlans { held: plans.into_iter().collect::<Vec<_>>().join(", ") });
            }
            records.retain(|line| line.plan.as_deref() == Some(plan));
        }
        let mut assignment: Vec<Vec<Option<u32>>> = Vec::new();
        let mut k = 0usize;
        for FoldLine { line, fields: [id, repetition, fold], .. } in records {
            let &row = row_of
                .get(id.as_str())
                .ok_or_else(|| problem(line, format!("boundary {id:?} is not in the corpus")))?;
            let number = |what: &str, text: &str, below: usize| {
                text.parse::<u32>().ok().filter(|&number| (number as usize) < below).ok_or_else(|| {
                    problem(line, format!("{what} {text:?}: expected a whole number from 0 to {}", below - 1))
                })
            };
            // no fold can hold less than a row, and ten thousand repetitions are more than anyone can fit
            let fold = number("fold", &fold, n)?;
            let repetition = number("repetition", &repetition, 10_000)? as usize;
            if assignment.len() <= repetition {
                assignment.resize(repetition + 1, vec![None; n]);
            }
            if let Some(before) = assignment[repetition][row].replace(fold) {
                return Err(problem(
                    line,
                    format!(
                        "boundary {id:?} has a second line for repetition {repetition} (the first says fold {before})"
                    ),
                ));
            }
            k = k.max(fold as usize + 1);
        }
        let mut missing = assignment.iter().enumerate().flat_map(|(repetition, folds)| {
            folds.iter().enumerate().filter(|(_, fold)| fold.is_none()).map(move |(row, _)| (repetition, row))
        });
        let first_missing = if assignment.is_empty() && n > 0 { Some((0, 0)) } else { missing.next() };
        if let Some((repetition, row)) = first_missing {
            let missing = if assignment.is_empty() { n } else { missing.count() + 1 };
            let boundary_id = boundary_ids[row].as_ref().to_owned();
            return Err(FoldError::Missing { boundary_id, repetition, missing });
        }
        let assignment: Vec<Vec<u32>> =
            assignment.into_iter().map(|folds| folds.into_iter().flatten().collect()).collect();
        let mut folds = Folds { k, assignment };
        folds.check_training_rows()?;
        let numbers: BTreeSet<u32> = folds.assignment.iter().flatten().copied().collect();
        let new: BTreeMap<u32, u32> = numbers.into_iter().zip(0..).collect();
        folds.k = new.len();
        folds.assignment.iter_mut().flatten().for_each(|fold| *fold = new[fold]);
        Ok(folds)
    }

    /// The names in a fold file's column `plan`; none where it has no such column.
    ///
    /// # Errors
    /// `Line` for a text that is no fold file.
    pub fn plans_in(text: &str) -> Result<Vec<String>, FoldError> {
        let plans = records(text)?.into_iter().filter_map(|line| line.plan).collect::<BTreeSet<String>>();
        Ok(plans.into_iter().collect())
    }

    fn check_training_rows(&self) -> Result<(), FoldError> {
        for repetition in 0..self.repetitions() {
            let rows = self.n_rows();
            if let Some(fold) = self.rows_per_fold(repetition).iter().position(|&count| count == rows) {
                return Err(FoldError::NoTrainingRows { repetition, fold, rows });
            }
        }
        Ok(())
    }
}

/// The columns of a fold file.
const HEADER: &[&str] = &["boundary_id", "repetition", "fold"];

fn csv_of<const N: usize>(lines: impl Iterator<Item = [String; N]>, header: &[&str]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).expect("memory takes any record");
    lines.for_each(|line| writer.write_record(line).expect("records have the header's length"));
    String::from_utf8(writer.into_inner().expect("memory is flushed")).expect("records are text")
}

/// A line of a fold file.
struct FoldLine {
    /// Where the file has such a column.
    plan: Option<String>,
    /// Its number.
    line: usize,
    /// Boundary, repetition, fold.
    fields: [String; 3],
}

/// The lines of a fold file.
fn records(text: &str) -> Result<Vec<FoldLine>, FoldError> {
    let problem = |line, problem: String| FoldError::Line { line, problem };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| {
        problem(error.position().map_or(1, |place| place.line() as usize), format!("is no CSV: {error}"))
    };
    let header = reader.headers().map_err(unreadable)?.clone();
    let column = |name: &str| header.iter().position(|head| head.trim() == name);
    let (Some(id), Some(repetition), Some(fold)) = (column(HEADER[0]), column(HEADER[1]), column(HEADER[2])) else {
        let found = header.iter().collect::<Vec<_>>().join(",");
        return Err(problem(1, format!("expected the header {}, found {found:?}", HEADER.join(","))));
    };
    let named = column("plan");
    let mut lines = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(1, |place| place.line() as usize);
        if record.len() != header.len() {
            return Err(problem(line, format!("{} fields, expected {}", record.len(), header.len())));
        }
        let plan = named.map(|column| record[column].to_owned());
        let fields = [id, repetition, fold].map(|column| record[column].to_owned());
        lines.push(FoldLine { plan, line, fields });
    }
    Ok(lines)
}
