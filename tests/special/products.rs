//! Products of matrices: a row of A reaches its own row of C, a column of B its own column, whatever the other ones hold.

use super::bench::{Bench, Want, set_of, with};
use super::reductions::ordinary;
use super::{Covered, Entry};
use layout_cuda::{
    Definition, E4m3, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorView,
    TensorViewMut, bf16, f16,
};
use layout_examples::kernels::puzzles::{matmul_layout_tensor, matmul_naive, matmul_shared, matmul_tiled};
use layout_examples::kernels::{
    block_tiled, block_tiled_vectorized, coalescing, naive, tiled, tiled_register,
};
use layout_kernels::kernels::blockwise::gemm_blockwise;
use layout_kernels::kernels::gemm::{gemm, gemm_swapped, gemm_then};
use layout_kernels::kernels::gemm_mma::{gemm_mma, gemm_mma_then};
use layout_kernels::kernels::gemm_tcgen05::{gemm_tcgen05, gemm_tcgen05_then};
use layout_kernels::kernels::grouped::{grouped_gemm, grouped_gemm_mma};
use layout_kernels::kernels::*;
use layout_kernels::product::{Epilogue, Kernel, Workspace, multiply, multiply_then_by};
use layout_tests::support::data::Operand;
use layout_tests::support::special::{Float, Kind, Rows};

/// A launch of a product.
type Launch<T, U> = fn(
    LaunchConfig<'_>,
    &Stream,
    &TensorView<'_, T, 2>,
    &TensorView<'_, T, 2>,
    &mut TensorViewMut<'_, U, 2>,
) -> Result<(), Error>;

/// How a kernel takes a product.
struct Product<'a, T: Float, U: Float> {
    name: &'a str,
    set: ParamSet,
    /// Units in the last place of float32 of the sum of sizes.
    units: f64,
    /// Rows begin at multiples of 16 bytes, and have whole multiples of them in C.
    aligned: bool,
    /// Whether A and B are by columns.
    by_columns: [bool; 2],
    launch: Launch<T, U>,
}

impl<T: Float, U: Float> Product<'_, T, U> {
    fn operand(
        &self,
        bench: &Bench<'_>,
        values: &[T],
        [m, n]: [usize; 2],
        by_columns: bool,
    ) -> Result<Operand<T, 2>, Error> {
        let multiple = if self.aligned { 16 / size_of::<T>() } else { 1 };
        let pitch = |extent: usize| extent.next_multiple_of(multiple).max(1);
        let strides = if by_columns { [1, pitch(m)] } else { [pitch(n), 1] };
        Operand::new(bench.device, values, 0, [m, n], strides)
    }

    fn run(
        &self,
        bench: &Bench<'_>,
        a: &[T],
        b: &[T],
        [m, n, k]: [usize; 3],
        name: impl Fn(usize) -> String,
    ) -> Result<(), Error> {
        let on_a = self.operand(bench, a, [m, k], self.by_columns[0])?;
        let on_b = self.operand(bench, b, [k, n], self.by_columns[1])?;
        let pitch = if self.aligned { n.next_multiple_of(16 / size_of::<U>()) } else { n };
        let mut c =
            Operand::new(bench.device, &vec![U::rounded(f64::NAN); m * n], 0, [m, n], [pitch.max(1), 1])?;
        (self.launch)(with(&self.set), &bench.stream(), &on_a.view()?, &on_b.view()?, &mut c.view_mut()?)?;
        let wanted = (0..m * n).map(|at| {
            let pairs = (0..k).map(|l| (a[at / n * k + l].wide(), b[l * n + at % n].wide()));
            let want = Want::sum(pairs.clone().map(|(a, b)| a * b), self.units);
            // Rounded to TF32 a number above its greatest one may be infinite.
            let over = |x: f64| x.is_finite() && x.abs() > TF32_GREATEST;
            match want {
                Want::Near(exact, room) if self.units == TF32 => {
                    let room = room + f64::from(f32::MIN_POSITIVE);
                    let is_over = pairs.clone().any(|(a, b)| over(a) || over(b));
                    rounded::<U>(if is_over { Want::Loose(exact, room) } else { Want::Near(exact, room) })
                }
                want => rounded::<U>(want),
            }
        });
        bench.check(&format!("{} of {k}", self.name), &c.read()?, wanted, name);
        Ok(())
    }

    /// Rows of every kind by ordinary columns, and ordinary rows by columns of every kind.
    fn check(&self, bench: &Bench<'_>, k: usize) -> Result<(), Error> {
        let special = bench.rows::<T>(k);
        let (m, n) = (special.m, 16);
        let plain: Vec<T> = ordinary(k * n).iter().map(|x| T::rounded(x.wide())).collect();
        self.run(bench, &special.values, &plain, [m, n, k], |at| Rows::<T>::name(at / n))?;
        let columns = m.next_multiple_of(16);
        let turned: Vec<T> = (0..k * columns)
            .map(|at| match (at / columns, at % columns) {
                (l, col) if col < m => special.values[col * k + l],
                _ => T::rounded(1.0),
            })
            .collect();
        let rows = 5;
        self.run(bench, &plain[..rows.min(n) * k], &turned, [rows, columns, k], |at| match at % columns {
            col if col < m => format!("by columns, {}", Rows::<T>::name(col)),
            _ => "an ordinary column".to_owned(),
        })
    }
}

/// Rounded to the type of C once more: of a type without infinities to its greatest number.
fn rounded<U: Float>(want: Want) -> Want {
    let digits = 2f64.powi(-U::DIGITS);
    let round = |exact: f64, room: f64| {
        let exact = if U::INFINITE.is_finite() { exact.clamp(-U::GREATEST, U::GREATEST) } else { exact };
        (exact, if U::DIGITS == 24 { room } else { room * 1.01 + exact.abs() * digits + U::TINY })
    };
    match want {
        Want::NotFinite => want,
        Want::Near(exact, room) => {
            let (exact, room) = round(exact, room);
            Want::Near(exact, room)
        }
        Want::Loose(exact, room) => {
            let (exact, room) = round(exact, room);
            // The greatest number of a type without infinities is what they are rounded to.
            if U::INFINITE.is_finite() {
                Want::Loose(exact, 2.0 * U::GREATEST)
            } else {
                Want::Loose(exact, room)
            }
        }
    }
}

/// Float32 in full.
const UNITS: f64 = 300.0;
/// Float64 in full, in the same units.
const DOUBLE: f64 = UNITS / (1u64 << 29) as f64;
/// Rounded to TF32 first.
const TF32: f64 = 20_000.0;
/// Sums of 8-bit floats: the matrix units keep 13 bits of them.
const BYTES: f64 = 4096.0;
/// (2 - 2^-10) 2^127
const TF32_GREATEST: f64 = 3.401_162_134_214_653e38;

macro_rules! float32 {
    ($kernel:ident, $units:expr, $aligned:expr, $set:expr, $depths:expr) => {
        Entry::new(&[Covered::plain(&$kernel::DEFINITION)], |bench| {
            let product = Product::<f32, f32> {
                name: stringify!($kernel),
                set: $set,
                units: $units,
                aligned: $aligned,
                by_columns: [false; 2],
                launch: |config, stream, a, b, c| $kernel::launch_with(config, stream, a, b, c),
            };
            $depths.into_iter().try_for_each(|k| product.check(bench, k))
        })
    };
}

/// The first set that a kernel lists.
fn usual(definition: &Definition) -> ParamSet {
    set_of(definition, &[], &[])
}

pub fn entries() -> Vec<Entry> {
    let mut all = ladder();
    all.extend(sixteen_bits());
    all.extend(tensor_memory());
    all.extend(experts());
    all
}

fn ladder() -> Vec<Entry> {
    vec![
        float32!(naive, UNITS, false, usual(&naive::DEFINITION), [1, 33]),
        float32!(coalescing, UNITS, false, usual(&coalescing::DEFINITION), [1, 33]),
        float32!(tiled, UNITS, false, usual(&tiled::DEFINITION), [1, 33]),
        float32!(tiled_register, UNITS, false, usual(&tiled_register::DEFINITION), [1, 33]),
        float32!(block_tiled, UNITS, false, usual(&block_tiled::DEFINITION), [1, 33]),
        float32!(
            block_tiled_vectorized,
            UNITS,
            false,
            usual(&block_tiled_vectorized::DEFINITION),
            [1, 33, 36]
        ),
        float32!(
            tensor_core,
            TF32,
            true,
            set_of(&tensor_core::DEFINITION, &[("BM", 64), ("BN", 64), ("WM", 32), ("WN", 32)], &[]),
            [36]
        ),
        float32!(sgemm, UNITS, false, usual(&sgemm::DEFINITION), [1, 33, 36]),
        Entry::new(&[Covered::plain(&dgemm::DEFINITION)], |bench| {
            let product = Product::<f64, f64> {
                name: "dgemm",
                set: usual(&dgemm::DEFINITION),
                units: DOUBLE,
                aligned: true,
                by_columns: [false; 2],
                launch: |config, stream, a, b, c| dgemm::launch_with(config, stream, a, b, c),
            };
            [1, 17, 36].into_iter().try_for_each(|k| product.check(bench, k))
        }),
        float32!(sgemm_fed, UNITS, true, usual(&sgemm_fed::DEFINITION), [33, 36]),
        float32!(
            gemm_swapped,
            TF32,
            true,
            set_of(&gemm_swapped::DEFINITION, &[("BM", 64), ("STAGES", 2), ("SMS", 1)], &[]),
            [33, 68]
        ),
        Entry::new(
            &[Covered::plain(&last_rows::DEFINITION), Covered::plain(&last_columns::DEFINITION)],
            |bench| {
                for k in [1, 33, 1030] {
                    let special = bench.rows::<f32>(k);
                    let plain = ordinary(4 * k);
                    let product = |name, set, launch| Product::<f32, f32> {
                        name,
                        set,
                        units: UNITS,
                        aligned: false,
                        by_columns: [false; 2],
                        launch,
                    };
                    // Rows of every kind by four columns, and four rows by columns of every kind, four at a time.
                    let columns = product(
                        "last_columns",
                        set_of(&last_columns::DEFINITION, &[("COLS", 4)], &[]),
                        |config, stream, a, b, c| last_columns::launch_with(config, stream, a, b, c),
                    );
                    columns.run(bench, &special.values, &plain, [special.m, 4, k], |at| {
                        Rows::<f32>::name(at / 4)
                    })?;
                    let rows = product(
                        "last_rows",
                        set_of(&last_rows::DEFINITION, &[("ROWS", 4)], &[]),
                        |config, stream, a, b, c| last_rows::launch_with(config, stream, a, b, c),
                    );
                    for first in (0..special.m).step_by(4) {
                        let count = (special.m - first).min(4);
                        let own = &special.values[first * k..(first + count) * k];
                        rows.run(bench, own, &plain, [count, 4, k], |at| Rows::<f32>::name(first + at / 4))?;
                    }
                }
                Ok(())
            },
        ),
        Entry::new(
            &[
                &matmul_naive::DEFINITION,
                &matmul_tiled::DEFINITION,
                &matmul_layout_tensor::DEFINITION,
                &matmul_shared::DEFINITION,
            ]
            .map(Covered::plain),
            |bench| {
                let product = |name, launch| Product::<f32, f32> {
                    name,
                    set: ParamSet::default(),
                    units: UNITS,
                    aligned: false,
                    by_columns: [false; 2],
                    launch,
                };
                for k in [1, 7] {
                    product("matmul_naive", |_, stream, a, b, c| matmul_naive::launch(stream, c, a, b))
                        .check(bench, k)?;
                    product("matmul_tiled", |_, stream, a, b, c| matmul_tiled::launch(stream, c, a, b))
                        .check(bench, k)?;
                    product("matmul_layout_tensor", |_, stream, a, b, c| {
                        matmul_layout_tensor::launch(stream, c, a, b)
                    })
                    .check(bench, k)?;
                }
                for kind in Kind::ALL {
                    let (a, b) = (bench.row::<f32>(kind, 9, 1), ordinary(9));
                    product("matmul_shared", |_, stream, a, b, c| matmul_shared::launch(stream, c, a, b))
                        .run(bench, &a, &b, [3, 3, 3], |_| format!("{kind:?}"))?;
                }
                Ok(())
            },
        ),
    ]
}

/// On Hopper's matrix units, of each type and each way to be.
fn units<T: Float, U: Float>(
    bench: &Bench<'_>,
    definition: &Definition,
    numbers: &[(&str, usize)],
    (aligned, units): (bool, f64),
    launch: Launch<T, U>,
) -> Result<(), Error> {
    let kernel = definition.kernel().expect("bytes of this version");
    let has = |name: &str| kernel.parameter_sets().first().is_some_and(|set| set.get(name).is_some());
    for modes in [[1, 1], [1, 0], [0, 1], [0, 0]] {
        let by_columns = modes.map(|mode| mode == 0);
        // The matrix units take 8-bit and 32-bit operands with `k` contiguous alone, and so does the kernel of few rows.
        if (T::ELEM.bytes() != 2 || !has("A_MODE")) && modes != [1, 0] {
            continue;
        }
        let mut others = vec![("T", ParamValue::Type(T::ELEM))];
        if has("U") {
            others.push(("U", ParamValue::Type(U::ELEM)));
        }
        let of_modes = [("A_MODE", modes[0]), ("B_MODE", modes[1])];
        let numbers = [numbers, if has("A_MODE") { &of_modes } else { &[] }].concat();
        let set = set_of(definition, &numbers, &others);
        let name = &format!("{} of {:?} to {:?}, {modes:?}", definition.name, T::ELEM, U::ELEM);
        Product::<T, U> { name, set, units, aligned, by_columns, launch }
            .check(bench, if T::ELEM.bytes() == 1 { 80 } else { 72 })?;
    }
    Ok(())
}

/// All rows as one group, with its matrix.
fn one_group<'a, T: Element>(
    stream: &Stream,
    a: &TensorView<'_, T, 2>,
    b: &TensorView<'a, T, 2>,
) -> Result<(Tensor<i32, 1>, TensorView<'a, T, 3>), Error> {
    let ([k, n], [row, column]) = (b.shape(), b.strides());
    let each = (k * row).max(n * column).next_multiple_of(8);
    Ok((stream.upload(&[a.shape()[0] as i32], [1])?, b.part(0, [1, k, n], [each, row, column])?))
}

/// B by rows and by columns.
fn groups<T: Float>(
    bench: &Bench<'_>,
    definition: &Definition,
    own: &[(&str, usize)],
    launch: Launch<T, T>,
) -> Result<(), Error> {
    for mode in [1, 2] {
        let numbers = [own, &[("MODE", mode)]].concat();
        let set = set_of(definition, &numbers, &[("T", ParamValue::Type(T::ELEM))]);
        let name = &format!("{} of {:?}, mode {mode}", definition.name, T::ELEM);
        let by_columns = [false, mode == 1];
        Product::<T, T> { name, set, units: UNITS, aligned: true, by_columns, launch }.check(bench, 72)?;
    }
    Ok(())
}

fn sixteen_bits() -> Vec<Entry> {
    let of = |definition: &'static Definition, elems: &[Elem]| {
        elems.iter().map(|elem| Covered::of(definition, *elem)).collect::<Vec<_>>()
    };
    let halves = [Elem::Bf16, Elem::F16];
    vec![
        Entry::new(&of(&gemm::DEFINITION, &[Elem::Bf16, Elem::F16, Elem::F32, Elem::E4m3]), |bench| {
            let own = [("BN", 128), ("STAGES", 2), ("SLABS", 1), ("SMS", 1)];
            fn by<T: Float, U: Float>(
                bench: &Bench<'_>,
                own: &[(&str, usize)],
                units: f64,
            ) -> Result<(), Error> {
                self::units::<T, U>(
                    bench,
                    &gemm::DEFINITION,
                    own,
                    (true, units),
                    |config, stream, a, b, c| gemm::launch_with(config, stream, a, b, c),
                )
            }
            by::<bf16, bf16>(bench, &own, UNITS)?;
            by::<f16, f16>(bench, &own, UNITS)?;
            by::<f32, f32>(bench, &own, TF32)?;
            by::<f32, bf16>(bench, &own, TF32)?;
            by::<E4m3, f32>(bench, &own, BYTES)?;
            by::<E4m3, bf16>(bench, &own, BYTES)
        }),
        Entry::new(&of(&gemm_mma::DEFINITION, &[Elem::Bf16, Elem::F16, Elem::E4m3, Elem::I8]), |bench| {
            fn by<T: Float, U: Float>(bench: &Bench<'_>, units: f64) -> Result<(), Error> {
                let of = (T::ELEM.bytes() == 1, units);
                self::units::<T, U>(
                    bench,
                    &gemm_mma::DEFINITION,
                    &[("STAGES", 2)],
                    of,
                    |config, stream, a, b, c| gemm_mma::launch_with(config, stream, a, b, c),
                )
            }
            by::<bf16, bf16>(bench, UNITS)?;
            by::<f16, f16>(bench, UNITS)?;
            by::<E4m3, f32>(bench, BYTES)?;
            by::<E4m3, bf16>(bench, BYTES)?;
            whole_sums(bench)
        }),
        Entry::new(&of(&few_rows::DEFINITION, &halves), |bench| {
            units::<bf16, bf16>(
                bench,
                &few_rows::DEFINITION,
                &[],
                (false, UNITS),
                |config, stream, a, b, c| few_rows::launch_with(config, stream, a, b, c),
            )?;
            units::<f16, f16>(bench, &few_rows::DEFINITION, &[], (false, UNITS), |config, stream, a, b, c| {
                few_rows::launch_with(config, stream, a, b, c)
            })
        }),
        Entry::new(&of(&gemm_pair::DEFINITION, &halves), |bench| {
            units::<bf16, bf16>(
                bench,
                &gemm_pair::DEFINITION,
                &[("STAGES", 2)],
                (true, UNITS),
                |config, stream, a, b, c| gemm_pair::launch_with(config, stream, a, b, c),
            )?;
            units::<f16, f16>(
                bench,
                &gemm_pair::DEFINITION,
                &[("STAGES", 2)],
                (true, UNITS),
                |config, stream, a, b, c| gemm_pair::launch_with(config, stream, a, b, c),
            )
        }),
        Entry::new(&of(&gemm_split::DEFINITION, &halves), |bench| {
            units::<bf16, bf16>(
                bench,
                &gemm_split::DEFINITION,
                &[("STAGES", 2)],
                (true, UNITS),
                |config, stream, a, b, c| gemm_split::launch_with(config, stream, a, b, c),
            )?;
            units::<f16, f16>(
                bench,
                &gemm_split::DEFINITION,
                &[("STAGES", 2)],
                (true, UNITS),
                |config, stream, a, b, c| gemm_split::launch_with(config, stream, a, b, c),
            )
        }),
        Entry::new(&of(&gemm_then::DEFINITION, &[Elem::Bf16, Elem::F16, Elem::I8]), |bench| {
            followed::<bf16>(bench, Kernel::Gemm)?;
            followed::<f16>(bench, Kernel::Gemm)?;
            narrower(bench, Kernel::Gemm)?;
            whole(bench, Kernel::Gemm)
        }),
        Entry::new(&of(&gemm_mma_then::DEFINITION, &[Elem::Bf16, Elem::F16, Elem::I8]), |bench| {
            followed::<bf16>(bench, Kernel::GemmMma)?;
            followed::<f16>(bench, Kernel::GemmMma)?;
            narrower(bench, Kernel::GemmMma)?;
            whole(bench, Kernel::GemmMma)
        }),
    ]
}

/// Of Blackwell's tensor memory.
fn tensor_memory() -> Vec<Entry> {
    let covered =
        [Elem::Bf16, Elem::F16, Elem::E4m3].map(|elem| Covered::of(&gemm_tcgen05::DEFINITION, elem));
    let halves = [Elem::Bf16, Elem::F16].map(|elem| Covered::of(&gemm_tcgen05_then::DEFINITION, elem));
    vec![
        Entry::new(&covered, |bench| {
            fn by<T: Float, U: Float>(bench: &Bench<'_>, units: f64) -> Result<(), Error> {
                let own = [("BN", 128), ("STAGES", 2), ("SMS", 1)];
                self::units::<T, U>(
                    bench,
                    &gemm_tcgen05::DEFINITION,
                    &own,
                    (true, units),
                    |config, stream, a, b, c| gemm_tcgen05::launch_with(config, stream, a, b, c),
                )
            }
            by::<bf16, bf16>(bench, UNITS)?;
            by::<f16, f16>(bench, UNITS)?;
            by::<E4m3, f32>(bench, BYTES)?;
            by::<E4m3, bf16>(bench, BYTES)
        }),
        Entry::new(&halves, |bench| {
            followed::<bf16>(bench, Kernel::GemmTcgen05)?;
            followed::<f16>(bench, Kernel::GemmTcgen05)?;
            narrower(bench, Kernel::GemmTcgen05)
        }),
    ]
}

/// Of groups of rows, and with scales of blocks.
fn experts() -> Vec<Entry> {
    let halves = |definition| [Elem::Bf16, Elem::F16].map(|elem| Covered::of(definition, elem));
    vec![
        Entry::new(&halves(&grouped_gemm::DEFINITION), |bench| {
            let own = [("BN", 128), ("STAGES", 2), ("SLABS", 1), ("SMS", 1)];
            groups::<bf16>(bench, &grouped_gemm::DEFINITION, &own, |config, stream, a, b, c| {
                let (ends, b) = one_group(stream, a, b)?;
                grouped_gemm::launch_with(config, stream, a, &b, &ends, c)
            })?;
            groups::<f16>(bench, &grouped_gemm::DEFINITION, &own, |config, stream, a, b, c| {
                let (ends, b) = one_group(stream, a, b)?;
                grouped_gemm::launch_with(config, stream, a, &b, &ends, c)
            })
        }),
        Entry::new(&[Covered::of(&gemm_blockwise::DEFINITION, Elem::E4m3)], |bench| {
            fn by<U: Float>(bench: &Bench<'_>) -> Result<(), Error> {
                let numbers = [("BN", 64), ("STAGES", 2), ("SLABS", 1), ("SMS", 1)];
                let of = [("T", E4m3::ELEM), ("U", U::ELEM)].map(|(name, ty)| (name, ParamValue::Type(ty)));
                let set = set_of(&gemm_blockwise::DEFINITION, &numbers, &of);
                let name = &format!("gemm_blockwise to {:?}", U::ELEM);
                let launch: Launch<E4m3, U> = |config, stream, a, b, c| {
                    let ([m, k], n) = (a.shape(), b.shape()[1]);
                    let blocks = [m, k.div_ceil(128), n.div_ceil(128)];
                    let of_a = stream.upload(&vec![1.0; m * blocks[1]], [m, blocks[1]])?;
                    let of_b = stream.upload(&vec![1.0; blocks[1] * blocks[2]], [blocks[1], blocks[2]])?;
                    gemm_blockwise::launch_with(config, stream, a, b, &of_a, &of_b, c)
                };
                for k in [80, 144] {
                    let by_columns = [false, true];
                    let set = set.clone();
                    Product { name, set, units: BYTES, aligned: true, by_columns, launch }.check(bench, k)?;
                }
                Ok(())
            }
            by::<bf16>(bench)?;
            by::<f16>(bench)
        }),
        Entry::new(&halves(&grouped_gemm_mma::DEFINITION), |bench| {
            groups::<bf16>(
                bench,
                &grouped_gemm_mma::DEFINITION,
                &[("SMS", 1)],
                |config, stream, a, b, c| {
                    let (ends, b) = one_group(stream, a, b)?;
                    grouped_gemm_mma::launch_with(config, stream, a, &b, &ends, c)
                },
            )?;
            groups::<f16>(bench, &grouped_gemm_mma::DEFINITION, &[("SMS", 1)], |config, stream, a, b, c| {
                let (ends, b) = one_group(stream, a, b)?;
                grouped_gemm_mma::launch_with(config, stream, a, &b, &ends, c)
            })
        }),
    ]
}

fn silu(x: f64) -> f64 {
    if x < -1e4 && x.is_finite() { 0.0 } else { x / (1.0 + (-x).exp()) }
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
}

/// Each epilogue: the sums of every kind, and what is read beside of every kind.
fn followed<T: Float>(bench: &Bench<'_>, kernel: Kernel) -> Result<(), Error> {
    let (k, n) = (8, 32);
    let special = bench.rows::<T>(k);
    let m = special.m;
    let narrow = |values: Vec<f32>| values.iter().map(|x| T::rounded(x.wide())).collect::<Vec<T>>();
    let plain_b = narrow(ordinary(k * n));
    let beside = bench.rows::<T>(n);
    let (plain_d, bias) = (narrow(ordinary(m * n)), narrow(ordinary(n)));
    for is_beside in [false, true] {
        let a = if is_beside { narrow(ordinary(m * k)) } else { special.values.clone() };
        let d = if is_beside { &beside.values } else { &plain_d };
        let on_a = bench.device.upload(&a, [m, k])?;
        let (on_b, on_d) = (bench.device.upload(&plain_b, [k, n])?, bench.device.upload(d, [m, n])?);
        let on_bias = bench.device.upload(&bias, [n])?;
        type Law<'a> = &'a dyn Fn(f64, f64, f64) -> f64;
        let cases: [(Epilogue<'_, T>, Law<'_>); 4] = [
            (Epilogue::BiasGelu(&on_bias), &|x, bias, _| gelu(x + bias)),
            (Epilogue::Plus(&on_d, 0.5), &|x, _, d| x + 0.5 * d),
            (Epilogue::SiluTimes(&on_d), &|x, _, d| silu(x) * d),
            (Epilogue::Scaled(3.0), &|x, _, _| 3.0 * x),
        ];
        for (epilogue, law) in cases {
            let mut c = bench.device.zeros::<T, 2>([m, n])?;
            multiply_then_by(
                kernel,
                &bench.stream(),
                epilogue,
                &mut Workspace::default(),
                &on_a,
                &on_b,
                &mut c,
            )?;
            let wanted = (0..m * n).map(|at| {
                let terms = (0..k).map(|l| a[at / n * k + l].wide() * plain_b[l * n + at % n].wide());
                let size: f64 = terms.clone().filter(|term| term.is_finite()).map(f64::abs).sum();
                let (sum, other): (f64, f64) = (terms.sum(), d[at].wide());
                let exact = law(sum, bias[at % n].wide(), other);
                // The tangent has 11 bits.
                let reach = if matches!(epilogue, Epilogue::SiluTimes(_)) && other.is_finite() {
                    1.0 + other.abs()
                } else {
                    1.0
                };
                let sum = if sum.is_finite() { sum.abs() } else { 0.0 };
                let room = (size * 2e-6 + sum / 1024.0 + 2e-3) * reach;
                let other = if other.is_finite() { other.abs() } else { 0.0 };
                rounded::<T>(Want::of(exact, 4.0 * size.max(other) * reach, room))
            });
            let name = format!("{} of {:?}, beside: {is_beside}", epilogue.name(), T::ELEM);
            bench.check(&name, &c.download()?, wanted, |at| Rows::<T>::name(at / n));
        }
    }
    Ok(())
}

fn narrower(bench: &Bench<'_>, kernel: Kernel) -> Result<(), Error> {
    let (special, n, k) = (bench.rows::<bf16>(8), 32, 8);
    let b: Vec<bf16> = ordinary(k * n).iter().map(|x| bf16::rounded(x.wide())).collect();
    let (on_a, on_b) =
        (bench.device.upload(&special.values, [special.m, k])?, bench.device.upload(&b, [k, n])?);
    let mut c = bench.device.zeros::<E4m3, 2>([special.m, n])?;
    multiply_then_by(
        kernel,
        &bench.stream(),
        Epilogue::<f32>::Scaled(8.0),
        &mut Workspace::default(),
        &on_a,
        &on_b,
        &mut c,
    )?;
    let wanted = (0..special.m * n).map(|at| {
        let terms = (0..k).map(|l| 8.0 * special.values[at / n * k + l].wide() * b[l * n + at % n].wide());
        rounded::<E4m3>(Want::sum(terms, UNITS))
    });
    bench.check("scaled to e4m3", &c.download()?, wanted, |at| Rows::<bf16>::name(at / n));
    Ok(())
}

/// Products of the extremes of `i8` are exact.
fn whole_sums(bench: &Bench<'_>) -> Result<(), Error> {
    let [m, n, k] = [9, 23, 53];
    let a: Vec<i8> = (0..m * k).map(|at| [-128, 127, 0, -1, 1][at % 5]).collect();
    let b: Vec<i8> = (0..k * n).map(|at| [-128, -128, 127][at % 3]).collect();
    let (on_a, on_b) = (bench.device.upload(&a, [m, k])?, bench.device.upload(&b, [k, n])?);
    let mut c = bench.device.upload(&vec![-1i32; m * n], [m, n])?;
    multiply(&bench.stream(), Kernel::GemmMma, &mut Workspace::default(), &on_a, &on_b, &mut c)?;
    let sum = |at: usize| (0..k).map(|l| i32::from(a[at / n * k + l]) * i32::from(b[l * n + at % n])).sum();
    let wanted: Vec<i32> = (0..m * n).map(sum).collect();
    let found = c.download()?;
    bench.check_that(found == wanted, || format!("i8 by gemm_mma: {found:?}, not {wanted:?}"));
    Ok(())
}

/// Sums of the extremes of `i8` are exact; scales of every kind.
fn whole(bench: &Bench<'_>, kernel: Kernel) -> Result<(), Error> {
    let (n, k) = (32, 48);
    let (scales, m) = (bench.rows::<f32>(1), 2 * Kind::ALL.len());
    let a: Vec<i8> = (0..m * k).map(|at| [-128, 127, 0, -1, 1][at % 5]).collect();
    let b: Vec<i8> = (0..k * n).map(|at| [-128, -128, 127][at % 3]).collect();
    let columns = ordinary(n);
    let (on_a, on_b) = (bench.device.upload(&a, [m, k])?, bench.device.upload(&b, [k, n])?);
    let (on_rows, on_columns) =
        (bench.device.upload(&scales.values, [m])?, bench.device.upload(&columns, [n])?);
    let mut c = bench.device.zeros::<bf16, 2>([m, n])?;
    let epilogue = Epilogue::ScaledBoth(&on_rows, &on_columns);
    multiply_then_by(kernel, &bench.stream(), epilogue, &mut Workspace::default(), &on_a, &on_b, &mut c)?;
    let wanted = (0..m * n).map(|at| {
        let sum: i32 = (0..k).map(|l| i32::from(a[at / n * k + l]) * i32::from(b[l * n + at % n])).sum();
        let by_row = f64::from(sum) * scales.values[at / n].wide();
        let exact = by_row * columns[at % n].wide();
        let size = if exact.is_finite() { exact.abs().max(by_row.abs()) } else { 0.0 };
        rounded::<bf16>(Want::of(exact, size, exact.abs() * 1e-6))
    });
    bench.check("scaled_both", &c.download()?, wanted, |at| format!("scales, {}", Rows::<f32>::name(at / n)));
    Ok(())
}
