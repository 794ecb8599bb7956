//! Parquet and CSV tables of boundaries: the one crate that links polars.
//!
//! polars reads and writes the containers; the content is checked by the corpus reader of the features crate, whatever
//! container it came in. So a Parquet corpus is turned into NDJSON lines, row by row, and read like any other.

use foldline_features::Table;
use foldline_features::corpus::FIELDS;
use polars::prelude::*;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Rows converted at a time, so that memory for text stays bounded by the compressed result.
const CHUNK_ROWS: usize = 4096;

/// A Parquet corpus as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// One line of JSON a row.
    pub lines: Vec<u8>,
    /// Columns that are no field of the native format, and were not read.
    pub unknown: Vec<String>,
}

/// Converts a Parquet corpus to NDJSON: the columns of the native format, lists and structs as they stand.
///
/// # Errors
/// A sentence when the file is no readable Parquet table, or a column is of a type that no line can hold.
pub fn parquet_to_ndjson(path: &Path) -> Result<Rows, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot be read as a Parquet table: {error}");
    let file = File::open(path).map_err(|error| cannot(&error))?;
    let mut reader = ParquetReader::new(file);
    let schema = guarded(|| reader.schema())?.map_err(|error| cannot(&error))?;
    let (known, unknown): (Vec<_>, Vec<_>) =
        schema.iter_values().partition(|column| FIELDS.contains(&column.name.as_str()));
    for column in &known {
        if let Some(problem) = unreadable(&column.name, &column.dtype) {
            return Err(problem);
        }
    }
    let names = |columns: &[&ArrowField]| columns.iter().map(|column| column.name.to_string()).collect::<Vec<_>>();
    let unknown = names(&unknown);
    let reader = reader.with_columns(Some(names(&known)));
    let frame = guarded(|| reader.finish())?.map_err(|error| cannot(&error))?;
    let mut lines = Vec::new();
    for start in (0..frame.height()).step_by(CHUNK_ROWS) {
        let mut chunk = frame.slice(start as i64, CHUNK_ROWS);
        guarded(|| JsonWriter::new(&mut lines).with_json_format(JsonFormat::JsonLines).finish(&mut chunk))?
            .map_err(|error| cannot(&error))?;
    }
    Ok(Rows { lines, unknown })
}

/// Why a column cannot become JSON: the path of the first part that is neither text, number, flag, list nor struct.
fn unreadable(path: &str, dtype: &ArrowDataType) -> Option<String> {
    use ArrowDataType as Type;
    match dtype {
        Type::List(item) | Type::LargeList(item) | Type::FixedSizeList(item, _) => {
            unreadable(&format!("{path}[]"), &item.dtype)
        }
        Type::Struct(fields) => {
            fields.iter().find_map(|field| unreadable(&format!("{path}.{}", field.name), &field.dtype))
        }
        Type::Utf8 | Type::LargeUtf8 | Type::Utf8View | Type::Boolean | Type::Null => None,
        Type::Float32 | Type::Float64 => None,
        Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 => None,
        Type::UInt8 | Type::UInt16 | Type::UInt32 | Type::UInt64 => None,
        other => Some(format!(
            "column {path} is of type {other:?}; expected text, numbers, true or false, lists or structs of them: \
             write the table again with it cast, or without it"
        )),
    }
}

/// polars panics on some damaged input; to a caller that is an error like any other.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .map_err(|_| "cannot be read as a Parquet table: it is damaged".to_owned())
}

/// A container of a feature table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Parquet; 0/1 columns are one list column of names.
    Parquet,
    /// CSV; 0/1 columns are one text column of names joined by a space.
    Csv,
}

/// Writes a feature table: `boundary_id`, one column per dense feature, and, where the representation has 0/1 columns,
/// the column `ones` with the names of those that are 1 (thousands of columns of zeros would serve nobody).
///
/// # Errors
/// A sentence when the table does not fit its ids or cannot be written.
pub fn write_features(ids: &[&str], table: &Table, format: Format, out: &mut dyn Write) -> Result<(), String> {
    let mut columns: Vec<Column> = vec![Column::new("boundary_id".into(), ids)];
    for (index, name) in table.columns().iter().take(table.n_dense()).enumerate() {
        columns.push(Column::new(name.as_str().into(), table.dense_column(index)));
    }
    if table.n_columns() > table.n_dense() {
        let names = |row: &foldline_features::Row| -> Vec<&str> {
            row.ones.iter().map(|&column| table.columns()[column as usize].as_str()).collect()
        };
        let ones = match format {
            Format::Parquet => {
                let lists: Vec<Series> =
                    table.rows().iter().map(|row| Series::new("ones".into(), names(row))).collect();
                Column::new("ones".into(), lists)
            }
            Format::Csv => {
                let joined: Vec<String> = table.rows().iter().map(|row| names(row).join(" ")).collect();
                Column::new("ones".into(), joined)
            }
        };
        columns.push(ones);
    }
    let cannot = |error: PolarsError| format!("cannot write the feature table: {error}");
    let mut frame = DataFrame::new(table.n_rows(), columns).map_err(cannot)?;
    match format {
        Format::Parquet => ParquetWriter::new(out).finish(&mut frame).map(drop).map_err(cannot),
        Format::Csv => CsvWriter::new(out).finish(&mut frame).map_err(cannot),
    }
}

/// Scores of one cell in one repetition, parallel to the boundaries' ids.
#[derive(Clone, Copy, Debug)]
pub struct ScoreBatch<'a> {
    /// The cell.
    pub cell: &'a str,
    /// The boundaries.
    pub ids: &'a [&'a str],
    /// The repetition, from 0.
    pub repetition: u32,
    /// The fold of every boundary; `None` where nothing was fitted.
    pub folds: Option<&'a [u32]>,
    /// The score of every boundary.
    pub scores: &'a [f64],
}

impl ScoreBatch<'_> {
    fn frame(&self) -> PolarsResult<DataFrame> {
        let n = self.ids.len();
        let folds: Vec<Option<u32>> = match self.folds {
            Some(folds) => folds.iter().copied().map(Some).collect(),
            None => vec![None; n],
        };
        let columns = vec![
            Column::new("cell".into(), vec![self.cell; n]),
            Column::new("boundary_id".into(), self.ids),
            Column::new("repetition".into(), vec![self.repetition; n]),
            Column::new("fold".into(), folds),
            Column::new("score".into(), self.scores),
        ];
        DataFrame::new(n, columns)
    }
}

/// Writes recorded scores as Parquet: columns `cell`, `boundary_id`, `repetition`, `fold` (null where nothing was
/// fitted) and `score`, one row group a batch.
///
/// # Errors
/// A sentence when they cannot be written.
pub fn write_scores<'a>(batches: impl Iterator<Item = ScoreBatch<'a>>, out: &mut dyn Write) -> Result<(), String> {
    let cannot = |error: PolarsError| format!("cannot write the scores: {error}");
    let empty = ScoreBatch { cell: "", ids: &[], repetition: 0, folds: None, scores: &[] };
    let schema = empty.frame().map_err(cannot)?.schema().clone();
    let mut writer = ParquetWriter::new(out).batched(&schema).map_err(cannot)?;
    for batch in batches {
        writer.write_batch(&batch.frame().map_err(cannot)?).map_err(cannot)?;
    }
    writer.finish().map(drop).map_err(cannot)
}

/// Takes a score: cell, boundary id, repetition and the score itself, or a sentence that says what is wrong with it.
pub type TakeScore<'a> = dyn FnMut(&str, &str, u32, f64) -> Result<(), String> + 'a;

/// Reads scores written by [`write_scores`], row by row.
///
/// # Errors
/// A sentence when the file is no such table, or the one of `take`, with the row.
pub fn read_scores(path: &Path, take: &mut TakeScore<'_>) -> Result<(), String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot be read as a Parquet table of scores: {error}");
    let file = File::open(path).map_err(|error| cannot(&error))?;
    let frame = guarded(|| ParquetReader::new(file).finish())?.map_err(|error| cannot(&error))?;
    let column = |name: &str| frame.column(name).map_err(|error| cannot(&error));
    let (cells, ids) = (column("cell")?, column("boundary_id")?);
    let (cells, ids) = (cells.str().map_err(|e| cannot(&e))?, ids.str().map_err(|e| cannot(&e))?);
    let repetitions = column("repetition")?.u32().map_err(|error| cannot(&error))?;
    let scores = column("score")?.f64().map_err(|error| cannot(&error))?;
    let rows = cells.iter().zip(ids.iter()).zip(repetitions.iter().zip(scores.iter()));
    for (row, fields) in rows.enumerate() {
        let ((Some(cell), Some(id)), (Some(repetition), Some(score))) = fields else {
            return Err(format!("row {}: a field is null", row + 1));
        };
        take(cell, id, repetition, score).map_err(|problem| format!("row {}: {problem}", row + 1))?;
    }
    Ok(())
}
