//! A forest plot: one row for each statistic with its interval, against a reference band; or bars from zero.

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

impl ForestPlot {
    /// Draws it for wide screens: labels at the left, numbers at the right.
    pub fn wide(&self) -> String {
        let labels = self.rows.iter().map(|row| row.label.chars().count().min(34)).max().unwrap_or(8);
        let numbers = self.rows.iter().map(|row| row.numbers.chars().count()).max().unwrap_or(0);
        let left = 14.0 + CHARACTER * labels as f64 + 12.0;
        let right = 14.0 + CHARACTER * numbers.min(34) as f64;
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
            svg.text("tick", x.at(value), bottom + 16.0, "middle", &tick_text(value, decimals));
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
        svg.add(format_args!(
            "<g class=\"h{}\"><title>{}: {}</title>",
            row.hue,
            escape(&row.label),
            escape(&row.numbers)
        ));
        svg.text(strong, if narrow { 12.0 } else { 10.0 }, text_y, "start", &shortened(&row.label, 34));
        svg.text(
            if row.point.is_some() { strong } else { "quiet" },
            width - 10.0,
            text_y,
            "end",
            &shortened(&row.numbers, 34),
        );
        if let Some(point) = row.point {
            if self.bars {
                let (a, b) = (x.at(self.reference.0.min(point)), x.at(self.reference.0.max(point)));
                svg.rect("bar", a, dot_y - 5.0, (b - a).max(1.0), 10.0);
            }
            if let Some((lo, hi)) = row.thin {
                svg.line("thin", x.at(lo), dot_y, x.at(hi), dot_y);
                for end in [lo, hi] {
                    svg.line("thin", x.at(end), dot_y - 3.0, x.at(end), dot_y + 3.0);
                }
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
