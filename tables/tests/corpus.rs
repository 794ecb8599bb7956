//! Corpora as other programs write them to Parquet: small integers, columns of integers with gaps, and columns of their own.

#![cfg(test)]

use foldline_features::Profile;
use foldline_features::corpus::{Options, Reader, read_corpus};
use foldline_tables::parquet_to_ndjson;
use polars::prelude::*;
use std::path::Path;

/// Two boundaries without rollouts.
fn corpus() -> Vec<Column> {
    let nothing = || Series::new_empty("item".into(), &DataType::String);
    let lists = |name: &str| Column::new(name.into(), [nothing(), nothing()]);
    vec![
        Column::new("boundary_id".into(), ["a", "b"]),
        Column::new("task_id".into(), ["t_1", "t_2"]),
        Column::new("trajectory_id".into(), ["r", "s"]),
        Column::new("compaction_index".into(), [1_i8, 2]),
        Column::new("prefix_steps".into(), [7_u16, 9]),
        Column::new("difficulty".into(), [Some(3.0), None]),
        Column::new("tokens_before".into(), [None, Some(4000.0)]),
        lists("historical_exact"),
        lists("historical_functions"),
        lists("tail"),
        lists("rollouts"),
    ]
}

fn write(folder: &Path, columns: Vec<Column>) -> std::path::PathBuf {
    let path = folder.join("corpus.parquet");
    let mut frame = DataFrame::new(2, columns).expect("a table");
    ParquetWriter::new(std::fs::File::create(&path).expect("a file")).finish(&mut frame).expect("written");
    path
}

fn read(path: &Path) -> Result<foldline_features::Corpus, String> {
    let rows = parquet_to_ndjson(path)?;
    let options = Options::new(Profile::appworld());
    let reader = Reader::of_table("corpus.parquet", rows.lines, rows.unknown, Default::default(), options);
    read_corpus(reader).map_err(|error| error.to_string())
}

#[test]
fn small_integers_and_integers_with_gaps() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = read(&write(folder.path(), corpus())).expect("reads");
    let (a, b) = (&corpus.boundaries[0], &corpus.boundaries[1]);
    assert_eq!((a.prefix.compaction_index, b.prefix.compaction_index), (1, 2));
    assert_eq!((a.prefix.prefix_steps, a.prefix.difficulty, b.prefix.difficulty), (7, Some(3), None));
    assert_eq!((a.context.tokens_before, b.context.tokens_before), (None, Some(4000)));
    assert!(corpus.notes.unknown_fields.is_empty());
}

#[test]
fn columns_of_others_are_passed_over_with_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut columns = corpus();
    // bytes have no JSON
    columns.push(Column::new("blob".into(), [b"x".as_slice(), b"y"]));
    let corpus = read(&write(folder.path(), columns)).expect("reads");
    assert_eq!(corpus.notes.unknown_fields.into_iter().collect::<Vec<_>>(), [("blob".to_owned(), 2)]);
}

#[test]
fn problems_name_the_column_or_the_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let changed = |column: Column| {
        let mut columns = corpus();
        columns.retain(|kept| kept.name() != column.name());
        columns.push(column);
        read(&write(folder.path(), columns)).expect_err("refused")
    };
    let error = changed(Column::new("summary".into(), [b"x".as_slice(), b"y"]));
    assert!(error.contains("column summary") && error.contains("Binary"), "{error}");
    let error = changed(Column::new("prefix_steps".into(), [7.0, 9.5]));
    assert!(error.contains("row 2") && error.contains("prefix_steps") && error.contains("9.5"), "{error}");
    let error = changed(Column::new("boundary_id".into(), ["a", "a"]));
    assert!(error.contains("row 2") && error.contains("first on row 1"), "{error}");
}
