use layout_cuda::{Device, Error, tiled_kernel};

#[tiled_kernel(block = [256], grid = [N.div_ceil(256)])]
pub fn kernel<const N: usize>(a: &LayoutTensor<f32, RowMajor<N>>, c: &mut LayoutTensor<f32, RowMajor<N>>, by: f32) {
    let i = block_idx.x * 256 +
    c[[i]] = a.
}

// What uses the kernel is not reported; what is wrong elsewhere is.
fn main() -> Result<(), Error> {
    let device = Device::simulator();
    let a = device.upload(&[1.0f32, 2.0], [2])?;
    let mut c = device.zeros::<f32, 1>([2])?;
    kernel::launch(&device.stream(), &a, &mut c, 2.0)?;
    println!("{} {}", kernel::SOURCE, kernel::variants().len());
    let elsewhere: u32 = "text";
    Ok(())
}
