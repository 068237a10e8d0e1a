//! The attribute, and what a launch makes of it: expressions, constants, filters, the set that fits the tensors.

use layout_cuda::{
    BindError, Device, Elem, Error, LaunchConfig, LaunchError, ParamSet, ParamValue, Promises,
};
use layout_cuda::{tiled_kernel, tiled_kernels};

fn keys(variants: &[layout_cuda::Variant]) -> Vec<&str> {
    variants.iter().map(|variant| variant.key).collect()
}

fn int(name: &str, value: i64) -> ParamSet {
    ParamSet::default().with(name, ParamValue::Int(value))
}

fn with(set: &ParamSet) -> LaunchConfig<'_> {
    LaunchConfig { set: Some(set), ..LaunchConfig::default() }
}

#[tiled_kernel(WGS = [1, 2], BM = 64 * WGS, T = [f32, f64], filter(WGS == 1 || T == f64), block = [BM], grid = [N.div_ceil(BM)])]
fn computed<T, const N: usize>(x: &mut LayoutTensor<T, RowMajor<N>>) {
    // Without a divisor of zero in rustc's copy.
    const WIDE: usize = 16 / size_of::<T>();
    let i = block_idx.x * BM + thread_idx.x;
    if i < N {
        x[[i]] = ((WIDE + BM) as f32).cast::<T>();
    }
}

#[test]
fn a_parameter_may_be_an_expression_and_a_filter_chooses() -> Result<(), Error> {
    assert_eq!(keys(computed::variants()), ["WGS1_BM64_Tf32", "WGS1_BM64_Tf64", "WGS2_BM128_Tf64"]);
    let device = Device::simulator();
    let stream = device.stream();
    let mut single = device.zeros::<f32, 1>([100])?;
    computed::launch(&stream, &mut single)?;
    assert_eq!(single.download()?[99], 68.0);
    let mut double = device.zeros::<f64, 1>([100])?;
    // A part of a set: what it leaves out is the attribute's; the type is the tensor's.
    computed::launch_with(with(&int("WGS", 2)), &stream, &mut double)?;
    assert_eq!(double.download()?[99], 130.0);
    // Not listed, and so not filtered.
    computed::launch_with(with(&int("WGS", 4)), &stream, &mut single)?;
    assert_eq!(single.download()?[99], 260.0);
    Ok(())
}

#[test]
fn what_contradicts_the_attribute_is_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let mut x = device.zeros::<f32, 1>([100])?;
    let mut said = |config: LaunchConfig<'_>| {
        computed::launch_with(config, &stream, &mut x).expect_err("refused").to_string()
    };
    let text = said(with(&int("BN", 2).with("STAGES", ParamValue::Int(2))));
    assert!(text.contains("no parameter `BN`, `STAGES`") && text.contains("`WGS`, `BM`, `T`"), "{text}");
    let text = said(with(&int("BM", 100)));
    assert!(text.contains("`BM` is 64 by the attribute, 100 was asked for"), "{text}");
    let text = said(with(&int("T", 1)));
    assert!(text.contains("`T` is an element type, and 1 is an integer"), "{text}");
    let text = said(with(&ParamSet::default().with("T", ParamValue::Type(Elem::F64))));
    assert!(text.contains("argument `x` is a tensor of f64, a tensor of f32 was given"), "{text}");
    let text = said(LaunchConfig { grid: Some([4, 1, 1]), ..LaunchConfig::default() });
    assert!(text.contains("a `grid` of its own"), "{text}");
    // Every parameter without a value, at once.
    let kernel = computed::DEFINITION.kernel().expect("bytes of this version");
    let errors = layout_compiler::compile(&kernel, &ParamSet::default(), Promises::default());
    let text = errors.expect_err("no values").to_string();
    assert!(text.contains("no value for `WGS`, `BM`, `T`"), "{text}");
    Ok(())
}

#[tiled_kernel(D = [64, 128], block = [32], grid = [M])]
fn halved<const M: usize, const D: usize>(x: &mut LayoutTensor<f32, RowMajor<M, D>>) {
    let mut row = x.tile([1, D], [block_idx.x, 0]).distribute(row_major([1, 32]), thread_idx.x);
    for k in unroll(0..D / 32) {
        row[[0, k]] = row[[0, k]] * 0.5 + D as f32;
    }
}

#[test]
fn a_launch_takes_the_listed_set_that_fits_its_tensors() -> Result<(), Error> {
    let device = Device::simulator();
    for d in [128, 64, 128] {
        let mut x = device.upload(&vec![2.0f32; 3 * d], [3, d])?;
        halved::launch(&device.stream(), &mut x)?;
        assert_eq!(x.download()?, vec![1.0 + d as f32; 3 * d]);
        assert!(halved::simulate(&mut x)?.findings.is_empty());
    }
    let mut x = device.zeros::<f32, 2>([3, 96])?;
    let error = halved::launch(&device.stream(), &mut x).expect_err("96 is not listed");
    assert!(error.to_string().contains("extent 96 in mode 1, the kernel is for 64"), "{error}");
    let asked = int("D", 64);
    let mut x = device.zeros::<f32, 2>([3, 128])?;
    assert!(halved::launch_with(with(&asked), &device.stream(), &mut x).is_err());
    Ok(())
}

#[tiled_kernel(K = 8, block = [32], grid = [M.div_ceil(32)])]
fn differences<const M: usize, const K: usize>(
    x: &LayoutTensor<f32, RowMajor<{ M + 1 }>>,
    halves: &LayoutTensor<f32, RowMajor<M, { K / 2 }>>,
    y: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < M {
        y[[i]] = x[[i + 1]] - x[[i]] + halves[[i, K / 2 - 1]] + x.dim(0) as f32;
    }
}

#[test]
fn an_extent_may_be_an_expression() -> Result<(), Error> {
    let device = Device::simulator();
    let x = device.upload(&(0..41).map(|i| (i * i) as f32).collect::<Vec<_>>(), [41])?;
    let halves = device.upload(&(0..160).map(|i| i as f32).collect::<Vec<_>>(), [40, 4])?;
    let mut y = device.zeros::<f32, 1>([40])?;
    differences::launch(&device.stream(), &x, &halves, &mut y)?;
    let wanted: Vec<f32> = (0..40).map(|i| (2 * i + 1 + 4 * i + 3 + 41) as f32).collect();
    assert_eq!(y.download()?, wanted);
    // Proved by the extent: `i < M` is `i + 1 < M + 1`.
    let masks = differences::SOURCE.matches("if (").count() + differences::SOURCE.matches('?').count();
    assert_eq!(masks, 1, "{}", differences::SOURCE);
    let x = device.zeros::<f32, 1>([40])?;
    let error = differences::launch(&device.stream(), &x, &halves, &mut y).expect_err("40 is no 41");
    let wanted = "tensor `x` has extent 40 in mode 0, the kernel's `M + 1` is 41";
    assert!(error.to_string().contains(wanted), "{error}");
    Ok(())
}

/// rustc reports the argument that neither the body nor the attribute names, and no other.
#[expect(unused_variables)]
#[tiled_kernel(block = [1], grid = [rows])]
fn with_an_unused_argument(x: &mut LayoutTensor<f32, RowMajor<4>>, rows: usize, unused: usize) {
    x[[block_idx.x]] = 1.0;
}

/// A tensor that is written is given to a function as often as one likes.
#[tiled_kernel(block = [1], grid = [1])]
fn given_twice(x: &mut LayoutTensor<f32, RowMajor<2, 2>>, y: &mut LayoutTensor<f32, RowMajor<2, 2>>) {
    fn add(mut corner: View<f32, Write>, value: f32) {
        corner[[0, 0]] += value;
    }
    fn both(mut to: impl Tensor<Elem = f32, Access = Write>, from: View<f32, Read>) {
        to[[1, 1]] = from[[0, 0]];
    }
    add(x, 1.0);
    add(x, 2.0);
    if thread_idx.x == 0 {
        both(y, x);
        both(y, x);
    }
    for k in 0..2 {
        add(x.tile([1, 1], [1, k]), 4.0);
    }
    x[[0, 1]] = 8.0;
}

#[test]
fn arguments_are_used_and_given() {
    let device = Device::simulator();
    let mut x = device.zeros::<f32, 1>([4]).expect("a tensor");
    with_an_unused_argument::launch(&device.stream(), &mut x, 3, 7).expect("a launch");
    assert_eq!(x.download().expect("its elements"), [1.0, 1.0, 1.0, 0.0]);
    let mut x = device.zeros::<f32, 2>([2, 2]).expect("a tensor");
    let mut y = device.zeros::<f32, 2>([2, 2]).expect("a tensor");
    given_twice::launch(&device.stream(), &mut x, &mut y).expect("a launch");
    assert_eq!(x.download().expect("its elements"), [3.0, 8.0, 4.0, 4.0]);
    assert_eq!(y.download().expect("its elements"), [0.0, 0.0, 0.0, 3.0]);
}

#[tiled_kernels]
mod computed_constants {
    const fn squares() -> [u32; 8] {
        let (mut all, mut i) = ([0; 8], 0);
        while i < 8 {
            all[i] = square(i as u32);
            i += 1;
        }
        all
    }

    const fn square(x: u32) -> u32 {
        x * x
    }

    /// Of the program as well.
    pub const SQUARES: [u32; 8] = squares();

    #[tiled_kernel(block = [32], grid = [1])]
    pub fn looked_up(x: &mut LayoutTensor<u32, RowMajor<32>>) {
        x[[thread_idx.x]] = SQUARES[thread_idx.x % 8] + SQUARES[3];
    }
}

#[test]
fn constants_of_a_module_may_be_computed() {
    let device = Device::simulator();
    let mut x = device.zeros::<u32, 1>([32]).expect("a tensor");
    computed_constants::looked_up::launch(&device.stream(), &mut x).expect("a launch");
    let wanted: Vec<u32> = (0..32).map(|i| computed_constants::SQUARES[i % 8] + 9).collect();
    assert_eq!(x.download().expect("its elements"), wanted);
}

#[tiled_kernels]
mod shared_constants {
    /// Elements of a block.
    pub const TILE: usize = 2 * HALF;
    const HALF: usize = 16;

    #[tiled_kernel(BM = TILE, HALVES = [HALF, TILE], block = [HALVES], grid = [N.div_ceil(TILE)])]
    pub fn filled<const N: usize>(
        x: &mut LayoutTensor<f32, RowMajor<N>>,
        sums: &LayoutTensor<f32, RowMajor<{ TILE / 2 }>>,
        more: &LayoutTensor<f32, RowMajor<TILE>>,
    ) {
        const ALL: usize = TILE + BM;
        for k in (thread_idx.x..TILE).step_by(HALVES) {
            let i = block_idx.x * TILE + k;
            if i < N {
                x[[i]] = ALL as f32 + sums[[0]] + more[[k]];
            }
        }
    }

    #[tiled_kernel(block = [THREADS], grid = [1])]
    pub fn own(x: &mut LayoutTensor<f32, RowMajor<THREADS>>) {
        const THREADS: usize = 2 * HALF;
        x[[thread_idx.x]] = thread_idx.x as f32;
    }
}

#[test]
fn the_constants_of_a_module_reach_attribute_and_signature() -> Result<(), Error> {
    use shared_constants::{TILE, filled, own};
    assert_eq!(keys(filled::variants()), ["BM32_HALVES16", "BM32_HALVES32"]);
    let device = Device::simulator();
    let sums = device.upload(&[1.0f32; 16], [16])?;
    let more = device.upload(&[2.0f32; TILE], [TILE])?;
    let mut x = device.zeros::<f32, 1>([50])?;
    filled::launch(&device.stream(), &mut x, &sums, &more)?;
    assert_eq!(x.download()?, [67.0; 50]);
    let mut x = device.zeros::<f32, 1>([32])?;
    own::launch(&device.stream(), &mut x)?;
    assert_eq!(x.download()?[31], 31.0);
    Ok(())
}

#[test]
fn an_error_of_an_unlisted_set_names_its_line_once() -> Result<(), Error> {
    let device = Device::simulator();
    let mut x = device.zeros::<f32, 1>([100])?;
    let error =
        computed::launch_with(with(&int("WGS", 40)), &device.stream(), &mut x).expect_err("2560 threads");
    let text = error.to_string();
    assert!(text.contains("attribute.rs:") && text.contains("2560 threads"), "{text}");
    // A report of the error and its sources says it once.
    assert!(std::error::Error::source(&error).is_none());
    assert!(matches!(error, Error::Launch(LaunchError::Parameters { .. })));
    let error = computed::launch_with(
        LaunchConfig { grid: Some([1; 3]), ..LaunchConfig::default() },
        &device.stream(),
        &mut x,
    );
    assert!(matches!(error, Err(Error::Launch(LaunchError::Arguments { error: BindError::GridTwice, .. }))));
    Ok(())
}
