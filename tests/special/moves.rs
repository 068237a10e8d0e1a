//! Kernels that move elements, or do one thing to each: a move keeps every bit, a NaN's too. Kernels of bytes.

use super::bench::{Bench, Want, set_of, with};
use super::reductions::{every, ordinary};
use super::{Covered, Entry};
use layout_cuda::{E4m3, Elem, Element, Error, LaunchConfig, ParamValue, bf16, f16};
use layout_examples::kernels::vector_add;
use layout_kernels::kernels::memory::*;
use layout_kernels::kernels::mesh::{add_onto, rectify};
use layout_kernels::kernels::{resize, resize_both, transpose_pitched};
use layout_tests::support::special::Float;

/// The entry of a transposition in these types.
macro_rules! turned_entry {
    ($kernel:ident, $($ty:ident: $elem:ident),+) => {
        Entry::new(&[$(Covered::of(&$kernel::DEFINITION, Elem::$elem)),+], |bench| {
            $(turned::<$ty>(
                bench,
                &$kernel::DEFINITION,
                |config, stream, x, out| $kernel::launch_with(config, stream, x, out),
            )?;)+
            Ok(())
        })
    };
}

pub fn entries() -> Vec<Entry> {
    let floats = [Elem::F32, Elem::Bf16, Elem::F16, Elem::E4m3];
    let both = [Elem::F32, Elem::Bf16];
    vec![
        Entry::new(&[Covered::plain(&copy::DEFINITION)], copied),
        turned_entry!(transpose, f32: F32, bf16: Bf16),
        turned_entry!(transpose_by_elements, f32: F32),
        turned_entry!(transpose_by_pairs, bf16: Bf16),
        turned_entry!(transpose_pitched, f32: F32, E4m3: E4m3, f64: F64),
        Entry::new(&[Covered::plain(&transpose_by_boxes::DEFINITION)], by_boxes),
        Entry::new(&floats.map(|elem| Covered::of(&resize::DEFINITION, elem)), |bench| {
            resized::<f32>(bench)?;
            resized::<bf16>(bench)?;
            resized::<f16>(bench)?;
            resized::<E4m3>(bench)
        }),
        Entry::new(&[Covered::plain(&resize_both::DEFINITION)], both_resized),
        Entry::new(&[Covered::plain(&vector_add::DEFINITION)], vectors_added),
        Entry::new(&both.map(|elem| Covered::of(&add_onto::DEFINITION, elem)), |bench| {
            added::<f32>(bench)?;
            added::<bf16>(bench)
        }),
        Entry::new(&both.map(|elem| Covered::of(&rectify::DEFINITION, elem)), |bench| {
            rectified::<f32>(bench)?;
            rectified::<bf16>(bench)
        }),
        Entry::new(&[Covered::plain(&histogram::DEFINITION)], counted),
        Entry::new(&[Covered::plain(&scale_bytes::DEFINITION)], scaled),
        Entry::new(&[Covered::plain(&bincount::DEFINITION)], weighted),
    ]
}

fn copied(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&copy::DEFINITION, &[("THREADS", 32), ("ROUNDS", 1)], &[]);
    for n in [1, 127, 128, 301] {
        let x = bench.rows::<f32>(n);
        let (on_x, mut out) = (bench.tensor(&x.values, [x.m * n])?, bench.output([x.m * n])?);
        copy::launch_with(with(&set), &bench.stream(), &on_x.view()?, &mut out.view_mut()?)?;
        same_bits(bench, "copy", &out.read()?, &x.values);
    }
    Ok(())
}

fn by_boxes(bench: &Bench<'_>) -> Result<(), Error> {
    // TMA addresses multiples of 16 bytes.
    let (mut x, n) = (bench.rows::<f32>(36), 36);
    let m = x.m.next_multiple_of(4);
    x.values.resize(m * n, 0.0);
    let (on_x, mut out) = (bench.device.upload(&x.values, [m, n])?, bench.device.zeros([n, m])?);
    transpose_by_boxes::launch(&bench.stream(), &on_x, &mut out)?;
    let wanted: Vec<f32> = (0..n * m).map(|at| x.values[at % m * n + at / m]).collect();
    same_bits(bench, "transpose_by_boxes", &out.download()?, &wanted);
    Ok(())
}

fn both_resized(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&resize_both::DEFINITION, &[("THREADS", 32), ("ROUNDS", 1)], &[]);
    // A product's operands: the columns of one are the rows of the other.
    let (a, b) = (bench.rows::<f32>(42), bench.rows::<f32>(33));
    let shapes = [[a.m, 42], [b.m, 33], [a.m + 1, 48], [b.m - 1, 40]];
    let (on_a, on_b) = (bench.tensor(&a.values, shapes[0])?, bench.tensor(&b.values, shapes[1])?);
    let (mut new_a, mut new_b) = (bench.output(shapes[2])?, bench.output(shapes[3])?);
    let (a_view, b_view) = (on_a.view()?, on_b.view()?);
    let (mut to_a, mut to_b) = (new_a.view_mut()?, new_b.view_mut()?);
    resize_both::launch_with(with(&set), &bench.stream(), &a_view, &b_view, &mut to_a, &mut to_b)?;
    same_bits(bench, "resize_both, a", &new_a.read()?, &of_size(&a.values, shapes[0], shapes[2]));
    same_bits(bench, "resize_both, b", &new_b.read()?, &of_size(&b.values, shapes[1], shapes[3]));
    Ok(())
}

fn vectors_added(bench: &Bench<'_>) -> Result<(), Error> {
    for (kind, n) in every(&[1, 255, 257]) {
        let (a, b) = (bench.row::<f32>(kind, n, 1), ordinary(n));
        let (on_a, on_b) = (bench.tensor(&a, [n])?, bench.tensor(&b, [n])?);
        let mut c = bench.output::<f32, 1>([n])?;
        vector_add::launch(&bench.stream(), &on_a.view()?, &on_b.view()?, &mut c.view_mut()?)?;
        let wanted = a.iter().zip(&b).map(|(a, b)| Want::exact((a + b).wide()));
        bench.check("vector_add", &c.read()?, wanted, |_| format!("{kind:?} of {n}"));
    }
    Ok(())
}

/// Sums of rows by key, in shared memory and not.
fn weighted(bench: &Bench<'_>) -> Result<(), Error> {
    for (kind, n) in every(&[1, 255, 2049]) {
        for apart in [1, 4000] {
            let (x, keys) =
                (bench.row::<f32>(kind, n, 1), (0..n).map(|i| (i % 3 * apart) as u32).collect::<Vec<_>>());
            let (on_x, on_keys) = (bench.tensor(&x, [n])?, bench.device.upload(&keys, [n])?);
            let mut out = bench.output::<f32, 1>([3 * apart])?;
            layout_kernels::memory::bincount(&bench.stream(), &on_keys, &on_x.view()?, &mut out.view_mut()?)?;
            let mut rows = vec![Vec::new(); 3 * apart];
            x.iter().zip(&keys).for_each(|(x, key)| rows[*key as usize].push(x.wide()));
            let wanted = rows.iter().map(|own| {
                let size: f64 = own.iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum();
                // Atomic additions take subnormal numbers for zeros.
                let room = own.len() as f64 * (size * 2f64.powi(-24) + 1.2e-38);
                Want::of(own.iter().sum(), size, room)
            });
            bench.check("bincount", &out.read()?, wanted, |_| format!("{kind:?} of {n}"));
        }
    }
    Ok(())
}

/// Counts go on from what was there, and wrap.
fn counted(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&histogram::DEFINITION, &[("BLOCKS", 2), ("THREADS", 256)], &[]);
    for n in [0, 1, 33, 4096, 9001] {
        for of in [|_| 0u8, |_| 255, |i: usize| [0, 255][i % 2], |i: usize| i as u8] {
            let x: Vec<u8> = (0..n).map(of).collect();
            let on_x = bench.device.upload(&x, [n])?;
            let mut counts = bench.device.upload(&[u32::MAX; 256], [256])?;
            histogram::launch_with(with(&set), &bench.stream(), &on_x, &mut counts)?;
            let mut wanted = [u32::MAX; 256];
            for value in x {
                wanted[usize::from(value)] = wanted[usize::from(value)].wrapping_add(1);
            }
            same_bits(bench, "histogram", &counts.download()?, &wanted);
        }
    }
    Ok(())
}

fn scaled(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&scale_bytes::DEFINITION, &[("THREADS", 32), ("ROUNDS", 1)], &[]);
    let (m, n) = (3, 517);
    let x: Vec<u8> = (0..m * n).map(|i| [0, 1, 2, 127, 128, 254, 255][i % 7]).collect();
    let on_x = bench.device.upload(&x, [m, n])?;
    for gain in [0, 1, 127, 128, 255, 256, 65_279, 65_280, 65_536, 16_843_008, 16_843_010, u32::MAX] {
        let mut out = bench.device.zeros::<u8, 2>([m, n])?;
        scale_bytes::launch_with(with(&set), &bench.stream(), &on_x, &mut out, gain)?;
        let of = |x: &u8| ((u64::from(*x) * u64::from(gain) + 128) / 256).min(255) as u8;
        same_bits(
            bench,
            &format!("scale_bytes by {gain}"),
            &out.download()?,
            &x.iter().map(of).collect::<Vec<u8>>(),
        );
    }
    Ok(())
}

/// Every bit is there.
fn same_bits<T: Element>(bench: &Bench<'_>, kernel: &str, found: &[T], wanted: &[T]) {
    let place = found.iter().zip(wanted).position(|(found, wanted)| found.to_bits() != wanted.to_bits());
    bench.check_that(place.is_none() && found.len() == wanted.len(), || {
        let place = place.unwrap_or(0);
        format!(
            "{kernel}: element {place} of {} is {:?}, not {:?}",
            found.len(),
            found.get(place),
            wanted.get(place)
        )
    });
}

/// A launch of a transposition.
type Turn<T> = fn(
    LaunchConfig<'_>,
    &layout_cuda::Stream,
    &layout_cuda::TensorView<'_, T, 2>,
    &mut layout_cuda::TensorViewMut<'_, T, 2>,
) -> Result<(), Error>;

fn turned<T: Float>(
    bench: &Bench<'_>,
    definition: &layout_cuda::Definition,
    launch: Turn<T>,
) -> Result<(), Error> {
    let set = set_of(definition, &[], &[("T", ParamValue::Type(T::ELEM))]);
    for n in [1, 37, 64] {
        let x = bench.rows::<T>(n);
        let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output([n, x.m])?);
        launch(with(&set), &bench.stream(), &on_x.view()?, &mut out.view_mut()?)?;
        let wanted: Vec<T> = (0..n * x.m).map(|at| x.values[at % x.m * n + at / x.m]).collect();
        same_bits(bench, &format!("{} of {:?}", definition.name, T::ELEM), &out.read()?, &wanted);
    }
    Ok(())
}

/// A matrix of another size.
fn of_size<T: Float>(values: &[T], [m, n]: [usize; 2], [p, q]: [usize; 2]) -> Vec<T> {
    let element = |at: usize| match (at / q, at % q) {
        (row, col) if row < m && col < n => values[row * n + col],
        _ => T::rounded(0.0),
    };
    (0..p * q).map(element).collect()
}

fn resized<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let others = [("T", ParamValue::Type(T::ELEM))];
    let set = set_of(&resize::DEFINITION, &[("THREADS", 32), ("ROUNDS", 1)], &others);
    let x = bench.rows::<T>(33);
    for shape in [[x.m, 33], [x.m + 2, 40], [x.m - 1, 20]] {
        let (on_x, mut out) = (bench.tensor(&x.values, [x.m, 33])?, bench.output(shape)?);
        resize::launch_with(with(&set), &bench.stream(), &on_x.view()?, &mut out.view_mut()?)?;
        same_bits(
            bench,
            &format!("resize of {:?}", T::ELEM),
            &out.read()?,
            &of_size(&x.values, [x.m, 33], shape),
        );
    }
    Ok(())
}

fn added<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&add_onto::DEFINITION, &[("THREADS", 32)], &[("T", ParamValue::Type(T::ELEM))]);
    for (kind, n) in every(&[1, 255, 257]) {
        let (x, sum): (Vec<T>, Vec<T>) =
            (bench.row(kind, n, 1), ordinary(n).iter().map(|x| T::rounded(x.wide())).collect());
        let (on_x, mut on_sum) = (bench.tensor(&x, [n])?, bench.tensor(&sum, [n])?);
        add_onto::launch_with(with(&set), &bench.stream(), &on_x.view()?, &mut on_sum.view_mut()?)?;
        let wanted = x.iter().zip(&sum).map(|(x, sum)| Want::exact(T::rounded(x.wide() + sum.wide()).wide()));
        bench.check(&format!("add_onto of {:?}", T::ELEM), &on_sum.read()?, wanted, |_| {
            format!("{kind:?} of {n}")
        });
    }
    Ok(())
}

fn rectified<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&rectify::DEFINITION, &[("THREADS", 32)], &[("T", ParamValue::Type(T::ELEM))]);
    for (kind, n) in every(&[1, 255, 257]) {
        let x: Vec<T> = bench.row(kind, n, 1);
        let mut on_x = bench.tensor(&x, [n])?;
        rectify::launch_with(with(&set), &bench.stream(), &mut on_x.view_mut()?)?;
        let wanted = x.iter().map(|x| Want::exact(if x.wide() < 0.0 { 0.0 } else { x.wide() }));
        bench.check(&format!("rectify of {:?}", T::ELEM), &on_x.read()?, wanted, |_| {
            format!("{kind:?} of {n}")
        });
    }
    Ok(())
}
