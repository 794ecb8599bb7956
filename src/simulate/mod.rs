//! Cohorts of the published shape whose law of burden is known.
//!
//! A cohort is planned first ([`Config`] gives its sizes), then played one trajectory at a time, each from streams of
//! its own, so that any number of boundaries can be made without holding them. What makes compaction harmful is known
//! in closed form ([`Truth`]); nothing in a simulated corpus was copied from a real one.

pub mod account;
pub mod catalogue;
pub mod config;
pub mod harm;
mod plan;
mod rollout;
mod text;
mod trajectory;

pub use account::{Account, Line};
pub use config::{Config, SimulateError};
pub use harm::{Given, HarmModel, Truth};
pub use plan::{Cell, Planned};

use catalogue::Function;
use foldline_features::{Arm, Boundary, Burden, Context, Target};
use foldline_frontiers::Streams;
use harm::{Latents, TaskLatents};
use plan::Plan;
use rollout::Replayer;
use std::collections::VecDeque;
use trajectory::Player;

/// A boundary and the law it was drawn from.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The boundary, as a corpus holds it.
    pub boundary: Boundary,
    /// Its true law of burden.
    pub truth: Truth,
    /// What its prefix has written.
    pub cell: Cell,
}

/// A cohort in the making: an iterator over its boundaries, in corpus order.
#[derive(Debug)]
pub struct Cohort {
    config: Config,
    plan: Plan,
    catalogue: Vec<Function>,
    next: usize,
    ready: VecDeque<Simulated>,
}

impl Cohort {
    /// Plans a cohort. Boundaries are made as they are asked for; two cohorts of equal configurations are equal.
    ///
    /// Streams: `simulate` at a trajectory's index for its prefixes, `simulate/rollouts` for its replays,
    /// `simulate/tokens` for token counts, `simulate/task` at a task's index, and `simulate/plan/...`. Hence a cohort
    /// of another `signal` has the same prefixes, and options add fields without changing others.
    ///
    /// # Errors
    /// Sizes that do not fit together.
    pub fn generate(config: &Config) -> Result<Cohort, SimulateError> {
        Ok(Cohort {
            config: config.clone(),
            plan: Plan::new(config)?,
            catalogue: catalogue::functions(),
            next: 0,
            ready: VecDeque::new(),
        })
    }

    /// What the plan deals out, before anything is played.
    pub fn planned(&self) -> Planned {
        self.plan.planned()
    }

    /// All boundaries of the trajectory at `index`.
    fn play(&self, index: usize) -> Vec<Simulated> {
        let trajectory = self.plan.trajectories()[index];
        let streams = Streams::new(self.config.seed);
        let mut replays = streams.stream("simulate/rollouts", index as u64);
        let mut tokens = streams.stream("simulate/tokens", index as u64);
        let task = TaskLatents::draw(&mut streams.stream("simulate/task", u64::from(trajectory.task)));
        let mut player = Player::new(&self.plan, trajectory, &self.catalogue, streams.stream("simulate", index as u64));

        let stem = stem_id(self.config.seed, self.plan.stem_of(trajectory.task));
        let task_id = format!("{stem}_{}", self.plan.variant_of(trajectory.task));
        let trajectory_id = format!("{task_id}-r{}", trajectory.run);
        // tokens at the start of a stretch: the fixed prompt, later the summary and the last turn
        let mut carried = 1100;
        let mut simulated = Vec::with_capacity(trajectory.boundaries as usize);
        for boundary in 0..trajectory.boundaries {
            player.play_to(boundary, self.plan.homes(index));
            let prefix = player.prefix(boundary);
            let samples = if boundary == 0 { self.config.rollouts_first } else { self.config.rollouts_later };
            let last = boundary + 1 == trajectory.boundaries;
            let latents = Latents::draw(task, &mut replays);
            let truth = Truth::new(self.config.harm, self.config.signal, &prefix, last, samples, latents);
            let cell = trajectory.cell(boundary);

            let mut replayer = Replayer::new(cell, &prefix);
            let mut rollouts = Vec::with_capacity(2 * samples);
            for (arm, law) in [Arm::Pre, Arm::Post].into_iter().zip(truth.steps()) {
                rollouts.extend((0..samples as u64).map(|sample| replayer.rollout(arm, sample, law, &mut replays)));
            }
            let mut context = Context::default();
            if self.config.with_tokens {
                // the harness asks at 4,096 tokens; the last turn goes some way beyond
                let before = 4096 + u64::from(tokens.below(500));
                player.spend(before - carried, &mut tokens);
                carried = 700 + u64::from(tokens.below(500)) + u64::from(tokens.below(500));
                (context.tokens_before, context.tokens_after) = (Some(before), Some(carried));
            }
            if self.config.with_prefix {
                context.steps = Some(player.steps().to_vec());
            }
            let mut boundary = Boundary {
                boundary_id: format!("{trajectory_id}-c{}", boundary + 1),
                task_id: task_id.clone(),
                stem: stem.clone(),
                trajectory_id: trajectory_id.clone(),
                prefix,
                context,
                rollouts,
                deltas: Default::default(),
            };
            let burden = Burden::of(&boundary);
            boundary.deltas = Target::all()
                .into_iter()
                .filter(|target| target.is_paired())
                .filter_map(|target| Some((target.to_string(), burden.delta(target)?.value())))
                .collect();
            simulated.push(Simulated { boundary, truth, cell });
        }
        simulated
    }
}

impl Iterator for Cohort {
    type Item = Simulated;

    fn next(&mut self) -> Option<Simulated> {
        if self.ready.is_empty() && self.next < self.plan.trajectories().len() {
            self.ready = self.play(self.next).into();
            self.next += 1;
        }
        self.ready.pop_front()
    }
}

/// Seven hexadecimal digits, different for each stem of a cohort (an odd factor modulo 2^28 is a bijection).
fn stem_id(seed: u64, stem: usize) -> String {
    let offset = Streams::new(seed).stream("simulate/stems", 0).next_u64();
    let scrambled = (stem as u64).wrapping_mul(0x0B5_29A7).wrapping_add(offset) & 0x0FFF_FFFF;
    format!("{scrambled:07x}")
}
