//! Indices that leave 64 bits: nothing outside of a tensor is touched, and what is inside is Rust's.
//!
//! Law: an index of natural numbers wraps as Rust's `usize` does, and where it is not meant to (`wrapping_*`) the simulator
//! says (`tests/mistakes/arithmetic.rs`); a place that is named by a product beyond 64 bits does not exist.

use layout_compiler::{BindError, Elem, LaunchArgument, ParamSet, Promises, ViolatedPromise, compile, emit};
use layout_cuda::{Device, Error, tiled_kernel};
use layout_tests::support::cubin::compiled;
use layout_tests::support::gpu::devices;
use layout_tests::support::guarded::guarded;
use layout_tests::support::sass::sass;

const FAR: usize = 2_000_000_000;

#[tiled_kernel(block = [1], grid = [1])]
fn remainders<const N: usize>(y: &mut LayoutTensor<i32, RowMajor<N>>, a: usize, b: usize) {
    for i in 0..64 {
        y[[i.wrapping_mul(a).wrapping_mul(b) % N]] = 7;
    }
    for i in 0..64 {
        y[[i.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407) % N]] = 8;
    }
    for i in 0..64 {
        let p = i.wrapping_mul(a).wrapping_mul(b);
        y[[(p / a) % N]] = 9;
    }
    for i in 0..64 {
        y[[(i.wrapping_mul(a).wrapping_mul(b) >> 40) % N]] = 10;
    }
    for i in 0..64 {
        y[[i.wrapping_mul(a).wrapping_mul(b).wrapping_add(5).min(N - 1)]] = 11;
    }
    for i in 0..64 {
        let p = i.wrapping_mul(a).wrapping_mul(b);
        if p > a {
            y[[(p ^ b) % N]] = 12;
        }
    }
}

#[test]
fn remainders_are_those_of_rust() -> Result<(), Error> {
    for n in [1usize, 7, 63, 64, 1000] {
        let mut wanted = vec![0; n];
        let p = |i: usize| i.wrapping_mul(FAR).wrapping_mul(FAR);
        for i in 0..64usize {
            wanted[p(i) % n] = 7;
        }
        for i in 0..64usize {
            wanted[i.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407) % n] = 8;
        }
        for i in 0..64usize {
            wanted[(p(i) / FAR) % n] = 9;
        }
        for i in 0..64usize {
            wanted[(p(i) >> 40) % n] = 10;
        }
        for i in 0..64usize {
            wanted[p(i).wrapping_add(5).min(n - 1)] = 11;
        }
        for i in (0..64usize).filter(|i| p(*i) > FAR) {
            wanted[(p(i) ^ FAR) % n] = 12;
        }
        guarded(&vec![0; n], -9, &wanted, |_, stream, y| remainders::launch(stream, y, FAR, FAR))?;
    }
    Ok(())
}

#[tiled_kernel(block = [32], grid = [1])]
fn far_views<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
    a: usize,
    b: usize,
) {
    let lane = thread_idx.x;
    let mut tile = y.tile([32], [a * b]);
    tile[[lane]] = 1 + x.tile([32], [a * b])[[lane]];
    y.window([32], [a * 70000 * 70000]).copy_from(&x.window([32], [a * 70000 * 70000]));
    let mut k = a;
    for _ in 0..5 {
        k = k * b + 1;
    }
    y.tile([32], [k]).distribute(row_major([32]), lane).fill(5);
    y.tile([64], [k]).vectorize([4]).distribute(row_major([32]), lane).fill(6);
    if k > 17 {
        y.window([8], [k - 17]).copy_from(&x.window([8], [k]));
    }
    y.tile([1 << 30], [1usize << 40]).tile([32], [a]).fill(7);
}

#[test]
fn far_views_are_outside() -> Result<(), Error> {
    for n in [1usize, 31, 32, 100, 4096] {
        let nothing = vec![0; n];
        for (a, b) in [(FAR, FAR), (1 << 30, 1 << 29), ((1 << 31) - (1 << 20), 1 << 30), (1 << 26, 1 << 16)] {
            guarded(&nothing, -9, &nothing, |device, stream, y| {
                far_views::launch(stream, &device.upload(&vec![3; n], [n])?, y, a, b)
            })?;
        }
    }
    Ok(())
}

#[tiled_kernel(block = [1], grid = [1])]
fn total(y: &mut LayoutTensor<i64, RowMajor<12>>, s: usize, d: isize) {
    let a = (4294967295usize - s) % 9;
    y[[0]] = ((4294967295usize - s) ^ 5) as i64;
    y[[1]] = ((4294967295usize - s) & 12) as i64;
    y[[2]] = ((4294967295usize - s) | 3) as i64;
    y[[3]] = ((4294967295usize - s) >> 3) as i64;
    y[[4]] = (4294967295usize - s).div_ceil(7) as i64;
    y[[5]] = a as i64;
    y[[6]] = (d ^ 5) as i64;
    y[[7]] = (d & 12) as i64;
    y[[8]] = (d | 3) as i64;
    y[[9]] = (d >> 3) as i64;
    y[[10]] = (d & -4) as i64;
    y[[11]] = ((d >> 1) ^ d) as i64;
}

#[test]
fn bits_and_shifts_are_total() -> Result<(), Error> {
    for (s, d) in [(3_000_000_000usize, -1000isize), (5, 1000), (4294967295, -1), (0, -7), (12345, 0)] {
        let n = 4294967295 - s;
        let naturals = [n ^ 5, n & 12, n | 3, n >> 3, n.div_ceil(7), n % 9].map(|value| value as i64);
        let signed = [d ^ 5, d & 12, d | 3, d >> 3, d & -4, (d >> 1) ^ d].map(|value| value as i64);
        let wanted = [naturals, signed].concat();
        guarded(&[0; 12], -9, &wanted, |_, stream, y| total::launch(stream, y, s, d))?;
    }
    Ok(())
}

#[tiled_kernel(block = [1], grid = [1])]
fn generator<const N: usize>(y: &mut LayoutTensor<i32, RowMajor<N>>, seed: usize) {
    let mut state = seed;
    for i in 0..N {
        state = state * 6364136223846793005 + 1442695040888963407;
        y[[i]] = (state >> 33) as i32;
        y[[i]] = y[[i]] + (state % 1000) as i32;
    }
}

#[test]
fn a_mutable_index_wraps_as_rust_does() -> Result<(), Error> {
    let mut state = 42usize;
    let wanted: Vec<i32> = (0..100)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) as i32).wrapping_add((state % 1000) as i32)
        })
        .collect();
    guarded(&[0; 100], -9, &wanted, |_, stream, y| generator::launch(stream, y, 42))
}

#[tiled_kernel(block = [1], grid = [1])]
fn far_loops(y: &mut LayoutTensor<i32, RowMajor<4>>, far: isize) {
    for _ in (0..far.min(1)).step_by(2).rev() {
        y[[0]] += 1;
    }
    for _ in far.max(3)..5 {
        y[[1]] += 1;
    }
    for i in far..far + 3 {
        y[[2]] += (i - far) as i32;
    }
    for _ in (0..far.min(7)).step_by(3).rev() {
        y[[3]] += 1;
    }
}

#[test]
fn a_loop_that_begins_far_away_runs_as_rust_says() -> Result<(), Error> {
    for far in [0isize, 1, -1, 4, -(1 << 33), (1 << 33) + 4, 1 << 40, i32::MAX as isize - (1 << 20)] {
        let rounds = |range: std::ops::Range<isize>, step: usize| range.step_by(step).count() as i32;
        let wanted = [rounds(0..far.min(1), 2), rounds(far.max(3)..5, 1), 3, rounds(0..far.min(7), 3)];
        guarded(&[0; 4], -9, &wanted, |_, stream, y| far_loops::launch(stream, y, far))?;
    }
    Ok(())
}

#[tiled_kernel(block = [1], grid = [1])]
fn loops_at_the_ends(y: &mut LayoutTensor<i32, RowMajor<11>>, from: i64, to: i64) {
    let (from, to) = (from as isize, to as isize);
    for i in (from..to).step_by(3) {
        y[[0]] = y[[0]] * 10 + (i % 7) as i32;
    }
    for i in (from..to).rev() {
        y[[1]] = y[[1]] * 10 + (i % 7) as i32;
    }
    for i in (from..to).step_by(3).rev() {
        y[[2]] = y[[2]] * 10 + (i % 7) as i32;
    }
    for i in (1..to.min(8)).rev() {
        y[[3]] = y[[3]] * 10 + (i % 7) as i32;
    }
    for i in (1..to.min(8)).step_by(3).rev() {
        y[[4]] = y[[4]] * 10 + (i % 7) as i32;
    }
    for i in (9223372036854775803isize..9223372036854775807).step_by(3) {
        y[[5]] = y[[5]] * 10 + (i % 7) as i32;
    }
    for i in (1..-9223372036854775807isize).step_by(3).rev() {
        y[[6]] = y[[6]] * 10 + (i % 7) as i32;
    }
    for i in (-9223372036854775807isize..-9223372036854775801isize).step_by(3).rev() {
        y[[7]] = y[[7]] * 10 + (i % 7) as i32;
    }
    for i in (-9223372036854775807..9223372036854775807isize).step_by(3).rev() {
        y[[8]] = y[[8]] * 10 + (i % 7) as i32;
        if i < 9223372036854775800 {
            break;
        }
    }
    for i in (9223372036854775807..-9223372036854775807isize).rev() {
        y[[9]] = (i % 7) as i32;
    }
    y[[10]] = (1isize.min(-9223372036854775807) - (9223372036854775807u64 << 1) as isize) as i32;
}

#[test]
fn a_loop_at_the_ends_of_the_numbers_runs_as_rust_says() -> Result<(), Error> {
    fn all(rounds: impl Iterator<Item = isize>) -> i32 {
        rounds.fold(0, |all, i| all * 10 + (i % 7) as i32)
    }
    let (most, least) = (isize::MAX, isize::MIN);
    let ends = [
        (0, 5),
        (5, 5),
        (most - 5, most),
        (most, most - 5),
        (most, least),
        (least + 1, least + 6),
        (7, least),
        (least, least + 4),
    ];
    for (from, to) in ends {
        let wanted = [
            all((from..to).step_by(3)),
            all((from..to).rev()),
            all((from..to).step_by(3).rev()),
            all((1..to.min(8)).rev()),
            all((1..to.min(8)).step_by(3).rev()),
            all((most - 4..most).step_by(3)),
            0,
            all((-most..-most + 6).step_by(3).rev()),
            all((-most..most)
                .step_by(3)
                .rev()
                .scan(true, |on, i| std::mem::replace(on, i >= most - 7).then_some(i))),
            0,
            (1isize.min(-most) - (9223372036854775807u64 << 1) as isize) as i32,
        ];
        guarded(&[0; 11], -9, &wanted, |_, stream, y| {
            loops_at_the_ends::launch(stream, y, from as i64, to as i64)
        })?;
    }
    Ok(())
}

/// Loops over lengths that no `isize` holds, left after a few rounds.
#[tiled_kernel(block = [1], grid = [1])]
fn longest_loops(y: &mut LayoutTensor<i32, RowMajor<6>>, from: i64, to: i64, by: usize) {
    let (from, to) = (from as isize, to as isize);
    for i in (from..to).step_by(3) {
        y[[0]] = y[[0]] * 10 + (i % 7) as i32;
        if i - from > 5 {
            break;
        }
    }
    for i in (from..to).step_by(by) {
        y[[1]] = y[[1]] * 10 + (i % 7) as i32;
        if i - from > 5 {
            break;
        }
    }
    for i in (from..to).step_by(5).rev() {
        y[[2]] = y[[2]] * 10 + (i % 7) as i32;
        if i < to - 5 {
            break;
        }
    }
    for i in (from..to).step_by(by).rev() {
        y[[3]] = y[[3]] * 10 + (i % 7) as i32;
        if i < to - 5 {
            break;
        }
    }
    for i in (from..9223372036854775807).step_by(3) {
        y[[4]] = y[[4]] * 10 + (i % 7) as i32;
        if i > from + 5 {
            break;
        }
    }
    for i in (-9223372036854775807isize..to).step_by(by).rev() {
        y[[5]] = y[[5]] * 10 + (i % 7) as i32;
        if i < to - 5 {
            break;
        }
    }
}

#[test]
fn loops_longer_than_63_bits_run_as_rust_says() -> Result<(), Error> {
    let some = |until: &dyn Fn(isize) -> bool, rounds: &mut dyn Iterator<Item = isize>| {
        let mut all = 0;
        for i in rounds {
            all = all * 10 + (i % 7) as i32;
            if until(i) {
                break;
            }
        }
        all
    };
    let (most, least) = (isize::MAX, isize::MIN);
    let ends = [
        (least, most),
        (least + 1, most),
        (least + 20, most - 1),
        (-most / 2, most / 2 + 9),
        (-7, most),
        (0, most - 3),
    ];
    for (from, to) in ends.into_iter().chain([(5, 5), (9, -9), (most - 9, 9 - most), (3, 17)]) {
        for by in [1, 2, 3, 4096] {
            let (early, late) = (|i: isize| i.wrapping_sub(from) > 5, |i: isize| i < to.wrapping_sub(5));
            let past = |i: isize| i > from.wrapping_add(5);
            let wanted = [
                some(&early, &mut (from..to).step_by(3)),
                some(&early, &mut (from..to).step_by(by)),
                some(&late, &mut (from..to).step_by(5).rev()),
                some(&late, &mut (from..to).step_by(by).rev()),
                some(&past, &mut (from..most).step_by(3)),
                some(&late, &mut (-most..to).step_by(by).rev()),
            ];
            guarded(&[0; 6], -9, &wanted, |_, stream, y| {
                longest_loops::launch(stream, y, from as i64, to as i64, by)
            })?;
        }
    }
    Ok(())
}

/// Comparisons of numbers that may be beyond 63 bits with such as may be negative.
#[tiled_kernel(block = [1], grid = [1])]
fn far_apart(y: &mut LayoutTensor<i32, RowMajor<14>>, low: isize, far: isize, by: usize) {
    let high = 9223372036854775807 - far;
    let near = if low < 5 { low } else { -2 };
    y[[0]] = (high <= near) as i32;
    y[[1]] = (high < near) as i32;
    y[[2]] = (high >= near) as i32;
    y[[3]] = (high > near) as i32;
    y[[4]] = (high == near) as i32;
    y[[5]] = (high != near) as i32;
    y[[6]] = (near <= high) as i32;
    y[[7]] = (near < high) as i32;
    y[[8]] = (near >= high) as i32;
    y[[9]] = (near > high) as i32;
    y[[10]] = (near == high) as i32;
    y[[11]] = (near != high) as i32;
    let product = 4294967295 * by;
    let place = thread_idx.x * by;
    // The narrow variant has a product of 64 bits, the wide one none.
    y[[12]] = (place as isize - 7 < product as isize) as i32;
    y[[13]] = if high <= near { 1 } else { 2 };
}

#[test]
fn numbers_far_apart_are_compared_as_what_they_are() -> Result<(), Error> {
    for (low, far) in [(1, 1), (-2, 1), (-9, 1 << 40), (0, 0), (4, 1 << 47), (7, 5)] {
        let (high, near) = (i64::MAX - far, if low < 5 { low } else { -2 });
        let mut wanted: Vec<i32> = [
            high <= near,
            high < near,
            high >= near,
            high > near,
            high == near,
            high != near,
            near <= high,
            near < high,
            near >= high,
            near > high,
            near == high,
            near != high,
            true,
        ]
        .map(i32::from)
        .to_vec();
        wanted.push(if high <= near { 1 } else { 2 });
        for by in [1usize, 1 << 20] {
            let mut y = Device::simulator().zeros::<i32, 1>([14])?;
            let report = far_apart::simulate(&mut y, low as isize, far as isize, by)?;
            assert!(report.clean(), "{report}");
            guarded(&[0; 14], -9, &wanted, |_, stream, y| {
                far_apart::launch(stream, y, low as isize, far as isize, by)
            })?;
        }
    }
    Ok(())
}

/// The values of `x` as indices: sums with what is divided, cut or chosen of the same index; and the ways back to a sign.
#[tiled_kernel(block = [64], grid = [1])]
fn of_one_index(x: &LayoutTensor<i32, RowMajor<64>>, y: &mut LayoutTensor<i32, RowMajor<1024>>) {
    let t = thread_idx.x;
    let u = x[t] as usize;
    let h = u.wrapping_mul(0x1E3779B97F4A7C15);
    y[[t]] = (h.wrapping_add(h >> 32) & 63) as i32;
    y[[64 + t]] = (u.wrapping_add(u >> 7) & 63) as i32;
    y[[128 + t]] = (u.wrapping_add(u / 3) % 7) as i32;
    y[[192 + t]] = if u.wrapping_add(u % 10) < 100 { 1 } else { 0 };
    y[[256 + t]] = u.wrapping_add(u % 10).min(1000) as i32;
    y[[320 + t]] = (u & 15).wrapping_add(u).count_ones() as i32;
    y[[384 + t]] = (h.wrapping_add(h.min(5)) >> 3) as i32;
    y[[448 + t]] = h.wrapping_add(h % 64).wrapping_sub(h) as i32;
    y[[512 + t]] = if (u as isize) < 0 { -1 } else { 1 };
    y[[576 + t]] = (u as isize / 3) as i32;
    y[[640 + t]] = (u as isize >> 5) as i32;
    y[[704 + t]] = (u as isize).rem_euclid(7) as i32;
    y[[768 + t]] = u as isize as f32 as i32;
    y[[832 + t]] = if t.wrapping_sub(40) < 4 { 1 } else { 0 };
    y[[896 + t]] = if t.wrapping_sub(1) < 64 { x[t.wrapping_sub(1)] } else { 7 };
    let mut p: isize = 1;
    for _ in 0..t {
        p = p.wrapping_mul(3);
    }
    let d = if t > 3 { x[t] as isize } else { p.abs_diff(5) as isize };
    y[[960 + t]] = (d % 10) as i32;
}

#[test]
fn one_index_in_several_places_is_one_number() -> Result<(), Error> {
    let ends = [0, 1, -1, 2, 63, 64, -64, 1000, i32::MAX, i32::MIN, i32::MIN + 1, 0x1234_5678];
    let x: Vec<i32> = (0..64)
        .map(|i: i32| *ends.get(i as usize).unwrap_or(&i.wrapping_mul(0x9E37_79B1u32 as i32)))
        .collect();
    let row = |of: &dyn Fn(usize, usize) -> i32| (0..64).map(|t| of(x[t] as usize, t)).collect::<Vec<i32>>();
    let hash = |u: usize| u.wrapping_mul(0x1E3779B97F4A7C15);
    let d = |t: usize| if t > 3 { x[t] as isize } else { 3isize.wrapping_pow(t as u32).abs_diff(5) as isize };
    let wanted = [
        row(&|u, _| (hash(u).wrapping_add(hash(u) >> 32) & 63) as i32),
        row(&|u, _| (u.wrapping_add(u >> 7) & 63) as i32),
        row(&|u, _| (u.wrapping_add(u / 3) % 7) as i32),
        row(&|u, _| i32::from(u.wrapping_add(u % 10) < 100)),
        row(&|u, _| u.wrapping_add(u % 10).min(1000) as i32),
        row(&|u, _| (u & 15).wrapping_add(u).count_ones() as i32),
        row(&|u, _| (hash(u).wrapping_add(hash(u).min(5)) >> 3) as i32),
        row(&|u, _| (hash(u) % 64) as i32),
        row(&|u, _| if (u as isize) < 0 { -1 } else { 1 }),
        row(&|u, _| (u as isize / 3) as i32),
        row(&|u, _| (u as isize >> 5) as i32),
        row(&|u, _| (u as isize).rem_euclid(7) as i32),
        row(&|u, _| u as isize as f32 as i32),
        row(&|_, t| i32::from(t.wrapping_sub(40) < 4)),
        row(&|_, t| if t > 0 { x[t - 1] } else { 7 }),
        row(&|_, t| (d(t) % 10) as i32),
    ]
    .concat();
    guarded(&vec![0; 1024], -9, &wanted, |device, stream, y| {
        let x = device.upload(&x, [64])?;
        of_one_index::launch(stream, &x, y)
    })
}

/// Sets bit `k` at the `k`-th spelling of the size of a number. That of the least number is negative.
#[tiled_kernel(block = [32], grid = [1])]
fn sizes<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<32>>,
    long: &LayoutTensor<i64, RowMajor<32>>,
    short: &LayoutTensor<i16, RowMajor<32>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    fn mark(y: View<i32, Write>, place: isize, spelling: i32) {
        if place >= 0 && place < y.dim(0) as isize {
            y.atomic_or([place], 1 << spelling);
        }
    }
    let (a, e, w) = (x[thread_idx.x], long[thread_idx.x], short[thread_idx.x]);
    mark(y, a.abs() as isize, 0);
    let b = a.abs() as usize;
    if b < N {
        y.atomic_or([b], 1 << 1);
    }
    mark(y, a.max(-a) as isize, 2);
    let b = if a < 0 { -a } else { a };
    if b >= 0 && b < N as i32 {
        y.atomic_or([b as usize], 1 << 3);
    }
    let sign = a >> 31;
    mark(y, ((a ^ sign) - sign) as isize, 4);
    mark(y, ((a + sign) ^ sign) as isize, 5);
    mark(y, (a * if a < 0 { -1 } else { 1 }) as isize, 6);
    mark(y, (a * a.signum()) as isize, 7);
    let c = 0 - a;
    mark(y, if a < 0 { c } else { a } as isize, 8);
    let c = a * -1;
    mark(y, if a < 0 { c } else { a } as isize, 9);
    mark(y, if a < 0 { !a + 1 } else { a } as isize, 10);
    mark(y, if a < 0 { a.wrapping_div(-1) } else { a } as isize, 11);
    mark(y, e.abs() as isize, 12);
    mark(y, if e < 0 { -e } else { e } as isize, 13);
    let place = e as isize;
    mark(y, if place < 0 { -place } else { place }, 14);
    let sign = e >> 63;
    mark(y, ((e ^ sign) - sign) as isize, 15);
    mark(y, w.abs() as isize, 16);
    mark(y, if w < 0 { -w } else { w } as isize, 17);
    let sign = w >> 15;
    mark(y, ((w ^ sign) - sign) as isize, 18);
    mark(y, w.abs() as i32 as isize, 19);
}

/// NVRTC makes the instruction `abs` of such expressions, whose result ptxas takes for positive: a guard or a mask `place >= 0` would be lost.
#[test]
fn the_size_of_the_least_number_is_outside() -> Result<(), Error> {
    let mut x = [7, -7, 0, 1, -3, i32::MIN, i32::MAX, -i32::MAX].repeat(4);
    x[31] = i32::MIN;
    let long: Vec<i64> = x.iter().map(|x| if *x == i32::MIN { i64::MIN } else { i64::from(*x) }).collect();
    let short: Vec<i16> = x.iter().map(|x| if *x == i32::MIN { i16::MIN } else { *x as i16 }).collect();
    let n = 40_000;
    let mut wanted = vec![0; n];
    for spelling in 0..20 {
        for at in 0..32 {
            let place = match spelling {
                0..12 => i64::from(x[at].wrapping_abs()),
                12..16 => long[at].wrapping_abs(),
                _ => i64::from(short[at].wrapping_abs()),
            };
            if (0..n as i64).contains(&place) {
                wanted[place as usize] |= 1 << spelling;
            }
        }
    }
    guarded(&vec![0; n], -9, &wanted, |device, stream, y| {
        let (x, long) = (device.upload(&x, [32])?, device.upload(&long, [32])?);
        sizes::launch(stream, &x, &long, &device.upload(&short, [32])?, y)
    })
}

#[test]
fn the_size_of_a_number_is_not_that_instruction() {
    for arch in ["sm_75", "sm_80", "sm_90a", "sm_120"] {
        for variant in sizes::DEFINITION.variants {
            let compiled = compiled(variant.text, arch, variant.flags).expect("NVRTC takes the text");
            let code = sass(&compiled.cubin, variant.entry);
            assert!(code.count("LD") > 0 && code.count("IABS") == 0, "{} for {arch}", variant.entry);
        }
    }
}

/// Divides by dimensions, by an argument and by elements, each of which may be 0.
#[tiled_kernel(block = [32], grid = [2])]
fn divided<const N: usize>(
    k: usize,
    by: &LayoutTensor<u32, RowMajor<32>>,
    x: &mut LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<64>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    x[[i % N]] = 1;
    y[[i / N % 64]] = 1;
    y[[i % k % 64]] = 1;
    let n = by[thread_idx.x].min(64);
    y[[i % n as usize]] = 1;
    y[[i / n as usize]] = 1;
    y[[(i as u32 % n) as usize]] = 1;
    y[[(i as u32 / n) as usize]] = 1;
    let m = n as i32;
    y[[(i as i32 / m) as usize]] = 1;
    y[[(i as i32).rem_euclid(m) as usize]] = 1;
    y[[(i as isize).rem_euclid(m as isize)]] = 1;
    y[[i.div_ceil(n as usize) % 64]] = 1;
}

/// A GPU divides by 0 to -1, the element before a tensor; where a size is 0 the variant runs that looks at its divisors.
#[test]
fn what_is_divided_by_zero_stays_inside() -> Result<(), Error> {
    let kernel = divided::DEFINITION.kernel().expect("a kernel");
    let of = |narrow| compile(&kernel, &ParamSet::default(), Promises { narrow, ..Promises::USUAL });
    let (narrow, wide) = (of(true).expect("it compiles"), of(false).expect("it compiles"));
    for (n, k, fits) in [(32, 3, true), (0, 3, false), (32, 0, false)] {
        let tensor = |elem, len: &'static [usize; 1]| LaunchArgument::Tensor {
            elem,
            shape: len,
            strides: &[1],
            address: 0,
            len: len[0],
        };
        let x = if n == 0 { &[0] } else { &[32] };
        let arguments = [
            LaunchArgument::Index(k),
            tensor(Elem::U32, &[32]),
            tensor(Elem::I32, x),
            tensor(Elem::I32, &[64]),
        ];
        let bound = narrow.plan().bind(&arguments, None);
        let wanted = if fits { None } else { Some(BindError::Promise(ViolatedPromise::Divisor)) };
        assert_eq!(bound.err(), wanted, "{n} {k}");
        assert!(wide.plan().bind(&arguments, None).is_ok());
    }
    let text = emit(&wide).text;
    assert!(
        text.contains("% max(N, 1LL)") && text.contains("% max(k, 1LL)") && text.contains("% max(n, 1u)"),
        "{text}"
    );
    // The simulator says that something is divided by zero.
    for device in devices().into_iter().filter(|device| device.properties().is_some()) {
        let stream = device.stream();
        for (n, k) in [(0, 3), (32, 0), (0, 0)] {
            let by = device.upload(&(0..32).map(|i| i % 3).collect::<Vec<u32>>(), [32])?;
            let mut memory = device.upload(&vec![-9; 400], [400])?;
            let mut y = device.upload(&vec![-9; 400], [400])?;
            let (mut x, mut y_of) = (memory.part_mut(100, [n], [1])?, y.part_mut(100, [64], [1])?);
            divided::launch(&stream, k, &by, &mut x, &mut y_of)?;
            let (x, y) = (memory.download()?, y.download()?);
            assert!(x[..100].iter().chain(&x[100 + n..]).all(|x| *x == -9), "{n} {k}");
            assert!(y[..100].iter().chain(&y[164..]).all(|y| *y == -9), "{n} {k}");
        }
    }
    Ok(())
}
