use layout_cuda::{Device, Error, tiled_kernel};

#[tiled_kernel(block = [256], grid = [N.div_ceil(256)])]
pub fn double<const N: usize>(a: &LayoutTensor<f32, RowMajor<N>>, c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 256 + thread_idx.x;
    c[[i]] = a[[i]] * 2.0;
}

fn main() -> Result<(), Error> {
    let device = Device::simulator();
    let a = device.upload(&[1i32, 2], [2])?;
    let mut c = device.zeros::<f32, 2>([1, 2])?;
    double::launch(&device.stream(), &a, &mut c)
}
