//! What the compiler says to a kernel that is wrong: one file of `cases` for each rule, its messages beside it.
//!
//! `TRYBUILD=overwrite cargo test -p layout-ui` writes the messages anew; read them before they are kept.

#[test]
fn ui() {
    /// What `.ci/run` compiles the tests by: its lints are not what users see.
    const WRAPPER: &str = "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER";
    if std::env::var_os(WRAPPER).is_some() {
        let own = std::env::current_exe().expect("the test's own path");
        let mut plain = std::process::Command::new(own);
        plain.args(["--exact", "ui", "--nocapture"]).env_remove(WRAPPER);
        assert!(plain.status().expect("a process").success(), "see above");
        return;
    }
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
