//! The frontier: what a threshold avoids against what it retains, for several triggers.

use super::{Scale, Svg, escape, shortened, tick_text, ticks};

/// What stands on the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The share avoided, from 0 to 1; the random rule is the diagonal.
    Share,
    /// The share avoided minus 1 − retained; the random rule is the zero line. Shows what the diagonal hides.
    Advantage,
}

/// A point with intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Share retained.
    pub x: f64,
    /// Share avoided.
    pub y: f64,
    /// Interval of the share retained.
    pub x_ends: Option<(f64, f64)>,
    /// Interval of the share avoided.
    pub y_ends: Option<(f64, f64)>,
    /// Interval of the advantage.
    pub advantage_ends: Option<(f64, f64)>,
    /// The point in words.
    pub words: String,
}

/// One trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its number, which page and legend share.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Colour and shape.
    pub hue: usize,
    /// Drawn dashed, where colours come round again.
    pub dashed: bool,
    /// Shown at first.
    pub shown: bool,
    /// (retained, avoided) at every threshold, retained ascending.
    pub points: Vec<(f64, f64)>,
    /// Whether there are more thresholds than points.
    pub thinned: bool,
    /// The operating point.
    pub mark: Option<Mark>,
}

/// A frontier plot.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierPlot {
    /// What it shows, in words.
    pub label: String,
    /// Words of the vertical axis.
    pub y_axis: String,
    /// What is drawn.
    pub view: View,
    /// Burden mass in place of boundaries.
    pub by_mass: bool,
    /// Triggers.
    pub series: Vec<Series>,
    /// The replicate used as a trigger.
    pub yardstick: Option<Mark>,
    /// The share that had to be retained; drawn as a faint line.
    pub retain: Option<f64>,
}

const SIZE: (f64, f64) = (410.0, 404.0);
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 42.0;
const BOTTOM: f64 = 44.0;
/// Room for markers at the edge of the area that lines are cut to.
const EDGE: f64 = 9.0;
/// Up to this many thresholds each gets a dot: the points between are not attained.
const MOST_KNOTS: usize = 40;

impl FrontierPlot {
    /// Draws it for a page, which has its own legend.
    pub fn draw(&self) -> String {
        self.plot(SIZE.1).finish()
    }

    /// Draws it with a legend of what is shown, for a file of its own.
    pub fn draw_with_legend(&self) -> String {
        let shown: Vec<&Series> = self.series.iter().filter(|series| series.shown).collect();
        let entries = shown.len() + 1 + usize::from(self.yardstick.is_some());
        let row = |index: usize| (LEFT + 180.0 * (index % 2) as f64, SIZE.1 + 10.0 + 19.0 * (index / 2) as f64);
        let mut svg = self.plot(SIZE.1 + 19.0 * entries.div_ceil(2) as f64 + 6.0);
        for (index, series) in shown.iter().enumerate() {
            let (x, y) = row(index);
            svg.add(format_args!("<g class=\"h{}\">", series.hue));
            svg.line(if series.dashed { "line dash" } else { "line" }, x, y, x + 26.0, y);
            svg.marker(series.hue, "dot", x + 13.0, y, 4.5);
            svg.raw("</g>");
            svg.text("", x + 33.0, y + 4.0, "start", &shortened(&series.name, 24));
        }
        let (x, y) = row(shown.len());
        svg.line("chance", x, y, x + 26.0, y);
        svg.text("", x + 33.0, y + 4.0, "start", "random rule");
        if self.yardstick.is_some() {
            let (x, y) = row(shown.len() + 1);
            svg.diamond("yard", x + 13.0, y, 5.5);
            svg.text("", x + 33.0, y + 4.0, "start", "replicate (yardstick)");
        }
        svg.finish()
    }

    fn plot(&self, height: f64) -> Svg {
        let class = match self.view {
            View::Share => "frontier share",
            View::Advantage => "frontier advantage",
        };
        let mut svg = Svg::new(SIZE.0, height, class, &self.label);
        let (y_lo, y_hi) = self.y_range();
        let x = Scale::new((0.0, 1.0), (LEFT, SIZE.0 - RIGHT));
        let y = Scale::new((y_lo, y_hi), (SIZE.1 - BOTTOM, TOP));
        // what a page needs to find the point under the pointer
        svg.add(format_args!(
            "<g class=\"scale\" data-measure=\"{}\" data-view=\"{}\" data-x0=\"{}\" data-x1=\"{}\" data-y0=\"{}\" \
             data-y1=\"{}\" data-lo=\"{y_lo}\" data-hi=\"{y_hi}\"></g>",
            if self.by_mass { "mass" } else { "count" },
            if self.view == View::Share { "share" } else { "advantage" },
            x.at(0.0),
            x.at(1.0),
            y.at(y_lo),
            y.at(y_hi)
        ));
        self.axes(&mut svg, &x, &y, (y_lo, y_hi));
        // hidden ones first, so that what matters lies on top once they are switched on
        svg.add(format_args!(
            "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">",
            LEFT - EDGE,
            TOP - EDGE,
            SIZE.0 - RIGHT - LEFT + 2.0 * EDGE,
            SIZE.1 - BOTTOM - TOP + 2.0 * EDGE
        ));
        let (shown, hidden): (Vec<&Series>, Vec<&Series>) = self.series.iter().partition(|series| series.shown);
        for series in hidden.iter().chain(shown.iter()) {
            self.one(&mut svg, series, &x, &y);
        }
        if let Some(mark) = &self.yardstick {
            self.yard(&mut svg, mark, &x, &y);
        }
        svg.raw("</svg>");
        if self.view == View::Share {
            // above the lines and whiskers, or they would strike the words out
            svg.text("quiet", x.at(0.91), y.at(0.0) - 5.0, "end", "ON: always compact");
            svg.text("quiet", x.at(0.0) + 10.0, y.at(1.0) - 7.0, "start", "OFF: never compact");
        }
        svg
    }

    fn height(&self, (retained, avoided): (f64, f64)) -> f64 {
        match self.view {
            View::Share => avoided,
            View::Advantage => avoided - (1.0 - retained),
        }
    }

    fn ends(&self, mark: &Mark) -> Option<(f64, f64)> {
        match self.view {
            View::Share => mark.y_ends,
            View::Advantage => mark.advantage_ends,
        }
    }

    fn y_range(&self) -> (f64, f64) {
        if self.view == View::Share {
            return (0.0, 1.0);
        }
        let mut range = (-0.02f64, 0.05f64);
        let mut cover = |value: f64| range = (range.0.min(value), range.1.max(value));
        // what is switched on later may be cut off: the scale is that of what is shown
        for series in self.series.iter().filter(|series| series.shown) {
            series.points.iter().for_each(|&point| cover(self.height(point)));
        }
        let shown = self.series.iter().filter(|series| series.shown);
        for mark in shown.filter_map(|series| series.mark.as_ref()).chain(&self.yardstick) {
            cover(self.height((mark.x, mark.y)));
            if let Some((lo, hi)) = self.ends(mark) {
                cover(lo);
                cover(hi);
            }
        }
        let room = 0.04 * (range.1 - range.0);
        (range.0 - room, range.1 + room)
    }

    fn axes(&self, svg: &mut Svg, x: &Scale, y: &Scale, (y_lo, y_hi): (f64, f64)) {
        let (left, right, bottom) = (LEFT, SIZE.0 - RIGHT, SIZE.1 - BOTTOM);
        let (values, decimals) = ticks(y_lo, y_hi, if self.view == View::Share { 5 } else { 7 });
        for value in values {
            svg.line("grid", left, y.at(value), right, y.at(value));
            svg.text("tick", left - 8.0, y.at(value) + 4.0, "end", &tick_text(value, decimals));
        }
        let (values, decimals) = ticks(0.0, 1.0, 5);
        for value in values {
            svg.line("grid", x.at(value), bottom, x.at(value), bottom + 4.0);
            svg.text("tick", x.at(value), bottom + 18.0, "middle", &tick_text(value, decimals));
        }
        if let Some(retain) = self.retain {
            svg.line("grid", x.at(retain), TOP, x.at(retain), bottom);
        }
        let middle = (left + right) / 2.0;
        svg.text("axis", middle, SIZE.1 - 8.0, "middle", "opportunities retained (share still allowed to compact)");
        svg.text("axis", 8.0, 14.0, "start", &self.y_axis);
        match self.view {
            View::Share => {
                svg.line("chance", x.at(0.0), y.at(1.0), x.at(1.0), y.at(0.0));
                svg.marker(0, "end", x.at(1.0), y.at(0.0), 4.5);
                svg.marker(0, "end", x.at(0.0), y.at(1.0), 4.5);
            }
            View::Advantage => {
                svg.line("chance", x.at(0.0), y.at(0.0), x.at(1.0), y.at(0.0));
            }
        }
    }

    fn one(&self, svg: &mut Svg, series: &Series, x: &Scale, y: &Scale) {
        let off = if series.shown { "" } else { " off" };
        svg.add(format_args!("<g class=\"series h{}{off}\" data-series=\"{}\">", series.hue, series.index));
        let mut path = String::new();
        let mut last = (0.0, 0.0);
        for (index, &point) in series.points.iter().enumerate() {
            // tenths of a unit, relative to the rounded point before: short, and errors do not add up
            let at = ((10.0 * x.at(point.0)).round() / 10.0, (10.0 * y.at(self.height(point))).round() / 10.0);
            if index == 0 {
                path.push_str(&format!("M{} {}l", at.0, at.1));
            } else {
                let step = (at.0 - last.0, at.1 - last.1);
                path.push_str(&format!("{} {} ", trimmed(step.0), trimmed(step.1)));
            }
            last = at;
        }
        let dash = if series.dashed { " dash" } else { "" };
        svg.add(format_args!("<path class=\"line{dash}\" d=\"{}\"/>", path.trim_end().trim_end_matches('l')));
        if !series.thinned && series.points.len() <= MOST_KNOTS {
            let dots =
                series.points.iter().map(|&point| format!("M{:.1} {:.1}h0", x.at(point.0), y.at(self.height(point))));
            svg.add(format_args!("<path class=\"knot\" d=\"{}\"/>", dots.collect::<String>()));
        }
        if let Some(mark) = &series.mark {
            let (cx, cy) = (x.at(mark.x), y.at(self.height((mark.x, mark.y))));
            svg.add(format_args!(
                "<g class=\"mark\" tabindex=\"0\" role=\"img\" aria-label=\"{}\">",
                escape(&mark.words)
            ));
            self.whiskers(svg, mark, "ci", (cx, cy), x, y);
            svg.marker(series.hue, "dot", cx, cy, 5.5);
            svg.raw("</g>");
        }
        svg.raw("</g>");
    }

    fn whiskers(&self, svg: &mut Svg, mark: &Mark, class: &str, (cx, cy): (f64, f64), x: &Scale, y: &Scale) {
        if let Some((lo, hi)) = self.ends(mark) {
            let (lo, hi) = (y.at(lo), y.at(hi));
            let left = cx - 3.5;
            svg.add(format_args!(
                "<path class=\"{class}\" d=\"M{cx:.1} {lo:.1}V{hi:.1}M{left:.1} {lo:.1}h7M{left:.1} {hi:.1}h7\"/>"
            ));
        }
        if let Some((lo, hi)) = mark.x_ends {
            svg.line("thin", x.at(lo), cy, x.at(hi), cy);
        }
    }

    fn yard(&self, svg: &mut Svg, mark: &Mark, x: &Scale, y: &Scale) {
        let (cx, cy) = (x.at(mark.x), y.at(self.height((mark.x, mark.y))));
        svg.add(format_args!(
            "<g class=\"mark yardstick\" tabindex=\"0\" role=\"img\" data-x=\"{cx:.1}\" data-y=\"{cy:.1}\" \
             aria-label=\"{}\">",
            escape(&mark.words)
        ));
        self.whiskers(svg, mark, "yardline", (cx, cy), x, y);
        svg.diamond("yard", cx, cy, 7.0);
        svg.raw("</g>");
    }
}

/// A step in tenths without what is not needed.
fn trimmed(step: f64) -> String {
    let text = format!("{step:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    match text {
        "-0" => "0".to_owned(),
        text => text.replacen("0.", ".", usize::from(text.starts_with("0.") || text.starts_with("-0."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_short() {
        let cases =
            [(0.0, "0"), (-0.04, "0"), (1.0, "1"), (-0.52, "-.5"), (0.3, ".3"), (10.24, "10.2"), (20.06, "20.1")];
        for (step, text) in cases {
            assert_eq!(trimmed(step), text);
        }
    }
}
