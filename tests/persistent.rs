//! Persistent kernels whose blocks take several tiles each, on the simulator: fewer blocks than a GPU has.
//!
//! Law: what a tile leaves behind, in stages, barriers and the memory of C, is nothing to the next tile of the block.

use layout_core::kernel::Elem;
use layout_cuda::{
    Definition, Device, E4m3, Element, Error, LaunchConfig, Options, ParamSet, ParamValue, Report, Tensor,
    bf16,
};
use layout_examples::kernels::gemm::{gemm, gemm_by_columns, gemm_swapped};
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
/// B lies row by row.
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
        let (shape, b_strides) = if by_rows { ([k, N], [N, 1]) } else { ([N, k], strides) };
        let on_a = device.upload_strided(&a.iter().map(|x| of(*x)).collect::<Vec<T>>(), [M, k], strides)?;
        let on_b = device.upload_strided(&b.iter().map(|x| of(*x)).collect::<Vec<T>>(), shape, b_strides)?;
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

const fn ty(name: &'static str, elem: Elem) -> (&'static str, ParamValue) {
    (name, ParamValue::Type(elem))
}

#[test]
fn by_rows() -> Result<(), Error> {
    let by_rows = ["A_MODE", "B_MODE"].map(|name| (name, ParamValue::Int(1)));
    let values = [ty("T", Elem::Bf16), by_rows[0], by_rows[1]];
    let simulate: Simulate<bf16, bf16> =
        |config, options, a, b, c| gemm::simulate_with(config, options, a, b, c);
    several_tiles(&gemm::DEFINITION, simulate, &values, true, (bf16::from_f32, bf16::from_f32))
}

#[test]
fn swapped() -> Result<(), Error> {
    let simulate: Simulate<f32, f32> =
        |config, options, a, b, c| gemm_swapped::simulate_with(config, options, a, b, c);
    several_tiles(&gemm_swapped::DEFINITION, simulate, &[], true, (|x| x, |x| x))
}

#[test]
fn by_columns() -> Result<(), Error> {
    fn to<T: Element, U: Element + PartialEq>(types: [Elem; 2], rounds: Rounds<T, U>) -> Result<(), Error> {
        let simulate: Simulate<T, U> =
            |config, options, a, b, c| gemm_by_columns::simulate_with(config, options, a, b, c);
        let values = [ty("T", types[0]), ty("U", types[1])];
        several_tiles(&gemm_by_columns::DEFINITION, simulate, &values, false, rounds)
    }
    to([Elem::Bf16, Elem::Bf16], (bf16::from_f32, bf16::from_f32))?;
    to([Elem::E4m3, Elem::F32], (E4m3::from_f32, |x| x))?;
    to([Elem::F32, Elem::F32], (|x| x, |x| x))
}
