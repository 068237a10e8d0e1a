//! Products whose rows begin at odd places, made of ones whose rows do not: the operands are copied to matrices of whole
//! tiles, multiplied there, and the product is copied back.
//!
//! Law: the result is that of the kernel itself at that shape, since what is added to the operands is zero. The copies
//! take `3 (M K + K N + M N)` elements of traffic and the product `2 M N K` operations, so that they are lost in large
//! products and not worth it in small ones.

use crate::algorithm::Algorithm;
use crate::kernels::resize;
use layout_cuda::{Error, LaunchConfig, ParamValue, Stream, Tensor};

type Matrix = Tensor<f32, 2>;

/// A kernel's tile of K where its parameters do not tell.
const DEPTH: i64 = 32;

/// From so many products on the copies cost less than copies of four bytes would in the kernel.
const LARGE: usize = 1 << 30;

/// Memory for padded operands, kept from product to product of one shape.
#[derive(Debug, Default)]
pub struct Workspace(Option<[Matrix; 3]>);

/// Whether `[m, n, k]` is large, and its rows begin at places that 16 bytes do not divide.
///
/// ```
/// use layout_examples::padded::pays;
/// assert!(pays([4095, 4097, 4093]));
/// assert!(!pays([4096, 4096, 4096]) && !pays([255, 257, 253]));
/// ```
pub fn pays([m, n, k]: [usize; 3]) -> bool {
    is_odd([m, n, k]) && m.saturating_mul(n).saturating_mul(k) >= LARGE
}

/// Whether the rows of the operands or of the product begin at places that 16 bytes do not divide.
///
/// ```
/// use layout_examples::padded::is_odd;
/// assert!(is_odd([5, 7, 8]) && !is_odd([5, 8, 4]));
/// ```
pub const fn is_odd([_, n, k]: [usize; 3]) -> bool {
    !n.is_multiple_of(4) || !k.is_multiple_of(4)
}

/// The extents of the tiles of M, N and K.
fn tiles(algorithm: Algorithm, config: &LaunchConfig<'_>) -> [usize; 3] {
    let own = algorithm.definition().and_then(|definition| definition.variants.first());
    let of = |name: &str| {
        let set =
            config.set.and_then(|set| set.0.iter().find(|(known, _)| known == name)).map(|(_, value)| *value);
        let own = || own?.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        match set.or_else(own) {
            Some(ParamValue::Int(extent)) => extent,
            _ => DEPTH,
        }
    };
    ["BM", "BN", "BK"].map(|name| usize::try_from(of(name)).unwrap_or(1).max(1))
}

/// `c = a b` by a kernel of whole tiles.
///
/// # Errors
/// Shapes that disagree, a device without memory for the copies, or an error of a launch.
pub fn launch(
    algorithm: Algorithm,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace,
    stream: &Stream,
    a: &Matrix,
    b: &Matrix,
    c: &mut Matrix,
) -> Result<(), Error> {
    let ([m, k], [inner, n]) = (a.shape(), b.shape());
    if inner != k || c.shape() != [m, n] {
        // The kernel's own launch says what disagrees.
        return algorithm.launch_alone(config, stream, a, b, c);
    }
    let up = |extent: usize, tile: usize| extent.next_multiple_of(tile).max(tile);
    let [tall, wide, deep] = tiles(algorithm, &config);
    let [rows, columns, depth] = [up(m, tall), up(n, wide), up(k, deep)];
    let shapes = [[rows, depth], [depth, columns], [rows, columns]];
    let same = |list: &[Matrix; 3]| [0, 1, 2].map(|i| list[i].shape()) == shapes;
    let matrices = match workspace.0.take().filter(same) {
        Some(matrices) => matrices,
        None => [stream.zeros(shapes[0])?, stream.zeros(shapes[1])?, stream.zeros(shapes[2])?],
    };
    let [wide_a, wide_b, wide_c] = workspace.0.insert(matrices);
    resize::launch(stream, a, wide_a)?;
    resize::launch(stream, b, wide_b)?;
    algorithm.launch_alone(config, stream, wide_a, wide_b, wide_c)?;
    resize::launch(stream, wide_c, c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout_cuda::Device;

    #[test]
    fn padded_products_are_the_products() {
        let device = Device::simulator();
        let stream = device.stream();
        let mut workspace = Workspace::default();
        for [m, n, k] in [[65, 131, 33], [1, 1, 1], [128, 130, 64], [3, 0, 5], [4, 6, 0]] {
            let values = |count: usize, step: usize| (0..count).map(move |i| (i * step % 7) as f32 - 3.0);
            let (a, b): (Vec<f32>, Vec<f32>) = (values(m * k, 3).collect(), values(k * n, 5).collect());
            let on_a = device.upload(&a, [m, k]).expect("a");
            let on_b = device.upload(&b, [k, n]).expect("b");
            let mut c = device.zeros::<f32, 2>([m, n]).expect("c");
            for algorithm in
                [Algorithm::Sgemm, Algorithm::TensorCore, Algorithm::SgemmFed, Algorithm::SgemmSlicedFed]
            {
                c.poison().expect("poison");
                let config = LaunchConfig::default();
                launch(algorithm, config, &mut workspace, &stream, &on_a, &on_b, &mut c).expect("a product");
                let element = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<f32>();
                let wanted: Vec<f32> = (0..m * n).map(element).collect();
                assert_eq!(c.download().expect("data"), wanted, "{m} x {n} x {k} by {algorithm}");
            }
        }
    }
}
