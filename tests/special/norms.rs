//! The kernels of the Python package and of candle's: RMS norm with its gradients, and the rotation of heads. Bodies.

use super::bench::{Bench, Want, set_of, with};
use super::reductions::ordinary;
use super::rows::by_root;
use super::{Covered, Entry};
use layout_cuda::{Definition, Elem, Error, ParamValue, bf16, f16};
use layout_examples::kernels::attraction;
use layout_tests::support::special::{Float, Rows};

#[path = "../../examples/candle/src/kernels.rs"]
mod packages;

use packages::norm::{rms_norm, rms_norm_dweight, rms_norm_dx};
use packages::rope;

const EPSILON: f64 = 0.25;

pub fn entries() -> Vec<Entry> {
    let all = [&rms_norm::DEFINITION, &rms_norm_dx::DEFINITION, &rms_norm_dweight::DEFINITION];
    let types = [Elem::F32, Elem::Bf16, Elem::F16];
    let covers: Vec<Covered> = all.iter().flat_map(|of| types.map(|elem| Covered::of(of, elem))).collect();
    vec![
        Entry::new(&covers, |bench| {
            norms::<f32>(bench)?;
            norms::<bf16>(bench)?;
            norms::<f16>(bench)
        }),
        Entry::new(&types.map(|elem| Covered::of(&rope::DEFINITION, elem)), |bench| {
            turned::<f32>(bench)?;
            turned::<bf16>(bench)?;
            turned::<f16>(bench)
        }),
        Entry::new(&[Covered::plain(&attraction::DEFINITION)], bodies),
    ]
}

fn narrow<T: Float>(values: &[f32]) -> Vec<T> {
    values.iter().map(|x| T::rounded(x.wide())).collect()
}

/// Of an element that is rounded to its type.
fn near<T: Float>(exact: f64, size: f64, room: f64) -> Want {
    Want::of(exact, size, room + exact.abs() * 2f64.powi(1 - T::DIGITS) + T::TINY)
}

fn norms<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let other = [("T", ParamValue::Type(T::ELEM))];
    for n in [16 / size_of::<T>(), 200] {
        let x = bench.rows::<T>(n);
        let (m, name, elem) = (x.m, |at: usize| Rows::<T>::name(at / n), T::ELEM);
        let (weight, dy): (Vec<T>, Vec<T>) = (narrow(&ordinary(n)), narrow(&ordinary(m * n)));
        let (on_x, on_weight, on_dy) =
            (bench.tensor(&x.values, [m, n])?, bench.tensor(&weight, [n])?, bench.tensor(&dy, [m, n])?);
        let (mut out, mut scale) = (bench.output::<T, 2>([m, n])?, bench.output::<f32, 1>([m])?);
        let set = set_of(
            &rms_norm::DEFINITION,
            &[("THREADS", 32)],
            &[other[0], ("SCALED", ParamValue::Bool(true))],
        );
        let (stream, epsilon) = (bench.stream(), EPSILON as f32);
        let (x_view, weights, dys) = (on_x.view()?, on_weight.view()?, on_dy.view()?);
        let (mut on_out, mut on_scale) = (out.view_mut()?, scale.view_mut()?);
        rms_norm::launch_with(with(&set), &stream, &x_view, &weights, &mut on_out, &mut on_scale, epsilon)?;
        let normal = by_root(&x, EPSILON);
        let wanted = normal.iter().enumerate().map(|(at, normal)| {
            let exact = normal * weight[at % n].wide();
            near::<T>(exact, 0.0, exact.abs() * 2e-5)
        });
        bench.check(&format!("rms_norm of {elem:?}, {n}"), &out.read()?, wanted, name);
        // With the scales that came out, a row without one has no gradient.
        let scales = scale.read()?;
        let (values, scales) = (&x.values, &scales);
        let of_row =
            |row: usize| (row * n..(row + 1) * n).map(move |at| (at, values[at].wide() * scales[row].wide()));
        let set = set_of(&rms_norm_dx::DEFINITION, &[("THREADS", 32)], &other);
        let mut dx = bench.output::<T, 2>([m, n])?;
        let on_scale = scale.view()?;
        rms_norm_dx::launch_with(
            with(&set),
            &stream,
            &x_view,
            &weights,
            &on_scale,
            &dys,
            &mut dx.view_mut()?,
        )?;
        let wanted = (0..m).flat_map(|row| {
            let common: f64 =
                of_row(row).map(|(at, normal)| normal * dy[at].wide() * weight[at % n].wide()).sum::<f64>()
                    / n as f64;
            let size: f64 = of_row(row)
                .map(|(at, normal)| (normal * dy[at].wide() * weight[at % n].wide()).abs())
                .sum::<f64>()
                / n as f64;
            let (dy, weight, scale) = (&dy, &weight, scales[row].wide());
            of_row(row).map(move |(at, normal)| {
                let own = dy[at].wide() * weight[at % n].wide();
                let exact = scale * (own - normal * common);
                near::<T>(exact, 0.0, scale.abs() * (own.abs() + normal.abs() * size) * 2e-5)
            })
        });
        let wanted: Vec<Want> = wanted.collect();
        bench.check(&format!("rms_norm_dx of {elem:?}, {n}"), &dx.read()?, wanted, name);
        let set = set_of(&rms_norm_dweight::DEFINITION, &[("THREADS", 32)], &other);
        // A part for each row: what one of them holds is in its own part.
        let mut parts = bench.output::<f32, 2>([m, n])?;
        rms_norm_dweight::launch_with(with(&set), &stream, &x_view, &on_scale, &dys, &mut parts.view_mut()?)?;
        let wanted: Vec<Want> = (0..m)
            .flat_map(|row| {
                of_row(row)
                    .map(|(at, normal)| {
                        Want::Near(normal * dy[at].wide(), (normal * dy[at].wide()).abs() * 1e-6 + 1e-38)
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        bench.check(&format!("rms_norm_dweight of {elem:?}, {n}"), &parts.read()?, wanted, name);
    }
    Ok(())
}

fn turned<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let (half, v) = (16, 16 / size_of::<T>());
    let x = bench.rows::<T>(2 * half);
    let m = x.m;
    let angle = |at: usize| (at % 13) as f64 / 2.0;
    let cos: Vec<T> = (0..m * half).map(|at| T::rounded(angle(at).cos())).collect();
    let sin: Vec<T> = (0..m * half).map(|at| T::rounded(angle(at).sin())).collect();
    let set = set_of(&rope::DEFINITION, &[("HALF", half), ("V", v)], &[("T", ParamValue::Type(T::ELEM))]);
    let on_x = bench.tensor(&x.values, [1, 1, m, 2 * half])?;
    let (on_cos, on_sin) = (bench.tensor(&cos, [m, half])?, bench.tensor(&sin, [m, half])?);
    let mut out = bench.output::<T, 4>([1, 1, m, 2 * half])?;
    rope::launch_with(
        with(&set),
        &bench.stream(),
        &on_x.view()?,
        &on_cos.view()?,
        &on_sin.view()?,
        &mut out.view_mut()?,
    )?;
    let wanted = (0..m * 2 * half).map(|at| {
        let (row, i) = (at / (2 * half), at % half);
        let pair = [i, half + i].map(|at| x.values[row * 2 * half + at].wide());
        let (cos, sin) = (cos[row * half + i].wide(), sin[row * half + i].wide());
        let terms = if at % (2 * half) < half {
            [pair[0] * cos, -pair[1] * sin]
        } else {
            [pair[0] * sin, pair[1] * cos]
        };
        let size: f64 = terms.iter().map(|term| if term.is_finite() { term.abs() } else { 0.0 }).sum();
        near::<T>(terms[0] + terms[1], size, size * 1e-6)
    });
    bench.check(&format!("rope of {:?}", T::ELEM), &out.read()?, wanted, |at| {
        Rows::<T>::name(at / (2 * half))
    });
    Ok(())
}

/// A body of every kind pulls an ordinary one, and the other way round.
fn bodies(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&attraction::DEFINITION, &[("T", 32), ("OWN", 1)], &[]);
    let bodies = bench.rows::<f32>(4);
    for row in (0..bodies.m).step_by(2) {
        let both = &bodies.values[row * 4..(row + 2) * 4];
        let (there, mut pull) = (bench.tensor(both, [2, 4])?, bench.output::<f32, 2>([2, 3])?);
        attraction::launch_with(with(&set), &bench.stream(), 0.25, &there.view()?, &mut pull.view_mut()?)?;
        let wanted = (0..6).map(|at| {
            let own: Vec<f64> = both[at / 3 * 4..].iter().map(|x| x.wide()).collect();
            let (mut sum, mut size, mut largest) = (0.0, 0.0, 0.0f64);
            for other in both.chunks(4) {
                let d = [0, 1, 2].map(|axis| other[axis].wide() - own[axis]);
                let near = d.iter().map(|d| d * d).sum::<f64>() + 0.25;
                let term = other[3].wide() * d[at % 3] / (near * near.sqrt());
                sum += term;
                size += term.abs();
                // What a float32 has to hold on the way.
                largest = largest.max(near).max(d[at % 3].abs()).max(other[3].wide().abs() * 8.0);
            }
            // Farther the cube of the inverse distance is below the least normal number.
            let far = if largest > 1e24 { size } else { 0.0 };
            let finite = if largest.is_finite() { largest } else { 0.0 };
            Want::of(sum, finite, size * 2f64.powi(-18) + far + 1e-37)
        });
        bench.check("attraction", &pull.read()?, wanted, |at| {
            format!("{} on body {}", Rows::<f32>::name(row), at / 3)
        });
    }
    Ok(())
}

/// The kernels of the packages.
pub fn definitions() -> [&'static Definition; 4] {
    [&rms_norm::DEFINITION, &rms_norm_dx::DEFINITION, &rms_norm_dweight::DEFINITION, &rope::DEFINITION]
}
