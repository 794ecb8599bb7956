//! The survey as one self-contained HTML page.

use super::measure::{Contrast, Difference, Survey};
use super::text::{change_text, name, share};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};

/// Renders the page; every text of a log is escaped.
///
/// # Errors
/// When the embedded template does not render, which a test excludes.
pub fn page(survey: &Survey) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html"))?;
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
    let contrast = |what: &str, contrast: &Contrast| {
        context! {
            what,
            channel => contrast.channel,
            before => number(contrast.before),
            after => number(contrast.after),
            change => change_text(contrast.change.defined(), contrast.lo, contrast.hi),
            n => contrast.n,
            sessions => contrast.sessions,
        }
    };
    let difference = |what: &str, difference: &Difference| {
        context! {
            what,
            channel => difference.channel,
            change => change_text(difference.difference.defined(), difference.lo, difference.hi),
        }
    };
    let groups: Vec<_> = survey
        .groups
        .iter()
        .map(|group| {
            let rows = [
                ("all compactions", &group.all),
                ("first", &group.first),
                ("later", &group.later),
                ("nearby", &group.nearby),
            ];
            let rows: Vec<_> =
                rows.iter().flat_map(|(what, list)| list.iter().map(|one| contrast(what, one))).collect();
            let differences: Vec<_> =
                [("later less first", &group.later_less_first), ("beyond nearby", &group.beyond_nearby)]
                    .iter()
                    .flat_map(|(what, list)| list.iter().map(|one| difference(what, one)))
                    .collect();
            context! {
                name => name(group),
                group => Value::from(Serde(group)),
                blocked => share(group.blocked_steps, group.steps),
                refetch => share(group.refetch_steps, group.steps),
                contrasts => rows,
                differences => differences,
            }
        })
        .collect();
    environment.get_template("page.html")?.render(context! { survey => Value::from(Serde(survey)), groups })
}
