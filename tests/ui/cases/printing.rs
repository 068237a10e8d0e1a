use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [32])]
fn formats(x: &mut LayoutTensor<f32, RowMajor<32>>) {
    let i = thread_idx.x;
    println!("{} {}", i);
    println!("{}", i, x[[i]]);
    println!("{i:b}");
    println!("{j}");
    println!("{i:>width$}");
}

#[tiled_kernel(B = [8, 12], block = [B])]
fn values<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    assert_eq!(B, 8, "of {} threads", thread_idx.x);
    println!("{x}");
    println!("{:?}", row_major([2, 2]));
    println!("{:x}", x[[0]]);
    debug_assert!(x.atomic_add([0], 1.0) > 0.0);
}

fn main() {}
