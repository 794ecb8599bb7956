//! Run records (PAIR's format, one per task) to the paper's Tables 3 and 4.
//!
//! Acc.: mean over runs of the share of tasks solved, with the standard deviation over runs (n - 1 **\[choice\]**). Pass^k:
//! share of tasks solved in all k runs, over tasks that every run holds. Steps, peak and tokens: means over all records.
//! The last record of a task in a run counts; a record without `success` is left out and counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ratio;

/// One record.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// The task.
    pub task_id: String,
    /// Whether it was solved.
    pub success: Option<bool>,
    /// Interaction steps.
    pub num_steps: Option<f64>,
    /// Largest input of a request, in tokens.
    pub peak_prompt_tokens: Option<f64>,
    /// Input tokens of all requests.
    pub cumulative_input_tokens: Option<f64>,
    /// Compactions.
    pub n_compressions: Option<f64>,
    /// 1 to 3, where recorded.
    pub difficulty: Option<serde_json::Value>,
}

/// One run: the last record of each task.
pub type Run = BTreeMap<String, Record>;

/// Reads a run from JSON lines; the number of records that were left out for want of `success` comes with it.
///
/// # Errors
/// Names the line that cannot be read.
pub fn read_run(text: &str) -> Result<(Run, usize), String> {
    let mut run = Run::new();
    let mut left_out = 0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let record: Record = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))?;
        if record.success.is_some() {
            run.insert(record.task_id.clone(), record);
        } else {
            left_out += 1;
        }
    }
    Ok((run, left_out))
}

/// What is measured of a task, as a mean over the runs that hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Share of runs that solved it.
    Acc,
    /// 1 if every run solved it.
    Pass,
    /// Steps.
    Steps,
    /// Largest input, in tokens.
    Peak,
    /// Input tokens.
    Tokens,
    /// Compactions.
    Compactions,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 6] =
        [Measure::Acc, Measure::Pass, Measure::Steps, Measure::Peak, Measure::Tokens, Measure::Compactions];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Acc => "acc",
            Measure::Pass => "pass_k",
            Measure::Steps => "steps",
            Measure::Peak => "peak_prompt_tokens",
            Measure::Tokens => "cumulative_input_tokens",
            Measure::Compactions => "n_compressions",
        }
    }

    /// The task's value over the runs; `None` where no run (for [`Measure::Pass`]: not every run) holds it.
    pub fn of(self, runs: &[Run], task: &str) -> Option<f64> {
        let records: Vec<&Record> = runs.iter().filter_map(|run| run.get(task)).collect();
        let mean = |field: fn(&Record) -> Option<f64>| {
            let values: Vec<f64> = records.iter().filter_map(|record| field(record)).collect();
            ratio(values.iter().sum(), values.len())
        };
        let solved = |record: &Record| record.success.map(|success| f64::from(u8::from(success)));
        match self {
            Measure::Acc => mean(solved),
            Measure::Pass => (records.len() == runs.len() && !runs.is_empty())
                .then(|| f64::from(u8::from(records.iter().all(|record| record.success == Some(true))))),
            Measure::Steps => mean(|record| record.num_steps),
            Measure::Peak => mean(|record| record.peak_prompt_tokens),
            Measure::Tokens => mean(|record| record.cumulative_input_tokens),
            Measure::Compactions => mean(|record| record.n_compressions),
        }
    }
}

/// One row of the table: all tasks, or those of one difficulty.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArmRow {
    /// Tasks.
    pub tasks: usize,
    /// Runs.
    pub runs: usize,
    /// Mean over runs of the share solved.
    pub acc: Option<f64>,
    /// Standard deviation over runs; `None` with fewer than two.
    pub acc_sd: Option<f64>,
    /// Share of tasks solved in every run, over tasks that every run holds.
    pub pass_k: Option<f64>,
    /// Mean steps.
    pub steps: Option<f64>,
    /// Mean largest input, in tokens.
    pub peak_prompt_tokens: Option<f64>,
    /// Mean input tokens.
    pub cumulative_input_tokens: Option<f64>,
    /// Mean compactions.
    pub n_compressions: Option<f64>,
}

/// Rows by difficulty (`all` first, then what the records call them).
pub fn table(runs: &[Run]) -> BTreeMap<String, ArmRow> {
    let mut rows = BTreeMap::new();
    let groups = difficulties(runs);
    for name in groups.values().flatten().cloned().chain(["all".to_string()]) {
        rows.entry(name).or_insert_with_key(|name| {
            let inside =
                |task: &str| name == "all" || groups.get(task).is_some_and(|group| group.as_ref() == Some(name));
            row(runs, inside)
        });
    }
    rows
}

/// The difficulty of each task, as the records name it.
pub fn difficulties(runs: &[Run]) -> BTreeMap<String, Option<String>> {
    let mut groups: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (task, record) in runs.iter().flatten() {
        let name = record.difficulty.as_ref().filter(|value| !value.is_null()).map(|value| match value.as_str() {
            Some(text) => text.to_string(),
            None => value.to_string(),
        });
        let known = groups.entry(task.clone()).or_default();
        *known = known.take().or(name);
    }
    groups
}

fn row(runs: &[Run], inside: impl Fn(&str) -> bool) -> ArmRow {
    let tasks: std::collections::BTreeSet<&String> =
        runs.iter().flat_map(Run::keys).filter(|task| inside(task)).collect();
    let records = |field: fn(&Record) -> Option<f64>| {
        let values: Vec<f64> =
            runs.iter().flat_map(|run| tasks.iter().filter_map(|task| run.get(*task))).filter_map(field).collect();
        ratio(values.iter().sum(), values.len())
    };
    let per_run: Vec<f64> = runs
        .iter()
        .filter_map(|run| {
            let held: Vec<&Record> = tasks.iter().filter_map(|task| run.get(*task)).collect();
            ratio(held.iter().filter(|record| record.success == Some(true)).count() as f64, held.len())
        })
        .collect();
    let acc = ratio(per_run.iter().sum(), per_run.len());
    let acc_sd = acc.filter(|_| per_run.len() >= 2).map(|mean| {
        (per_run.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (per_run.len() - 1) as f64).sqrt()
    });
    let passed: Vec<f64> = tasks.iter().filter_map(|task| Measure::Pass.of(runs, task)).collect();
    ArmRow {
        tasks: tasks.len(),
        runs: runs.len(),
        acc,
        acc_sd,
        pass_k: ratio(passed.iter().sum(), passed.len()),
        steps: records(|record| record.num_steps),
        peak_prompt_tokens: records(|record| record.peak_prompt_tokens),
        cumulative_input_tokens: records(|record| record.cumulative_input_tokens),
        n_compressions: records(|record| record.n_compressions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(solved: &[(&str, bool, f64)]) -> Run {
        let lines: Vec<String> = solved
            .iter()
            .map(|(task, success, steps)| {
                format!(
                    "{{\"task_id\": \"{task}\", \"success\": {success}, \"num_steps\": {steps}, \"difficulty\": 1}}"
                )
            })
            .collect();
        read_run(&lines.join("\n")).unwrap().0
    }

    /// By hand: shares 2/3, 1/3, 2/3: mean 5/9, sd sqrt(((1/9)^2 + (2/9)^2 + (1/9)^2) / 2) = sqrt(1/27).
    #[test]
    fn acc_sd_and_pass_by_hand() {
        let runs = [
            run(&[("a", true, 10.0), ("b", true, 20.0), ("c", false, 30.0)]),
            run(&[("a", true, 12.0), ("b", false, 20.0), ("c", false, 30.0)]),
            run(&[("a", true, 14.0), ("b", true, 20.0), ("c", false, 30.0)]),
        ];
        let rows = table(&runs);
        let all = &rows["all"];
        assert!((all.acc.unwrap() - 5.0 / 9.0).abs() < 1e-12);
        assert!((all.acc_sd.unwrap() - (1.0f64 / 27.0).sqrt()).abs() < 1e-12);
        assert_eq!(all.pass_k, Some(1.0 / 3.0));
        assert!((all.steps.unwrap() - 186.0 / 9.0).abs() < 1e-12);
        assert_eq!(rows["1"], *all);
    }

    #[test]
    fn the_last_record_counts_and_one_without_success_does_not() {
        let text =
            "{\"task_id\": \"a\", \"success\": false}\n{\"task_id\": \"a\", \"success\": true}\n{\"task_id\": \"b\"}\n";
        let (run, left_out) = read_run(text).unwrap();
        assert_eq!((run.len(), left_out), (1, 1));
        assert_eq!(Measure::Acc.of(&[run], "a"), Some(1.0));
        assert!(read_run("{").unwrap_err().starts_with("line 1"));
    }
}
