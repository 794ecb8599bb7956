//! The page of a run: every number on it is in the run's files, nothing from a corpus becomes mark-up, and a real browser
//! shows it without complaint.

#![cfg(feature = "study")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read what it made has failed")]

mod report_html;
mod report_support;

use foldline::report::content::{Block, Style, plain, print};
use foldline::report::{self, RunReport, html};
use foldline::results::Results;
use report_html::{between, unescaped, visible, without};
use report_support::{evaluated, foldline, succeeds};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn json(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The value of an attribute of a tag's text.
fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    tag.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next()).unwrap()
}

/// Cells whose task-clustered interval of the advantage lies above zero, counted from the raw file.
fn above_zero(results: &Json, advantage: &str) -> usize {
    let fitted = results["cells"].as_object().unwrap().iter().filter(|(name, _)| !name.starts_with("rule/"));
    fitted.filter(|(_, cell)| cell[advantage]["lo"].as_f64().is_some_and(|lo| lo > 0.0)).count()
}

fn derived(results: &Json, name: &str) -> usize {
    match name {
        "fitted" => results["cells"].as_object().unwrap().keys().filter(|name| !name.starts_with("rule/")).count(),
        "chosen_from" => {
            results["best"].as_array().unwrap().iter().map(|b| b["chosen_from"].as_u64().unwrap() as usize).sum()
        }
        "above_random_by_count" => above_zero(results, "advantage_count"),
        "above_random_by_mass" => above_zero(results, "advantage_mass"),
        other => panic!("{other} is no derived number that is known"),
    }
}

/// Whether a printed number is the value, rounded to the digits it shows.
fn shows(text: &str, value: f64) -> bool {
    let plain = text.replace('\u{2212}', "-").replace(',', "");
    let decimals = plain.split('.').nth(1).map_or(0, str::len);
    [Style::Count, Style::Decimals(decimals), Style::Signed(decimals), Style::Significant]
        .into_iter()
        .any(|style| print(value, style) == text)
}

/// Whether the tooltips of a run show every recorded point; panics where they show one that is not recorded, or leave out
/// an end or an operating point.
fn shows_recorded_points(page: &str, run: usize, results: &Json) -> bool {
    let data: Json = serde_json::from_str(between(page, "class=\"frontiers\">", "</script>")[run]).unwrap();
    let mut whole = true;
    for series in data["series"].as_array().unwrap() {
        let cell = &results["cells"][series["name"].as_str().unwrap()];
        let points = cell["frontier"].as_array().unwrap();
        let allowed = series["a"].as_array().unwrap();
        for (index, allowed) in allowed.iter().enumerate() {
            let point = points.iter().find(|point| point["allowed"] == *allowed).unwrap();
            assert_eq!(series["p"][index], point["blocked_positives"]);
            let (mass, recorded) = (series["m"][index].as_f64().unwrap(), point["mass"]["point"].as_f64().unwrap());
            assert!((mass - recorded).abs() <= 5.1e-6, "{mass} is not {recorded}");
        }
        for end in [&points[0], &points[points.len() - 1]] {
            assert!(allowed.contains(&end["allowed"]), "{}: an end is missing", series["name"]);
        }
        let operating = series["o"].as_u64().unwrap() as usize;
        assert_eq!(allowed[operating], cell["operating_point"]["allowed"], "{}", series["name"]);
        whole &= allowed.len() == points.len();
    }
    whole
}

#[test]
fn every_number_on_the_page_is_in_the_run() {
    let folder = evaluated();
    succeeds(folder.path(), &["report", "run"]);
    let run = folder.path().join("run");
    let (results, manifest) = (json(&run.join("results.json")), json(&run.join("manifest.json")));
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();

    // what a pointer does not find would be shown so
    assert!(!page.contains("not computed)"), "a number's place is wrong");

    let mut printed = BTreeSet::new();
    let numbers = between(&page, "<data ", "</data>");
    assert!(numbers.len() > 800, "{} numbers", numbers.len());
    for number in numbers {
        let (tag, text) = number.split_once('>').unwrap();
        let (place, value) = (unescaped(attribute(tag, "data-at")), attribute(tag, "value").parse::<f64>().unwrap());
        let found = match (place.strip_prefix("manifest#"), place.strip_prefix("derived#")) {
            (Some(pointer), _) => manifest.pointer(pointer).and_then(Json::as_f64),
            (_, Some(name)) => Some(derived(&results, name) as f64),
            _ => results.pointer(&place).and_then(Json::as_f64),
        };
        assert_eq!(found, Some(value), "{place}");
        assert!(shows(&unescaped(text), value), "{place}: {value} is shown as {text}");
        printed.insert(unescaped(text));
    }

    // in the plots: ticks aside, only numbers that stand in the text too
    for text in between(&page, "<text ", "</text>").into_iter().filter(|text| !text.contains("class=\"tick\"")) {
        let words = unescaped(text.split_once('>').unwrap().1);
        let numbers = words.split(|c: char| " [],()".contains(c)).filter(|word| word.contains('.'));
        for number in numbers.filter(|word| word.chars().all(|c| c.is_ascii_digit() || ".+\u{2212}".contains(c))) {
            let known = printed.contains(number) || printed.contains(&format!("+{number}"));
            assert!(known, "a plot shows {number} ({words}), which is no number of the page");
        }
    }

    // in the tooltips: points of the frontiers as recorded
    assert!(shows_recorded_points(&page, 0, &results), "a page of its own has room for all of them");

    // what is left are words: numbers in them belong to names, recorded texts or the fixed sentences
    let mut rest = without(&page, "<head>", "</head>");
    for (open, close) in
        [("<script", "</script>"), ("<svg", "</svg>"), ("<data ", "</data>"), ("<code>", "</code>"), ("<pre", "</pre>")]
    {
        rest = without(&rest, open, close);
    }
    let recorded = format!("{results}{manifest}");
    let fixed = "2r L2 MurmurHash3 SHA-256 UTF-8 x86 depth-2 95% 1 0 0.5 0.2 25 20 2.5 97.5 32 4,096 60 2 8 3 5 R1 R2 dU dE T H";
    let fixed: BTreeSet<&str> = fixed.split(' ').collect();
    let mut unknown = BTreeSet::new();
    for word in visible(&rest).split(|c: char| c.is_whitespace() || "()[]:;/=".contains(c)) {
        let word = word.trim_matches(|c: char| ",.\u{201c}\u{201d}\u{2013}".contains(c));
        if word.chars().any(|c| c.is_ascii_digit()) && !fixed.contains(word) && !recorded.contains(word) {
            unknown.insert(word.to_owned());
        }
    }
    assert!(unknown.is_empty(), "on the page and in no file: {unknown:?}");
}

#[test]
fn the_other_formats_hold_the_same_content() {
    let folder = evaluated();
    succeeds(folder.path(), &["report", "run"]);
    let beside = folder.path().join("run");
    let markdown = std::fs::read_to_string(beside.join("report.md")).unwrap();
    assert_eq!(succeeds(folder.path(), &["report", "run", "--format", "md"]).lines().count(), markdown.lines().count());
    let report = json(&beside.join("report.json"));
    let mut tables = 0;
    for section in report["sections"].as_array().unwrap() {
        assert!(markdown.contains(&format!("## {}", section["title"].as_str().unwrap())));
        for block in section["blocks"].as_array().unwrap().iter().filter(|block| block["block"] == "table") {
            tables += 1;
            let csv = std::fs::read_to_string(beside.join(format!("tables/{}.csv", block["id"].as_str().unwrap())));
            let rows = block["rows"].as_array().unwrap().len();
            assert!(csv.unwrap().lines().count() > rows, "{}", block["id"]);
        }
    }
    assert!(tables > 12, "{tables} tables");
    for plot in ["frontier", "frontier-advantage", "mass-frontier", "auroc", "signed-value", "importance"] {
        let svg = std::fs::read_to_string(beside.join(format!("plots/{plot}.svg"))).unwrap();
        assert!(svg.starts_with("<?xml") && svg.contains("<style>") && !svg.contains("var("), "{plot}");
        // without a font on the machine there is none, and the report says so
        if let Ok(png) = std::fs::read(beside.join(format!("plots/{plot}.png"))) {
            assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{plot}");
        }
    }
    // a pure function of the folder: the same bytes again
    let before = std::fs::read(folder.path().join("run/report.html")).unwrap();
    succeeds(folder.path(), &["report", "run"]);
    assert_eq!(before, std::fs::read(folder.path().join("run/report.html")).unwrap());
}

#[test]
fn several_runs_stand_on_one_page() {
    let folder = evaluated();
    succeeds(folder.path(), &["report", "run", "run", "--out", "both"]);
    let page = std::fs::read_to_string(folder.path().join("both/report.html")).unwrap();
    assert!(page.contains("id=\"r1-frontier\"") && page.contains("id=\"r2-frontier\""));
    let ids = between(&page, " id=\"", "\"");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id stands twice");
    assert!(folder.path().join("both/tables/r2-operating-points.csv").is_file());
    let markdown = std::fs::read_to_string(folder.path().join("both/report.md")).unwrap();
    assert!(markdown.contains("(plots/r2-frontier.svg)") && folder.path().join("both/plots/r2-frontier.svg").is_file());
    // where nothing is named, the first run's folder takes the page; the folder of another run is left alone
    succeeds(folder.path(), &["report", "run", "run"]);
    assert!(std::fs::read_to_string(folder.path().join("run/report.html")).unwrap().contains("id=\"r2-frontier\""));
    std::fs::create_dir(folder.path().join("other")).unwrap();
    std::fs::copy(folder.path().join("run/results.json"), folder.path().join("other/results.json")).unwrap();
    let output = foldline(folder.path(), &["report", "run", "--out", "other"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_paper_table_prints_as_markdown_or_says_which_there_are() {
    let folder = evaluated();
    let table = succeeds(folder.path(), &["report", "run", "--table", "14"]);
    assert!(table.contains("Table 14") && table.lines().filter(|line| line.starts_with("| ")).count() > 3, "{table}");
    let output = foldline(folder.path(), &["report", "run", "--table", "99"]);
    assert_eq!(output.status.code(), Some(65));
    assert!(String::from_utf8_lossy(&output.stderr).contains("14"));
}

/// Names that try to break out of text, attributes, scripts, Markdown and CSV.
const HOSTILE: &str = "x\"><script>alert(1)</script><img src=x onerror=alert(2)> '--> ]]> {{ 7*7 }} |a|`b`\n=1+1";

#[test]
fn nothing_from_a_run_becomes_markup() {
    let folder = evaluated();
    let path = folder.path().join("run/results.json");
    let mut results: Results = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for cell in &mut results.cells {
        cell.name = format!("{HOSTILE}{}", cell.name);
        cell.warnings = vec![HOSTILE.to_owned()];
        cell.models = vec![HOSTILE.to_owned()];
        cell.group = HOSTILE.to_owned();
    }
    results.corpus.notes = vec![HOSTILE.to_owned()];
    results.corpus.summary.unmapped_functions = vec![HOSTILE.to_owned()];
    results.refused.push(foldline::results::Refused { analysis: HOSTILE.to_owned(), reason: HOSTILE.to_owned() });
    let run = RunReport::of(&results, None, HOSTILE).unwrap();
    let page = html::render(std::slice::from_ref(&run)).unwrap();
    assert_eq!(page.matches("<script").count(), 2, "the page's own script and its data");
    assert!(!page.contains("<img") && !page.contains("<script>alert") && page.contains("&lt;script&gt;"));
    assert!(page.contains("{{ 7*7 }}"), "a name is no template");
    let markdown = foldline::report::markdown::render(&run.report, "plots");
    // what is literal stands between two backticks, as the names hold single ones, or is indented
    let lines = markdown.lines().filter(|line| !line.starts_with("    "));
    let open: Vec<String> = lines.map(|line| without(line, "``", "``").replace("\\<", "")).collect();
    assert!(open.iter().all(|line| !line.contains("<script>") && !line.contains("<img")), "{open:#?}");
    // a headline that is not to be found under its hostile name is no reason to fall over
    assert!(run.report.sections.iter().flat_map(|s| &s.blocks).any(|block| matches!(block, Block::Absent { .. })));
}

#[test]
fn a_broken_run_is_refused_with_its_name() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("run")).unwrap();
    for (content, expected) in
        [(None, "results.json"), (Some("{}"), "results.json"), (Some("not JSON"), "results.json")]
    {
        if let Some(content) = content {
            std::fs::write(folder.path().join("run/results.json"), content).unwrap();
        }
        let output = foldline(folder.path(), &["report", "run"]);
        assert_eq!(output.status.code(), Some(65));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected));
    }
}

/// Runs an evaluation of the simulated cohort after `change` on every boundary, and its report.
fn changed(folder: &Path, name: &str, change: impl Fn(&mut Json), more: &[&str]) -> String {
    let cohort = std::fs::read_to_string(folder.join("cohort.jsonl")).unwrap();
    let lines = cohort.lines().map(|line| {
        let mut boundary: Json = serde_json::from_str(line).unwrap();
        boundary.as_object_mut().unwrap().remove("deltas");
        change(&mut boundary);
        format!("{boundary}\n")
    });
    std::fs::write(folder.join(format!("{name}.jsonl")), lines.collect::<String>()).unwrap();
    let corpus = format!("{name}.jsonl");
    let evaluate = ["evaluate", &corpus, "--methods", "functions.csv", "--draws", "60", "--out", name];
    succeeds(folder, &[&evaluate[..], more].concat());
    succeeds(folder, &["report", name]);
    std::fs::read_to_string(folder.join(name).join("report.html")).unwrap()
}

/// Sets the flags of every step: blocked in the arms named, refetched nowhere.
fn blocked_in(boundary: &mut Json, arms: &[&str]) {
    for rollout in boundary["rollouts"].as_array_mut().unwrap() {
        let blocked = arms.contains(&rollout["arm"].as_str().unwrap());
        for step in rollout["steps"].as_array_mut().unwrap() {
            step["blocked"] = Json::from(blocked);
            step["refetch"] = Json::from(false);
        }
    }
}

/// The first verdict of a run's report.
fn first_verdict(folder: &Path, name: &str) -> String {
    let report = json(&folder.join(name).join("report.json"));
    let pieces = report["verdicts"][0]["line"].as_array().unwrap().iter();
    pieces.map(|piece| piece["text"].as_str().unwrap_or_default()).collect()
}

#[test]
fn a_run_of_one_class_says_so_and_gives_every_reason() {
    let folder = evaluated();
    let quick = ["--protocol", "quick"];
    let none = changed(folder.path(), "none", |boundary| blocked_in(boundary, &[]), &quick);
    let every = changed(folder.path(), "every", |boundary| blocked_in(boundary, &["post"]), &quick);
    for (page, name, first) in
        [(&none, "none", "No boundary is harmful."), (&every, "every", "Every boundary is harmful.")]
    {
        assert!(first_verdict(folder.path(), name).starts_with(first), "{name}");
        // an undefined number would say so in a table, a plot or a sentence
        assert!(!page.contains("<small>not computed") && !page.contains("(not computed)"), "{name}");
        assert!(page.contains("<small>all labels are equal"), "{name}");
        assert!(!page.contains("There is no yardstick in this run"), "{name}: a yardstick ran");
        assert!(page.contains("The replicate of the same boundary has no AUROC: "), "{name}");
    }
    assert!(!none.contains("no threshold keeps the share"));
    let cells = ["--cells", "boosted/H,logistic/H", "--yardstick", "--draws", "60"];
    let said = succeeds(folder.path(), &[&["compare", "none"], &cells[..]].concat());
    assert!(said.starts_with("- No boundary is harmful.") && !said.contains("not computed"), "{said}");
    let said = succeeds(folder.path(), &[&["compare", "every"], &cells[..]].concat());
    assert!(said.contains("- A replicate of the same boundary has no AUROC here: "), "{said}");
    assert!(!every.contains("rule/always-block</code> (never compact) is"), "a rule that looks at nothing");
}

#[test]
fn a_single_task_has_no_intervals_and_the_page_says_why() {
    let folder = evaluated();
    let one = |boundary: &mut Json| {
        boundary["task_id"] = Json::from("only_1");
        boundary["stem"] = Json::from("only");
    };
    let page = changed(folder.path(), "single", one, &["--protocol", "quick"]);
    let points = between(&page, "id=\"table-operating-points\"", "</div></div>")[0].to_owned();
    assert!(points.contains("<strong>No interval</strong> stands in this table: "), "{points}");
    assert!(!points.contains("class=\"ends\"") && page.contains("[no interval]</text>"));
    assert!(page.contains("</data> task; target"), "one task is no tasks");
    let csv = std::fs::read_to_string(folder.path().join("single/tables/operating-points.csv")).unwrap();
    assert!(csv.lines().count() > 5 && !csv.contains(" lo"), "{csv}");
}

#[test]
fn with_one_arm_nothing_is_said_of_signed_value() {
    let folder = evaluated();
    let target = ["--target", "pre.U@3", "--cells", "boosted/H", "--folds", "stem:5x1"];
    let page = changed(folder.path(), "one-arm", |_| (), &target);
    assert!(first_verdict(folder.path(), "one-arm").starts_with("Observational."));
    assert!(!page.contains("signed-value") && page.contains("this run has one, so nothing is said about it"));
    assert!(page.contains("as much as the burden that followed it") && !page.contains("it added"));
    succeeds(folder.path(), &["compare", "one-arm", "--draws", "60", "--out", "compared"]);
    let report = json(&folder.path().join("compared/report.json"));
    assert!(!report.to_string().contains("\"head\":\"V\""), "V is a signed value");
}

#[test]
fn scores_from_a_file_are_called_that_whatever_their_name() {
    let folder = evaluated();
    let mut results: Results =
        serde_json::from_slice(&std::fs::read(folder.path().join("run/results.json")).unwrap()).unwrap();
    let cell = results.cells.iter_mut().find(|cell| cell.name == "rule/token-budget").unwrap();
    cell.group = "foreign".to_owned();
    cell.name = "rule/first-compaction@x".to_owned();
    let run = RunReport::of(&results, None, "run").unwrap();
    let points = run.report.tables().find(|table| table.id == "operating-points").unwrap();
    let of = |name: &str| {
        let row = points.rows.iter().find(|row| plain(&row.cells[0]) == name).unwrap();
        plain(&row.cells[1])
    };
    assert_eq!(of("rule/first-compaction"), "block first compactions");
    assert_eq!(of("rule/first-compaction@x"), "scores from a file");
    let verdicts: Vec<String> = run.report.verdicts.iter().map(|verdict| plain(&verdict.line)).collect();
    assert!(verdicts.iter().all(|verdict| !verdict.contains("Without any learning, rule/first-compaction@x")));
}

#[test]
fn six_long_runs_stay_below_two_megabytes() {
    let folder = evaluated();
    let path = folder.path().join("run/results.json");
    let mut results: Results = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // twice the cells of a quick run, each with as many points as a run records
    for mut cell in results.cells.clone() {
        cell.name.push_str("@again");
        results.cells.push(cell);
    }
    for cell in &mut results.cells {
        let operating = cell.frontier.iter().position(|p| p.threshold == cell.operating_point.threshold).unwrap();
        let (before, point) = (cell.frontier[..=operating].to_vec(), cell.frontier[operating]);
        let more = (0..2000 - cell.frontier.len()).map(|index| {
            let threshold = foldline_frontiers::Threshold::At(1e6 + index as f64);
            foldline_frontiers::FrontierPoint { threshold, ..point }
        });
        cell.frontier = before.into_iter().chain(more).chain(cell.frontier[operating + 1..].iter().copied()).collect();
    }
    std::fs::write(&path, serde_json::to_vec(&results).unwrap()).unwrap();
    succeeds(folder.path(), &["report", "run", "run", "run", "run", "run", "run", "--out", "six.html"]);
    let page = std::fs::read_to_string(folder.path().join("six.html")).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let recorded = json(&path);
    for run in 0..6 {
        assert!(!shows_recorded_points(&page, run, &recorded));
    }
    let thinned = "Long lines are thinned: to keep the page small at most ";
    let most =
        page.split(thinned).nth(1).and_then(|rest| attribute(rest, "value").parse::<f64>().ok()).unwrap() as usize;
    let data: Json = serde_json::from_str(between(&page, "class=\"frontiers\">", "</script>")[5]).unwrap();
    let longest = data["series"].as_array().unwrap().iter().map(|s| s["a"].as_array().unwrap().len()).max().unwrap();
    assert!(longest <= most && most < 100, "{longest} points where the page says {most}");
}

#[test]
fn too_large_a_page_names_the_tables_it_leaves_out() {
    let folder = evaluated();
    let results: Results =
        serde_json::from_slice(&std::fs::read(folder.path().join("run/results.json")).unwrap()).unwrap();
    let run = RunReport::of(&results, None, "run").unwrap();
    let page = html::render(&vec![run; 12]).unwrap();
    assert!(!page.contains("Operating points of every trigger</summary>"));
    assert!(page.contains("Left out to keep the page below 2 MB: Discrimination"));
    assert!(page.contains("table-operating-points\""));
}

#[test]
fn nothing_is_written_outside_and_nothing_old_stays() {
    let folder = evaluated();
    let (path, run) = (folder.path(), folder.path().join("run"));
    let files = |part: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(run.join(part)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    succeeds(path, &["report", "run"]);
    let (tables, plots) = (files("tables"), files("plots"));
    // a report of two runs in its place, and files of the user's
    succeeds(path, &["report", "run", "run"]);
    assert!(files("tables").iter().all(|name| name.starts_with("r1-") || name.starts_with("r2-")));
    std::fs::write(run.join("tables/r1-own.csv"), "mine").unwrap();
    std::fs::write(run.join("plots/own.svg"), "mine").unwrap();
    succeeds(path, &["report", "run"]);
    assert_eq!(files("tables"), &tables | &BTreeSet::from(["r1-own.csv".to_owned()]));
    assert_eq!(files("plots"), &plots | &BTreeSet::from(["own.svg".to_owned()]));
    // a report.json that is none of ours says nothing about files
    std::fs::write(run.join("report.json"), "{\"format\": \"other\", \"sections\": []}").unwrap();
    succeeds(path, &["report", "run"]);
    // ids that lead out of the folder: a file of results with such a one is refused, and a report made of it stays inside
    let mut results: Results = serde_json::from_slice(&std::fs::read(run.join("results.json")).unwrap()).unwrap();
    let table = results.tables["14"].clone();
    results.tables.insert("../../escaped".to_owned(), table);
    std::fs::write(run.join("results.json"), serde_json::to_vec(&results).unwrap()).unwrap();
    assert_eq!(foldline(path, &["report", "run"]).status.code(), Some(65));
    let report = RunReport::of(&results, None, "run").unwrap();
    report::files::write_tables(&run.join("tables"), &[report]).unwrap();
    assert!(files("tables").contains("paper-..-..-escaped.csv"));
    let above: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(above.iter().all(|name| !name.to_string_lossy().contains("escaped")), "{above:?}");
}

#[test]
fn a_real_browser_shows_it() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/report/check_page.py");
    let folder = evaluated();
    succeeds(folder.path(), &["report", "run"]);
    succeeds(folder.path(), &["compare", "run", "--yardstick", "--draws", "60", "--out", "compared"]);
    succeeds(folder.path(), &["report", "run", "run", "--out", "both"]);
    changed(folder.path(), "none", |boundary| blocked_in(boundary, &[]), &["--protocol", "quick"]);
    for page in ["run/report.html", "compared/report.html", "both/report.html", "none/report.html"] {
        let Ok(output) = Command::new("python3").arg(script).arg(folder.path().join(page)).output() else {
            println!("skipped: there is no python3");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.code() == Some(77) {
            println!("skipped: {said}");
            return;
        }
        assert!(output.status.success(), "{page}: {said}{}", String::from_utf8_lossy(&output.stderr));
        let size = std::fs::metadata(folder.path().join(page)).unwrap().len();
        assert!(size < 2_000_000, "{page} has {size} bytes");
    }
}
