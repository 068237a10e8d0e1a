//! The first program of the book.

use layout_cuda::{Device, Error, tiled_kernel};

/// `y = x + 1`: a thread for each element.
#[tiled_kernel(block = [4], grid = [N.div_ceil(4)])]
pub fn add_one<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 4 + thread_idx.x;
    if i < N {
        y[[i]] = x[[i]] + 1.0;
    }
}

/// Launches the kernel on six numbers.
pub fn run() -> Result<Vec<f32>, Error> {
    let device = Device::best(); // the GPU, or the simulator
    let x = device.upload(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0], [6])?;
    let mut y = device.zeros([6])?;
    add_one::launch(&device.stream(), &x, &mut y)?;
    y.download()
}

/// Prints `[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]`.
pub fn main() -> Result<(), Error> {
    println!("{:?}", run()?);
    Ok(())
}

#[test]
fn add_one_is_written_as_before() {
    insta::assert_snapshot!(add_one::SOURCE);
}
