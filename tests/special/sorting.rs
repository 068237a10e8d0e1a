//! Top-k and sort of rows, by their host functions.

use super::bench::Bench;
use super::{Covered, Entry};
use layout_cuda::{Elem, Error, bf16, f16};
use layout_kernels::kernels::orders as kernels;
use layout_kernels::orders::{Order, Ordered, Workspace, argsort, sort, top_k};
use layout_tests::support::special::Float;

pub fn entries() -> Vec<Entry> {
    let types = [Elem::F32, Elem::Bf16, Elem::F16];
    let covered: Vec<Covered> = kernels::definitions()
        .iter()
        .flat_map(|of| types.iter().map(|elem| Covered::of(of, *elem)))
        .collect();
    vec![Entry::new(&covered, |bench| {
        ordered::<f32>(bench)?;
        ordered::<bf16>(bench)?;
        ordered::<f16>(bench)
    })]
}

/// NaN above all; numbers in the total order.
fn places<T: Float>(row: &[T]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..row.len() as u32).collect();
    let key = |at: u32| (row[at as usize].wide().is_nan(), row[at as usize].wide());
    places.sort_by(|a, b| {
        let ((is_nan, x), (is_other, y)) = (key(*b), key(*a));
        is_nan.cmp(&is_other).then(if is_nan { std::cmp::Ordering::Equal } else { x.total_cmp(&y) })
    });
    places
}

fn ordered<T: Float + Ordered>(bench: &Bench<'_>) -> Result<(), Error> {
    let (stream, mut workspace) = (bench.stream(), Workspace::<T>::default());
    for n in [37, 4099] {
        let x = bench.rows::<T>(n);
        let (m, k) = (x.m, 5);
        let on_x = bench.tensor(&x.values, [m, n])?;
        let wanted: Vec<Vec<u32>> = (0..m).map(|i| places(&x.values[i * n..(i + 1) * n])).collect();
        let bits = |i: usize, place: u32| x.values[i * n + place as usize].to_bits();
        let same = |what: &str, k: usize, found: &[u64]| {
            for i in 0..m {
                let of_row = &found[i * k..(i + 1) * k];
                let row: Vec<u64> = wanted[i][..k].iter().map(|place| bits(i, *place)).collect();
                bench.check_that(of_row == row, || format!("{what} of {n} of {:?}, row {i}", T::ELEM));
            }
        };
        let by_place = |k: usize, found: Vec<u32>| -> Vec<u64> {
            found.iter().enumerate().map(|(at, place)| bits(at / k, *place)).collect()
        };
        let mut out = bench.output::<T, 2>([m, n])?;
        sort(&stream, Order::Descending, &on_x.view()?, &mut out.view_mut()?, &mut workspace)?;
        same("sort", n, &out.read()?.into_iter().map(T::to_bits).collect::<Vec<_>>());
        let mut indices = bench.device.zeros::<u32, 2>([m, n])?;
        argsort(&stream, Order::Descending, &on_x.view()?, &mut indices, &mut workspace)?;
        same("argsort", n, &by_place(n, indices.download()?));
        let (mut out, mut indices) = (bench.output::<T, 2>([m, k])?, bench.device.zeros::<u32, 2>([m, k])?);
        let (order, mut on_out) = (Order::Descending, out.view_mut()?);
        top_k(&stream, order, &on_x.view()?, &mut on_out, &mut indices, &mut workspace)?;
        same("top_k", k, &by_place(k, indices.download()?));
    }
    Ok(())
}
