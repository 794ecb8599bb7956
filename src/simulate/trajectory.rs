//! What an agent did before its compactions: ordered steps, and the prefixes that boundaries cut from them.

use super::catalogue::{Function, Kind, TASK_APPS, kind_of};
use super::plan::{Cell, Plan, TrajectoryPlan};
use super::text::{self, Length, word};
use foldline_features::{Prefix, PrefixStep};
use foldline_frontiers::Stream;
use std::collections::BTreeSet;

/// One call: its text in an action is `apis.` and the exact signature.
#[derive(Clone, Debug)]
struct Call {
    exact: String,
    function: String,
}

/// Plays a trajectory up to its last boundary.
pub(super) struct Player<'a> {
    plan: &'a Plan,
    trajectory: TrajectoryPlan,
    catalogue: &'a [Function],
    /// Indices of reads of the scenario's apps, main app first.
    apps: Vec<&'static str>,
    stream: Stream,
    steps: Vec<PrefixStep>,
    exact: BTreeSet<String>,
    functions: BTreeSet<String>,
    /// Reads so far, which may be called again.
    reads: Vec<Call>,
    logged_in: Vec<&'static str>,
}

impl<'a> Player<'a> {
    /// A trajectory about to begin; all its chance comes from `stream`.
    pub(super) fn new(
        plan: &'a Plan,
        trajectory: TrajectoryPlan,
        catalogue: &'a [Function],
        stream: Stream,
    ) -> Player<'a> {
        let scenario = plan.scenario(trajectory.task);
        let apps = std::iter::once(scenario.main_app).chain(scenario.second_app);
        Player {
            plan,
            trajectory,
            catalogue,
            apps: apps.map(|app| TASK_APPS[usize::from(app)]).collect(),
            stream,
            steps: Vec::new(),
            exact: BTreeSet::new(),
            functions: BTreeSet::new(),
            reads: Vec::new(),
            logged_in: Vec::new(),
        }
    }

    /// Plays on to boundary `index`; `homes` are functions that must be called on the way.
    pub(super) fn play_to(&mut self, index: u32, homes: &[usize]) {
        let steps = self.steps_before(index);
        let forced = self.forced_calls(index, homes);
        let length = self.plan.length(&self.trajectory, index);
        for step in 0..steps {
            let mut calls: Vec<Call> = (0..forced.len())
                .filter(|call| call * steps / forced.len() == step)
                .map(|call| forced[call].clone())
                .collect();
            if calls.is_empty() {
                calls.push(self.free_call());
            }
            // now and then an action holds a second call
            if self.stream.unit() < 0.25 {
                calls.push(self.free_call());
            }
            let wanted = if step + 1 == steps { length } else { self.any_length() };
            self.execute(calls, wanted);
        }
    }

    /// What a trigger may see at a boundary here.
    pub(super) fn prefix(&self, index: u32) -> Prefix {
        let tail = self.steps.iter().rev().take(3).rev().map(|step| step.observation.clone()).collect();
        Prefix {
            difficulty: Some(self.plan.scenario(self.trajectory.task).difficulty),
            compaction_index: u64::from(index) + 1,
            prefix_steps: self.steps.len() as u64,
            historical_exact: self.exact.clone(),
            historical_functions: self.functions.clone(),
            tail,
            ..Prefix::default()
        }
    }

    /// The ordered steps so far.
    pub(super) fn steps(&self) -> &[PrefixStep] {
        &self.steps
    }

    /// Shares out `tokens` among the steps since the last time, at random weights.
    pub(super) fn spend(&mut self, tokens: u64, stream: &mut Stream) {
        let stretch = self.steps.iter_mut().filter(|step| step.tokens.is_none());
        let mut shares: Vec<(&mut PrefixStep, u64)> =
            stretch.map(|step| (step, 50 + u64::from(stream.below(100)))).collect();
        let total: u64 = shares.iter().map(|(_, weight)| weight).sum();
        let (mut weight_so_far, mut spent) = (0, 0);
        for (step, weight) in &mut shares {
            weight_so_far += *weight;
            let upto = tokens * weight_so_far / total.max(1);
            step.tokens = Some(upto - spent);
            spent = upto;
        }
    }

    /// Steps from the boundary before to boundary `index`: means of the published prefix lengths (Table 1).
    fn steps_before(&mut self, index: u32) -> usize {
        let cell = self.trajectory.cell(index);
        let (least, a, b) = match (index, cell) {
            (0, Cell::NoWrite) => (2, 5, 5),
            (0, Cell::LoginOnly) => (3, 7, 6),
            (0, Cell::Substantive) => (6, 8, 6),
            _ => (2, 5, 5),
        };
        let stretch = if self.stream.below(12) == 0 { self.stream.below(10) } else { 0 };
        (least + self.stream.below(a) + self.stream.below(b) + stretch) as usize
    }

    /// Calls that must come before boundary `index`, in order: passwords and login where a write is due, the cell's
    /// substantive writes, and the functions housed here.
    fn forced_calls(&mut self, index: u32, homes: &[usize]) -> Vec<Call> {
        let mut calls = Vec::new();
        let cell = self.trajectory.cell(index);
        if index == 0 && self.stream.unit() < 0.8 {
            calls.push(self.call("supervisor", "show_account_passwords"));
        }
        if cell >= Cell::LoginOnly {
            for position in 0..self.apps.len() {
                let app = self.apps[position];
                let due = position == 0 || self.stream.unit() < 0.4;
                if due && !self.logged_in.contains(&app) {
                    calls.push(self.call(app, "login"));
                    self.logged_in.push(app);
                }
            }
        }
        if cell == Cell::Substantive {
            let writes =
                if index == self.trajectory.substantive_at { 1 + self.stream.below(2) } else { self.stream.below(2) };
            for _ in 0..writes {
                let app = self.apps[0];
                calls.extend(self.pick(app, Kind::Substantive));
            }
        }
        let catalogue = self.catalogue;
        for &home in homes {
            let function = catalogue[home];
            let due = match function.kind() {
                Kind::Read => index == 0,
                Kind::Session => index == self.trajectory.write_at,
                Kind::Substantive => index == self.trajectory.substantive_at,
            };
            if due {
                calls.push(self.call(function.app, function.api));
            }
        }
        calls
    }

    /// A call of the agent's own choosing: documentation, a read of its apps, a look at the account, or a repetition.
    fn free_call(&mut self) -> Call {
        let choice = self.stream.unit();
        let app = self.any_app();
        if choice < 0.34 {
            match self.stream.below(10) {
                0..=1 => self.call("api_docs", "show_api_descriptions"),
                2 => self.call("api_docs", "show_app_descriptions"),
                3 => self.call("api_docs", "search_api_docs"),
                _ => self.call("api_docs", "show_api_doc"),
            }
        } else if choice < 0.38 {
            self.pick("supervisor", Kind::Read).unwrap_or_else(|| self.call("supervisor", "show_account"))
        } else if choice < 0.46 && !self.reads.is_empty() {
            let again = self.stream.below(self.reads.len() as u32) as usize;
            self.reads[again].clone()
        } else {
            self.pick(app, Kind::Read).unwrap_or_else(|| self.call("api_docs", "show_api_doc"))
        }
    }

    fn any_app(&mut self) -> &'static str {
        let main = self.apps.len() == 1 || self.stream.unit() < 0.7;
        self.apps[usize::from(!main)]
    }

    /// A function of an app, earlier ones more often.
    fn pick(&mut self, app: &str, kind: Kind) -> Option<Call> {
        let catalogue = self.catalogue;
        let all: Vec<&Function> = catalogue.iter().filter(|f| f.app == app && f.kind() == kind).collect();
        let u = self.stream.unit();
        let function = all.get((u * u * u * all.len() as f64) as usize)?;
        Some(self.call(app, function.api))
    }

    /// A call with arguments; numbers below 1,000, so that rollouts can make calls never made before.
    fn call(&mut self, app: &str, api: &str) -> Call {
        let stream = &mut self.stream;
        let exact = match (app, api) {
            ("api_docs", "show_app_descriptions") => format!("{app}.{api}()"),
            ("api_docs", "show_api_descriptions") => format!("{app}.{api}(app_name='{}')", self.apps[0]),
            ("api_docs", "search_api_docs") => format!("{app}.{api}(query='{}')", word(stream)),
            ("api_docs", _) => {
                let wanted = self.apps[stream.below(self.apps.len() as u32) as usize];
                let all: Vec<&Function> = self.catalogue.iter().filter(|f| f.app == wanted).collect();
                let function = all[stream.below(all.len() as u32) as usize];
                format!("{app}.{api}(api_name='{}',app_name='{wanted}')", function.api)
            }
            ("supervisor", _) => format!("{app}.{api}()"),
            (_, "login") => format!("{app}.login(password=passwords['{app}'],username=profile['email'])"),
            (_, api) if api.starts_with("search_") => {
                let page = stream.below(3);
                format!("{app}.{api}(access_token={app}_token,page_index={page},query='{}')", word(stream))
            }
            (_, api) if api.ends_with('s') => {
                format!("{app}.{api}(access_token={app}_token,page_index={})", stream.below(6))
            }
            _ => format!("{app}.{api}(access_token={app}_token,item_id={})", stream.below(1000)),
        };
        Call { exact, function: format!("{app}.{api}") }
    }

    fn any_length(&mut self) -> Length {
        match self.stream.below(10) {
            0 => Length::Short,
            1 => Length::Middle,
            _ => Length::Capped,
        }
    }

    fn execute(&mut self, calls: Vec<Call>, length: Length) {
        let lines: Vec<String> = calls.iter().map(|call| format!("print(apis.{})", call.exact)).collect();
        // a failure stands at the cap, so only steps whose observation is that long can fail
        let fails = length == Length::Capped && self.stream.unit() < 0.09;
        let observation = if fails {
            text::failure(&mut self.stream, &lines[0])
        } else {
            text::observation(&mut self.stream, length)
        };
        self.steps.push(PrefixStep { action: lines.join("\n"), observation, tokens: None, is_error: None });
        for call in calls {
            self.exact.insert(call.exact.clone());
            self.functions.insert(call.function.clone());
            if kind_of(&call.function) == Some(Kind::Read) {
                self.reads.push(call);
            }
        }
    }
}
