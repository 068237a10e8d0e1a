//! A thread's own copy under one test for all of it: the same elements whatever the test depends on, no test where the pieces need
//! none, and what `explain` says of it.

use layout_compiler::{ParamSet, Promises, compile, explain};
use layout_cuda::testing::kernel;
use layout_cuda::{Device, tiled_kernel};

/// Where a copy begins is read from memory.
#[tiled_kernel(block = [32], grid = [1])]
fn gathered<const N: usize, const R: usize>(
    from: &LayoutTensor<u32, RowMajor<R>>,
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<R, 8>>,
) {
    for row in (thread_idx.x..R).step_by(32) {
        let start = from[[row]] as usize;
        let own = x.window([8], [start]).to_local();
        y.tile([1, 8], [row, 0]).copy_from(&own);
    }
}

/// Copies that begin before the first element, in a loop.
#[tiled_kernel(block = [32], grid = [1])]
fn shifted<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    for i in (thread_idx.x..N.div_ceil(8)).step_by(32) {
        let own = x.pad(-1.0).window([8], [(8 * i) as isize - 3]).to_local();
        y.tile([8], [i]).copy_from(&own);
    }
}

/// The kernel asks what its copies ask, and changes what they depend on.
#[tiled_kernel(block = [1], grid = [N.div_ceil(64)])]
fn moved_on<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut at = 64 * block_idx.x;
    for _ in 0..4 {
        if at + 15 < N {
            at += 8;
        }
        y.window([16], [at]).copy_from(&x.window([16], [at]));
        y.window([16], [at]).copy_from(&x.window([16], [at]));
    }
}

/// Copies under a test of the kernel's own.
#[tiled_kernel(block = [32], grid = [1])]
fn guarded<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    for i in (thread_idx.x..N.div_ceil(8)).step_by(32) {
        if 8 * i + 8 <= N {
            y.tile([8], [i]).copy_from(&x.tile([8], [i]));
        }
    }
}

#[test]
fn the_same_elements_whatever_the_test_depends_on() {
    let simulator = [Device::simulator()];
    kernel(&gathered::DEFINITION).devices(&simulator).values("from", 0..40u32).check(|case| {
        let (from, x, n) = (case.integers("from"), case.input("x"), case.size("N"));
        case.expect("y", |[row, j]| {
            let at = from[[row]] as usize + j;
            if at < n { x[[at]] } else { 0.0 }
        });
    });
    kernel(&shifted::DEFINITION).devices(&simulator).check(|case| {
        let x = case.input("x");
        case.expect("y", |[i]| if i >= 3 { x[[i - 3]] } else { -1.0 });
    });
    kernel(&moved_on::DEFINITION).devices(&simulator).check(|case| {
        let (x, before, n) = (case.input("x"), case.input("y"), case.size("N"));
        // The copies of a block, from where each begins.
        let copied = |i: usize| {
            (0..n.div_ceil(64)).any(|block| {
                let mut at = 64 * block;
                (0..4).any(|_| {
                    at += if at + 15 < n { 8 } else { 0 };
                    (at..at + 16).contains(&i)
                })
            })
        };
        case.expect("y", |[i]| if copied(i) { x[[i]] } else { before[[i]] });
    });
}

#[test]
fn only_copies_whose_pieces_ask_have_a_test_for_all() {
    let text = |definition: &layout_cuda::Definition| {
        let kernel = definition.kernel().expect("bytes of this version");
        let checked = compile(&kernel, &ParamSet::default(), Promises::USUAL).expect("a kernel");
        (layout_compiler::emit(&checked).text, explain(&checked).to_string())
    };
    let (guarded, said) = text(&guarded::DEFINITION);
    assert!(!guarded.contains("else") && !said.contains("masked"), "{guarded}\n{said}");
    let (shifted, said) = text(&shifted::DEFINITION);
    assert_eq!(shifted.matches("} else {").count(), 2, "{shifted}");
    assert!(said.contains("tested once for the whole"), "{said}");
    let denied = "#[tiled_kernel(block = [32], grid = [1], deny(masked))]
fn denied<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    for i in (thread_idx.x..N.div_ceil(8)).step_by(32) {
        y.tile([8], [i]).copy_from(&x.tile([8], [i]));
    }
}";
    let kernel = layout_text::kernel(denied).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let errors = compile(&kernel, &ParamSet::default(), Promises::USUAL).expect_err("masked").to_string();
    assert!(errors.contains("`x` is masked") && errors.contains("tested once"), "{errors}");
}
