//! A program that does nothing: what starting any program costs. `cargo xtask bench` compares the product with it.

fn main() {}
