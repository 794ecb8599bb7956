//! Folds from files, in the place of the plans of a protocol.

use super::cohort::Cohort;
use super::protocol::{FoldPlan, Protocol};
use super::scorers::Workshop;
use crate::cmd::Failure;
use foldline_frontiers::Folds;
use std::collections::BTreeSet;

/// Folds in a file: a CSV `boundary_id,repetition,fold`, with a column `plan` where it holds several.
pub struct FoldFile {
    /// How messages name it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether it replaces the plans of all groups, whatever their unit.
    pub for_all: bool,
}

/// Puts folds from files in the place of plans, which then bear the files' sizes. Says which plans are drawn all the same.
///
/// # Errors
/// `Failure::Data` for a file that does not fit the cohort or the protocol, or that would judge a model on a task or stem
/// it was fitted on.
pub fn give_folds(
    files: &[FoldFile],
    workshop: &mut Workshop<'_>,
    protocol: &mut Protocol,
    cohort: &Cohort<'_>,
) -> Result<Vec<String>, Failure> {
    let mut given = BTreeSet::new();
    for file in files {
        let found = file.folds(&protocol.fold_plans(), cohort);
        for (old, new, folds) in found.map_err(|problem| Failure::Data(format!("{}: {problem}", file.name)))? {
            protocol.replace_folds(old, new);
            workshop.give_folds(new, folds);
            given.insert(new);
        }
    }
    let drawn = protocol.fold_plans().into_iter().filter(|plan| !files.is_empty() && !given.contains(plan));
    Ok(drawn.map(|plan| format!("the folds of {plan} are drawn: no file holds them")).collect())
}

impl FoldFile {
    /// Which of the plans it replaces, by which other plan and folds.
    ///
    /// A file says by its column `plan` which plans it holds. One that names none is for the unit it keeps whole: stems, or
    /// else tasks; where every task is a stem of its own, for both.
    fn folds(
        &self,
        plans: &BTreeSet<FoldPlan>,
        cohort: &Cohort<'_>,
    ) -> Result<Vec<(FoldPlan, FoldPlan, Folds)>, String> {
        let ids = cohort.ids();
        let read = |plan: &str| Folds::of_plan(&self.text, &ids, plan).map_err(|error| error.to_string());
        let named = Folds::plans_in(&self.text).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        if named.len() > 1 && !self.for_all {
            for plan in plans.iter().filter(|plan| named.contains(&plan.to_string())) {
                found.push((*plan, plan.unit(), read(&plan.to_string())?));
            }
        } else {
            let folds = read("")?;
            let units = match named.first().map(|name| name.parse::<FoldPlan>()).transpose()? {
                Some(plan) => vec![plan.unit()],
                None if leak(&folds, "stem", cohort).is_some() => vec!["task"],
                None if cohort.stems.len() == cohort.tasks.len() => vec!["stem", "task"],
                None => vec!["stem"],
            };
            for plan in plans.iter().filter(|plan| self.for_all || units.contains(&plan.unit())) {
                let unit = if self.for_all { units[0] } else { plan.unit() };
                found.push((*plan, unit, folds.clone()));
            }
        }
        if found.is_empty() {
            let wanted: Vec<String> = plans.iter().map(FoldPlan::to_string).collect();
            return Err(format!("holds none of the folds wanted, which are {}", wanted.join(", ")));
        }
        found
            .into_iter()
            .map(|(old, unit, folds)| match leak(&folds, unit, cohort) {
                None => Ok((old, FoldPlan::of(unit, folds.k(), folds.repetitions()), folds)),
                Some(leak) => Err(leak),
            })
            .collect()
    }
}

/// What is wrong with folds that do not keep every group of a unit whole.
fn leak(folds: &Folds, unit: &str, cohort: &Cohort<'_>) -> Option<String> {
    let group = |boundary: &&foldline_features::Boundary| match unit {
        "stem" => boundary.stem.clone(),
        _ => boundary.task_id.clone(),
    };
    let groups: Vec<String> = cohort.boundaries.iter().map(group).collect();
    let times = folds.groups_on_both_sides(&groups);
    (times > 0).then(|| {
        format!(
            "a {unit} stands in more than one fold of a repetition ({times} times), so that a model would be judged on a \
             {unit} it was fitted on; keep every {unit} in one fold"
        )
    })
}
