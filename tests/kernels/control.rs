//! Control: loops that end by what they read, `if` as a value, parameters that choose code, nested functions.

use crate::support::case::{Case, Outcome, around, output_of};
use crate::support::data::{floats, integers};
use layout_cuda::tiled_kernel;

/// Steps to 1 by halving and tripling: `while`, `break`, `continue`.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn collatz<const N: usize>(
    limit: u32,
    x: &LayoutTensor<i64, RowMajor<N>>,
    steps: &mut LayoutTensor<u32, RowMajor<N>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let mut n = x[[i]];
        let mut count = 0u32;
        while n != 1 {
            if count == limit {
                break;
            }
            count += 1;
            if n % 2 == 0 {
                n /= 2;
                continue;
            }
            n = 3 * n + 1;
        }
        steps[[i]] = count;
    }
}

/// The first place of a sorted list that is not below a number: `loop` over mutable indices.
#[tiled_kernel(block = [32], grid = [M.div_ceil(32)])]
pub fn lower_bound<const N: usize, const M: usize>(
    sorted: &LayoutTensor<f32, RowMajor<N>>,
    wanted: &LayoutTensor<f32, RowMajor<M>>,
    place: &mut LayoutTensor<i32, RowMajor<M>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < M {
        let value = wanted[[i]];
        let (mut low, mut high) = (0, N);
        loop {
            if low >= high {
                break;
            }
            let middle = (low + high) / 2;
            if sorted[[middle]] < value {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        place[[i]] = low as i32;
    }
}

/// `if` as a value, of elements and of indices.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn chosen<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let sign = if x[[i]] < 0.0 {
            -1.0
        } else if x[[i]] > 0.0 {
            1.0
        } else {
            0.0
        };
        let from = if i < 3 { 0 } else { i - 3 };
        y[[i]] = sign * x[[from]];
    }
}

/// A parameter chooses what is compiled; `assert!` is checked with it.
#[tiled_kernel(REVERSED = [false, true], WAYS = 2, block = [16], grid = [N.div_ceil(16 * WAYS)])]
pub fn compile_time<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    assert!(WAYS <= 4, "too many ways");
    const STEP: usize = 16 * WAYS;
    for way in unroll(0..WAYS) {
        let i = block_idx.x * STEP + way * 16 + thread_idx.x;
        if i < N {
            if REVERSED {
                y[[i]] = x[[N - 1 - i]];
            } else {
                y[[i]] = x[[i]] + way as i32;
            }
        }
    }
}

/// Nested functions: of numbers, of tuples, of views.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn helpers<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    fn sorted(a: f32, b: f32) -> (f32, f32) {
        (select(a < b, a, b), select(a < b, b, a))
    }
    fn neighbour(i: usize, count: usize) -> usize {
        (i + 1).min(count - 1)
    }
    fn put(mut to: View<f32, Write>, at: usize, value: f32) {
        to[[at]] = value * 2.0;
    }
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let pair = sorted(x[[i]], x[[neighbour(i, N)]]);
        let (low, high) = pair;
        put(y.tile([32], [block_idx.x]), thread_idx.x, high - low);
    }
}

/// Sums of strided loops with ends of their own.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn strided_loops<const N: usize>(count: usize, y: &mut LayoutTensor<i32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let mut sum = 0i32;
        for j in (i..count).step_by(3) {
            if j % 2 == 1 {
                continue;
            }
            sum += j as i32;
        }
        for j in (0..=i).rev() {
            if j + 4 < i {
                break;
            }
            sum += 1000 * j as i32;
        }
        y[[i]] = sum;
    }
}

/// Twelve numbers in the order of a snake, then sums of parts that grow: what the variables of unrolled loops decide is
/// decided at compile time, as an index of registers and an extent must be.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn snake<const N: usize>(x: &LayoutTensor<i32, RowMajor<N, 12>>, y: &mut LayoutTensor<i32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let own = x.tile([1, 12], [i, 0]).to_local();
        let mut sum = 0i32;
        for row in unroll(0..3) {
            for step in unroll(0..4) {
                let col = if row % 2 == 1 { 3 - step } else { step };
                sum = sum * 3 % 1009 + own[[0, row * 4 + col]];
            }
        }
        for level in unroll((0..3).rev()) {
            let width = if level == 0 {
                2
            } else if level == 1 {
                4
            } else {
                6
            };
            let part = own.tile([1, width], [0, 1]);
            for col in unroll(0..width) {
                sum = sum * 5 % 1009 + part[[0, col]];
            }
        }
        y[[i]] = sum;
    }
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&collatz::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let x: Vec<i64> = integers(n, 9, 1000).iter().map(|v| v.abs() + 1).collect();
            let (on_x, mut steps) = (run.tensor(&x, [n])?, run.output([n])?);
            collatz::launch_with(run.config(), &run.stream(), 50, &on_x.view()?, &mut steps.view_mut()?)?;
            let count = |start: &i64| {
                let orbit = std::iter::successors(Some(*start), |n| match n {
                    1 => None,
                    n if n % 2 == 0 => Some(n / 2),
                    n => Some(3 * n + 1),
                });
                (orbit.count() as u32 - 1).min(50)
            };
            Ok(Outcome::exact(steps.read()?, x.iter().map(count)))
        }),
        Case::new(&lower_bound::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let mut sorted = floats(n, 10);
            sorted.sort_by(f32::total_cmp);
            let wanted = floats(40, 11);
            let (list, on_wanted) = (run.tensor(&sorted, [n])?, run.tensor(&wanted, [40])?);
            let mut place = run.output([40])?;
            let (list, on_wanted) = (list.view()?, on_wanted.view()?);
            lower_bound::launch_with(run.config(), &run.stream(), &list, &on_wanted, &mut place.view_mut()?)?;
            let first = |value: &f32| sorted.partition_point(|known| known < value) as i32;
            Ok(Outcome::exact(place.read()?, wanted.iter().map(first)))
        }),
        Case::new(&chosen::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 12);
            let y = output_of!(run, chosen(x: [n]) -> [n]);
            let sign = |v: f32| if v == 0.0 { 0.0 } else { v.signum() };
            Ok(Outcome::exact(y, (0..n).map(|i| sign(x[i]) * x[i.saturating_sub(3)])))
        }),
        Case::new(&compile_time::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = (0..n as i32).map(|i| i * i % 50).collect();
            let y = output_of!(run, compile_time(x: [n]) -> [n]);
            let reversed = run.set.key().contains("REVERSEDtrue");
            let value = |i: usize| if reversed { x[n - 1 - i] } else { x[i] + (i / 16 % 2) as i32 };
            Ok(Outcome::exact(y, (0..n).map(value)))
        }),
        Case::new(&helpers::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 13);
            let y = output_of!(run, helpers(x: [n]) -> [n]);
            let value = |i: usize| (x[i] - x[(i + 1).min(n - 1)]).abs() * 2.0;
            Ok(Outcome::exact(y, (0..n).map(value)))
        }),
        Case::new(&strided_loops::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let mut y = run.output([n])?;
            strided_loops::launch_with(run.config(), &run.stream(), 70, &mut y.view_mut()?)?;
            let value = |i: usize| {
                let first: usize = (i..70).step_by(3).filter(|j| j % 2 == 0).sum();
                let second: usize = (i.saturating_sub(4)..=i).sum();
                (first + 1000 * second) as i32
            };
            Ok(Outcome::exact(y.read()?, (0..n).map(value)))
        }),
        Case::new(&snake::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = (0..12 * n as i32).map(|i| i * i % 50).collect();
            let y = output_of!(run, snake(x: [n, 12]) -> [n]);
            let value = |i: usize| {
                let own = &x[12 * i..12 * i + 12];
                let snake = [0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11];
                let sum = snake.iter().fold(0, |sum, place| sum * 3 % 1009 + own[*place]);
                let parts = [6..12, 4..8, 2..4].into_iter().flatten();
                parts.fold(sum, |sum, place: usize| sum * 5 % 1009 + own[place])
            };
            Ok(Outcome::exact(y, (0..n).map(value)))
        }),
    ]
}
