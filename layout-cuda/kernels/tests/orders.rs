//! Orders against the standard library's stable sort, on the simulator: edges of tiles, equal elements, what is not finite, strides.
//!
//! Law: both orders of every type are run here over every kind of row, and each way that a row is ordered.

use layout_cuda::{Device, Error, LaunchError, bf16, f16};
use layout_kernels::orders::{Order, Ordered, Workspace, argsort, sort, sort_pairs, top_k};
use std::cmp::Ordering;

/// The order of the library in the words of the standard library.
trait Oracle: Ordered + PartialEq {
    fn compare(&self, other: &Self) -> Ordering;
}

macro_rules! oracle {
    ($($ty:ty: $key:expr;)*) => {$(impl Oracle for $ty {
        fn compare(&self, other: &Self) -> Ordering {
            let key: fn(&$ty) -> _ = $key;
            key(self).cmp(&key(other))
        }
    })*};
}
/// NaN behind all others, those with a sign last and the larger bits first; others in the total order of IEEE 754.
struct Total(bool, f64, u128);
impl Total {
    fn of(x: f64, bits: u64) -> Total {
        let bits = u128::from(bits);
        Total(x.is_nan(), x, if x.is_sign_negative() { u128::MAX - bits } else { bits })
    }
    fn cmp(&self, other: &Total) -> Ordering {
        let of_numbers = if self.0 { self.2.cmp(&other.2) } else { self.1.total_cmp(&other.1) };
        self.0.cmp(&other.0).then(of_numbers)
    }
}
oracle! {
    f32: |x| Total::of(f64::from(*x), u64::from(x.to_bits()));
    f64: |x| Total::of(*x, x.to_bits());
    bf16: |x| Total::of(f64::from(*x), u64::from(x.to_bits()));
    f16: |x| Total::of(f64::from(*x), u64::from(x.to_bits()));
    i32: |x| *x;
    i64: |x| *x;
    u32: |x| *x;
    u64: |x| *x;
}

/// Kinds of rows; the first is of any bits, so that there are NaNs, infinities, subnormal and extreme numbers of each type.
const KINDS: usize = 6;

fn row<T: Oracle>(kind: usize, n: usize) -> Vec<T> {
    let bits = |i: usize| (i as u64 + 7 * n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let special = [0u64, 1, 2, 3].map(|top| top << (8 * size_of::<T>() - 2));
    let mut row: Vec<T> =
        (0..n).map(|i| T::from_bits(bits(i) >> (64 - 8 * size_of::<T>()) ^ bits(i) >> 60)).collect();
    match kind {
        // Few values: -0 and +0 are among them, and the least integer.
        1 => row = (0..n).map(|i| T::from_bits(special[(bits(i) >> 40) as usize % 4])).collect(),
        2 => row = vec![T::from_bits(special[1]); n],
        3 => row.sort_by(T::compare),
        4 => row.sort_by(|a, b| b.compare(a)),
        // Infinities of any type of floats, NaN of some, among few others.
        5 => {
            let most = if T::LEAST > 1 { !(T::LEAST as u64) << 1 >> 1 } else { u64::MAX };
            row = (0..n).map(|i| if i % 3 == 0 { T::from_bits(most) } else { row[i % 17] }).collect();
        }
        _ => {}
    }
    row
}

fn bits<T: Ordered>(x: &[T]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Where the elements of a row are in its order.
fn places<T: Oracle>(order: Order, row: &[T]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..row.len() as u32).collect();
    let compare = |a: &u32, b: &u32| row[*a as usize].compare(&row[*b as usize]);
    match order {
        Order::Ascending => places.sort_by(compare),
        Order::Descending => places.sort_by(|a, b| compare(b, a)),
    }
    places
}

/// Every operation over rows of `n` elements, with `gap` elements between them; the first `k` of each.
fn every<T: Oracle>(kinds: &[usize], n: usize, gap: usize, ks: &[usize]) -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let (m, pitch, mut workspace) = (kinds.len(), n + gap, Workspace::default());
    let rows: Vec<Vec<T>> = kinds.iter().map(|kind| row::<T>(*kind, n)).collect();
    let mut memory: Vec<T> = vec![T::from_bits(0); m * pitch + 1];
    rows.iter().enumerate().for_each(|(i, row)| memory[i * pitch..i * pitch + n].copy_from_slice(row));
    let memory = device.upload(&memory, [m * pitch + 1])?;
    let x = memory.part(0, [m, n], [pitch, 1])?;
    let given: Vec<u32> = (0..m * n).map(|i| i as u32 ^ 0x5555).collect();
    let on_given = device.upload(&given, [m, n])?;
    for order in [Order::Ascending, Order::Descending] {
        let wanted: Vec<Vec<u32>> = rows.iter().map(|row| places(order, row)).collect();
        let of = |i: usize, r: usize| rows[i][wanted[i][r] as usize];
        let all: Vec<u64> = (0..m * n).map(|at| of(at / n, at % n).to_bits()).collect();
        for k in ks {
            let (mut values, mut indices) =
                (device.zeros::<T, 2>([m, *k])?, device.zeros::<u32, 2>([m, *k])?);
            top_k(&stream, order, &x, &mut values, &mut indices, &mut workspace)?;
            let firsts: Vec<u32> = wanted.iter().flat_map(|row| &row[..*k]).copied().collect();
            assert!(indices.download()? == firsts, "the first {k} of {n} {order:?} {}", T::ELEM);
            let firsts: Vec<u64> = (0..m * k).map(|at| of(at / k, at % k).to_bits()).collect();
            assert!(bits(&values.download()?) == firsts, "the first {k} of {n} {order:?} {}", T::ELEM);
        }
        let what = format!("{n} {order:?} {}", T::ELEM);
        let (mut out, mut to) = (device.zeros::<T, 2>([m, n])?, device.zeros::<u32, 2>([m, n])?);
        sort(&stream, order, &x, &mut out, &mut workspace)?;
        assert!(bits(&out.download()?) == all, "sort of {what}");
        argsort(&stream, order, &x, &mut to, &mut workspace)?;
        assert!(to.download()? == wanted.concat(), "argsort of {what}");
        let mut out = device.zeros::<T, 2>([m, n])?;
        sort_pairs(&stream, order, &x, &on_given, &mut out, &mut to, &mut workspace)?;
        assert!(bits(&out.download()?) == all, "sort_pairs of {what}");
        let taken: Vec<u32> =
            (0..m * n).map(|at| given[at / n * n + wanted[at / n][at % n] as usize]).collect();
        assert!(to.download()? == taken, "values of sort_pairs of {what}");
    }
    Ok(())
}

const ALL: [usize; KINDS] = [0, 1, 2, 3, 4, 5];

#[test]
fn short_rows() -> Result<(), Error> {
    for n in [1, 2, 31, 255, 256, 257, 1000] {
        every::<f32>(&ALL, n, 0, &[0, 1, n / 2, n])?;
    }
    every::<bf16>(&ALL, 300, 3, &[5])?;
    every::<f16>(&ALL, 257, 1, &[5])?;
    every::<i32>(&ALL, 255, 2, &[5])?;
    every::<u32>(&ALL, 64, 2, &[5])
}

#[test]
fn the_first_of_long_rows() -> Result<(), Error> {
    // Around a tile, and with parts; a large k sorts.
    for n in [4097, 6144, 6145] {
        every::<f32>(&[0, 5], n, 0, &[1, 8, 64, 1024, 1025])?;
    }
    every::<f32>(&[3, 4], 10007, 0, &[8, 1024])?;
    every::<bf16>(&ALL, 4099, 0, &[1, 9])?;
    every::<f32>(&[0], 40001, 0, &[1, 64, 1000])?;
    every::<i32>(&[2, 4], 33000, 1, &[7])
}

#[test]
fn long_rows() -> Result<(), Error> {
    for n in [6143, 6144, 6145] {
        every::<f32>(&[0], n, 1, &[])?;
    }
    every::<f32>(&ALL, 6200, 0, &[])?;
    every::<f32>(&[0], 12300, 0, &[])?;
    every::<bf16>(&ALL, 8200, 1, &[])?;
    every::<f16>(&[0, 1, 5], 8200, 0, &[])?;
    every::<i32>(&[0, 1, 5], 8200, 0, &[])?;
    every::<u32>(&[0, 1], 40000, 0, &[])
}

#[test]
fn numbers_of_64_bits() -> Result<(), Error> {
    for n in [1, 33, 4095] {
        every::<f64>(&ALL, n, 1, &[])?;
    }
    every::<f64>(&[0, 2], 4097, 1, &[])?;
    every::<i64>(&[0, 1, 3], 100, 0, &[])?;
    every::<u64>(&[0, 1, 4], 100, 0, &[])
}

#[test]
fn other_modes_and_strides() -> Result<(), Error> {
    let device = Device::simulator();
    let (stream, mut workspace) = (device.stream(), Workspace::default());
    let x = row::<f32>(0, 2 * 3 * 5000);
    let memory = device.upload(&x, [x.len()])?;
    for n in [40, 5000] {
        // By columns, to columns.
        let on_x = memory.part(0, [2, 3, n], [3, 1, 6])?;
        let (mut values, mut indices) = (device.zeros::<f32, 1>([6 * n])?, device.zeros::<u32, 1>([6 * n])?);
        let element = |i: usize, j: usize| x[i + 6 * j];
        let rows: Vec<Vec<f32>> = (0..6).map(|i| (0..n).map(|j| element(i, j)).collect()).collect();
        for k in [7, n] {
            let mut to_values = values.part_mut(0, [2, 3, k], [3, 1, 6])?;
            let mut to_indices = indices.part_mut(0, [2, 3, k], [3, 1, 6])?;
            top_k(&stream, Order::Descending, &on_x, &mut to_values, &mut to_indices, &mut workspace)?;
            let (found, at) = (values.download()?, indices.download()?);
            for (i, row) in rows.iter().enumerate() {
                for (r, place) in places(Order::Descending, row)[..k].iter().enumerate() {
                    assert_eq!(at[i + 6 * r], *place, "{r} of row {i} of {n}");
                    assert_eq!(found[i + 6 * r].to_bits(), element(i, *place as usize).to_bits());
                }
            }
        }
    }
    Ok(())
}

#[test]
fn nothing_in_order() -> Result<(), Error> {
    for shape in [[0, 5], [3, 0], [0, 9000], [0, 0]] {
        let device = Device::simulator();
        let (stream, mut workspace) = (device.stream(), Workspace::default());
        let (x, mut out) = (device.zeros::<f64, 2>(shape)?, device.zeros::<f64, 2>(shape)?);
        let mut places = device.zeros::<u32, 2>(shape)?;
        sort(&stream, Order::Ascending, &x, &mut out, &mut workspace)?;
        argsort(&stream, Order::Ascending, &x, &mut places, &mut workspace)?;
        top_k(&stream, Order::Ascending, &x, &mut out, &mut places, &mut workspace)?;
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let (stream, mut workspace) = (device.stream(), Workspace::default());
    let is_refused =
        |outcome: Result<(), Error>| matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })));
    let x = device.zeros::<f32, 2>([2, 3])?;
    let (mut out, mut wide) = (device.zeros::<f32, 2>([3, 2])?, device.zeros::<f32, 2>([2, 4])?);
    let (mut places, mut of_wide) = (device.zeros::<u32, 2>([3, 2])?, device.zeros::<u32, 2>([2, 4])?);
    assert!(is_refused(sort(&stream, Order::Ascending, &x, &mut out, &mut workspace)));
    assert!(is_refused(argsort(&stream, Order::Ascending, &x, &mut places, &mut workspace)));
    assert!(is_refused(top_k(&stream, Order::Ascending, &x, &mut out, &mut places, &mut workspace)));
    let error = top_k(&stream, Order::Ascending, &x, &mut wide, &mut of_wide, &mut workspace);
    let text = error.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        text.contains("`values` has extent 4 in mode 1, but `the largest k` is 3 in tensor `x`"),
        "{text}"
    );
    let endless = x.part(0, [1 << 30], [0])?;
    let mut first = device.zeros::<f32, 1>([1])?;
    let mut place = device.zeros::<u32, 1>([1])?;
    let error = top_k(&stream, Order::Ascending, &endless, &mut first, &mut place, &mut workspace);
    let text = error.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(text.contains("extent 1073741824 in mode 0, but `the longest row` is 1073741823"), "{text}");
    // Modes before the last that are not one.
    let cube = device.zeros::<f32, 3>([2, 3, 4])?;
    let (gaps, mut out) = (cube.part(0, [2, 2, 3], [12, 4, 1])?, device.zeros::<f32, 3>([2, 2, 3])?);
    assert!(is_refused(sort(&stream, Order::Ascending, &gaps, &mut out, &mut workspace)));
    Ok(())
}
