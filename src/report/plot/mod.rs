//! Plots as SVG, written by hand: they open offline, scale, print and can be read in a diff.
//!
//! Every colour is a class; a page gives the classes its light or dark palette, a file of its own the light one.

pub mod forest;
pub mod frontier;

use std::fmt::Write;

/// The classes of every plot; `var(--name)` is resolved by the page, or by [`standalone`].
pub const STYLE: &str = include_str!("plot.css");

/// The light palette, as a page and a file of its own use it.
const LIGHT: &[(&str, &str)] = &[
    ("--plot-bg", "#ffffff"),
    ("--ink", "#1c2530"),
    ("--ink-2", "#55616f"),
    ("--rule", "#dfe4ea"),
    ("--rule-2", "#9aa5b1"),
    ("--band", "#f3e3c3"),
    ("--gold", "#8a5a00"),
    ("--c0", "#0b66a8"),
    ("--c1", "#cf5208"),
    ("--c2", "#0a8062"),
    ("--c3", "#9a3f8b"),
    ("--c4", "#3f4a58"),
    ("--c5", "#2f8fc7"),
    ("--c6", "#b3263c"),
    ("--c7", "#667180"),
];

/// A plot as a file of its own: with its style inside and the light palette.
pub fn standalone(svg: &str) -> String {
    let mut style = STYLE.to_owned();
    for (name, colour) in LIGHT {
        style = style.replace(&format!("var({name})"), colour);
    }
    // what is switched off on the page is no part of the picture
    let style = format!("<style>{style} .off{{display:none}} svg.plot{{background:#fff}}</style>");
    match svg.find('>') {
        Some(end) => {
            format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}{style}{}\n", &svg[..=end], &svg[end + 1..])
        }
        None => svg.to_owned(),
    }
}

/// Text for SVG and HTML: nothing in it can open or close a tag or an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // characters that XML does not have
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A label of at most `most` characters.
pub(crate) fn shortened(label: &str, most: usize) -> String {
    if label.chars().count() <= most {
        return label.to_owned();
    }
    let kept: String = label.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}\u{2026}")
}

/// A linear map from data to the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
}

impl Scale {
    pub(crate) fn new(from: (f64, f64), to: (f64, f64)) -> Scale {
        Scale { from, to }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        self.to.0 + (value - self.from.0) / (self.from.1 - self.from.0) * (self.to.1 - self.to.0)
    }
}

/// Round tick values that cover a range, and how many decimals they need.
pub(crate) fn ticks(lo: f64, hi: f64, about: usize) -> (Vec<f64>, usize) {
    let span = (hi - lo).max(1e-9);
    let raw = span / about.max(1) as f64;
    let magnitude = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|step| *step >= raw * 0.999);
    let step = step.unwrap_or(10.0 * magnitude);
    let first = (lo / step - 1e-9).ceil() as i64;
    let last = (hi / step + 1e-9).floor() as i64;
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    ((first..=last.min(first + 40)).map(|i| i as f64 * step).collect(), decimals)
}

/// A tick's label.
pub(crate) fn tick_text(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let zero = text.chars().all(|c| matches!(c, '0' | '.' | '-'));
    if zero { "0".to_owned() } else { text.replace('-', "\u{2212}") }
}

/// An SVG in the making.
#[derive(Debug)]
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// Starts one with a text for those who do not see it.
    pub(crate) fn new(width: f64, height: f64, class: &str, label: &str) -> Svg {
        let label = escape(label);
        let out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" class=\"plot {class}\" role=\"group\" aria-label=\"{label}\">"
        );
        Svg { out }
    }

    /// Adds mark-up whose texts are escaped already.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    pub(crate) fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        self.add(format_args!("<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}"));
        if y1.total_cmp(&y2).is_eq() {
            self.add(format_args!("H{x2:.1}\"/>"));
        } else {
            self.add(format_args!("L{x2:.1} {y2:.1}\"/>"));
        }
    }

    pub(crate) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            width.max(0.0),
            height.max(0.0)
        ));
    }

    /// Text; `anchor` is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escape(text);
        self.raw("<text");
        if !class.is_empty() {
            self.add(format_args!(" class=\"{class}\""));
        }
        self.add(format_args!(" x=\"{x:.1}\" y=\"{y:.1}\""));
        if anchor != "start" {
            self.add(format_args!(" text-anchor=\"{anchor}\""));
        }
        self.add(format_args!(">{text}</text>"));
    }

    /// A marker in one of four shapes, so that colour is never the only difference.
    pub(crate) fn marker(&mut self, shape: usize, class: &str, x: f64, y: f64, r: f64) {
        let d = match shape % 4 {
            0 => {
                self.add(format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\"/>"));
                return;
            }
            1 => format!("M{:.1} {:.1}h{s:.1}v{s:.1}h-{s:.1}z", x - r * 0.9, y - r * 0.9, s = 1.8 * r),
            2 => format!("M{x:.1} {:.1}l{:.1} {:.1}h-{:.1}z", y - 1.15 * r, 1.1 * r, 2.0 * r, 2.2 * r),
            _ => format!("M{x:.1} {:.1}l{:.1} -{:.1}h-{:.1}z", y + 1.15 * r, 1.1 * r, 2.0 * r, 2.2 * r),
        };
        self.add(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    pub(crate) fn diamond(&mut self, class: &str, x: f64, y: f64, r: f64) {
        self.add(format_args!("<path class=\"{class}\" d=\"M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z\"/>", y - r));
    }

    pub(crate) fn add(&mut self, markup: std::fmt::Arguments<'_>) {
        // writing to a string cannot fail
        self.out.write_fmt(markup).unwrap_or_default();
    }

    pub(crate) fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5), (vec![0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0], 1));
        let (values, decimals) = ticks(-0.05, 0.13, 5);
        assert_eq!((values.len(), decimals), (4, 2));
        assert_eq!(tick_text(-0.00001, 2), "0");
        assert_eq!(tick_text(-0.05, 2), "\u{2212}0.05");
    }

    #[test]
    fn text_cannot_become_markup() {
        let mut svg = Svg::new(10.0, 10.0, "x", "a\"b<c>");
        svg.text("t", 1.0, 1.0, "start", "</text><script>alert(1)</script>\u{1}");
        let out = svg.finish();
        assert!(!out.contains("<script>") && !out.contains("a\"b") && !out.contains('\u{1}'));
    }

    #[test]
    fn a_file_of_its_own_needs_no_page() {
        let alone = standalone(&Svg::new(10.0, 10.0, "x", "y").finish());
        assert!(alone.starts_with("<?xml") && !alone.contains("var("), "{alone}");
    }
}
