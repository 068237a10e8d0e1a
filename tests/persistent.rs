//! Persistent kernels whose blocks take several tiles each, on the simulator: fewer blocks than a GPU has.
//!
//! Law: what a tile leaves behind, in stages, barriers and the memory of C, is nothing to the next tile of the block.

use layout_compiler::Elem;
use layout_cuda::{
    Definition, Device, E4m3, Element, Error, LaunchConfig, Options, ParamSet, ParamValue, Report, Tensor,
    bf16,
};
use layout_kernels::kernels::gemm::{gemm, gemm_swapped};
use layout_tests::support::data::integers;

const M: usize = 300;
const N: usize = 600;
/// No block of k, less than one, several.
const DEPTHS: [usize; 3] = [0, 16, 208];

type Simulate<T, U> =
    fn(LaunchConfig<'_>, &Options, &Tensor<T, 2>, &Tensor<T, 2>, &mut Tensor<U, 2>) -> Result<Report, Error>;

/// What rounds the elements of A and B, and those of C.
type Rounds<T, U> = (fn(f32) -> T, fn(f32) -> U);

/// Every set of the kernel with these values, of three blocks and groups of two rows of tiles: the product by each. `by_rows`:
/// B is row by row.
fn several_tiles<T: Element, U: Element + PartialEq>(
    definition: &Definition,
    simulate: Simulate<T, U>,
    values: &[(&str, ParamValue)],
    by_rows: bool,
    (of, to): Rounds<T, U>,
) -> Result<(), Error> {
    let device = Device::simulator();
    let sets = definition.kernel().expect("bytes of this version").parameter_sets();
    let sets =
        sets.into_iter().filter(|set| values.iter().all(|(name, value)| set.get(name) == Some(*value)));
    let sets: Vec<ParamSet> = sets.collect();
    assert!(!sets.is_empty(), "{values:?}");
    for k in DEPTHS {
        // Small integers, so that sums are exact whatever their order.
        let small = |count: usize, seed: u64| -> Vec<f32> {
            integers(count, seed, 3).into_iter().map(|value| value as f32).collect()
        };
        let (a, b) = (small(M * k, 1), small(k * N, 2));
        let at_b = |i: usize, column: usize| if by_rows { b[i * N + column] } else { b[column * k + i] };
        let element = |at: usize| to((0..k).map(|i| a[at / N * k + i] * at_b(i, at % N)).sum());
        let wanted: Vec<U> = (0..M * N).map(element).collect();
        // Rows of TMA begin at multiples of 16 bytes, also where they are empty.
        let strides = [k.max(16), 1];
        let b_strides = if by_rows { [N, 1] } else { [1, k.max(16)] };
        let on_a = device.upload_strided(&a.iter().map(|x| of(*x)).collect::<Vec<T>>(), [M, k], strides)?;
        let on_b = device.upload_strided(&b.iter().map(|x| of(*x)).collect::<Vec<T>>(), [k, N], b_strides)?;
        for set in &sets {
            let set = set.clone().with("SMS", ParamValue::Int(3)).with("GROUP", ParamValue::Int(2));
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            let mut c = device.zeros::<U, 2>([M, N])?;
            c.poison()?;
            let report = simulate(config, &Options::default(), &on_a, &on_b, &mut c)?;
            assert!(report.clean(), "{}, K = {k}: {:?}", set.key(), report.findings);
            assert!(c.download()? == wanted, "{}, K = {k}", set.key());
        }
    }
    Ok(())
}

/// The sets of `gemm` of these types, A by rows, and B too or by columns.
fn by_gemm<T: Element, U: Element + PartialEq>(
    [operand, result]: [Elem; 2],
    by_rows: bool,
    rounds: Rounds<T, U>,
) -> Result<(), Error> {
    let simulate: Simulate<T, U> = |config, options, a, b, c| gemm::simulate_with(config, options, a, b, c);
    let values = [
        ("T", ParamValue::Type(operand)),
        ("U", ParamValue::Type(result)),
        ("A_MODE", ParamValue::Int(1)),
        ("B_MODE", ParamValue::Int(by_rows.into())),
    ];
    several_tiles(&gemm::DEFINITION, simulate, &values, by_rows, rounds)
}

#[test]
fn by_rows() -> Result<(), Error> {
    by_gemm([Elem::Bf16, Elem::Bf16], true, (bf16::from_f32, bf16::from_f32))
}

#[test]
fn swapped() -> Result<(), Error> {
    let simulate: Simulate<f32, f32> =
        |config, options, a, b, c| gemm_swapped::simulate_with(config, options, a, b, c);
    several_tiles(&gemm_swapped::DEFINITION, simulate, &[], true, (|x| x, |x| x))
}

#[test]
fn by_columns() -> Result<(), Error> {
    by_gemm([Elem::Bf16, Elem::Bf16], false, (bf16::from_f32, bf16::from_f32))?;
    by_gemm([Elem::E4m3, Elem::F32], false, (E4m3::from_f32, |x| x))?;
    by_gemm([Elem::F32, Elem::F32], false, (|x| x, |x| x))
}
