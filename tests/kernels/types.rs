//! The element types: arithmetic that wraps, bits, truth values, conversions.

use crate::support::case::{Case, Outcome, around, output_of};
use crate::support::data::{floats, integers};
use layout_compiler::Elem;
use layout_cuda::{E4m3, E5m2, bf16, f16, tiled_kernel};

/// Sums and products that wrap, bits, shifts, the larger and the smaller: a column for each.
#[tiled_kernel(T = [i32, u32, i64, u8, i8, u64, u16, i16], block = [64], grid = [N.div_ceil(64)])]
pub fn whole_numbers<T, const N: usize>(
    a: &LayoutTensor<T, RowMajor<N>>,
    b: &LayoutTensor<T, RowMajor<N>>,
    c: &mut LayoutTensor<T, RowMajor<N, 6>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let (x, y) = (a[[i]], b[[i]]);
        c[[i, 0]] = x * y - x + 7;
        c[[i, 1]] = (x & y) | (x ^ 3);
        c[[i, 2]] = (x >> 1) + (y << 2);
        c[[i, 3]] = x.max(y).min(100);
        c[[i, 4]] = select(y == 0, x, x / (y | 1));
        c[[i, 5]] = !x % 5;
    }
}

/// Literals and conversions of floats that Rust lacks, as of those that it has.
#[tiled_kernel(T = [f16, bf16, f32], block = [64], grid = [N.div_ceil(64)])]
pub fn small_literals<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    half: &LayoutTensor<f16, RowMajor<N>>,
    y: &mut LayoutTensor<T, RowMajor<N, 3>>,
    z: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let most: T = 1.5;
        y[[i, 0]] = (x[i] * 2.0 + 0.25).min(most);
        y[[i, 1]] = if x[i] > 0.5 { 1 as T } else { (i as f32 * 0.5) as T };
        y[[i, 2]] = -0.5;
        y[[i, 2]] += 2.0 * x[i];
        let sum = half[i] * 0.5f16 + 1.0;
        z[i] = sum as f32 + half[i].max(0.0) as f32 + (0.1 as bf16) as f32;
    }
}

/// Truth values as elements.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn truth<const N: usize>(
    a: &LayoutTensor<bool, RowMajor<N>>,
    b: &LayoutTensor<bool, RowMajor<N>>,
    x: &LayoutTensor<i32, RowMajor<N>>,
    flip: bool,
    either: &mut LayoutTensor<bool, RowMajor<N>>,
    count: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let odd = x[[i]] % 2 != 0;
        either[[i]] = (a[[i]] && !b[[i]]) || (odd ^ flip);
        count[[i]] = a[[i]] as i32 + b[[i]] as i32 + (x[[i]] > 3) as i32;
    }
}

/// Conversions as Rust's: integers wrap, floats saturate.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn conversions<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    v: &LayoutTensor<f32, RowMajor<N>>,
    bytes: &mut LayoutTensor<u8, RowMajor<N, 2>>,
    small: &mut LayoutTensor<i8, RowMajor<N, 2>>,
    whole: &mut LayoutTensor<i64, RowMajor<N, 3>>,
    real: &mut LayoutTensor<f64, RowMajor<N, 2>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        bytes[[i, 0]] = x[[i]] as u8;
        bytes[[i, 1]] = v[[i]] as u8;
        small[[i, 0]] = x[[i]].cast::<i8>();
        small[[i, 1]] = v[[i]] as i8;
        whole[[i, 0]] = x[[i]] as i64 * 1000;
        whole[[i, 1]] = v[[i]] as i64;
        whole[[i, 2]] = (x[[i]] as u32) as i64;
        real[[i, 0]] = x[[i]] as f64 / 3.0;
        real[[i, 1]] = v[[i]].cast::<f64>() / 3.0;
    }
}

/// A small product for element types that the ladder does not have.
#[tiled_kernel(
    T = [f64, i32, u8], B = 8,
    block = [B, B], grid = [N.div_ceil(B), M.div_ceil(B)],
)]
pub fn matmul_of<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, RowMajor<M, K>>,
    b: &LayoutTensor<T, RowMajor<K, N>>,
    c: &mut LayoutTensor<T, RowMajor<M, N>>,
) {
    let mut a_smem = shared::<T>(row_major([B, B]));
    let mut b_smem = shared::<T>(row_major([B, B]));
    let mut acc = local::<T>(row_major([1])).fill(0 as T);
    for block in 0..K.div_ceil(B) {
        copy_dram_to_sram(&mut a_smem, &a.tile([B, B], [block_idx.y, block]), row_major([B, B]));
        copy_dram_to_sram(&mut b_smem, &b.tile([B, B], [block, block_idx.x]), row_major([B, B]));
        barrier();
        for k in unroll(0..B) {
            acc[[0]] += a_smem[[thread_idx.y, k]] * b_smem[[k, thread_idx.x]];
        }
        barrier();
    }
    let mut dst = c.tile([B, B], [block_idx.y, block_idx.x]);
    dst[[thread_idx.y, thread_idx.x]] = acc[[0]];
}

/// Sums and products of 16-bit floats, each rounded; the larger and the smaller; constants.
#[tiled_kernel(T = [f16, bf16], block = [64], grid = [N.div_ceil(64)])]
pub fn halves<T, const N: usize>(
    a: &LayoutTensor<T, RowMajor<N>>,
    b: &LayoutTensor<T, RowMajor<N>>,
    scale: T,
    c: &mut LayoutTensor<T, RowMajor<N, 4>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let (x, y) = (a[[i]], b[[i]]);
        c[[i, 0]] = x * y + T::ONE;
        c[[i, 1]] = (x - y) / scale;
        c[[i, 2]] = select(x < y, -x, x.max(y).min(T::INFINITY).abs());
        c[[i, 3]] = (x.cast::<f32>() * y.cast::<f32>() + 0.375).cast::<T>();
    }
}

/// Small floats through shared memory by the widest vectors, and their conversions.
#[tiled_kernel(
    T = [f16, bf16], LANES = 8,
    block = [32],
    grid = [N.div_ceil(32 * LANES)],
    variant_if(N % LANES == 0),
)]
pub fn widen<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<1, N>>,
    y: &mut LayoutTensor<f32, RowMajor<1, N>>,
    z: &mut LayoutTensor<T, RowMajor<1, N>>,
) {
    let mut staged = shared::<T>(row_major([1, 32 * LANES]));
    let tile = x.tile([1, 32 * LANES], [0, block_idx.x]).pad(1.0);
    copy_dram_to_sram_async(
        &mut staged.vectorize([1, LANES]),
        &tile.vectorize([1, LANES]),
        row_major([1, 32]),
    );
    async_copy_wait_all();
    barrier();
    let own = staged.tile([1, LANES], [0, thread_idx.x]).vectorize([1, LANES]).to_local();
    let mut wide = local::<f32>(row_major([1, LANES]));
    let mut half = local::<T>(row_major([1, LANES])).fill(0.0);
    for lane in unroll(0..LANES) {
        wide[[0, lane]] = own[[0, lane]].cast::<f32>() * 3.0;
        half[[0, lane]] += (wide[[0, lane]] / 7.0).cast::<T>();
    }
    let mut into = y.tile([1, 32 * LANES], [0, block_idx.x]).tile([1, LANES], [0, thread_idx.x]);
    into.vectorize([1, 4]).copy_from(&wide.vectorize([1, 4]));
    let mut into = z.tile([1, 32 * LANES], [0, block_idx.x]).tile([1, LANES], [0, thread_idx.x]);
    into.vectorize([1, LANES]).copy_from(&half.vectorize([1, LANES]));
}

/// 8-bit floats are stored and converted.
#[tiled_kernel(arch = "sm_90a", block = [64], grid = [N.div_ceil(64)])]
pub fn bytes<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<e4m3, RowMajor<N>>,
    b: &LayoutTensor<e5m2, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, 2>>,
    narrow: &mut LayoutTensor<e4m3, RowMajor<N, 2>>,
    wide: &mut LayoutTensor<e5m2, RowMajor<N, 2>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        y[[i, 0]] = a[[i]].cast::<f32>();
        y[[i, 1]] = b[[i]].cast::<f32>();
        narrow[[i, 0]] = x[[i]].cast::<e4m3>();
        narrow[[i, 1]] = select(i % 2 == 0, e4m3::ONE, e4m3::MIN);
        wide[[i, 0]] = x[[i]].cast::<e5m2>();
        wide[[i, 1]] = b[[i]].cast::<f16>().cast::<e5m2>();
    }
}

/// The case of an integer type.
macro_rules! whole_numbers {
    ($elem:ident, $ty:ty) => {
        Case::new(&whole_numbers::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let some = |seed| integers(n, seed, 1 << 40).iter().map(|v| *v as $ty).collect::<Vec<$ty>>();
            let (a, b) = (some(1), some(2));
            let c = output_of!(run, whole_numbers(a: [n], b: [n]) -> [n, 6]);
            let row = |(x, y): (&$ty, &$ty)| {
                let (x, y) = (*x, *y);
                [
                    x.wrapping_mul(y).wrapping_sub(x).wrapping_add(7),
                    (x & y) | (x ^ 3),
                    (x >> 1).wrapping_add(y << 2),
                    x.max(y).min(100),
                    if y == 0 { x } else { x.wrapping_div(y | 1) },
                    !x % 5,
                ]
            };
            Ok(Outcome::exact(c, a.iter().zip(&b).flat_map(row)))
        })
        .of(Elem::$elem)
    };
}

/// The case of a float and what makes it of an `f32`.
macro_rules! small_literals {
    ($elem:ident, $of:expr) => {
        Case::new(&small_literals::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let (plain, halves) = (floats(n, 1), floats(n, 2));
            let x: Vec<_> = plain.iter().copied().map($of).collect();
            let half: Vec<f16> = halves.iter().copied().map(f16::from_f32).collect();
            let (on_x, on_half) = (run.tensor(&x, [n])?, run.tensor(&half, [n])?);
            let (mut y, mut z) = (run.output([n, 3])?, run.output([n])?);
            let (x_view, half_view) = (on_x.view()?, on_half.view()?);
            let (stream, y_view, z_view) = (run.stream(), &mut y.view_mut()?, &mut z.view_mut()?);
            small_literals::launch_with(run.config(), &stream, &x_view, &half_view, y_view, z_view)?;
            let row = |(i, x): (usize, &f32)| {
                let second = if *x > 0.5 { 1.0 } else { i as f32 * 0.5 };
                [(x * 2.0 + 0.25).min(1.5), second, 2.0 * x - 0.5].map($of)
            };
            let sum = |x: &f32| x * 0.5 + 1.0 + x.max(0.0) + bf16::from_f32(0.1).to_f32();
            let rows = plain.iter().enumerate().flat_map(row);
            Ok(Outcome::exact(y.read()?, rows).and(Outcome::exact(z.read()?, halves.iter().map(sum))))
        })
        .of(Elem::$elem)
    };
}

/// The case of a product's element type.
macro_rules! matmul_of {
    ($elem:ident, $ty:ty) => {
        Case::new(&matmul_of::DEFINITION, crate::support::case::around_tile([8, 8, 8]), |run| {
            let [m, n, k] = run.size;
            let some = |count, seed| {
                integers(count, seed, 5).iter().map(|v| v.unsigned_abs() as $ty).collect::<Vec<$ty>>()
            };
            let (a, b) = (some(m * k, 1), some(k * n, 2));
            let (on_a, on_b) = (run.tensor(&a, [m, k])?, run.tensor(&b, [k, n])?);
            let mut c = run.output([m, n])?;
            let (a_view, b_view) = (on_a.view()?, on_b.view()?);
            matmul_of::launch_with(run.config(), &run.stream(), &a_view, &b_view, &mut c.view_mut()?)?;
            let element = |at: usize| {
                let terms = (0..k).map(|l| a[at / n * k + l] as i64 * b[l * n + at % n] as i64);
                terms.sum::<i64>() as $ty
            };
            Ok(Outcome::exact(c.read()?, (0..m * n).map(element)))
        })
        .of(Elem::$elem)
    };
}

/// The cases of a 16-bit float.
macro_rules! halves {
    ($elem:ident) => {
        [
            Case::new(&halves::DEFINITION, around(64), |run| {
                let [n, ..] = run.size;
                let some = |seed| floats(n, seed).iter().map(|v| half(v * 1.1)).collect::<Vec<$elem>>();
                let (a, b, scale) = (some(1), some(2), half(1.5));
                let (on_a, on_b, mut c) = (run.tensor(&a, [n])?, run.tensor(&b, [n])?, run.output([n, 4])?);
                let (a_view, b_view) = (on_a.view()?, on_b.view()?);
                halves::launch_with(
                    run.config(),
                    &run.stream(),
                    &a_view,
                    &b_view,
                    scale,
                    &mut c.view_mut()?,
                )?;
                fn half(value: f32) -> $elem {
                    $elem::from_f32(value)
                }
                let row = |(x, y): (&$elem, &$elem)| {
                    let (x, y) = (x.to_f32(), y.to_f32());
                    [
                        half(half(x * y).to_f32() + 1.0),
                        half(half(x - y).to_f32() / 1.5),
                        half(if x < y { -x } else { x.max(y).abs() }),
                        half(x * y + 0.375),
                    ]
                };
                Ok(Outcome::exact(c.read()?, a.iter().zip(&b).flat_map(row)))
            }),
            Case::new(&widen::DEFINITION, around(256), |run| {
                let [n, ..] = run.size;
                let x: Vec<$elem> = floats(n, 1).iter().map(|v| $elem::from_f32(v * 1.1)).collect();
                let on_x = run.tensor(&x, [1, n])?;
                let (mut y, mut z) = (run.output([1, n])?, run.output([1, n])?);
                let (x_view, mut y_view, mut z_view) = (on_x.view()?, y.view_mut()?, z.view_mut()?);
                widen::launch_with(run.config(), &run.stream(), &x_view, &mut y_view, &mut z_view)?;
                let wide = |x: &$elem| x.to_f32() * 3.0;
                let found = Outcome::exact(y.read()?, x.iter().map(wide));
                let halves = x.iter().map(|x| $elem::from_f32(wide(x) / 7.0));
                Ok(found.and(Outcome::exact(z.read()?, halves)))
            }),
        ]
    };
}

/// The cases of 16- and 8-bit floats.
fn small_floats() -> Vec<Case> {
    let [a, b] = halves!(f16);
    let [c, d] = halves!(bf16);
    let bytes = Case::new(&bytes::DEFINITION, around(64), |run| {
        let [n, ..] = run.size;
        let mut x: Vec<f32> = floats(n, 1).iter().map(|v| v * v * v * 77.0 + 0.3).collect();
        let special = [f32::INFINITY, -1e9, 1e-9, -0.0, 464.0, 61440.0];
        x.iter_mut().zip(special).for_each(|(x, special)| *x = special);
        let patterns = integers(n, 2, 1 << 20);
        // Every pattern but the NaNs, which come back as another NaN, and the infinities, which do not come back.
        let a: Vec<E4m3> = patterns.iter().map(|p| E4m3::from_bits((*p % 127) as u8)).collect();
        let b: Vec<E5m2> = patterns.iter().map(|p| E5m2::from_bits((*p % 123) as u8)).collect();
        let b: Vec<E5m2> = b.into_iter().map(|b| E5m2::from_f32(b.to_f32().clamp(-5e4, 5e4))).collect();
        let a: Vec<E4m3> =
            a.into_iter().map(|a| if a.to_f32().is_nan() { E4m3::default() } else { a }).collect();
        let (on_x, on_a, on_b) = (run.tensor(&x, [n])?, run.tensor(&a, [n])?, run.tensor(&b, [n])?);
        let (mut y, mut narrow, mut wide) = (run.output([n, 2])?, run.output([n, 2])?, run.output([n, 2])?);
        bytes::launch_with(
            run.config(),
            &run.stream(),
            &on_x.view()?,
            &on_a.view()?,
            &on_b.view()?,
            &mut y.view_mut()?,
            &mut narrow.view_mut()?,
            &mut wide.view_mut()?,
        )?;
        let y = Outcome::exact(y.read()?, (0..n).flat_map(|i| [a[i].to_f32(), b[i].to_f32()]));
        let other = |i: usize| E4m3::from_f32(if i.is_multiple_of(2) { 1.0 } else { -448.0 });
        let narrow = Outcome::exact(narrow.read()?, (0..n).flat_map(|i| [E4m3::from_f32(x[i]), other(i)]));
        let wide = Outcome::exact(wide.read()?, (0..n).flat_map(|i| [E5m2::from_f32(x[i]), b[i]]));
        Ok(y.and(narrow).and(wide))
    });
    let [f16, bf16] = [Elem::F16, Elem::Bf16];
    vec![a.of(f16), b.of(f16), c.of(bf16), d.of(bf16), bytes]
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        whole_numbers!(I32, i32),
        whole_numbers!(U32, u32),
        whole_numbers!(I64, i64),
        whole_numbers!(U8, u8),
        whole_numbers!(I8, i8),
        whole_numbers!(U64, u64),
        whole_numbers!(U16, u16),
        whole_numbers!(I16, i16),
        small_literals!(F16, f16::from_f32),
        small_literals!(Bf16, bf16::from_f32),
        small_literals!(F32, |value: f32| value),
        Case::new(&truth::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let bools = |seed| integers(n, seed, 1).iter().map(|v| *v != 0).collect::<Vec<bool>>();
            let x: Vec<i32> = integers(n, 3, 7).iter().map(|v| *v as i32).collect();
            let (a, b) = (bools(1), bools(2));
            let (on_a, on_b, on_x) = (run.tensor(&a, [n])?, run.tensor(&b, [n])?, run.tensor(&x, [n])?);
            let (mut either, mut count) = (run.output([n])?, run.output([n])?);
            truth::launch_with(
                run.config(),
                &run.stream(),
                &on_a.view()?,
                &on_b.view()?,
                &on_x.view()?,
                true,
                &mut either.view_mut()?,
                &mut count.view_mut()?,
            )?;
            let first = (0..n).map(|i| (a[i] && !b[i]) || x[i] % 2 == 0);
            let second = (0..n).map(|i| i32::from(a[i]) + i32::from(b[i]) + i32::from(x[i] > 3));
            Ok(Outcome::exact(either.read()?, first).and(Outcome::exact(count.read()?, second)))
        }),
        Case::new(&conversions::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 1 << 20).iter().map(|v| *v as i32).collect();
            let mut v: Vec<f32> = floats(n, 4).iter().map(|v| v * 150.0).collect();
            let special = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -1e30, -0.0];
            v.iter_mut().skip(7).zip(special).for_each(|(v, special)| *v = special);
            let (on_x, on_v) = (run.tensor(&x, [n])?, run.tensor(&v, [n])?);
            let (mut bytes, mut small) = (run.output([n, 2])?, run.output([n, 2])?);
            let (mut whole, mut real) = (run.output([n, 3])?, run.output([n, 2])?);
            conversions::launch_with(
                run.config(),
                &run.stream(),
                &on_x.view()?,
                &on_v.view()?,
                &mut bytes.view_mut()?,
                &mut small.view_mut()?,
                &mut whole.view_mut()?,
                &mut real.view_mut()?,
            )?;
            let rows = || x.iter().copied().zip(v.iter().copied());
            let a = Outcome::exact(bytes.read()?, rows().flat_map(|(x, v)| [x as u8, v as u8]));
            let b = Outcome::exact(small.read()?, rows().flat_map(|(x, v)| [x as i8, v as i8]));
            let whole = whole.read()?;
            let c = Outcome::exact(
                whole,
                rows().flat_map(|(x, v)| [i64::from(x) * 1000, v as i64, i64::from(x as u32)]),
            );
            let real = real.read()?;
            let d = Outcome::exact(real, rows().flat_map(|(x, v)| [f64::from(x) / 3.0, f64::from(v) / 3.0]));
            Ok(a.and(b).and(c).and(d))
        }),
        matmul_of!(F64, f64),
        matmul_of!(I32, i32),
        matmul_of!(U8, u8),
    ];
    cases.extend(small_floats());
    cases
}
