//! Products of any shape by `tensor_core` and `sgemm_sliced_fed`: rows of operands that begin where vectors and the copy
//! engine cannot take them are moved, and a few last rows or columns are made by themselves.
//!
//! Law: the same product as the kernel gives; C is written where it lies. An operand is moved only if its own rows are odd,
//! those of A for an odd K and those of B for an odd N, both in one launch.
//!
//! A last row of tiles costs as much as any other, after all multiprocessors had their equal share. So a few rows and
//! columns are left out wherever that is a turn less, and other kernels make them.

use crate::algorithm::Algorithm;
use crate::kernels::{last_columns, last_rows};
use crate::padded::{Workspace, resized, tiles};
use layout_cuda::{Definition, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor};

type Matrix = Tensor<f32, 2>;

/// Rows of copies begin at multiples of so many elements: of 128 bytes, a line of the cache.
const LINE: usize = 32;

/// Elements of a vector.
const VECTOR: usize = 4;

/// So many last rows or columns [`last_rows`] and [`last_columns`] make.
const FEW: usize = 4;

/// So many last rows `tensor_core` makes by [`small_tiles`]: their height.
const MORE: usize = 64;

/// Multiprocessors of a device that does not tell.
const SMS: usize = 132;

/// The tiles of `tensor_core` for a few rows: as many loads in flight as shared memory holds on every GPU.
pub fn small_tiles() -> ParamSet {
    let tiles = [("BM", 64), ("BN", 32), ("BK", 32), ("WM", 32), ("WN", 16), ("STAGES", 6)];
    ParamSet(tiles.into_iter().map(|(name, value)| (name.to_owned(), ParamValue::Int(value))).collect())
}

/// `c = a b`.
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
    let moved = |[rows, columns]: [usize; 2]| match columns.is_multiple_of(VECTOR) {
        true => [rows, columns],
        false => [rows, columns.next_multiple_of(LINE)],
    };
    let [a, b] = resized(&mut workspace.operands, stream, [a, b], [moved([m, k]), moved([k, n])])?;
    let ([_, a_pitch], [_, b_pitch]) = (a.shape(), b.shape());
    let of_a = |first: usize, rows, columns| a.part(first * a_pitch, [rows, columns], [a_pitch, 1]);
    let of_b = |first, columns| b.part(first, [k, columns], [b_pitch, 1]);
    // `tensor_core` takes whole vectors, with zeros behind the rows, and writes what it makes of a compact C.
    let vectors = |extent: usize| match algorithm {
        Algorithm::TensorCore => extent.next_multiple_of(VECTOR),
        _ => extent,
    };

    let [rows, columns] = whole_part(stream, tiles(algorithm, &config), [m, n]);
    let width = if algorithm == Algorithm::TensorCore { n } else { columns };
    let mut to = c.part_mut(0, [rows, width], [n, 1])?;
    algorithm.launch_alone(
        config,
        stream,
        &of_a(0, rows, vectors(k))?,
        &of_b(0, vectors(columns))?,
        &mut to,
    )?;
    if columns < n {
        let mut to = c.part_mut(columns, [rows, n - columns], [n, 1])?;
        let set = sums(&last_columns::DEFINITION, n - columns);
        let config = LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() };
        last_columns::launch_with(config, stream, &of_a(0, rows, k)?, &of_b(columns, n - columns)?, &mut to)?;
    }
    let few = m - rows;
    if few == 0 {
        return Ok(());
    }
    let mut to = c.part_mut(rows * n, [few, n], [n, 1])?;
    if few <= FEW {
        let set = sums(&last_rows::DEFINITION, few);
        let config = LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() };
        return last_rows::launch_with(config, stream, &of_a(rows, few, k)?, &of_b(0, n)?, &mut to);
    }
    let set = small_tiles();
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    algorithm.launch_alone(config, stream, &of_a(rows, few, vectors(k))?, &of_b(0, vectors(n))?, &mut to)
}

/// The set of [`last_rows`] or [`last_columns`] for so many: the first that is listed has one sum in a thread, the last a few.
fn sums(definition: &Definition, count: usize) -> Option<ParamSet> {
    let listed = if count == 1 { definition.variants.first() } else { definition.variants.last() };
    let own = listed?.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value));
    Some(ParamSet(own.collect()))
}

/// The rows and columns of C that the algorithm makes, given its tiles: all, or as many as are whole tiles where few are
/// left and the multiprocessors take a turn less.
fn whole_part(stream: &Stream, [tall, wide, _]: [usize; 3], [m, n]: [usize; 2]) -> [usize; 2] {
    let sms = stream.device().properties().map_or(SMS, |gpu| gpu.multiprocessors as usize);
    let turns = |[m, n]: [usize; 2]| m.div_ceil(tall).saturating_mul(n.div_ceil(wide)).div_ceil(sms);
    let without = |extent: usize, tile: usize, few: usize| match extent % tile {
        rest if rest <= few && extent > tile => extent - rest,
        _ => extent,
    };
    let rows = without(m, tall, if tall > MORE { MORE } else { FEW });
    let columns = without(n, wide, FEW);
    let parts = [[m, n], [rows, n], [m, columns], [rows, columns]];
    parts.into_iter().min_by_key(|part| turns(*part)).unwrap_or([m, n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout_cuda::Device;

    #[test]
    fn what_is_left_out() {
        let stream = Device::simulator().stream();
        let part = |tiles, shape| whole_part(&stream, tiles, shape);
        assert_eq!(part([256, 128, 32], [4096, 4096]), [4096, 4096]);
        assert_eq!(part([256, 128, 32], [4097, 4097]), [4096, 4097]); // 528 tiles are four turns, as 512 are
        assert_eq!(part([256, 128, 32], [2049, 2049]), [2048, 2048]);
        assert_eq!(part([256, 128, 32], [4160, 4096]), [4096, 4096]);
        assert_eq!(part([256, 128, 32], [4161, 4096]), [4161, 4096]);
        assert_eq!(part([64, 64, 128], [1025, 513]), [1024, 512]);
        assert_eq!(part([64, 64, 128], [1029, 512]), [1029, 512]);
        assert_eq!(part([64, 64, 128], [1, 1]), [1, 1]);
    }

    /// Whole tiles and around them, odd in each mode; a last row and column, few and more rows, by themselves; empty.
    const SHAPES: [[usize; 3]; 11] = [
        [65, 131, 33],
        [1, 1, 1],
        [128, 130, 64],
        [321, 5, 36],
        [3, 0, 5],
        [4, 6, 0],
        [1025, 513, 5],
        [1024, 514, 4],
        [1028, 512, 3],
        [2049, 2049, 6],
        [2060, 2048, 1],
    ];

    #[test]
    fn the_products() {
        let device = Device::simulator();
        let stream = device.stream();
        let mut workspace = Workspace::default();
        for [m, n, k] in SHAPES {
            let values = |count: usize, step: usize| (0..count).map(move |i| (i * step % 7) as f32 - 3.0);
            let (a, b): (Vec<f32>, Vec<f32>) = (values(m * k, 3).collect(), values(k * n, 5).collect());
            let on_a = device.upload(&a, [m, k]).expect("a");
            let on_b = device.upload(&b, [k, n]).expect("b");
            let mut c = device.zeros::<f32, 2>([m, n]).expect("c");
            let element = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<f32>();
            let wanted: Vec<f32> = (0..m * n).map(element).collect();
            for algorithm in [Algorithm::TensorCore, Algorithm::SgemmSlicedFed] {
                c.poison().expect("poison");
                let config = LaunchConfig::default();
                launch(algorithm, config, &mut workspace, &stream, &on_a, &on_b, &mut c).expect("a product");
                let found = c.download().expect("data");
                let wrong = (0..m * n).find(|at| found[*at] != wanted[*at]);
                assert_eq!(wrong, None, "{m} x {n} x {k} by {algorithm}");
            }
        }
    }
}
