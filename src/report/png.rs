//! Plots as PNG, at twice their size in SVG units, with a sans-serif font of the machine.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels a unit of an SVG.
const PIXELS: f32 = 2.0;
/// Longest side of a picture, in pixels.
const LARGEST: u32 = 16_384;
/// Fonts taken where they are there, the first one first: all have a typographic minus.
const FONTS: [&str; 6] = ["Liberation Sans", "Arial", "Helvetica", "DejaVu Sans", "Segoe UI", "Noto Sans"];

/// Turns SVG into PNG.
pub(super) struct Painter {
    options: Options<'static>,
}

impl Painter {
    /// Looks for fonts; nothing where there is none.
    pub(super) fn new() -> Option<Painter> {
        let mut options = Options::default();
        let fonts = Arc::make_mut(&mut options.fontdb);
        fonts.load_system_fonts();
        let families: Vec<String> =
            fonts.faces().flat_map(|face| face.families.iter().map(|(family, _)| family.clone())).collect();
        let wanted = FONTS.iter().find(|name| families.iter().any(|family| family == *name));
        let family = wanted.map(|name| (*name).to_owned()).or_else(|| families.first().cloned())?;
        fonts.set_sans_serif_family(family.clone());
        options.font_family = family;
        Some(Painter { options })
    }

    /// Paints a plot that stands alone, on white.
    ///
    /// # Errors
    /// A sentence; plots that this program draws give none.
    pub(super) fn paint(&self, svg: &str) -> Result<Vec<u8>, String> {
        let tree = Tree::from_str(svg, &self.options).map_err(|error| format!("is no SVG: {error}"))?;
        let size = tree.size();
        let side = |length: f32| ((length * PIXELS).ceil() as u32).clamp(1, LARGEST);
        let mut picture = Pixmap::new(side(size.width()), side(size.height())).ok_or("is too large for a picture")?;
        picture.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(PIXELS, PIXELS), &mut picture.as_mut());
        picture.encode_png().map_err(|error| format!("cannot be written as PNG: {error}"))
    }
}
