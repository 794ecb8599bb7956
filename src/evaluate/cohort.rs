//! A corpus as an evaluation sees it: parallel arrays, one entry per boundary that has the target.

use crate::cmd::Failure;
use foldline_features::corpus::Corpus;
use foldline_features::{Boundary, Burden, Delta, Target};
use foldline_frontiers::Clusters;

/// The boundaries of a corpus that have the primary target, in corpus order.
pub struct Cohort<'a> {
    /// The boundaries.
    pub boundaries: Vec<&'a Boundary>,
    /// Counts of their rollouts.
    pub burdens: Vec<Burden>,
    /// Their tasks.
    pub tasks: Clusters,
    /// Their stems.
    pub stems: Clusters,
    /// Boundaries of the corpus without the target, left out.
    pub left_out: usize,
}

/// A target's values on a cohort.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The target.
    pub target: Target,
    /// Exact values.
    pub deltas: Vec<Delta>,
    /// Values.
    pub d: Vec<f64>,
    /// The label, `1[d > 0]`.
    pub labels: Vec<bool>,
    /// max(0, d).
    pub mass: Vec<f64>,
}

impl<'a> Cohort<'a> {
    /// Keeps the boundaries that have the target.
    ///
    /// # Errors
    /// `Failure::Data` when none has it, saying which arm is missing.
    pub fn new(corpus: &'a Corpus, target: Target) -> Result<Cohort<'a>, Failure> {
        let (mut boundaries, mut burdens) = (Vec::new(), Vec::new());
        for boundary in &corpus.boundaries {
            let burden = Burden::of(boundary);
            if burden.delta(target).is_some() {
                boundaries.push(boundary);
                burdens.push(burden);
            }
        }
        if boundaries.is_empty() {
            let arms: Vec<&str> = [foldline_features::Arm::Pre, foldline_features::Arm::Post]
                .into_iter()
                .filter(|&arm| corpus.has_arm(arm))
                .map(foldline_features::Arm::name)
                .collect();
            let advice = match arms.as_slice() {
                [arm] => format!("the corpus has {arm} rollouts only: use --target {arm}.U@3, which is observational"),
                [] => "the corpus has no rollouts".to_owned(),
                _ => "no boundary has rollouts of both arms".to_owned(),
            };
            return Err(Failure::Data(format!("no boundary has target {target}; {advice}")));
        }
        let ids = |of: fn(&Boundary) -> &str| Clusters::new(&boundaries.iter().map(|b| of(b)).collect::<Vec<_>>());
        let (tasks, stems) = (ids(|boundary| &boundary.task_id), ids(|boundary| &boundary.stem));
        let left_out = corpus.boundaries.len() - boundaries.len();
        Ok(Cohort { boundaries, burdens, tasks, stems, left_out })
    }

    /// Number of boundaries n.
    pub fn n(&self) -> usize {
        self.boundaries.len()
    }

    /// Their ids.
    pub fn ids(&self) -> Vec<&'a str> {
        self.boundaries.iter().map(|boundary| boundary.boundary_id.as_str()).collect()
    }

    /// Which are first compactions.
    pub fn first(&self) -> Vec<bool> {
        self.boundaries.iter().map(|boundary| boundary.prefix.compaction_index == 1).collect()
    }

    /// The values of a target of the same arms as the cohort's.
    ///
    /// # Errors
    /// `Failure::Usage` for a target that some boundary of the cohort lacks.
    pub fn outcome(&self, target: Target) -> Result<Outcome, Failure> {
        let deltas: Option<Vec<Delta>> = self.burdens.iter().map(|burden| burden.delta(target)).collect();
        let deltas =
            deltas.ok_or_else(|| Failure::Usage(format!("some boundaries of this run have no target {target}")))?;
        Ok(Outcome {
            target,
            d: deltas.iter().map(|delta| delta.value()).collect(),
            labels: deltas.iter().map(|delta| delta.is_positive()).collect(),
            mass: deltas.iter().map(|delta| delta.mass()).collect(),
            deltas,
        })
    }
}
