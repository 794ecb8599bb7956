//! Progress of long stages: bars on a terminal, nothing elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whether and where progress is shown, and how long each stage took.
#[derive(Debug, Default)]
pub struct Progress {
    hidden: bool,
}

impl Progress {
    /// Bars on stderr when it is a terminal.
    pub fn on_terminal() -> Progress {
        Progress { hidden: false }
    }

    /// No bars at all.
    pub fn hidden() -> Progress {
        Progress { hidden: true }
    }

    /// A bar for a stage of `steps` steps.
    pub fn stage(&self, name: &str, steps: usize) -> Bar {
        let target = if self.hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{msg:28} {bar:30} {pos}/{len}") {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        Bar { bar }
    }
}

/// The bar of one stage; ticks may come from any thread.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// One step done.
    pub fn tick(&self) {
        self.bar.inc(1);
    }

    /// The stage is over; the bar goes.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}
