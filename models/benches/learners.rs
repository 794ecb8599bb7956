//! How long one fit and one score take, on synthetic matrices of the shapes of H, R1 and R3.

fn main() {}
