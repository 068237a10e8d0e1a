//! The program with its bundle where there is no NVRTC: on the simulator, and on a GPU where there is one.

use std::process::{Command, Output};

/// The program with an empty cache and no NVRTC.
fn bundled(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundled"));
    command.args(arguments).env("LAYOUT_NVRTC", "/no/such/place").env("LAYOUT_CACHE", "off");
    command.output().expect("it starts")
}

#[test]
fn it_runs_without_nvrtc() {
    let output = bundled(&[]);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!(text.matches("launch   ").count(), 2, "{text}");
    println!("{text}");
}

#[test]
fn a_gpu_that_is_not_there_is_an_error_in_words() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bundled")).arg("gpu").env("CUDA_VISIBLE_DEVICES", "").output();
    let output = output.expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    let words = ["no CUDA driver", "there is no GPU 0", "CUDA_ERROR_NO_DEVICE"];
    assert!(words.iter().any(|words| errors.contains(words)), "{errors}");
}
