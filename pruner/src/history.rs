//! What the summary replaced: steps, and what was kept beside it.

/// One step of an agent: what it did and what the environment answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Step {
    /// The agent's own words or code: no source.
    #[serde(default)]
    pub action: String,
    /// The environment's output: a source.
    #[serde(default)]
    pub observation: String,
}

/// Everything a judge may look at, at one boundary (paper, section 4: P, H, R and the previous M).
#[derive(Clone, Copy, Debug, Default)]
pub struct Span<'a> {
    /// The fixed prompt: context, not a source. `None`: no word counts as the task's.
    pub task: Option<&'a str>,
    /// The compressed span.
    pub history: &'a [Step],
    /// The interaction kept verbatim.
    pub recent: &'a [Step],
    /// The committed summary of the boundary before: a source.
    pub previous: Option<&'a str>,
}

impl<'a> Span<'a> {
    /// The environment outputs of the span and of the retained interaction, in order, without empty ones.
    pub fn outputs(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let history: &'a [Step] = self.history;
        let recent: &'a [Step] = self.recent;
        history.iter().chain(recent).map(|step| step.observation.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// What the agent wrote, in order.
    pub fn actions(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let history: &'a [Step] = self.history;
        let recent: &'a [Step] = self.recent;
        history.iter().chain(recent).map(|step| step.action.as_str())
    }

    /// Whether nothing in it could be a source.
    pub fn has_no_source(&self) -> bool {
        self.outputs().next().is_none() && self.previous.is_none_or(|previous| previous.trim().is_empty())
    }
}
