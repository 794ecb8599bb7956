//! Speed of the estimators on a cohort of the paper's size.

fn main() {
    divan::main();
}
