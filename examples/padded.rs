//! Products by kernels whose masks cost more than copies, made of whole tiles: the operands are copied to matrices of such
//! extents, multiplied there, and the product is copied back.
//!
//! Law: the result is that of the kernel itself at that shape, since what is added to the operands is zero. The copies
//! take up to `3 (M K + K N + M N)` elements of traffic and the product `2 M N K` operations, so that they are lost in
//! large products and not worth it in small ones; a matrix that has the shape is not copied.
//!
//! A few rows beyond whole tiles would cost as much as tiles full of rows, after all multiprocessors had their equal share:
//! they are left to a kernel of small tiles.

use crate::algorithm::Algorithm;
use crate::kept::kept;
use crate::kernels::{resize, resize_both};
use layout_cuda::{Error, LaunchConfig, ParamValue, Stream, Tensor};

type Matrix = Tensor<f32, 2>;

/// A kernel's tile of K where its parameters do not tell.
const DEPTH: i64 = 32;

/// So many rows beyond whole tiles are left to a kernel of small tiles: the height of its tiles.
const FEW_ROWS: usize = 64;

/// From so many products on the copies cost less than copies of four bytes would in the kernel.
const LARGE: usize = 1 << 30;

/// Memory for copies of the operands and for the product, kept from product to product of one shape.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) operands: [Option<Matrix>; 2],
    product: Option<Matrix>,
}

/// Whether copies cost less than what they avoid: of a large product, single elements where rows begin at places that 16
/// bytes do not divide, tiles of a few rows, and masks, which cost these kernels registers.
///
/// ```
/// use layout_examples::algorithm::Algorithm;
/// use layout_examples::padded::pays;
/// assert!(pays(Algorithm::Sgemm, [4095, 4097, 4093]) && pays(Algorithm::Sgemm, [4095, 4096, 4096]));
/// assert!(!pays(Algorithm::Sgemm, [4096, 4096, 4096]) && !pays(Algorithm::Sgemm, [255, 257, 253]));
/// ```
pub fn pays(algorithm: Algorithm, [m, n, k]: [usize; 3]) -> bool {
    let [tall, wide, deep] = tiles(algorithm, &LaunchConfig::default());
    let whole = m.is_multiple_of(tall) && n.is_multiple_of(wide) && k.is_multiple_of(deep);
    !whole && m.saturating_mul(n).saturating_mul(k) >= LARGE
}

/// How many rows beyond whole tiles are left to the kernel of small tiles.
fn few_rows(m: usize, tall: usize) -> usize {
    match m % tall {
        rest @ 1..=FEW_ROWS if tall > FEW_ROWS && m > tall => rest,
        _ => 0,
    }
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
pub(crate) fn tiles(algorithm: Algorithm, config: &LaunchConfig<'_>) -> [usize; 3] {
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

/// `c = a b` of whole tiles.
///
/// # Errors
/// A device without memory for the copies, or an error of a launch.
pub fn launch(
    algorithm: Algorithm,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace,
    stream: &Stream,
    a: &Matrix,
    b: &Matrix,
    c: &mut Matrix,
) -> Result<(), Error> {
    let ([m, k], [_, n]) = (a.shape(), b.shape());
    let up = |extent: usize, tile: usize| extent.next_multiple_of(tile).max(tile);
    let [tall, wide, deep] = tiles(algorithm, &config);
    let few = few_rows(m, tall);
    let main = if few > 0 { m - few } else { up(m, tall) };
    let rows = main + few;
    let [columns, depth] = [up(n, wide), up(k, deep)];
    let Workspace { operands, product } = workspace;
    let [a, b] = resized(operands, stream, [a, b], [[rows, depth], [depth, columns]])?;
    if c.shape() == [rows, columns] {
        return in_strips(algorithm, config, stream, a, b, c, main);
    }
    let whole = kept(stream, [rows, columns], product)?;
    in_strips(algorithm, config, stream, a, b, whole, main)?;
    resize::launch(stream, whole, c)
}

/// `c = a b` of the first columns of `a` and `b`: the first `main` rows by the algorithm, the others by small tiles.
fn in_strips(
    algorithm: Algorithm,
    config: LaunchConfig<'_>,
    stream: &Stream,
    a: &Matrix,
    b: &Matrix,
    c: &mut Matrix,
    main: usize,
) -> Result<(), Error> {
    let ([rows, depth], [_, columns]) = (a.shape(), b.shape());
    let top = a.part(0, [main, depth], [depth, 1])?;
    let mut to = c.part_mut(0, [main, columns], [columns, 1])?;
    algorithm.launch_alone(config, stream, &top, &b.view(), &mut to)?;
    let few = rows - main;
    if few == 0 {
        return Ok(());
    }
    let bottom = a.part(main * depth, [few, depth], [depth, 1])?;
    let mut to = c.part_mut(main * columns, [few, columns], [columns, 1])?;
    let small = Algorithm::for_shape(stream.device(), [few, columns]);
    small.launch_alone(LaunchConfig::default(), stream, &bottom, &b.view(), &mut to)
}

/// Each matrix itself if it has the shape, else a copy with zeros; both copies in one launch.
pub(crate) fn resized<'a>(
    own: &'a mut [Option<Matrix>; 2],
    stream: &Stream,
    [a, b]: [&'a Matrix; 2],
    [a_shape, b_shape]: [[usize; 2]; 2],
) -> Result<[&'a Matrix; 2], Error> {
    let [own_a, own_b] = own;
    Ok(match (a.shape() == a_shape, b.shape() == b_shape) {
        (true, true) => [a, b],
        (true, false) => {
            let new_b = kept(stream, b_shape, own_b)?;
            resize::launch(stream, b, new_b)?;
            [a, new_b]
        }
        (false, true) => {
            let new_a = kept(stream, a_shape, own_a)?;
            resize::launch(stream, a, new_a)?;
            [new_a, b]
        }
        (false, false) => {
            let (new_a, new_b) = (kept(stream, a_shape, own_a)?, kept(stream, b_shape, own_b)?);
            resize_both::launch(stream, a, b, new_a, new_b)?;
            [new_a, new_b]
        }
    })
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
        for [m, n, k] in
            [[65, 131, 33], [1, 1, 1], [128, 130, 64], [321, 5, 36], [258, 128, 32], [3, 0, 5], [4, 6, 0]]
        {
            let values = |count: usize, step: usize| (0..count).map(move |i| (i * step % 7) as f32 - 3.0);
            let (a, b): (Vec<f32>, Vec<f32>) = (values(m * k, 3).collect(), values(k * n, 5).collect());
            let on_a = device.upload(&a, [m, k]).expect("a");
            let on_b = device.upload(&b, [k, n]).expect("b");
            let mut c = device.zeros::<f32, 2>([m, n]).expect("c");
            let element = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<f32>();
            let wanted: Vec<f32> = (0..m * n).map(element).collect();
            for algorithm in [Algorithm::BlockTiledVectorized, Algorithm::Sgemm, Algorithm::SgemmFed] {
                c.poison().expect("poison");
                let config = LaunchConfig::default();
                launch(algorithm, config, &mut workspace, &stream, &on_a, &on_b, &mut c).expect("a product");
                assert_eq!(c.download().expect("data"), wanted, "{m} x {n} x {k} by {algorithm}");
            }
        }
    }
}
