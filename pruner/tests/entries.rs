//! How summaries are split, by example.

#![cfg(test)]

use foldline_pruner::entries::{Document, Kind, Prose, parse};

fn texts<'a>(document: &'a Document<'_>) -> Vec<&'a str> {
    document.entries.iter().map(|entry| entry.text.as_str()).collect()
}

#[test]
fn sections_items_and_their_parents() {
    let text = "## Done\n- a\n  - b\n    more of b\n- [x] c\n\n## TODO\n1. d\n2) e\n";
    let document = parse(text, Prose::Auto);
    assert_eq!(texts(&document), ["a", "b\nmore of b", "c", "d", "e"]);
    assert_eq!(document.entries[1].parent, Some(0));
    assert_eq!(document.entries[3].section, ["TODO"]);
    let kinds: Vec<Kind> = document.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Kind::Bullet, Kind::Bullet, Kind::Checkbox, Kind::Numbered, Kind::Numbered]);
    assert_eq!(&text[document.entries[1].ranges[0].clone()], "  - b\n    more of b\n");
}

#[test]
fn every_way_to_write_a_heading() {
    for heading in ["# H", "H\n===", "H\n---", "H:", "**H**", "**H:**", "**H**:", "HEADING", "見出し："] {
        let text = format!("{heading}\n- x\n");
        let document = parse(&text, Prose::Split);
        assert_eq!(texts(&document), ["x"], "{heading}");
        assert_eq!(document.entries[0].section.len(), 1, "{heading}");
    }
}

#[test]
fn a_label_is_structure_and_its_children_are_entries() {
    let document = parse("# S\n- **Found**:\n  - one\n  - two\n- three\n", Prose::Auto);
    assert_eq!(texts(&document), ["one", "two", "three"]);
    assert_eq!(document.entries[0].section, ["S", "Found"]);
    assert_eq!(document.entries[0].parent, None);
}

#[test]
fn code_is_never_an_entry() {
    let document = parse("- a\n```\n- not an item\n```\n- b\n~~~\n- open to the end\n", Prose::Auto);
    assert_eq!(texts(&document), ["a", "b"]);
    // an item that holds code stays as a whole
    let document = parse("- run this:\n  ```\n  x\n  ```\n- holds\n  ```\n  y\n  ```\n- c\n", Prose::Auto);
    assert_eq!(texts(&document), ["c"]);
}

#[test]
fn prose_is_split_only_where_there_is_nothing_else() {
    let mixed = "Intro.\n\n- item\n\nOutro.\n";
    assert_eq!(texts(&parse(mixed, Prose::Auto)), ["item"]);
    assert_eq!(texts(&parse(mixed, Prose::Keep)), ["item"]);
    assert_eq!(texts(&parse(mixed, Prose::Split)), ["Intro.", "item", "Outro."]);
    let plain = "First.\nSecond.\n\nThird.\n";
    assert_eq!(texts(&parse(plain, Prose::Auto)), ["First.", "Second.", "Third."]);
    assert!(parse(plain, Prose::Keep).entries.is_empty());
}

#[test]
fn a_paragraph_behind_the_children_belongs_to_the_parent() {
    let text = "- a\n  - b\n\n  more of a\n- c\n";
    let document = parse(text, Prose::Auto);
    assert_eq!(texts(&document), ["a\nmore of a", "b", "c"]);
    assert_eq!(document.entries[0].ranges, [0..4, 11..23]);
}

#[test]
fn json_tables_tags_and_rules_are_structure() {
    assert!(parse("{\"a\": [1, 2]}", Prose::Split).entries.is_empty());
    assert!(parse("| a | b |\n|---|---|\n***\n<summary>\n[CONTEXT]\n", Prose::Split).entries.is_empty());
    assert!(parse("```json\n{\"a\": 1}\n```", Prose::Split).entries.is_empty());
    assert_eq!(
        texts(&parse("[SYMBOLIC_CONTEXT]\n- (status) done\n[/SYMBOLIC_CONTEXT]", Prose::Split)),
        ["(status) done"]
    );
}

#[test]
fn other_scripts_and_line_ends() {
    let document = parse("## סיכום\r\n\u{200f}- פריט אחד\r\n・項目\r\n3、三つ目\r\n", Prose::Auto);
    assert_eq!(texts(&document), ["פריט אחד", "項目", "三つ目"]);
}
