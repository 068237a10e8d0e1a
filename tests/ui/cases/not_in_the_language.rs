use layout_cuda::tiled_kernel;

fn outside(x: f32) -> f32 {
    x
}

#[tiled_kernel(block = [256])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let closure = |x: f32| x + 1.0;
    let host = outside(1.0);
    let path = crate::outside(1.0);
    let text = "text";
    let heap = vec![1.0, 2.0];
    let boxed = Box::new(1.0);
    match thread_idx.x {
        0 => {}
        _ => {}
    }
    println!("{}", thread_idx.x);
    if thread_idx.x == 0 {
        return 1.0;
    }
}

fn main() {
    outside(1.0);
}
