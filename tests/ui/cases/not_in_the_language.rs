use layout_cuda::tiled_kernel;

fn outside(x: f32) -> f32 {
    x
}

#[tiled_kernel(block = [256])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let closure = move |x: f32| x + 1.0;
    let host = outside(1.0);
    let path = crate::outside(1.0);
    let text = "text";
    let heap = vec![1.0, 2.0];
    let boxed = Box::new(1.0);
    match Some(thread_idx.x) {
        Some(0) => {}
        _ => {}
    }
    eprintln!("{}", thread_idx.x);
    let first = loop {
        break thread_idx.x;
    };
    let early = 1.0 + return;
    __syncthreads();
    let rows = c.shape();
    warp_barrier();
}

fn main() {
    outside(1.0);
}
