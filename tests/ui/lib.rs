//! What the compiler says to a kernel that is wrong: one file of `cases` for each rule, its messages beside it.
//!
//! `TRYBUILD=overwrite cargo test -p layout-ui` writes the messages anew; read them before they are kept.

#[test]
fn ui() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
