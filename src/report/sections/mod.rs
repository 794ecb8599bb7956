//! The sections of a report, in their order.

mod choices;
mod data;
mod models;
mod overview;
mod placement;
mod ranking;
mod value;
mod yardstick;

use super::content::{Section, Source};
use super::plot::frontier::{Mark, Series};
use super::reading::Reading;
use super::thin::thinned;
use crate::evaluate::run_folder::Manifest;
use crate::results::Results;
use foldline_frontiers::yardstick::Yardstick;

/// What every section is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The run's results.
    pub results: &'a Results,
    /// Numbers of them.
    pub source: Source<'a>,
    /// The run's manifest; absent for a run without one.
    pub manifest: Option<&'a Manifest>,
    /// Numbers of it.
    pub manifest_source: Source<'a>,
    /// What is put forward.
    pub reading: &'a Reading,
    /// Points that a line of a frontier may have on this page.
    pub most_points: usize,
}

/// All sections that have something to say.
pub(crate) fn sections(context: &Context<'_>) -> Vec<Section> {
    vec![
        overview::section(context),
        ranking::section(context),
        value::mass(context),
        value::signed(context),
        yardstick::section(context),
        ranking::grid(context),
        placement::section(context),
        models::words(context),
        models::importance(context),
        data::card(context),
        choices::section(context),
        data::tables(context),
        data::absent(context),
        data::provenance(context),
    ]
}

impl Context<'_> {
    /// Colour and dash of a cell: those shown at first have colours of their own.
    pub(crate) fn hue(&self, index: usize) -> (usize, bool) {
        match self.reading.shown.iter().position(|&shown| shown == index) {
            Some(position) => (position % 7, position >= 7),
            None => {
                let hidden = (0..index).filter(|index| !self.reading.shown.contains(index)).count();
                ((self.reading.shown.len() + hidden) % 7, true)
            }
        }
    }

    /// The series of every cell for a frontier, by count or by mass.
    pub(crate) fn series(&self, by_mass: bool) -> Vec<Series> {
        let task = foldline_frontiers::Unit::Task;
        let ends =
            |estimate: &foldline_frontiers::Estimate| estimate.interval(task).and_then(|interval| interval.ends());
        self.results
            .cells
            .iter()
            .enumerate()
            .map(|(index, cell)| {
                let point = &cell.operating_point;
                let (share, advantage) =
                    if by_mass { (&cell.mass, &cell.advantage_mass) } else { (&cell.avoided, &cell.advantage_count) };
                let (hue, dashed) = self.hue(index);
                let mark = cell.retained.point.defined().zip(share.point.defined()).map(|(x, y)| Mark {
                    x,
                    y,
                    x_ends: ends(&cell.retained),
                    y_ends: ends(share),
                    advantage_ends: ends(advantage),
                    words: format!("{}: retained {x:.3}, avoided {y:.3}, {} blocked", cell.name, point.blocked),
                });
                let points = thinned(&cell.frontier, point.threshold, self.most_points);
                let height = |p: &foldline_frontiers::FrontierPoint| if by_mass { p.mass } else { p.avoided };
                Series {
                    index,
                    name: cell.name.clone(),
                    hue,
                    dashed,
                    shown: self.reading.shown.contains(&index),
                    thinned: points.len() < cell.frontier.len(),
                    points: points.iter().filter_map(|p| Some((p.retained, height(p).defined()?))).collect(),
                    mark,
                }
            })
            .collect()
    }

    /// The yardstick on the primary target and all boundaries.
    pub(crate) fn yardstick(&self) -> Option<&Yardstick> {
        let row = self.results.yardstick.as_ref()?.rows.iter().find(|row| row.subset == "all" && !row.mirrored)?;
        Some(&row.statistics)
    }

    /// The yardstick's operating point on the primary target, as a mark.
    pub(crate) fn yardstick_mark(&self, by_mass: bool) -> Option<Mark> {
        let statistics = self.yardstick()?;
        let (share, advantage) = if by_mass {
            (&statistics.mass, &statistics.advantage_mass)
        } else {
            (&statistics.avoided, &statistics.advantage_count)
        };
        let task = foldline_frontiers::Unit::Task;
        let ends = |over: &foldline_frontiers::yardstick::OverSplits| {
            over.mean.interval(task).and_then(|interval| interval.ends())
        };
        let (x, y) = (statistics.retained.mean.point.defined()?, share.mean.point.defined()?);
        Some(Mark {
            x,
            y,
            x_ends: ends(&statistics.retained),
            y_ends: ends(share),
            advantage_ends: ends(advantage),
            words: format!("replicate (yardstick, half-sample labels): retained {x:.3}, avoided {y:.3}"),
        })
    }
}
