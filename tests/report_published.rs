//! The paper's Figure 1 from its published numbers, through the code that draws every frontier.
//!
//! Frontiers of the three frozen policies: Table 12 (arXiv 2610.08722), every row. Operating points with intervals and the
//! replicate: Table 2. `FOLDLINE_FIGURE=FILE` writes it.

#![cfg(test)]
#![cfg(feature = "study")]

use foldline::report::plot::frontier::{FrontierPlot, Mark, Series, View};
use foldline::report::plot::standalone;

/// Allowed boundaries of 590 and share avoided of 344.
#[rustfmt::skip]
const STUMP: &[(f64, f64)] = &[
    (0., 1.), (59., 0.904), (104., 0.837), (144., 0.802), (212., 0.698), (258., 0.657), (330., 0.506), (401., 0.363),
    (471., 0.230), (536., 0.108), (590., 0.),
];
#[rustfmt::skip]
const DEPTH2: &[(f64, f64)] = &[
    (0., 1.), (15., 0.977), (33., 0.948), (34., 0.945), (57., 0.927), (72., 0.904), (90., 0.898), (120., 0.855),
    (173., 0.773), (214., 0.706), (236., 0.677), (259., 0.654), (327., 0.515), (392., 0.387), (449., 0.285),
    (497., 0.195), (561., 0.076), (565., 0.064), (571., 0.047), (577., 0.032), (590., 0.),
];
#[rustfmt::skip]
const LOGISTIC: &[(f64, f64)] = &[
    (0., 1.), (1., 1.), (2., 0.997), (4., 0.991), (5., 0.991), (7., 0.991), (21., 0.968), (38., 0.939), (57., 0.919),
    (64., 0.913), (73., 0.910), (168., 0.738), (257., 0.576), (342., 0.433), (429., 0.302), (494., 0.206), (496., 0.201),
    (497., 0.198), (498., 0.195), (499., 0.195), (517., 0.148), (531., 0.116), (550., 0.076), (571., 0.035), (590., 0.),
];

fn mark(x: f64, y: f64, ends: (f64, f64), advantage: (f64, f64)) -> Option<Mark> {
    Some(Mark { x, y, x_ends: None, y_ends: Some(ends), advantage_ends: Some(advantage), words: String::new() })
}

fn series(index: usize, name: &str, points: &[(f64, f64)], mark: Option<Mark>) -> Series {
    let points = points.iter().map(|&(allowed, avoided)| (allowed / 590.0, avoided)).collect();
    Series { index, name: name.to_owned(), hue: index, dashed: false, shown: true, points, thinned: false, mark }
}

fn figure(view: View) -> FrontierPlot {
    FrontierPlot {
        label: "Figure 1 from Tables 2 and 12".to_owned(),
        y_axis: "positive-burden boundaries blocked (of 344)".to_owned(),
        view,
        by_mass: false,
        series: vec![
            series(0, "stump", STUMP, mark(0.908, 0.108, (0.083, 0.238), (-0.001, 0.048))),
            series(1, "depth-2 tree", DEPTH2, mark(0.842, 0.195, (0.096, 0.246), (0.012, 0.064))),
            series(2, "logistic (2 features)", LOGISTIC, mark(0.837, 0.206, (0.156, 0.256), (0.017, 0.070))),
            // the boosted triggers' frontiers are not published, their operating points are
            series(3, "boosted, 17 summaries", &[], mark(0.800, 0.247, (0.217, 0.277), (0.019, 0.079))),
            series(5, "boosted, 144 features", &[], mark(0.800, 0.267, (0.238, 0.290), (0.040, 0.092))),
        ],
        yardstick: mark(0.866, 0.243, (0.198, 0.286), (0.082, 0.134)),
        retain: Some(0.8),
    }
}

/// Corners of a path, in the plot's own units.
fn corners(d: &str) -> Vec<(f64, f64)> {
    let (start, steps) = d.strip_prefix('M').and_then(|d| d.split_once('l')).expect("M x y l dx dy ...");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let pair = |text: &str| text.split_once(' ').map(|(x, y)| (number(x), number(y))).expect("two numbers");
    let mut at = pair(start);
    let mut out = vec![at];
    let steps: Vec<f64> = steps.split(' ').map(number).collect();
    for step in steps.chunks(2) {
        at = (at.0 + step[0], at.1 + step[1]);
        out.push(at);
    }
    out
}

#[test]
fn every_row_of_table_12_is_a_corner_of_its_line() {
    let svg = figure(View::Share).draw();
    let attribute = |name: &str| {
        let rest = svg.split(&format!("data-{name}=\"")).nth(1).expect("the scale stands in the plot");
        rest.split('"').next().and_then(|text| text.parse::<f64>().ok()).expect("a number")
    };
    let (x0, x1, y0, y1) = (attribute("x0"), attribute("x1"), attribute("y0"), attribute("y1"));
    let lines: Vec<&str> = svg.split("class=\"line\" d=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for (line, rows) in lines.iter().zip([STUMP, DEPTH2, LOGISTIC]) {
        let corners = corners(line);
        assert_eq!(corners.len(), rows.len());
        for (corner, (allowed, avoided)) in corners.iter().zip(rows) {
            // a tenth of a unit is drawn, 352 units wide
            assert!((corner.0 - (x0 + allowed / 590.0 * (x1 - x0))).abs() <= 0.06, "{corner:?} for {allowed}");
            assert!((corner.1 - (y0 + avoided * (y1 - y0))).abs() <= 0.06, "{corner:?} for {avoided}");
        }
    }
    assert_eq!(lines.len(), 5);
}

#[test]
fn it_has_what_the_caption_describes() {
    let svg = standalone(&figure(View::Share).draw_with_legend());
    for part in
        ["class=\"chance\"", "ON: always compact", "OFF: never compact", "class=\"yard\"", "replicate (yardstick)"]
    {
        assert!(svg.contains(part), "{part}");
    }
    assert_eq!(svg.matches("class=\"mark\"").count(), 5, "five operating points");
    if let Some(file) = std::env::var_os("FOLDLINE_FIGURE") {
        std::fs::write(&file, &svg).expect("FOLDLINE_FIGURE can be written");
        let advantage = standalone(&figure(View::Advantage).draw_with_legend());
        std::fs::write(std::path::Path::new(&file).with_extension("advantage.svg"), advantage).expect("and beside it");
    }
}
