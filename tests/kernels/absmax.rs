//! Numbers of eight bits with scales: sizes of which float32 has every quotient.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::integers;
use crate::support::special::Float;
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{E4m3, E5m2, Element, Error, bf16, f16};
use layout_kernels::kernels::absmax::{expand_groups, quantize_groups, quantize_rows};

/// Rows and columns: empty, the smallest, one group, around one, several blocks.
const SIZES: [[usize; 3]; 6] = [[0, 8, 0], [3, 0, 0], [1, 1, 0], [33, 129, 0], [130, 264, 0], [2, 8200, 0]];

/// The cases, one for each pair of types.
pub fn cases() -> Vec<Case> {
    let each = [
        (&quantize_groups::DEFINITION, quantized as fn(&Run<'_>) -> _),
        (&quantize_rows::DEFINITION, quantized),
        (&expand_groups::DEFINITION, back),
    ];
    let all = each.into_iter().flat_map(|(definition, run)| {
        [Elem::F32, Elem::Bf16, Elem::F16].map(|elem| Case::new(definition, SIZES.to_vec(), run).of(elem))
    });
    all.collect()
}

/// By the types of the set.
macro_rules! by_types {
    ($run:expr, $function:ident) => {
        match ($run.set.get("T"), $run.set.get("U")) {
            (Some(ParamValue::Type(Elem::F32)), _) => $function::<f32, E4m3>($run),
            (Some(ParamValue::Type(Elem::F16)), _) => $function::<f16, E4m3>($run),
            (_, Some(ParamValue::Type(Elem::I8))) => $function::<bf16, i8>($run),
            (_, Some(ParamValue::Type(Elem::E5m2))) => $function::<bf16, E5m2>($run),
            _ => $function::<bf16, E4m3>($run),
        }
    };
}

fn quantized(run: &Run<'_>) -> Result<Outcome, Error> {
    by_types!(run, quantized_of)
}

fn back(run: &Run<'_>) -> Result<Outcome, Error> {
    by_types!(run, back_of)
}

/// Small whole numbers, which every type has, with the type's greatest number in each group: the scale is 1.
fn quantized_of<T: Float, U: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, n, _], is) = (run.size, |name| run.set.get(name) == Some(ParamValue::Bool(true)));
    let of_groups = run.set.get("SQUARE").is_some();
    let greatest: f64 = match U::ELEM {
        Elem::I8 => 127.0,
        Elem::E4m3 => 448.0,
        _ => 57344.0,
    };
    let wanted: Vec<f64> = integers(m * n, 1, 7)
        .into_iter()
        .map(|x| x as f64)
        .enumerate()
        .map(|(at, x)| if at % n % 128 == 0 { -greatest } else { x })
        .collect();
    let x: Vec<T> = wanted.iter().map(|x| T::rounded(*x)).collect();
    let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output::<U, 2>([m, n])?);
    let rows = if is("SQUARE") { m.div_ceil(128) } else { m };
    let of = if of_groups { [rows, n.div_ceil(128)] } else { [m, 1] };
    let mut scales = run.output::<f32, 2>(of)?;
    let (config, stream, from) = (run.config(), run.stream(), on_x.view()?);
    if of_groups {
        quantize_groups::launch_with(config, &stream, &from, &mut out.view_mut()?, &mut scales.view_mut()?)?;
    } else {
        let bits = run.tensor(
            &vec![(greatest as f32).to_bits(); usize::from(is("WHOLE"))],
            [usize::from(is("WHOLE"))],
        )?;
        let (mut to, mut by) = (out.view_mut()?, scales.view_mut()?);
        quantize_rows::launch_with(config, &stream, &from, &bits.view()?, &mut to, &mut by)?;
    }
    // A row of nothing starts no block.
    let scales = if n == 0 { Vec::new() } else { scales.read()? };
    let ones = vec![1.0f32; scales.len()];
    Ok(Outcome::within(0.0, out.read()?, wanted).and(Outcome::exact(scales, ones)))
}

/// Each row and every 16 columns have a scale.
fn back_of<T: Float, U: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, n, _], across) = (run.size, run.size[1].div_ceil(16));
    let x: Vec<U> =
        integers(m * n, 1, 255).into_iter().map(|bits| U::from_bits(bits.unsigned_abs() & 0xb7)).collect();
    let scale = |row: usize, group: usize| 0.25 * ((row + group) % 5) as f32;
    let scales: Vec<f32> = (0..m * across).map(|at| scale(at / across, at % across)).collect();
    let (on_x, on_scales) = (run.tensor(&x, [m, n])?, run.tensor(&scales, [m, across])?);
    let mut out = run.output::<T, 2>([m, n])?;
    let (from, by, mut to) = (on_x.view()?, on_scales.view()?, out.view_mut()?);
    expand_groups::launch_with(run.config(), &run.stream(), &from, &by, &mut to, 1, 16)?;
    let wanted = x
        .iter()
        .enumerate()
        .map(|(at, x)| T::rounded(f64::from(x.constant().as_f64() as f32 * scale(at / n, at % n / 16))));
    Ok(Outcome::exact(out.read()?, wanted.collect::<Vec<_>>()))
}
