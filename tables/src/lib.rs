//! Parquet and CSV tables of boundaries: the one crate that links polars.
