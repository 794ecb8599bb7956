//! Importers: every format against counted samples, real trajectories against published boundaries, damaged logs.
#![cfg(feature = "import")]

mod appworld;
mod bad_input;
mod clients;
mod formats;
mod support;
