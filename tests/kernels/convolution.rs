//! Convolutions of 3 by 2 elements, of one channel of 9 by 3: numbers whose sums float32 has.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::integers;
use crate::support::special::Float;
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{Error, bf16, f16};
use layout_kernels::kernels::convolution::{convolution, convolution_mma, depthwise};

/// Pixels of a row, filters, channels: empty, the smallest, one tile, one around it, several blocks.
const SIZES: [[usize; 3]; 6] = [[0, 8, 8], [3, 8, 0], [1, 1, 8], [9, 128, 64], [8, 63, 56], [17, 136, 72]];

/// The cases, one for each element type.
pub fn cases() -> Vec<Case> {
    let (large, boxes) = (SIZES[4..].to_vec(), [&SIZES[2..], &[[6, 64, 24]]].concat());
    vec![
        Case::new(&convolution_mma::DEFINITION, SIZES.to_vec(), by_warps::<bf16>).of(Elem::Bf16),
        Case::new(&convolution_mma::DEFINITION, large.clone(), by_warps::<f16>).of(Elem::F16),
        Case::new(&depthwise::DEFINITION, SIZES.to_vec(), by_channels::<bf16>).of(Elem::Bf16),
        Case::new(&depthwise::DEFINITION, large.clone(), by_channels::<f16>).of(Elem::F16),
        Case::new(&convolution::DEFINITION, boxes, by_boxes::<bf16>).of(Elem::Bf16),
        Case::new(&convolution::DEFINITION, large, by_boxes::<f16>).of(Elem::F16),
    ]
}

/// The same with the fewest stages and one block: more blocks of channels than stages, more tiles than blocks, an edge.
pub fn smallest() -> Vec<Case> {
    let numbers = [("BN", 64), ("STAGES", 2), ("SMS", 1)];
    let of = |direct| {
        let case = Case::new(&convolution::DEFINITION, vec![[9, 72, 8]], by_boxes::<bf16>);
        case.at(&numbers, &[("DIRECT", ParamValue::Bool(direct))])
    };
    vec![of(false), of(true)]
}

/// A convolution of `[2, 7, width, channels]` with steps, dilation and padding of rows and columns.
struct Data<T> {
    x: [usize; 4],
    out: [usize; 4],
    steps: [[usize; 2]; 3],
    taps: [usize; 2],
    pixels: Vec<T>,
    filters: Vec<T>,
    bias: Vec<T>,
}

impl<T: Float> Data<T> {
    fn new(
        run: &Run<'_>,
        steps @ [stride, dilation, padding]: [[usize; 2]; 3],
        taps @ [high, wide]: [usize; 2],
    ) -> Data<T> {
        let [w, k, c] = run.size;
        let x = [2, 7, w, c];
        let pixels = |mode: usize, extent: usize, filter: usize| {
            let all = (extent + 2 * padding[mode]).checked_sub(dilation[mode] * (filter - 1) + 1);
            all.filter(|_| extent > 0).map_or(0, |left| left / stride[mode] + 1)
        };
        let out = [2, pixels(0, 7, high), pixels(1, w, wide), k];
        let of = |count, seed| {
            integers(count, seed, 3).into_iter().map(|x| T::rounded(x as f64)).collect::<Vec<T>>()
        };
        // An empty one is one of zeros.
        let bias = of(if w % 2 == 1 { k } else { 0 }, 3);
        Data { x, out, steps, taps, pixels: of(14 * w * c, 1), filters: of(k * high * wide * c, 2), bias }
    }

    fn wanted(&self) -> Vec<T> {
        let ([_, h, w, c], [n, p, q, k]) = (self.x, self.out);
        let ([stride, dilation, padding], [rows, columns]) = (self.steps, self.taps);
        let place = |mode: usize, pixel: usize, element: usize| {
            (pixel * stride[mode] + element * dilation[mode]).checked_sub(padding[mode])
        };
        let wide = |values: &[T]| -> Vec<f64> { values.iter().map(|x| x.wide()).collect() };
        let (pixels, filters) = (wide(&self.pixels), wide(&self.filters));
        let of = |at: usize| {
            let (image, i, j, filter) = (at / (p * q * k), at / (q * k) % p, at / k % q, at % k);
            let mut sum = self.bias.get(filter).map_or(0.0, |bias| bias.wide());
            for element in 0..rows * columns {
                if let (Some(row), Some(column)) =
                    (place(0, i, element / columns), place(1, j, element % columns))
                    && row < h
                    && column < w
                {
                    let pixel = &pixels[((image * h + row) * w + column) * c..][..c];
                    let weights = &filters[(filter * rows * columns + element) * c..][..c];
                    sum += pixel.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
                }
            }
            T::rounded(sum)
        };
        (0..n * p * q * k).map(of).collect()
    }
}

fn by_warps<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let steps @ [stride, dilation, padding] = [[2, 1], [1, 2], [1, 2]];
    let data = Data::<T>::new(run, steps, [3, 2]);
    let [n, p, q, k] = data.out;
    let x = run.tensor(&data.pixels, data.x)?;
    let filters = run.tensor(&data.filters, [k, 6 * data.x[3]])?;
    let bias = run.tensor(&data.bias, [data.bias.len()])?;
    let mut out = run.output::<T, 2>([n * p * q, k])?;
    let ([sh, sw], [dh, dw], [ph, pw]) =
        (stride.map(|x| x as i32), dilation.map(|x| x as i32), padding.map(|x| x as i32));
    convolution_mma::launch_with(
        run.config(),
        &run.stream(),
        &x.view()?,
        &filters.view()?,
        &bias.view()?,
        &mut out.view_mut()?,
        p as u32,
        q as u32,
        3,
        2,
        sh,
        sw,
        ph,
        pw,
        dh,
        dw,
    )?;
    Ok(Outcome::exact(out.read()?, data.wanted()))
}

/// Filters whose other channels are zeros: of vectors as many channels as they have, else one more.
fn by_channels<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [w, _, c] = run.size;
    let (c, stride_w) = (if run.number("V") == 1 { c + 1 } else { c }, run.number("STRIDE"));
    let mut data = Data::<T>::new(&Run { size: [w, c, c], ..*run }, [[2, stride_w], [1, 1], [2, 2]], [9, 3]);
    let (at, mut own) = (|filter: usize, element: usize| (filter * 27 + element) * c + filter, Vec::new());
    let all = std::mem::take(&mut data.filters);
    data.filters = vec![T::rounded(0.0); all.len()];
    for (filter, element) in (0..c).flat_map(|filter| (0..27).map(move |element| (filter, element))) {
        data.filters[at(filter, element)] = all[at(filter, element)];
        own.push(all[at(filter, element)]);
    }
    let (x, filters) = (run.tensor(&data.pixels, data.x)?, run.tensor(&own, [c, 27])?);
    let (bias, mut out) = (run.tensor(&data.bias, [data.bias.len()])?, run.output::<T, 4>(data.out)?);
    depthwise::launch_with(
        run.config(),
        &run.stream(),
        &x.view()?,
        &filters.view()?,
        &bias.view()?,
        &mut out.view_mut()?,
        3,
        2,
        stride_w as i32,
        2,
        2,
        1,
        1,
    )?;
    Ok(Outcome::exact(out.read()?, data.wanted()))
}

fn by_boxes<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let run = &run.aligned();
    let mut data = Data::<T>::new(run, [[1, 1], [1, 2], [1, 2]], [3, 2]);
    // TMA writes whole 16 bytes.
    if run.set.get("DIRECT") == Some(ParamValue::Bool(false)) {
        let [w, k, c] = run.size;
        let run = Run { size: [w, k.next_multiple_of(8), c], ..*run };
        data = Data::<T>::new(&run, data.steps, [3, 2]);
    }
    let [n, p, q, k] = data.out;
    let x = run.tensor(&data.pixels, data.x)?;
    let filters = run.tensor(&data.filters, [k, 6, data.x[3]])?;
    let bias = run.tensor(&data.bias, [data.bias.len()])?;
    let mut out = run.output::<T, 4>([n, p, q, k])?;
    convolution::launch_with(
        run.config(),
        &run.stream(),
        &x.view()?,
        &filters.view()?,
        &bias.view()?,
        &mut out.view_mut()?,
        3,
        2,
        1,
        2,
        1,
        2,
    )?;
    Ok(Outcome::exact(out.read()?, data.wanted()))
}
