//! Does nothing: its dependencies give the packages of build scripts and macros the features that the tests have.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
