//! Burden by prefix placement: is it where a write has happened, or merely late? (The paper's section 3, Appendix C.)

use super::judge::refused;
use super::stages::Stages;
use crate::cmd::Failure;
use crate::results::{ExposureResult, PlacementGroup, PlacementLabel, PlacementResult};
use foldline_features::{Arm, Channel, Horizon, Profile, Target};
use foldline_frontiers::bootstrap::Draws;
use foldline_frontiers::ols::regression_within_clusters;
use foldline_frontiers::placement::{cell_mean, contrast, exposure};
use foldline_frontiers::{Estimate, Reason, Unit, Value};
use std::collections::BTreeMap;

impl Stages<'_, '_> {
    /// Groups, contrasts of both labels by target, regressions with task indicators, and exposure by arm.
    ///
    /// # Errors
    /// `Failure` for input no estimator takes; what the corpus cannot answer is recorded instead.
    pub fn placement(&mut self, profile: &Profile) -> Result<Option<PlacementResult>, Failure> {
        let boundaries = &self.cohort.boundaries;
        let any: Vec<bool> = boundaries
            .iter()
            .map(|boundary| boundary.prefix.historical_functions.iter().any(|function| profile.is_write(function)))
            .collect();
        let substantive: Vec<bool> = boundaries
            .iter()
            .map(|boundary| {
                let functions = &boundary.prefix.historical_functions;
                functions.iter().any(|function| profile.is_write(function) && !profile.is_session(function))
            })
            .collect();
        let bar = self.progress.stage("placement", 8);
        let task = Draws::new(&self.streams, Unit::Task, self.cohort.tasks.len(), self.protocol.draws.placement);
        let groups = self.groups(&any, &substantive, &task)?;
        bar.tick();
        let mut labels = Vec::new();
        for (name, label) in [("original", &any), ("post_hoc", &substantive)] {
            labels.push(self.label(name, label, &task)?);
            bar.tick();
        }
        let exposure = [Arm::Pre, Arm::Post]
            .into_iter()
            .flat_map(|arm| [3, 5].map(|k| (arm, k)))
            .map(|(arm, k)| ExposureResult {
                arm: arm.name().to_owned(),
                k,
                exposure: exposure(boundaries.iter().copied(), arm, k),
            })
            .filter(|row| row.exposure.rollouts > 0)
            .collect();
        let mut session: BTreeMap<&str, usize> = BTreeMap::new();
        for function in boundaries.iter().flat_map(|boundary| &boundary.prefix.historical_functions) {
            if profile.is_write(function) && profile.is_session(function) {
                *session.entry(function).or_insert(0) += 1;
            }
        }
        let mut session: Vec<(String, usize)> = session.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
        session.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        bar.done();
        Ok(Some(PlacementResult { groups, labels, exposure, session_functions: session }))
    }

    fn groups(&self, any: &[bool], substantive: &[bool], task: &Draws) -> Result<Vec<PlacementGroup>, Failure> {
        let rows = || any.iter().zip(substantive);
        let parts: [(&str, Vec<bool>); 3] = [
            ("no write", rows().map(|(any, _)| !any).collect()),
            ("session-only write", rows().map(|(any, substantive)| *any && !substantive).collect()),
            ("substantive write", substantive.to_vec()),
        ];
        parts
            .into_iter()
            .map(|(name, include)| {
                let mean = |of: fn(&foldline_features::Boundary) -> u64| {
                    let values: Vec<u64> = include
                        .iter()
                        .zip(&self.cohort.boundaries)
                        .filter(|(include, _)| **include)
                        .map(|(_, boundary)| of(boundary))
                        .collect();
                    match values.len() {
                        0 => Value::Undefined(Reason::EmptyCell),
                        n => Value::Defined(values.iter().sum::<u64>() as f64 / n as f64),
                    }
                };
                Ok(PlacementGroup {
                    group: name.to_owned(),
                    prefix_steps: mean(|boundary| boundary.prefix.prefix_steps),
                    compaction_index: mean(|boundary| boundary.prefix.compaction_index),
                    cell: cell_mean(&self.outcome.d, &include, &self.cohort.tasks, &[task]).map_err(refused)?,
                })
            })
            .collect()
    }

    fn label(&mut self, name: &str, label: &[bool], task: &Draws) -> Result<PlacementLabel, Failure> {
        let all = vec![true; label.len()];
        let first = self.cohort.first();
        let mut contrasts = Vec::new();
        for (horizon, channel) in Horizon::ALL.into_iter().flat_map(|h| Channel::ALL.map(|c| (h, c))) {
            let target = self.target_here(Target::Paired(channel, horizon));
            let d = self.cohort.outcome(target)?.d;
            let result = contrast(&d, label, &all, &self.cohort.tasks, &[task]).map_err(refused)?;
            contrasts.push((target.to_string(), result));
        }
        let d = &self.outcome.d;
        let first_only = contrast(d, label, &first, &self.cohort.tasks, &[task]).map_err(refused)?;
        let stem = Draws::new(&self.streams, Unit::Stem, self.cohort.stems.len(), self.protocol.draws.extension);
        let by_stem: Estimate = contrast(d, label, &all, &self.cohort.stems, &[&stem]).map_err(refused)?.difference;
        let flag = |is: &bool| f64::from(u8::from(*is));
        let label_column: Vec<f64> = label.iter().map(flag).collect();
        let first_column: Vec<f64> = first.iter().map(flag).collect();
        let steps: Vec<f64> =
            self.cohort.boundaries.iter().map(|boundary| (1.0 + boundary.prefix.prefix_steps as f64).ln()).collect();
        let columns: [&[f64]; 3] = [&label_column, &steps, &first_column];
        let regression = regression_within_clusters(d, &columns, &self.cohort.tasks, &[task]);
        let regression = match regression {
            Ok(regression) => Some(regression),
            Err(error) => {
                self.refuse(format!("regression on the {name} label"), error.to_string());
                None
            }
        };
        Ok(PlacementLabel { label: name.to_owned(), contrasts, first_only, by_stem, regression })
    }
}
