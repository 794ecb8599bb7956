//! What is replaced before anything is sent, what stays, and what that costs.

#![cfg(test)]

mod cost;
mod forms;
mod known;
mod properties;
mod texts;
