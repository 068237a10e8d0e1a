//! Products by matrices of 4 and 8 bits: numbers whose sums float32 has.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::integers;
use crate::support::special::Float;
use layout_compiler::Elem;
use layout_cuda::{Error, bf16, f16};
use layout_kernels::kernels::quantized::{dequantize, few_rows_quantized, quantize};

/// Empty in each mode, the smallest, one tile, one around it, several blocks of k.
const SIZES: [[usize; 3]; 7] =
    [[0, 40, 64], [3, 0, 64], [3, 40, 0], [1, 1, 1], [8, 16, 128], [9, 17, 136], [7, 33, 2120]];

/// The cases, one for each type.
pub fn cases() -> Vec<Case> {
    let large = SIZES[3..].to_vec();
    let of = |definition, run| Case::new(definition, large.clone(), run);
    vec![
        Case::new(&few_rows_quantized::DEFINITION, SIZES.to_vec(), few::<bf16>).of(Elem::Bf16),
        of(&few_rows_quantized::DEFINITION, few::<f16>).of(Elem::F16),
        of(&quantize::DEFINITION, rounded::<bf16>).of(Elem::Bf16),
        of(&quantize::DEFINITION, rounded::<f16>).of(Elem::F16),
        of(&quantize::DEFINITION, rounded::<f32>).of(Elem::F32),
        of(&dequantize::DEFINITION, whole::<bf16>).of(Elem::Bf16),
        of(&dequantize::DEFINITION, whole::<f16>).of(Elem::F16),
        of(&dequantize::DEFINITION, whole::<f32>).of(Elem::F32),
    ]
}

/// A matrix of K x N: its numbers, and of each group the bits of a scale with the zero in the lowest eight.
struct Matrix {
    shape: [usize; 2],
    bits: usize,
    group: usize,
    q: Vec<i64>,
    scales: Vec<u32>,
}

impl Matrix {
    /// Any numbers, zeros and powers of two as scales.
    fn new(run: &Run<'_>, shape @ [k, n]: [usize; 2]) -> Matrix {
        let (bits, group) = (run.number("BITS"), run.number("GROUP"));
        let any = |count, seed| integers(count, seed, (1 << bits) - 1).into_iter().map(i64::abs);
        let scale = |(at, zero): (usize, i64)| [0.25f32, 0.5, 2.0][at % 3].to_bits() | zero as u32;
        let scales = any(k.div_ceil(group) * n, 6).enumerate().map(scale).collect();
        Matrix { shape, bits, group, q: any(k * n, 5).collect(), scales }
    }

    /// Values rounded, each step in float32.
    fn rounded(run: &Run<'_>, shape @ [k, n]: [usize; 2], values: &[f32]) -> Matrix {
        let mut matrix = Matrix { q: vec![0; k * n], ..Matrix::new(run, shape) };
        let largest = ((1 << matrix.bits) - 1) as f32;
        for (group, column) in (0..k.div_ceil(matrix.group)).flat_map(|group| (0..n).map(move |n| (group, n)))
        {
            let rows = group * matrix.group..((group + 1) * matrix.group).min(k);
            let of = |k: usize| values[k * n + column];
            let low = rows.clone().map(of).fold(0.0, f32::min);
            let high = rows.clone().map(of).fold(0.0, f32::max);
            let bits = (high / largest - low / largest).to_bits().wrapping_add(0xff) & !0xff;
            let unit = if bits > 0 { f32::from_bits(bits) } else { 1.0 };
            let zero = (-low / unit).round_ties_even().clamp(0.0, largest);
            matrix.scales[group * n + column] = bits | zero as u32;
            for k in rows {
                let number = ((of(k) / unit).round_ties_even() + zero).clamp(0.0, largest);
                matrix.q[k * n + column] = number as i64;
            }
        }
        matrix
    }

    fn at(&self, k: usize, n: usize) -> f64 {
        let [_, columns] = self.shape;
        let both = self.scales[k / self.group * columns + n];
        (self.q[k * columns + n] - i64::from(both & 0xff)) as f64 * f64::from(f32::from_bits(both & !0xff))
    }

    /// Tiles of columns and blocks of k.
    fn tiles(&self) -> [usize; 2] {
        [self.shape[1].div_ceil(8), self.shape[0].div_ceil(128)]
    }

    /// As the kernels have them: [tiles, blocks, 32 BITS] words, [groups, 8 tiles] scales.
    fn packed(&self) -> (Vec<u32>, Vec<u32>) {
        let ([k, n], [tiles, blocks], bits) = (self.shape, self.tiles(), self.bits);
        let mut words = vec![0; tiles * blocks * 32 * bits];
        let mut scales = vec![0; blocks * 128 / self.group * 8 * tiles];
        for (k, n) in (0..k).flat_map(|k| (0..n).map(move |n| (k, n))) {
            let (pair, odd, eight) = (k % 8 / 2, k % 2, k % 128 / 32);
            let (word, place) = match bits {
                4 => (eight, 4 * pair + 16 * odd),
                _ => (2 * eight + pair / 2, pair % 2 * 8 + 16 * odd),
            };
            let lane = n % 8 * 4 + k % 32 / 8;
            let first = (n / 8 * blocks + k / 128) * 32 * bits;
            words[first + word / 4 * 128 + lane * 4 + word % 4] |=
                (self.q[k * self.shape[1] + n] as u32) << place;
            scales[k / self.group * 8 * tiles + n] = self.scales[k / self.group * self.shape[1] + n];
        }
        (words, scales)
    }
}

fn few<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let matrix = Matrix::new(run, [k, n]);
    let ((words, scales), [tiles, blocks]) = (matrix.packed(), matrix.tiles());
    let a = integers(m * k, 3, 3);
    let on_a = run.tensor(&a.iter().map(|a| T::rounded(*a as f64)).collect::<Vec<T>>(), [m, k])?;
    let words = run.tensor(&words, [tiles, blocks, 32 * matrix.bits])?;
    let scales = run.tensor(&scales, [blocks * 128 / matrix.group, 8 * tiles])?;
    let mut c = run.output::<T, 2>([m, n])?;
    let (a_view, words, scales) = (on_a.view()?, words.view()?, scales.view()?);
    few_rows_quantized::launch_with(
        run.config(),
        &run.stream(),
        &a_view,
        &words,
        &scales,
        &mut c.view_mut()?,
    )?;
    let sum = |at: usize| (0..k).map(|l| a[at / n * k + l] as f64 * matrix.at(l, at % n)).sum::<f64>();
    Ok(Outcome::exact(c.read()?, (0..m * n).map(|at| T::rounded(sum(at)))))
}

fn rounded<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [_, n, k] = run.size;
    let values: Vec<f32> = integers(k * n, 7, 1000).into_iter().map(|value| value as f32 / 8.0).collect();
    let values: Vec<T> = values.into_iter().map(|value| T::rounded(f64::from(value))).collect();
    // Behind the last k a group has zeros.
    let whole = k.next_multiple_of(run.number("GROUP"));
    let mut wide: Vec<f32> = values.iter().map(|value| value.wide() as f32).collect();
    wide.resize(whole * n, 0.0);
    let matrix = Matrix::rounded(run, [whole, n], &wide);
    let [tiles, blocks] = matrix.tiles();
    let on_b = run.tensor(&values, [k, n])?;
    let mut words = run.output::<u32, 3>([tiles, blocks, 32 * matrix.bits])?;
    let mut scales = run.output::<u32, 2>([blocks * 128 / matrix.group, 8 * tiles])?;
    quantize::launch_with(
        run.config(),
        &run.stream(),
        &on_b.view()?,
        &mut words.view_mut()?,
        &mut scales.view_mut()?,
    )?;
    let wanted = matrix.packed();
    Ok(Outcome::exact(words.read()?, wanted.0).and(Outcome::exact(scales.read()?, wanted.1)))
}

fn whole<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [_, n, k] = run.size;
    let matrix = Matrix::new(run, [k, n]);
    let ((words, scales), [tiles, blocks]) = (matrix.packed(), matrix.tiles());
    let words = run.tensor(&words, [tiles, blocks, 32 * matrix.bits])?;
    let scales = run.tensor(&scales, [blocks * 128 / matrix.group, 8 * tiles])?;
    let mut b = run.output::<T, 2>([n, k])?;
    let mut view = b.view_mut()?;
    let mut columns = view.part_mut(0, [k, n], [1, k.max(1)])?;
    dequantize::launch_with(run.config(), &run.stream(), &words.view()?, &scales.view()?, &mut columns)?;
    let wanted = (0..n * k).map(|at| T::rounded(matrix.at(at % k, at / k)));
    Ok(Outcome::exact(b.read()?, wanted))
}
