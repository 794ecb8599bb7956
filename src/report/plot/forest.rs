//! A forest plot: one row for each statistic with its interval, against a reference band; or bars from zero.

use crate::report::content::NO_INTERVAL;

use super::{Scale, Svg, escape, shortened, tick_text, ticks};

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// Its name.
    pub label: String,
    /// A heading above it, where a new group begins.
    pub heading: Option<String>,
    /// The statistic; absent where it is undefined.
    pub point: Option<f64>,
    /// Its interval.
    pub ends: Option<(f64, f64)>,
    /// A second, wider interval, drawn thin.
    pub thin: Option<(f64, f64)>,
    /// The numbers as printed, or the reason why there is none.
    pub numbers: String,
    /// Colour.
    pub hue: usize,
    /// Whether the verdict speaks of it.
    pub marked: bool,
}

/// The replicate's range.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Its statistic.
    pub point: f64,
    /// Its interval.
    pub ends: Option<(f64, f64)>,
    /// Its name.
    pub label: String,
}

/// A forest plot.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestPlot {
    /// What it shows, in words.
    pub label: String,
    /// Words of the axis.
    pub axis: String,
    /// Rows.
    pub rows: Vec<ForestRow>,
    /// The reference value of no effect, such as 0 or 0.5, and its name.
    pub reference: (f64, String),
    /// The replicate's range.
    pub band: Option<Band>,
    /// Bars from the reference in place of dots.
    pub bars: bool,
}

/// Pixels that a character of a label takes at most, on average.
const CHARACTER: f64 = 6.7;

/// Longer labels and numbers are cut short.
const MOST_CHARACTERS: usize = 34;

impl ForestPlot {
    /// What a caption says of rows without an interval; empty where there is none.
    pub fn missing_intervals(&self) -> &'static str {
        let missing = self.rows.iter().any(|row| row.numbers.ends_with(NO_INTERVAL));
        if missing { " Where no interval could be computed the tables say why." } else { "" }
    }

    /// Draws it for wide screens: labels at the left, numbers at the right.
    pub fn wide(&self) -> String {
        let labels = self.rows.iter().map(|row| row.label.chars().count().min(MOST_CHARACTERS)).max().unwrap_or(8);
        let numbers = self.rows.iter().map(|row| row.numbers.chars().count()).max().unwrap_or(0);
        let left = 14.0 + CHARACTER * labels as f64 + 12.0;
        let right = 14.0 + CHARACTER * numbers.min(MOST_CHARACTERS) as f64;
        self.draw(left, left + 500.0 + right, right, 22.0, false)
    }

    /// Draws it for narrow screens: labels and numbers above each row.
    pub fn narrow(&self) -> String {
        self.draw(12.0, 360.0, 12.0, 40.0, true)
    }

    fn range(&self) -> (f64, f64) {
        let mut range = (self.reference.0, self.reference.0);
        let mut cover = |value: f64| range = (range.0.min(value), range.1.max(value));
        for row in &self.rows {
            row.point.into_iter().for_each(&mut cover);
            for (lo, hi) in row.ends.into_iter().chain(row.thin) {
                cover(lo);
                cover(hi);
            }
        }
        if let Some(band) = &self.band {
            cover(band.point);
            if let Some((lo, hi)) = band.ends {
                cover(lo);
                cover(hi);
            }
        }
        // without a spread there is still an axis to draw
        let room = if range.1 - range.0 > 1e-6 { 0.03 * (range.1 - range.0) } else { 0.1 };
        (range.0 - room, range.1 + room)
    }

    fn draw(&self, left: f64, width: f64, right: f64, row_height: f64, narrow: bool) -> String {
        let headings = self.rows.iter().filter(|row| row.heading.is_some()).count() as f64;
        let top = 26.0;
        let bottom = top + row_height * self.rows.len() as f64 + 22.0 * headings;
        let height = bottom + 44.0;
        let mut svg = Svg::new(width, height, if narrow { "forest narrow" } else { "forest wide" }, &self.label);
        let (lo, hi) = self.range();
        let x = Scale::new((lo, hi), (left, width - right - 8.0));
        if let Some(band) = &self.band {
            if let Some((lo, hi)) = band.ends {
                svg.rect("band", x.at(lo), top - 4.0, x.at(hi) - x.at(lo), bottom - top + 4.0);
            }
            svg.line("bandline", x.at(band.point), top - 4.0, x.at(band.point), bottom);
            let at = x.at(band.point);
            let anchor = if at > width - right - 90.0 { "end" } else { "middle" };
            let at = if anchor == "end" { (width - right - 8.0).max(at) } else { at };
            svg.text("goldtext", at, top - 9.0, anchor, &band.label);
        }
        let (values, decimals) = ticks(lo, hi, if narrow { 4 } else { 6 });
        for value in values {
            svg.line("grid", x.at(value), top, x.at(value), bottom);
            let label = tick_text(value, decimals);
            // at the edge of a narrow plot a label gives way rather than being cut off
            let half = 0.5 * CHARACTER * label.chars().count() as f64;
            svg.text("tick", x.at(value).max(half).min(width - half), bottom + 16.0, "middle", &label);
        }
        svg.line("chance", x.at(self.reference.0), top - 4.0, x.at(self.reference.0), bottom);
        if self.band.as_ref().is_none_or(|band| (x.at(band.point) - x.at(self.reference.0)).abs() > 110.0) {
            let at = x.at(self.reference.0);
            let anchor = if at < left + 40.0 {
                "start"
            } else if at > width - right - 48.0 {
                "end"
            } else {
                "middle"
            };
            svg.text("quiet", at, top - 9.0, anchor, &self.reference.1);
        }
        svg.text("axis", (left + width - right) / 2.0, height - 8.0, "middle", &self.axis);
        let mut y = top;
        for row in &self.rows {
            if let Some(heading) = &row.heading {
                svg.text("head", if narrow { 12.0 } else { 10.0 }, y + 15.0, "start", heading);
                y += 22.0;
            }
            if row.marked {
                svg.rect("stripe", 4.0, y + 1.0, width - 8.0, row_height - 2.0);
            }
            self.one(&mut svg, row, y, &x, (width, row_height, narrow));
            y += row_height;
        }
        svg.finish()
    }

    fn one(&self, svg: &mut Svg, row: &ForestRow, y: f64, x: &Scale, (width, row_height, narrow): (f64, f64, bool)) {
        let strong = if row.marked { "strong" } else { "" };
        let (text_y, dot_y) = if narrow { (y + 15.0, y + 28.0) } else { (y + 15.5, y + row_height / 2.0) };
        svg.add(format_args!("<g class=\"h{}\">", row.hue));
        let label = shortened(&row.label, MOST_CHARACTERS);
        // narrow ones have no column of their own for numbers: a reason ends where the label's room does
        let beside = ((width - 30.0) / CHARACTER) as usize - label.chars().count();
        let numbers = shortened(&row.numbers, if narrow { beside.min(MOST_CHARACTERS) } else { MOST_CHARACTERS });
        // what is cut short can be read whole
        if label != row.label || numbers != row.numbers {
            svg.add(format_args!("<title>{}: {}</title>", escape(&row.label), escape(&row.numbers)));
        }
        svg.text(strong, if narrow { 12.0 } else { 10.0 }, text_y, "start", &label);
        svg.text(if row.point.is_some() { strong } else { "quiet" }, width - 10.0, text_y, "end", &numbers);
        if let Some(point) = row.point {
            if self.bars {
                let (a, b) = (x.at(self.reference.0.min(point)), x.at(self.reference.0.max(point)));
                svg.rect("bar", a, dot_y - 5.0, (b - a).max(1.0), 10.0);
            }
            if let Some((lo, hi)) = row.thin {
                let (lo, hi, top) = (x.at(lo), x.at(hi), dot_y - 3.0);
                svg.add(format_args!(
                    "<path class=\"thin\" d=\"M{lo:.1} {dot_y:.1}H{hi:.1}M{lo:.1} {top:.1}v6M{hi:.1} {top:.1}v6\"/>"
                ));
            }
            if let Some((lo, hi)) = row.ends {
                svg.line("ci", x.at(lo), dot_y, x.at(hi), dot_y);
            }
            if !self.bars {
                svg.marker(if row.hue == 7 { 0 } else { row.hue }, "dot", x.at(point), dot_y, 4.5);
            }
        }
        svg.raw("</g>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_leaves_the_label_its_room() {
        let reason = "\u{2013} (no part of the mean is defined)";
        let row = ForestRow {
            label: "n_substantive_write_functions".to_owned(),
            heading: None,
            point: None,
            ends: None,
            thin: None,
            numbers: reason.to_owned(),
            hue: 0,
            marked: false,
        };
        let plot = ForestPlot {
            label: "undefined".to_owned(),
            axis: "drop".to_owned(),
            rows: vec![row],
            reference: (0.0, String::new()),
            band: None,
            bars: true,
        };
        assert!(plot.wide().contains(&format!(">{reason}</text>")));
        let narrow = plot.narrow();
        assert!(narrow.contains(&format!("<title>n_substantive_write_functions: {reason}</title>")));
        assert!(narrow.contains("\u{2026}</text>") && !narrow.contains(&format!(">{reason}</text>")));
    }

    #[test]
    fn tick_labels_stay_inside_a_narrow_plot() {
        let row = ForestRow {
            label: "a".to_owned(),
            heading: None,
            point: Some(0.0),
            ends: Some((0.0, 0.0)),
            thin: None,
            numbers: "+0.000".to_owned(),
            hue: 0,
            marked: false,
        };
        let plot = ForestPlot {
            label: "all differences are zero".to_owned(),
            axis: "difference".to_owned(),
            rows: vec![row],
            reference: (0.0, "no difference".to_owned()),
            band: None,
            bars: false,
        };
        let svg = plot.narrow();
        let ticks: Vec<(f64, usize)> = svg
            .split("<text class=\"tick\" x=\"")
            .skip(1)
            .filter_map(|rest| Some((rest.split('"').next()?.parse().ok()?, rest.find('<')? - rest.find('>')? - 1)))
            .collect();
        assert!(ticks.len() > 2, "{svg}");
        for (x, characters) in ticks {
            // 11.5 pixels high, some 6 wide; a typographic minus has three bytes
            let half = 3.0 * characters.min(5) as f64;
            assert!(x - half >= 0.0 && x + half <= 360.0, "a label of {characters} at {x}");
        }
    }
}
