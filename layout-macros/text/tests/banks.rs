//! The bank conflicts that the compiler says of an access are those that the simulator counts when it runs the kernel.

use layout_compiler::{Elem, LaunchArgument, Promises, bank_conflicts, compile};
use layout_simulator::{Options, SimulatorArgument, simulate};

/// The ways of the write of a kernel of one warp, and the conflicts that the simulator counts at its line.
fn both(elem: &str, shared: &str, write: &str) -> (i64, u64) {
    let text = format!(
        "#[tiled_kernel(block = [32], grid = [1])]
fn one(y: &mut LayoutTensor<f32, RowMajor<32>>) {{
    let t = thread_idx.x;
    let mut s = shared::<{elem}>({shared});
    {write}
    y[[t]] = 1.0;
}}"
    );
    let kernel = layout_text::kernel(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let checked = compile(&kernel, &Default::default(), Promises::USUAL);
    let checked = checked.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let found = bank_conflicts(&checked);
    assert!(found.iter().all(|one| one.position.line == 5 && one.writes && one.tensor == "s"), "{found:?}");
    let tensor =
        LaunchArgument::Tensor { elem: Elem::F32, shape: &[32], strides: &[1], address: 256, len: 32 };
    let bound = checked.plan().bind(&[tensor], None).expect("it fits");
    let mut bytes = vec![0; 32 * 4];
    let options = Options { threads: 1, ..Options::default() };
    let report = simulate(&checked, &bound, &mut [SimulatorArgument::Write(&mut bytes)], &options);
    let report = report.expect("it runs");
    let counted = report.lines.iter().find(|(line, _)| *line == 5);
    (found.first().map_or(1, |one| one.ways), counted.map_or(0, |(_, counts)| counts.bank_conflicts))
}

#[test]
fn every_stride_conflicts_as_the_simulator_counts() {
    let mut seen = std::collections::BTreeSet::new();
    // Lanes that are served together, by the size of an element.
    for (elem, groups) in [("f32", 1), ("f64", 2), ("f16", 1)] {
        for stride in 1..=33 {
            let layout = format!("row_major([32, {stride}])");
            let (ways, counted) = both(elem, &layout, "s[[t, 0]] = 1.0;");
            assert_eq!((ways as u64 - 1) * groups, counted, "{elem} {layout}");
            seen.insert(ways);
        }
    }
    assert!(seen.len() > 4, "{seen:?}");
}

#[test]
fn guards_swizzles_and_rounds_count() {
    for (layout, write) in [
        ("row_major([32, 32])", "if t < 7 { s[[t, 0]] = 1.0; }"),
        ("row_major([32, 32])", "if t % 4 == 1 { s[[t, 3]] = 1.0; }"),
        ("row_major([32, 32])", "if t < 31 && t > 2 { s[[t, 3]] = 1.0; }"),
        ("row_major([32, 32]).swizzle(5, 0, 5)", "s[[t, 0]] = 1.0;"),
        ("row_major([32, 32]).swizzle(2, 0, 5)", "s[[t, 0]] = 1.0;"),
        ("row_major([32, 32]).swizzle(3, 2, 3)", "s[[t, 1]] = 1.0;"),
        ("layout([32, 32], [1, 32])", "s[[t / 8, t % 8]] = 1.0;"),
        ("row_major([1024])", "let i = (t * 37 + 5) % 64 * 4; s[[i]] = 1.0;"),
        ("row_major([1024])", "s[[(t ^ 5) * 8]] = 1.0;"),
    ] {
        let (ways, counted) = both("f32", layout, write);
        assert_eq!(ways as u64 - 1, counted, "{layout}: {write}");
    }
}
