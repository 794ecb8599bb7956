//! Progress of long stages: bars on a terminal, nothing elsewhere, and how long each stage took.

use crate::clock::Stopwatch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;

/// Where progress is shown, and the wall time of the stages that are over.
#[derive(Debug)]
pub struct Progress {
    hidden: bool,
    watch: Stopwatch,
    stages: Mutex<Vec<(String, f64)>>,
}

impl Progress {
    /// Bars on stderr when it is a terminal.
    pub fn on_terminal() -> Progress {
        Progress { hidden: false, watch: Stopwatch::start(), stages: Mutex::default() }
    }

    /// No bars at all.
    pub fn hidden() -> Progress {
        Progress { hidden: true, ..Progress::on_terminal() }
    }

    /// A bar for a stage of `steps` steps.
    pub fn stage(&self, name: &str, steps: usize) -> Bar<'_> {
        let target = if self.hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{msg:28} {bar:30} {pos}/{len}") {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        Bar { bar, progress: self, name: name.to_owned(), started: self.watch.seconds() }
    }

    /// Names and wall seconds of the stages that are over, in their order.
    pub fn stages(&self) -> Vec<(String, f64)> {
        self.stages.lock().map(|stages| stages.clone()).unwrap_or_default()
    }
}

/// The bar of one stage; ticks may come from any thread.
pub struct Bar<'a> {
    bar: ProgressBar,
    progress: &'a Progress,
    name: String,
    started: f64,
}

impl Bar<'_> {
    /// One step done.
    pub fn tick(&self) {
        self.bar.inc(1);
    }

    /// The stage is over; the bar goes.
    pub fn done(&self) {
        self.bar.finish_and_clear();
        if let Ok(mut stages) = self.progress.stages.lock() {
            stages.push((self.name.clone(), self.progress.watch.seconds() - self.started));
        }
    }
}
