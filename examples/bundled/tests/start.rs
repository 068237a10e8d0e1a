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

/// A driver of the test's own, which is found before the system's: what `cuInit` and `cuDriverGetVersion` say.
#[cfg(target_os = "linux")]
fn driver(name: &str, init: u32, version: i32) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("layout-bundled-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = format!(
        "#[unsafe(no_mangle)] pub extern \"C\" fn cuInit(_: u32) -> u32 {{ {init} }}\n\
         #[unsafe(no_mangle)] pub extern \"C\" fn cuDriverGetVersion(out: &mut i32) -> u32 {{ *out = {version}; 0 }}\n\
         #[unsafe(no_mangle)] pub extern \"C\" fn cuDeviceGetCount(out: &mut i32) -> u32 {{ *out = 0; 0 }}\n"
    );
    let source = folder.join("driver.rs");
    std::fs::write(&source, text).expect("written");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(&source);
    let made = rustc.output().expect("rustc");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder
}

/// A machine: its name, what is set, what is unset, the words of a launch there, and the doctor's.
#[cfg(target_os = "linux")]
type Machine =
    (&'static str, Vec<(&'static str, String)>, Vec<&'static str>, &'static str, Vec<&'static str>);

#[cfg(target_os = "linux")]
#[test]
fn it_starts_on_every_machine_and_says_what_it_found() {
    let drivers = [driver("old", 0, 11_040), driver("none", 100, 13_000), driver("empty", 0, 13_000)];
    let [old, none, empty] =
        drivers.each_ref().map(|folder| ("LD_LIBRARY_PATH", folder.display().to_string()));
    let set = |name: &'static str, value: &str| (name, value.to_owned());
    let home = || vec!["HOME", "XDG_CACHE_HOME", "LAYOUT_CACHE"];
    let (too_old, unseen) = ("the driver is of CUDA 11.4, older than 12.0", "CUDA_ERROR_NO_DEVICE");
    let hidden = "GPU      none: CUDA_VISIBLE_DEVICES is ``";
    let machines: [Machine; 9] = [
        ("a driver that is too old", vec![old], vec![], too_old, vec![too_old]),
        ("a driver without a device", vec![none.clone()], vec![], unseen, vec![unseen]),
        (
            "a driver that hides all",
            vec![none, set("CUDA_VISIBLE_DEVICES", "")],
            vec![],
            unseen,
            vec![hidden],
        ),
        (
            "a driver that sees no GPU",
            vec![empty],
            vec!["CUDA_VISIBLE_DEVICES"],
            "the driver sees 0; see also CUDA_VISIBLE_DEVICES",
            vec!["driver   CUDA 13.0", "GPU      none\n"],
        ),
        ("no GPU is visible", vec![set("CUDA_VISIBLE_DEVICES", "")], vec![], "", vec![hidden]),
        (
            "a container without a home",
            vec![],
            home(),
            "",
            vec!["cache    none; name a folder in LAYOUT_CACHE"],
        ),
        (
            "a cache that cannot be written",
            vec![set("LAYOUT_CACHE", "/proc/none")],
            vec![],
            "",
            vec!["/proc/none is not used", "set LAYOUT_CACHE"],
        ),
        (
            "an NVRTC that is none",
            vec![set("LAYOUT_NVRTC", "/dev/null")],
            vec![],
            "",
            vec!["NVRTC    ", "/dev/null"],
        ),
        (
            "no NVRTC",
            vec![set("LAYOUT_NVRTC", "/no/such/place")],
            vec![],
            "",
            vec!["NVRTC    ", "/no/such/place"],
        ),
    ];
    for (what, settings, unset, words, doctor_words) in machines {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bundled"));
        for name in &unset {
            command.env_remove(name);
        }
        let output =
            command.envs(settings.iter().map(|(name, value)| (name, value))).output().expect("it starts");
        let (text, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{what}: {text}{errors}");
        assert!(text.contains(words), "{what}: {text}");
        if !words.is_empty() {
            // And where a GPU is asked for, the same words are an error.
            let asked = command.arg("gpu").output().expect("it starts");
            let errors = String::from_utf8_lossy(&asked.stderr);
            assert!(!asked.status.success() && errors.contains(words), "{what}: {errors}");
        }
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_bundled"));
        for name in &unset {
            doctor.env_remove(name);
        }
        let output = doctor.arg("doctor").envs(settings).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{what}: {text}");
        assert!(doctor_words.iter().all(|words| text.contains(words)), "{what}, {doctor_words:?}: {text}");
    }
    drivers.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
}
