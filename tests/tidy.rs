//! The rules about the text: how long functions are, how files open, who names whom, where `unsafe` is, and that documents
//! are true.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A source file: its path from the workspace's folder, and its text.
pub struct Source {
    pub path: String,
    pub text: String,
}

/// Every file of these endings in the packages.
pub fn sources(endings: &[&str]) -> Vec<Source> {
    let mut list = Vec::new();
    for package in ["layout-core", "layout-macros", "layout-cuda", "tests", "examples", "book"] {
        collect(&root().join(package), package, endings, &mut list);
    }
    assert!(list.len() > 5, "only {} files were found", list.len());
    list
}

fn collect(folder: &Path, name: &str, endings: &[&str], list: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("an entry").path();
        let own = path.file_name().expect("a name").to_string_lossy().into_owned();
        let below = format!("{name}/{own}");
        if path.is_dir() {
            // The files of `tests/ui/cases`, and the exercises, are half-written on purpose.
            if own != "target" && !["tests/ui/cases", "book/exercises"].contains(&below.as_str()) {
                collect(&path, &below, endings, list);
            }
        } else if endings.iter().any(|ending| own.ends_with(ending)) {
            list.push(Source { path: below, text: std::fs::read_to_string(&path).expect("a text") });
        }
    }
}

/// Fails with all that was found, not with the first.
pub fn none(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

/// The lines of code, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim_start()));
    lines.filter(|(_, line)| !line.starts_with("//"))
}

/// The functions of a formatted text: name, first line, and number of lines.
fn functions(text: &str) -> Vec<(&str, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let own = line.trim_start();
        let indent = &line[..line.len() - own.len()];
        let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "unsafe ", "extern \"C\" "];
        let rest = words.iter().fold(own, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
        let Some(rest) = rest.strip_prefix("fn ") else { continue };
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        // Its end is the first brace that is where it begins.
        let ends = |line: &&str| line.strip_prefix(indent) == Some("}");
        let closing = lines[number..].iter().position(ends);
        let opens = !own.ends_with(['}', ';']);
        found.push((name, number + 1, closing.filter(|_| opens).map_or(1, |count| count + 1)));
    }
    found
}

#[test]
fn no_function_is_longer_than_120_lines() {
    // Each is one `match` over the whole of a table, an arm a row.
    let tables = ["intrinsic", "boxes", "asynchronous", "stub"];
    let (mut long, mut count) = (Vec::new(), 0);
    for Source { path, text } in sources(&[".rs"]) {
        for (name, line, lines) in functions(&text) {
            count += 1;
            let table = path.starts_with("layout-macros/compiler/src/") && tables.contains(&name)
                || path.starts_with("tests/differential/") && name == "statement";
            if lines > 120 && !table {
                long.push(format!("{path}:{line}: `{name}` has {lines} lines"));
            }
        }
    }
    none(long, "a function has at most 120 lines");
    assert!(count > 2000, "only {count} functions were found");
    let text =
        "fn a() {\n    fn b() {}\n    if x {\n    }\n}\n\npub(crate) const fn c<T>(\n) -> u8 {\n    1\n}\n";
    assert_eq!(functions(text), [("a", 1, 5), ("b", 2, 1), ("c", 7, 4)]);
}

#[test]
fn every_file_opens_with_what_it_is() {
    let silent = sources(&[".rs"]).into_iter().filter(|source| !source.text.starts_with("//! "));
    none(silent.map(|source| source.path).collect(), "a file opens with `//!`: what it is, and its law");
    let silent = sources(&[".cuh", ".template"]).into_iter().filter(|source| !source.text.starts_with("// "));
    none(silent.map(|source| source.path).collect(), "a device file opens with a comment");
}

/// The source files that name one of the words in code, not in a test.
fn files_naming<'a>(texts: &'a [Source], words: &[&str]) -> Vec<&'a str> {
    let named = texts.iter().filter(|source| {
        let own = source.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let tests = source.path.contains("/tests/") || source.path.ends_with("tests.rs");
        let uses = ["layout-cuda/kernels/", "examples/"].iter().any(|folder| source.path.starts_with(folder));
        let inside = source.path.contains("/src/") && !tests && !uses;
        inside && code(own).any(|(_, line)| words.iter().any(|word| line.contains(word)))
    });
    named.map(|source| source.path.as_str()).collect()
}

#[test]
fn few_files_name_a_word() {
    // An elementwise word is its row, its meaning, its stub, and a function in C where CUDA has none. An instruction that
    // orders: its row, its stub, how it is specialised, its signal, its text and wrapper, the simulator's step, work, dispatch
    // and meaning. An operation is a tile's first, and checked: three more. Those that are here have names that mean nothing
    // else; of an instruction each name that it has on its way.
    let words: [(&[&str], usize); 16] = [
        (&["Cbrt"], 4),
        (&["cbrt"], 4),
        (&["Atan2"], 4),
        (&["atan2"], 4),
        (&["SaturatingMul"], 4),
        (&["SwapBytes"], 4),
        (&["swap_bytes"], 4),
        (&["funnel_shift_left"], 4),
        // From here on one more: what it does to a certificate's counters.
        (&["BulkWait", "bulk_wait"], 11),
        // Two more: the check of registers in flight and the fences of accumulators are about it.
        (&["MatrixWait", "WgmmaWait", "wgmma_wait"], 13),
        (&["AsyncProxyFence", "FenceAsyncProxy", "fence_async_proxy"], 10),
        (&["NamedBarrier", "named_barrier"], 10),
        (&["LaunchDependents", "launch_dependents"], 10),
        (&["BarrierArrive", "ArriveExpect", "arrive_expect"], 11),
        // One more: what others call it leads there. Two more: a certificate counts what is in flight, and has its boxes apart.
        (&["TensorStore", "TmaStore", "tensor_store", "tma_store"], 17),
        (&["RemoteStore", "StoreAsync", "remote_store", "store_async"], 14),
    ];
    let texts: Vec<Source> = sources(&[".rs", ".cuh", ".template"]);
    let mut found = Vec::new();
    for (names, most) in words {
        let named = files_naming(&texts, names);
        assert!(named.len() >= 2, "{names:?} is named in {named:?} only");
        if named.len() > most {
            let list = named.join(", ");
            found.push(format!("{names:?}: {} files, at most {most}: {list}", named.len()));
        }
    }
    none(found, "few files name a word");
}

/// An arm of a `match`: its line, and its pattern without what is behind `if`.
type Arm = (usize, String);

/// The arms of each `match` of a formatted text.
fn matches(text: &str) -> Vec<Vec<Arm>> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut all = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let own = line.trim_start();
        if own.starts_with("//") || !(own.starts_with("match ") || own.contains(" match ")) {
            continue;
        }
        // Its arms are four further in than the line that opens it, up to the brace that is where that does.
        let Some(opens) = lines[number..].iter().position(|line| line.ends_with('{')) else { continue };
        let column = indent(lines[number + opens]);
        let inside = lines.iter().enumerate().skip(number + opens + 1);
        let inside = inside.take_while(|(_, line)| line.trim().is_empty() || indent(line) > column);
        let (mut arms, mut pattern): (Vec<Arm>, Option<Arm>) = (Vec::new(), None);
        for (at, line) in inside {
            let own = line.trim_start();
            if pattern.is_none()
                && indent(line) == column + 4
                && !own.starts_with(['{', '}', ')', ']', '/', '#'])
            {
                pattern = Some((at + 1, String::new()));
            }
            let Some((_, text)) = &mut pattern else { continue };
            text.push_str(own.split("=>").next().unwrap_or_default());
            text.push(' ');
            if own.contains("=>") {
                arms.extend(pattern.take());
            }
        }
        let bare = |pattern: String| pattern.split(" if ").next().unwrap_or_default().trim().to_owned();
        all.push(arms.into_iter().map(|(at, pattern)| (at, bare(pattern))).collect());
    }
    all
}

/// Whether a pattern is names and `_`.
fn takes_all(pattern: &str) -> bool {
    let mut words = pattern.split(|c: char| !c.is_alphanumeric() && !"_:\"'".contains(c));
    !pattern.contains("[]")
        && words.all(|word| {
            let name = word.starts_with(|c: char| c.is_lowercase() || c == '_') && !word.contains("::");
            word.is_empty() || name && !["true", "false"].contains(&word)
        })
}

/// The arms that take whatever is left of a statement, an operation or a signal.
fn leftovers(text: &str) -> Vec<Arm> {
    let mut found = Vec::new();
    for arms in matches(text) {
        let names = |name: &str| arms.iter().any(|(_, pattern)| pattern.contains(name));
        if !["StatementKind::", "Operation::", "Signal::"].into_iter().any(names) {
            continue;
        }
        // So do names in what a statement holds, where another arm asks for one kind of it.
        let held = ["Operation", "Signal"].map(|kind| format!("StatementKind::{kind}("));
        let asked = ["Operation", "Signal"].map(|kind| names(&format!("StatementKind::{kind}({kind}::")));
        let rest = |pattern: &str| {
            held.iter().zip(asked).filter(|(_, asked)| *asked).any(|(held, _)| {
                let mut inner = pattern.split(held.as_str()).skip(1);
                inner.any(|inner| inner.split(')').next().is_some_and(takes_all))
            })
        };
        found.extend(arms.iter().filter(|(_, pattern)| takes_all(pattern) || rest(pattern)).cloned());
    }
    found
}

#[test]
fn no_arm_takes_the_rest_of_the_program() {
    let compiler = ["program", "check", "emit"].map(|stage| format!("layout-macros/compiler/src/{stage}"));
    let stages = compiler.iter().map(String::as_str).chain(["layout-cuda/simulator/src/"]);
    let stages: Vec<&str> = stages.collect();
    let (mut found, mut matches) = (Vec::new(), 0);
    for Source { path, text } in sources(&[".rs"]) {
        if stages.iter().any(|stage| path.starts_with(*stage)) {
            matches += text.matches("StatementKind::Signal(").count();
            found.extend(leftovers(&text).iter().map(|(line, arm)| format!("{path}:{line}: `{arm} =>`")));
        }
    }
    none(
        found,
        "a match names each kind, so that the compiler reports a new one: do so, or use `program::walk`",
    );
    assert!(matches > 20, "only {matches} statements were found");
    let arms = |body: &str| leftovers(&format!("fn f() {{\n    match kind {{\n{body}    }}\n}}\n"));
    let planted = [
        "        StatementKind::Break => {}\n        _ => {}\n",
        "        StatementKind::Let(_, Some(value)) => go(value),\n        other => rest(other),\n",
        "        Operation::Move { .. } | Operation::Mma(_) => {}\n        _ if odd => {}\n        _ => return,\n",
        "        (Signal::BulkCommit, true) => {\n            go();\n        }\n        (_, _) => {}\n",
        "        StatementKind::Signal(Signal::BulkCommit) => {}\n        StatementKind::Break\n        | StatementKind::Signal(_) => {}\n",
        "        StatementKind::Operation(Operation::Mma(mma)) => go(mma),\n        StatementKind::Operation(rest) => all(rest),\n",
    ];
    for body in planted {
        assert!(!arms(body).is_empty(), "this passes:\n{body}");
    }
    let right = [
        "        StatementKind::Break => {}\n        StatementKind::Operation(one) => go(one),\n",
        "        Signal::BulkCommit => match other {\n            Some(1) => {}\n            _ => {}\n        },\n        Signal::BulkWait { .. } => {}\n",
        "        Atom::Dim { .. } => {}\n        _ => {}\n",
        "        [] => {}\n        [Statement { kind: StatementKind::Break, .. }, ..]\n            if odd =>\n        {\n            go();\n        }\n        [Statement { .. }, ..] => {}\n",
    ];
    for body in right {
        assert_eq!(arms(body), [], "this is refused:\n{body}");
    }
}

/// The modules of the simulator in the order of their layers, each with the modules that it may name.
const SIMULATOR: [(&str, &[&str]); 21] = [
    ("register", &[]),
    ("report", &[]),
    ("options", &[]),
    ("error", &[]),
    ("findings", &["report"]),
    ("printed", &["report"]),
    ("progress", &[]),
    ("memory", &["register"]),
    ("async_op", &["register", "memory"]),
    ("bytecode", &["register", "async_op"]),
    ("arithmetic", &["bytecode"]),
    ("state", &["memory", "async_op", "bytecode"]),
    ("event", &["report", "findings", "printed", "memory", "async_op", "bytecode", "state"]),
    ("trail", &["memory", "bytecode", "state", "event"]),
    ("machine", &["report", "findings", "memory", "bytecode", "state", "event", "trail"]),
    ("compile", &["options", "error", "memory", "async_op", "bytecode", "arithmetic"]),
    (
        "actors",
        &["report", "findings", "memory", "async_op", "bytecode", "arithmetic", "state", "event", "machine"],
    ),
    ("schedule", &["report", "findings", "memory", "bytecode", "state", "event", "machine"]),
    (
        "analysis",
        &[
            "report", "options", "error", "findings", "memory", "async_op", "bytecode", "state", "event",
            "machine",
        ],
    ),
    ("workers", &["report", "options", "findings", "printed", "progress", "bytecode", "machine"]),
    (
        "debug",
        &[
            "report", "options", "findings", "memory", "bytecode", "state", "machine", "schedule", "workers",
            "trail",
        ],
    ),
];

#[test]
fn modules_of_the_simulator_name_the_layers_below() {
    // Each module is a file or a folder; `lib.rs` and the tests may name all of them.
    let folder = "layout-cuda/simulator/src/";
    for (number, (module, below)) in SIMULATOR.iter().enumerate() {
        let upward = below.iter().find(|name| SIMULATOR[..number].iter().all(|(lower, _)| lower != *name));
        assert_eq!(upward, None, "`{module}` is below a module that it names");
    }
    let (mut found, mut files) = (Vec::new(), 0);
    for Source { path, text } in sources(&[".rs"]) {
        let Some(own) = path.strip_prefix(folder) else { continue };
        let module = own.split(['/', '.']).next().unwrap_or_default();
        if matches!(module, "lib" | "tests") {
            continue;
        }
        let Some((_, below)) = SIMULATOR.iter().find(|(name, _)| *name == module) else {
            found.push(format!("{path}: no row of the table"));
            continue;
        };
        files += 1;
        // `super` must not leave the module: what a file names of another one begins with `crate`.
        let depth = own.matches('/').count() - usize::from(own.ends_with("/mod.rs"));
        let leaving = "super::".repeat(depth + 1);
        for (line, text) in code(&text) {
            let named = text.split("crate::").skip(1);
            let mut named =
                named.filter_map(|rest| rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next());
            let wrong = named.any(|name| name != module && !below.contains(&name));
            let wrong = wrong || text.contains(&leaving);
            let mutable = module == "analysis" && text.contains("&mut Machine");
            if wrong || mutable {
                found.push(format!("{path}:{line}: {}", text.trim()));
            }
        }
    }
    assert!(files > 70, "only {files} files were read");
    none(
        found,
        "a module of the simulator names the layers below it, and an analysis cannot change the machine",
    );
}

#[test]
fn the_algebra_names_no_word_of_the_language() {
    let mut found = Vec::new();
    for Source { path, text } in sources(&[".rs"]) {
        let inside = ["lang/", "lib.rs", "library.rs"];
        let Some(own) = path.strip_prefix("layout-core/src/") else { continue };
        if inside.iter().any(|inside| own.starts_with(inside)) {
            continue;
        }
        let lines = code(&text).filter(|(_, line)| line.contains("lang::") || line.contains("::lang"));
        found.extend(lines.map(|(number, line)| format!("{path}:{number}: {line}")));
    }
    none(found, "nothing of layout-core outside of lang/ names `lang`");
}

#[test]
fn unsafe_is_in_layout_cuda_only() {
    // An example of layout-cuda that measures plain cudarc has to launch as cudarc does; the peers of benchmarks are C
    // libraries; DLPack hands pointers over, and Python's libraries their streams.
    let named_here = [
        "layout-cuda/examples/overhead.rs",
        "examples/bench/src/cublas.rs",
        // Ranks that trust one another's calls, to be measured without their meetings.
        "examples/bench/src/mesh/mod.rs",
        // It takes the bundle that its own build.rs made.
        "examples/bundled/src/main.rs",
        // New memory of candle's, of any content.
        "examples/candle/src/cuda.rs",
        "layout-cuda/dlpack/src/described.rs",
        "layout-cuda/dlpack/src/export.rs",
        "layout-cuda/dlpack/src/import.rs",
        "layout-cuda/dlpack/src/lib.rs",
        "layout-cuda/dlpack/src/stream.rs",
        "layout-cuda/dlpack/tests/exchange.rs",
        // NCCL's functions are C, and take addresses.
        "layout-cuda/mesh/src/nccl/communicator.rs",
        "layout-cuda/mesh/src/nccl/library.rs",
        "layout-cuda/mesh/src/copies.rs",
        "layout-cuda/mesh/src/member.rs",
        "layout-cuda/mesh/src/reshard/pairs.rs",
        "layout-cuda/mesh/src/reshard/reach.rs",
        // A driver that is C to cudarc, and a process that has it; graphs, whose recording is a duty of the caller's.
        "layout-cuda/stub/src/calls.rs",
        "layout-cuda/stub/src/channel.rs",
        "layout-cuda/stub/src/graphs.rs",
        // It counts allocations.
        "layout-cuda/stub/tests/order/allocations.rs",
        "layout-cuda/stub/tests/order/cases.rs",
        "layout-cuda/stub/tests/order/memory.rs",
        "layout-cuda/stub/tests/order/random.rs",
        "layout-cuda/stub/tests/order/stub.rs",
        // A step of the model as a graph, whose recording is a duty of the caller's.
        "examples/llama/src/engine.rs",
        "layout-cuda/tests/sequences.rs",
        "layout-cuda/tests/streams.rs",
        "layout-cuda/python/src/kernel.rs",
        "layout-cuda/python/src/operand.rs",
    ];
    let mut found = Vec::new();
    for Source { path, text } in sources(&[".rs"]) {
        if path.starts_with("layout-cuda/src/") {
            continue;
        }
        let words = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait", "allow(unsafe"];
        // Not what is in a string.
        let named =
            |line: &str| line.split('"').step_by(2).any(|part| words.iter().any(|word| part.contains(word)));
        let lines = code(&text).filter(|(_, line)| named(line));
        let lines = lines.filter(|_| !named_here.contains(&path.as_str()));
        found.extend(lines.map(|(number, line)| format!("{path}:{number}: {line}")));
    }
    none(found, "`unsafe` is in layout-cuda only");
    for library in ["layout-core", "layout-macros/compiler", "layout-cuda/simulator", "layout-macros"] {
        let text = std::fs::read_to_string(root().join(library).join("src/lib.rs")).expect("a library");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{library} forbids unsafe code");
    }
}

/// How many lines of `layout-cuda/src` name `unsafe`, file by file: one more is to be seen in review.
const UNSAFE: &[(&str, usize)] = &[
    ("allocation.rs", 6),
    ("argument.rs", 6),
    ("assertion.rs", 3),
    ("bundle/taken.rs", 1),
    ("driver.rs", 1),
    ("element.rs", 3),
    ("float8.rs", 3),
    ("gpu_tests.rs", 1),
    ("graph.rs", 17),
    ("launch.rs", 2),
    ("loader.rs", 3),
    ("module.rs", 3),
    ("nvrtc/library.rs", 27),
    ("order.rs", 11),
    ("tensor.rs", 3),
    ("tensor_map.rs", 1),
    ("transfer.rs", 9),
    ("trusted.rs", 1),
    ("view.rs", 2),
];

#[test]
fn unsafe_is_counted() {
    let mut found: Vec<(String, usize)> = Vec::new();
    for Source { path, text } in sources(&[".rs"]) {
        let Some(own) = path.strip_prefix("layout-cuda/src/") else { continue };
        let words = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait"];
        let count = code(&text).filter(|(_, line)| words.iter().any(|word| line.contains(word))).count();
        if count > 0 {
            found.push((own.to_string(), count));
        }
    }
    found.sort();
    let known: Vec<(String, usize)> = UNSAFE.iter().map(|(own, count)| (own.to_string(), *count)).collect();
    assert_eq!(
        found, known,
        "each block says in `// SAFETY:` what it relies on, and who keeps it: count it in `UNSAFE`"
    );
}

#[test]
fn packages_depend_on_those_below() {
    let below: [(&str, &[&str]); 5] = [
        ("layout-core", &[]),
        ("layout-macros/compiler", &["layout-core"]),
        ("layout-cuda/simulator", &["layout-compiler", "layout-core"]),
        ("layout-macros", &["layout-compiler", "layout-core", "proc-macro2", "quote", "syn"]),
        // The server is over the text front end, and no package over it.
        ("layout-macros/lsp", &["layout-compiler", "layout-text", "lsp-server", "lsp-types", "serde_json"]),
    ];
    for (package, expected) in below {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a manifest");
        let section = manifest.split("\n[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        // Optional ones come only with a feature that is off by default.
        let always = section.lines().filter(|line| !line.contains("optional = true"));
        let names: Vec<&str> =
            always.filter_map(|line| line.split_once(['=', '.'])).map(|(name, _)| name.trim()).collect();
        assert_eq!(names, expected, "the dependencies of {package}");
    }
}

#[test]
fn generated_code_names_layout_cuda_only() {
    for definition in ["layout_core", "layout_compiler", "layout_simulator", "layout_macros"] {
        let mut found = Vec::new();
        for Source { path, text } in sources(&[".rs"]) {
            if !path.starts_with("layout-macros/src/expand") {
                continue;
            }
            let needle = format!("::{definition}");
            let lines = code(&text).filter(|(_, line)| line.contains(&needle));
            found.extend(lines.map(|(number, line)| format!("{path}:{number}: {line}")));
        }
        none(found, "generated code names only `::layout_cuda`");
    }
}

#[test]
fn no_test_is_switched_off() {
    let mut found = Vec::new();
    for Source { path, text } in sources(&[".rs"]) {
        if path == "tests/tidy.rs" {
            continue;
        }
        let lines = code(&text)
            .filter(|(_, line)| line.starts_with("#[ignore") || line.starts_with("#[should_panic"));
        found.extend(lines.map(|(number, line)| format!("{path}:{number}: {line}")));
    }
    none(found, "no `#[ignore]`, no `#[should_panic]`");
}

/// What is between backquotes or in the brackets of a link.
fn quoted(text: &str) -> Vec<String> {
    let code = text.split('`').skip(1).step_by(2);
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    code.chain(links).map(str::to_owned).collect()
}

/// A path with the folder that ARCHITECTURE.md abbreviates.
fn in_full(word: &str) -> String {
    let folders = [
        ("core/", "layout-core/src/"),
        ("compiler/", "layout-macros/compiler/src/"),
        ("simulator/", "layout-cuda/simulator/src/"),
    ];
    let known = folders.iter().find_map(|(short, full)| Some(format!("{full}{}", word.strip_prefix(short)?)));
    known.unwrap_or_else(|| word.to_owned())
}

/// Whether a word names a file or a folder of the repository.
fn is_path(word: &str) -> bool {
    let known = ["layout-core/", "layout-macros/", "layout-cuda/", "tests/", "examples/", "book/", ".ci/"];
    known.iter().any(|known| word.starts_with(known)) && !word.contains([' ', '*', '<'])
}

#[test]
fn the_documents_name_paths_that_exist() {
    let mut found = Vec::new();
    let mut count = 0;
    for document in
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "tests/README.md", "tests/records/README.md"]
    {
        let text =
            std::fs::read_to_string(root().join(document)).unwrap_or_else(|e| panic!("{document}: {e}"));
        let fences: String = text.split("```").step_by(2).collect();
        for word in quoted(&fences) {
            let path = in_full(&word);
            if !is_path(&path) {
                continue;
            }
            count += 1;
            if !root().join(path).exists() {
                found.push(format!("{document}: {word}"));
            }
        }
    }
    none(found, "a document names a path that is not there");
    assert!(count > 20, "only {count} paths were found in the documents");
}

#[test]
fn every_file_of_tests_is_in_their_readme() {
    let text = std::fs::read_to_string(root().join("tests/README.md")).expect("the README of the tests");
    let paths = sources(&[".rs"]).into_iter().map(|source| source.path);
    let own = paths.filter(|path| path.matches('/').count() == 1 && path.starts_with("tests/"));
    let unnamed = own.filter(|path| !["tests/root.rs", "tests/lib.rs"].contains(&path.as_str()));
    none(
        unnamed.filter(|path| !text.contains(path.as_str())).collect(),
        "tests/README.md names each file of tests",
    );
}

#[test]
fn the_commands_of_the_readme_exist() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let examples = std::fs::read_to_string(root().join("examples/Cargo.toml")).expect("a manifest");
    let mut commands = 0;
    for (place, _) in text.match_indices("--example ") {
        let rest = &text[place + "--example ".len()..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let own = examples.contains(&format!("name = \"{name}\""));
        let of_cuda = root().join(format!("layout-cuda/examples/{name}.rs")).exists();
        assert!(own || of_cuda, "the README runs the example `{name}`, which is nowhere");
        commands += 1;
    }
    for (place, _) in text.match_indices("--bin ") {
        let name: String =
            text[place + "--bin ".len()..].chars().take_while(char::is_ascii_alphanumeric).collect();
        let program = root().join(format!("examples/bench/src/bin/{name}.rs"));
        assert!(program.exists(), "the README runs the program `{name}`, which is nowhere");
        commands += 1;
    }
    for (place, _) in text.match_indices("bash ") {
        let script: String =
            text[place + 5..].chars().take_while(|c| !c.is_whitespace() && *c != '`' && *c != ')').collect();
        assert!(root().join(&script).exists(), "the README runs `{script}`, which is nowhere");
        commands += 1;
    }
    assert!(commands >= 2, "{commands} commands");
}

#[test]
fn the_readme_is_two_screens_and_shows_what_is_shipped() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the README");
    assert!(text.lines().count() <= 160, "{} lines", text.lines().count());
    let shown = text.split("```rust\n").nth(1).and_then(|rest| rest.split("\nfn main()").next());
    let (_, kernel) = shown.and_then(|shown| shown.split_once("\n\n")).expect("a kernel before `main`");
    let shipped = sources(&[".rs"]).into_iter().any(|source| {
        source.path.starts_with("examples/kernels/") && source.text.contains(kernel.trim_end())
    });
    assert!(shipped, "no kernel of the examples is the README's:\n{kernel}");
}

#[test]
fn the_root_of_the_examples_has_rooms_only() {
    let entries = std::fs::read_dir(root().join("examples")).expect("the examples");
    let files = entries.map(|entry| entry.expect("an entry")).filter(|entry| entry.path().is_file());
    let names: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let others = names.into_iter().filter(|name| !["Cargo.toml", "lib.rs"].contains(&name.as_str()));
    none(others.collect(), "at the root of examples there are its manifest and lib.rs");
}

#[test]
fn the_sources_name_no_place_of_one_machine() {
    let mut found = Vec::new();
    let places = ["/home/", "/root/", "/work/", "/Users/", "target/debug/"];
    let endings = [".rs", ".cuh", ".sh", ".snap", ".toml", ".md", ".stderr", ".jsonl", ".txt"];
    let own = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "Cargo.toml", ".ci/run"].map(|path| Source {
        path: path.to_owned(),
        text: std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}")),
    });
    for Source { path, text } in sources(&endings).into_iter().chain(own) {
        // Made-up machines of the search's own tests; and the words above.
        if path == "layout-cuda/src/nvrtc/search.rs" || path == "tests/tidy.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if places.iter().any(|place| line.contains(place)) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    none(found, "a path of one machine");
}
