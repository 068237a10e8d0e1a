//! Products of any shape by the host functions of the examples, on the simulator.
//!
//! Law: the kernels and tiles that a function picks by the shape give the same product: the exact one, rounded.

use layout_compiler::Elem;
use layout_cuda::{
    Arch, Device, E4m3, E5m2, Element, Error, LaunchConfig, LaunchError, ParamSet, ParamValue, Tensor, bf16,
    f16,
};
use layout_kernels::kernels::dgemm;
use layout_kernels::product::{Kernel, Options, Precision, Workspace, multiply};
use layout_tests::support::data::integers;

/// Few rows; pairs of blocks; clusters that share k; tiles of 64 and of 128 columns; a last column by itself, in rows that begin at
/// odd places; empty in each mode.
const SHAPES: [[usize; 3]; 11] = [
    [3, 5, 7],
    [1, 130, 520],
    [16, 75, 77],
    [130, 72, 100],
    [200, 137, 2100],
    [1200, 700, 40],
    [2000, 1000, 24],
    [16896, 257, 8],
    [40, 24, 0],
    [40, 0, 5],
    [0, 24, 5],
];

/// Small integers, so that sums are exact whatever their order.
fn matrix<T>(count: usize, seed: u64, round: fn(f32) -> T) -> Vec<T> {
    integers(count, seed, 3).into_iter().map(|value| round(value as f32)).collect()
}

/// `a b`, each by the strides of its rows and columns.
fn product(a: (&[f32], [usize; 2]), b: (&[f32], [usize; 2]), [m, n, k]: [usize; 3]) -> Vec<f32> {
    let at =
        |(values, strides): (&[f32], [usize; 2]), i: usize, j: usize| values[i * strides[0] + j * strides[1]];
    let mut c = vec![0.0; m * n];
    for (i, row) in c.chunks_exact_mut(n.max(1)).enumerate() {
        for l in 0..k {
            let left = at(a, i, l);
            row.iter_mut().enumerate().for_each(|(j, sum)| *sum += left * at(b, l, j));
        }
    }
    c
}

#[test]
fn sixteen_bits_by_rows_and_columns() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    // One workspace for all: what one product leaves there is nothing to the next.
    let mut workspace = Workspace::default();
    for shape @ [m, n, k] in SHAPES {
        for (by_rows_a, by_rows_b) in [(true, true), (true, false), (false, true), (false, false)] {
            // Of the largest shape the layouts that the others have not are left out.
            if m > 10_000 && by_rows_a != by_rows_b {
                continue;
            }
            let strides =
                |by_rows: bool, [rows, columns]: [usize; 2]| if by_rows { [columns, 1] } else { [1, rows] };
            let (a_strides, b_strides) = (strides(by_rows_a, [m, k]), strides(by_rows_b, [k, n]));
            let (a, b) = (matrix(m * k, 1, bf16::from_f32), matrix(k * n, 2, bf16::from_f32));
            let on_a = device.upload_strided(&a, [m, k], a_strides)?;
            let on_b = device.upload_strided(&b, [k, n], b_strides)?;
            let (a, b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
            let sums = product((&a, a_strides), (&b, b_strides), shape);
            let wanted: Vec<bf16> = sums.into_iter().map(bf16::from_f32).collect();
            // That of Hopper, and those of the others, whose tiles do not depend on the layout.
            let of_warps = (m < 1000 || by_rows_a && by_rows_b).then_some(Some(Kernel::GemmMma));
            let of_few_rows = (m < 40).then_some(Some(Kernel::FewRows));
            for kernel in [Some(None), of_warps, of_few_rows].into_iter().flatten() {
                let mut c = device.zeros::<bf16, 2>([m, n])?;
                let options = Options { kernel, ..Options::default() };
                multiply(&stream, options, &mut workspace, &on_a, &on_b, &mut c)?;
                assert!(
                    c.download()? == wanted,
                    "{shape:?}, A by {a_strides:?}, B by {b_strides:?}, {kernel:?}"
                );
            }
        }
    }
    Ok(())
}

/// Of float64 either mode of an operand may be contiguous, and rows of any length: what has odd rows, or is by columns, is
/// moved first.
#[test]
fn doubles_by_rows_and_columns() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let mut workspace = Workspace::default();
    let shapes =
        [[3, 5, 7], [130, 72, 100], [129, 131, 33], [200, 137, 40], [40, 24, 0], [40, 0, 5], [0, 24, 5]];
    for shape @ [m, n, k] in shapes {
        for (a_strides, b_strides) in [([k, 1], [n, 1]), ([1, m], [n, 1]), ([k, 1], [1, k])] {
            let on_a = device.upload_strided(&matrix(m * k, 1, f64::from), [m, k], a_strides)?;
            let on_b = device.upload_strided(&matrix(k * n, 2, f64::from), [k, n], b_strides)?;
            let mut c = device.zeros::<f64, 2>([m, n])?;
            multiply(&stream, Options::default(), &mut workspace, &on_a, &on_b, &mut c)?;
            let (a, b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
            let wanted = product((&a, a_strides), (&b, b_strides), shape).into_iter().map(f64::from);
            assert!(
                c.download()?.into_iter().eq(wanted),
                "{shape:?}, A by {a_strides:?}, B by {b_strides:?}"
            );
        }
    }
    Ok(())
}

/// The stages of float64 have one, two or four steps, and the last block of K is cut: the fragments of a step are those that the
/// step before it loaded.
#[test]
fn doubles_by_every_number_of_steps() -> Result<(), Error> {
    let device = Device::simulator();
    let kernel = dgemm::DEFINITION.kernel().expect("bytes of this version");
    for (depth, bk, stages) in [(4, 16, 4), (8, 16, 4), (16, 16, 4), (16, 16, 3), (16, 32, 3)] {
        let numbers = [("MK", depth), ("BK", bk), ("STAGES", stages)];
        let named = numbers.map(|(name, value)| (name.to_owned(), ParamValue::Int(value)));
        let set = kernel.choose(&ParamSet(named.to_vec()), &[]).expect("parameters of the kernel");
        for shape @ [m, n, k] in [[133, 130, 52], [128, 128, 16], [5, 6, 98]] {
            let (a, b) = (matrix(m * k, 1, f64::from), matrix(k * n, 2, f64::from));
            let (on_a, on_b) = (device.upload(&a, [m, k])?, device.upload(&b, [k, n])?);
            let mut c = device.zeros::<f64, 2>([m, n])?;
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            dgemm::launch_with(config, &device.stream(), &on_a, &on_b, &mut c)?;
            let (a, b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
            let wanted = product((&a, [k, 1]), (&b, [n, 1]), shape).into_iter().map(f64::from);
            assert!(c.download()?.into_iter().eq(wanted), "{shape:?} by {numbers:?}");
        }
    }
    Ok(())
}

/// Of each operand either mode may be contiguous: what a kernel wants otherwise is transposed.
#[test]
fn by_columns() -> Result<(), Error> {
    fn of<T: Element>(round: fn(f32) -> T, largest: usize) -> Result<(), Error> {
        let device = Device::simulator();
        let stream = device.stream();
        for shape @ [m, n, k] in SHAPES.into_iter().filter(|[m, n, _]| m * n <= largest) {
            for (a_strides, b_strides) in [([k, 1], [1, k]), ([k, 1], [n, 1]), ([1, m], [1, k])] {
                // What is transposed is of the types that are so for want of another way, and small.
                if (T::ELEM == Elem::Bf16 || m * n > 1 << 13) && (a_strides, b_strides) != ([k, 1], [1, k]) {
                    continue;
                }
                let on_a = device.upload_strided(&matrix(m * k, 1, round), [m, k], a_strides)?;
                let on_b = device.upload_strided(&matrix(n * k, 2, round), [k, n], b_strides)?;
                let mut c = device.zeros::<f32, 2>([m, n])?;
                multiply(&stream, Kernel::Gemm, &mut Workspace::default(), &on_a, &on_b, &mut c)?;
                let (a, b) = (matrix(m * k, 1, |x| x), matrix(n * k, 2, |x| x));
                let wanted = product((&a, a_strides), (&b, b_strides), shape);
                assert!(c.download()? == wanted, "{shape:?}, A by {a_strides:?}, B by {b_strides:?}");
            }
        }
        Ok(())
    }
    // What depends on the shape is the same for every type.
    of::<bf16>(bf16::from_f32, usize::MAX)?;
    of::<E4m3>(E4m3::from_f32, 1 << 16)?;
    // Types that the attribute does not list together.
    of::<f16>(f16::from_f32, 1 << 10)?;
    of::<f32>(|value| value, 1 << 16)
}

/// Sets that the host function takes for shapes larger than these.
#[test]
fn by_columns_of_other_sets() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let shape @ [m, n, k] = [200, 520, 300];
    let (a, b) = (matrix(m * k, 1, |x| x), matrix(n * k, 2, |x| x));
    let (on_a, on_b) = (device.upload(&a, [m, k])?, device.upload_strided(&b, [k, n], [1, k])?);
    let sets = Kernel::Gemm.definition().kernel().expect("bytes of this version").parameter_sets();
    let floats = ["T", "U"].map(|name| (name, ParamValue::Type(Elem::F32)));
    let own = sets.into_iter().find(|set| floats.iter().all(|(name, ty)| set.get(name) == Some(*ty)));
    let own = own.expect("a set of float32");
    for changes in
        [[("AHEAD", 0), ("GROUP", 8), ("STAGES", 4)], [("STAGES", 3), ("BUFFERS", 2), ("GROUP", 1)]]
    {
        let set =
            changes.iter().fold(own.clone(), |set, (name, value)| set.with(name, ParamValue::Int(*value)));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let options = Options { kernel: Some(Kernel::Gemm), config, ..Options::default() };
        let mut c = device.zeros::<f32, 2>([m, n])?;
        multiply(&stream, options, &mut Workspace::default(), &on_a, &on_b, &mut c)?;
        assert!(c.download()? == product((&a, [k, 1]), (&b, [1, k]), shape), "{}", set.key());
    }
    Ok(())
}

/// A matrix with `step` between its columns, and rows of `row`; 0 where no element is.
fn strided<T: Element>(
    device: &Device,
    [rows, columns]: [usize; 2],
    [row, step]: [usize; 2],
    round: fn(f32) -> T,
) -> Result<Tensor<T, 2>, Error> {
    let mut data = vec![round(0.0); rows * row + columns * step];
    for (at, value) in matrix(rows * columns, 1, round).into_iter().enumerate() {
        data[at / columns * row + at % columns * step] = value;
    }
    device.upload_strided(&data, [rows, columns], [row, step])
}

/// Rows that begin further from each other than they are long make the right product; elements that do not follow one
/// another are refused.
#[test]
fn matrices_with_strides() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let shape @ [m, n, k] = [3, 8, 8];
    let own = matrix(64, 1, |x| x);
    let wanted = product((&own, [k, 1]), (&own, [n, 1]), shape);
    // Rows of 16, 12 and 11 elements; every second element.
    for (strides, taken) in
        [([16, 1], true), ([12, 1], true), ([11, 1], true), ([32, 2], false), ([23, 2], false)]
    {
        for which in 0..3 {
            let of = |number: usize| if number == which { strides } else { [8, 1] };
            let say = format!("matrix {which} with strides {strides:?}");
            let a = strided(&device, [m, k], of(0), bf16::from_f32)?;
            let b = strided(&device, [k, n], of(1), bf16::from_f32)?;
            let mut c = strided(&device, [m, n], of(2), bf16::from_f32)?;
            let by_rows = multiply(&stream, Options::default(), &mut Workspace::default(), &a, &b, &mut c);
            check(by_rows, &c, of(2), taken, &wanted, &format!("gemm, {say}"));
            let (a, b) = (strided(&device, [m, k], of(0), |x| x)?, strided(&device, [k, n], of(1), |x| x)?);
            for kernel in [Kernel::GemmSwapped, Kernel::Gemm, Kernel::SgemmFed] {
                let mut c = strided(&device, [m, n], of(2), |x| x)?;
                let outcome = multiply(&stream, kernel, &mut Workspace::default(), &a, &b, &mut c);
                check(outcome, &c, of(2), taken, &wanted, &format!("{kernel}, {say}"));
            }
        }
    }
    Ok(())
}

/// Operands by columns are moved for the kernels of float32, which read rows.
#[test]
fn float32_by_rows_and_columns() -> Result<(), Error> {
    let others = [Arch::SM_75, Arch::SM_80].map(Device::simulator_of);
    for device in [Device::simulator()].iter().chain(&others) {
        let stream = device.stream();
        for shape @ [m, n, k] in [[4, 4, 4], [1, 5, 3], [130, 70, 33], [64, 1, 9], [129, 257, 64]] {
            let (own_a, own_b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
            for (of_a, of_b) in [([k, 1], [1, k]), ([1, m], [n, 1]), ([1, m], [1, k])] {
                let wanted = product((&own_a, of_a), (&own_b, of_b), shape);
                let a = device.upload_strided(&own_a, [m, k], of_a)?;
                let b = device.upload_strided(&own_b, [k, n], of_b)?;
                let mut c = device.zeros::<f32, 2>([m, n])?;
                layout_kernels::matmul(&stream, &a, &b, &mut c)?;
                let name = format!("{shape:?}, A {of_a:?}, B {of_b:?}, {}", device.describe());
                check(Ok(()), &c, [n, 1], true, &wanted, &name);
            }
        }
    }
    Ok(())
}

/// The plan of each architecture takes no more shared memory than it has.
#[test]
fn every_card_multiplies() -> Result<(), Error> {
    for name in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a", "sm_121a"] {
        let device = Device::simulator_of(name.parse().expect("an architecture"));
        for shape @ [m, n, k] in [[64, 64, 64], [70, 33, 130], [1537, 1540, 8], [1100, 1700, 4]] {
            let (own_a, own_b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
            let (a, b) = (device.upload(&own_a, [m, k])?, device.upload(&own_b, [k, n])?);
            let mut c = device.zeros::<f32, 2>([m, n])?;
            layout_kernels::matmul(&device.stream(), &a, &b, &mut c)?;
            let wanted = product((&own_a, [k, 1]), (&own_b, [n, 1]), shape);
            check(Ok(()), &c, [n, 1], true, &wanted, &format!("{shape:?} on {name}"));
        }
        // The last one is for tensor memory, where there is some.
        let last = if name == "sm_100a" { [1100, 1032, 72] } else { [300, 260, 16] };
        for shape in [[1, 64, 64], [33, 70, 130], [300, 260, 16], last] {
            on_card(&device, shape, f16::from_f32, f16::from_f32)?;
            if name != "sm_75" {
                on_card(&device, shape, bf16::from_f32, bf16::from_f32)?;
            }
            if device.arch().number >= 89 {
                on_card(&device, shape, E4m3::from_f32, |sum| sum)?;
                on_card(&device, shape, E5m2::from_f32, |sum| sum)?;
            }
            if device.arch().number >= 90 {
                on_card(&device, shape, f64::from, f64::from)?;
            }
        }
    }
    Ok(())
}

/// Rows with gaps between them, of each operand and of the product; and an empty product of bytes.
#[test]
fn gaps_and_nothing_on_every_card() -> Result<(), Error> {
    for name in ["sm_75", "sm_80", "sm_90a", "sm_120a"] {
        let device = Device::simulator_of(name.parse().expect("an architecture"));
        let stream = device.stream();
        for gaps in 0..8 {
            let shape @ [m, n, k] = [6, 5, 7];
            let [of_a, of_b, of_c] = [(0, k), (1, n), (2, n)].map(|(bit, row)| row + 3 * (gaps >> bit & 1));
            let (own_a, own_b) = (matrix(m * of_a, 1, |x| x), matrix(k * of_b, 2, |x| x));
            let (a, b) = (device.upload(&own_a, [m * of_a])?, device.upload(&own_b, [k * of_b])?);
            let mut c = device.upload(&vec![9.0; m * of_c], [m * of_c])?;
            let (a, b) = (a.part(0, [m, k], [of_a, 1])?, b.part(0, [k, n], [of_b, 1])?);
            layout_kernels::matmul(&stream, &a, &b, &mut c.part_mut(0, [m, n], [of_c, 1])?)?;
            let wanted = product((&own_a, [of_a, 1]), (&own_b, [of_b, 1]), shape);
            for (at, found) in c.download()?.into_iter().enumerate() {
                let (row, column) = (at / of_c, at % of_c);
                let wanted = if column < n { wanted[row * n + column] } else { 9.0 };
                assert_eq!(found, wanted, "{name}, gaps {gaps}, {row} {column}");
            }
        }
        for [m, n, k] in [[5, 0, 3], [0, 5, 3], [5, 4, 0]] {
            let (a, b) = (device.zeros::<i8, 2>([m, k])?, device.zeros::<i8, 2>([k, n])?);
            let mut c = device.upload(&vec![9; m * n], [m, n])?;
            layout_kernels::matmul(&stream, &a, &b, &mut c)?;
            assert_eq!(c.download()?, vec![0; m * n], "{name}");
        }
    }
    Ok(())
}

/// What a B200 multiplies in tensor memory: tiles and one more or less of each mode, odd rows, each operand by rows and by columns.
#[test]
fn tensor_memory_multiplies() -> Result<(), Error> {
    fn of<T: Element, U: Element>(
        round: fn(f32) -> T,
        result: fn(f32) -> U,
        shapes: &[[usize; 3]],
        layouts: &[(bool, bool)],
    ) -> Result<(), Error> {
        let device = Device::simulator_of(Arch::of(10, 0));
        let (stream, mut workspace) = (device.stream(), Workspace::default());
        for (shape @ [m, n, k], (a_rows, b_rows)) in
            shapes.iter().flat_map(|shape| layouts.iter().map(|layout| (*shape, *layout)))
        {
            let strides =
                |by_rows: bool, [rows, columns]: [usize; 2]| if by_rows { [columns, 1] } else { [1, rows] };
            let (a_strides, b_strides) = (strides(a_rows, [m, k]), strides(b_rows, [k, n]));
            let a = device.upload_strided(&matrix(m * k, 1, round), [m, k], a_strides)?;
            let b = device.upload_strided(&matrix(k * n, 2, round), [k, n], b_strides)?;
            let mut c = device.zeros::<U, 2>([m, n])?;
            multiply(&stream, Kernel::GemmTcgen05, &mut workspace, &a, &b, &mut c)?;
            let (a, b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
            let wanted = product((&a, a_strides), (&b, b_strides), shape);
            for (at, (found, wanted)) in c.download()?.iter().zip(wanted).enumerate() {
                let say = format!("{shape:?} of {} to {}, {at}", T::ELEM, U::ELEM);
                assert!(
                    found.to_bits() == result(wanted).to_bits(),
                    "{say}: A {a_strides:?}, B {b_strides:?}"
                );
            }
        }
        Ok(())
    }
    let all = [(true, true), (true, false), (false, true), (false, false)];
    let around = [[127, 127, 63], [128, 256, 64], [129, 257, 65], [130, 131, 200], [40, 0, 5], [40, 24, 0]];
    of(bf16::from_f32, bf16::from_f32, &around, &all)?;
    of(f16::from_f32, f16::from_f32, &around[2..4], &all[1..3])?;
    of(bf16::from_f32, |value| value, &around[3..], &all[..1])?;
    of(E4m3::from_f32, bf16::from_f32, &around[1..], &all[1..3])
}

/// The product of these types on a device.
fn on_card<T: Element, U: Element>(
    device: &Device,
    shape @ [m, n, k]: [usize; 3],
    of: impl Fn(f32) -> T + Copy,
    result: impl Fn(f32) -> U,
) -> Result<(), Error> {
    let (own_a, own_b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
    let to = |values: &[f32]| values.iter().copied().map(of).collect::<Vec<T>>();
    let (a, b) = (device.upload(&to(&own_a), [m, k])?, device.upload(&to(&own_b), [k, n])?);
    let mut c = device.zeros::<U, 2>([m, n])?;
    layout_kernels::matmul(&device.stream(), &a, &b, &mut c)?;
    let wanted = product((&own_a, [k, 1]), (&own_b, [n, 1]), shape);
    for (found, wanted) in c.download()?.iter().zip(wanted) {
        assert!(
            found.to_bits() == result(wanted).to_bits(),
            "{shape:?} of {} on {}",
            T::ELEM,
            device.describe()
        );
    }
    Ok(())
}

#[test]
fn types_without_a_kernel_are_named() -> Result<(), Error> {
    let device = Device::simulator();
    let (a, mut c) = (device.zeros::<i32, 2>([4, 4])?, device.zeros::<i32, 2>([4, 4])?);
    let refused = layout_kernels::matmul(&device.stream(), &a, &a, &mut c).expect_err("no kernel");
    assert!(refused.to_string().contains("A, B of i32, C of i32"), "{refused}");
    let t4 = Device::simulator_of(Arch::SM_75);
    let (a, mut c) = (t4.zeros::<bf16, 2>([4, 4])?, t4.zeros::<bf16, 2>([4, 4])?);
    let refused = layout_kernels::matmul(&t4.stream(), &a, &a, &mut c).expect_err("no kernel");
    assert!(refused.to_string().contains("bf16 is of sm_80 and later"), "{refused}");
    let wide = device.zeros::<f32, 1>([64])?;
    let (a, mut c) = (wide.part(0, [4, 4], [16, 2])?, device.zeros::<f32, 2>([4, 4])?);
    let refused = layout_kernels::matmul(&device.stream(), &a, &a, &mut c).expect_err("two gaps");
    assert!(refused.to_string().contains("strides [16, 2]; `movement::permute`"), "{refused}");
    Ok(())
}

/// The product, or a refusal of the arguments where they are not `taken`.
fn check<U: Element + Into<f32>>(
    outcome: Result<(), Error>,
    c: &Tensor<U, 2>,
    [row, step]: [usize; 2],
    taken: bool,
    wanted: &[f32],
    name: &str,
) {
    if !taken {
        assert!(matches!(&outcome, Err(Error::Launch(LaunchError::Arguments { .. }))), "{name}: {outcome:?}");
        return;
    }
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (found, [_, columns]) = (c.download().expect("data"), c.shape());
    for (at, wanted) in wanted.iter().enumerate() {
        let found: f32 = found[at / columns * row + at % columns * step].into();
        assert!(found == *wanted, "{name}: element {at}: {found}, not {wanted}");
    }
}

#[test]
fn extents_that_disagree_start_nothing() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for (a, b, c) in [
        ([3, 5], [5, 9], [3, 7]),
        ([3, 5], [5, 6], [3, 7]),
        ([3, 5], [5, 8], [3, 16]),
        ([3, 5], [5, 16], [3, 8]),
        ([3, 5], [6, 8], [3, 8]),
        ([3, 5], [5, 8], [4, 8]),
    ] {
        let refused = |name: &str, outcome: Result<(), Error>| {
            let disagree = matches!(&outcome, Err(Error::Launch(LaunchError::Arguments { .. })));
            assert!(disagree, "{name}, {a:?} {b:?} {c:?}: {outcome:?}");
        };
        let (on_a, on_b, mut on_c) =
            (device.zeros::<bf16, 2>(a)?, device.zeros(b)?, device.zeros::<bf16, 2>(c)?);
        let outcome =
            multiply(&stream, Options::default(), &mut Workspace::default(), &on_a, &on_b, &mut on_c);
        refused("gemm", outcome);
        let (on_a, on_b, mut on_c) =
            (device.zeros::<f32, 2>(a)?, device.zeros(b)?, device.zeros::<f32, 2>(c)?);
        for precision in [Precision::Float32, Precision::Tf32] {
            let options = Options { precision, ..Options::default() };
            let outcome = multiply(&stream, options, &mut Workspace::default(), &on_a, &on_b, &mut on_c);
            refused("any", outcome);
        }
        for kernel in [Kernel::GemmSwapped, Kernel::Gemm, Kernel::SgemmFed] {
            refused(
                kernel.name(),
                multiply(&stream, kernel, &mut Workspace::default(), &on_a, &on_b, &mut on_c),
            );
        }
    }
    Ok(())
}

/// The kernel of 16-bit products with the functions that it calls; neither its attribute nor comments and empty lines.
#[test]
fn the_product_of_sixteen_bits_has_at_most_125_lines() {
    let files = [
        include_str!("../layout-cuda/kernels/src/kernels/ring.rs"),
        include_str!("../layout-cuda/kernels/src/kernels/gemm.rs"),
    ];
    let text: Vec<&str> = files
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| line.strip_prefix("    ").unwrap_or_default())
        .collect();
    // With its attribute, without comments and empty lines.
    let lines = |name: &str| {
        let opens = |line: &&str| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            let rest = line.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with(['(', '<']))
        };
        let at = text.iter().position(opens).expect("a function of this name");
        let head = text[..at].iter().rev().take_while(|line| !line.is_empty());
        let body = text[at..].iter().take_while(|line| **line != "}");
        let counted =
            head.chain(body).filter(|line| !line.is_empty() && !line.trim_start().starts_with("//"));
        counted.count() + 1
    };
    let counts =
        ["release", "fill", "accumulate", "load", "multiply", "gemm"].map(|name| (name, lines(name)));
    assert!(counts.iter().all(|(_, lines)| *lines > 5), "{counts:?}");
    assert!(counts.iter().map(|(_, lines)| lines).sum::<usize>() <= 125, "{counts:?}");
}
