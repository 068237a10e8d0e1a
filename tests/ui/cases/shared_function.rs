use layout_cuda::tiled_kernels;

#[tiled_kernels]
mod kernels {
    fn wrong(tile: View<f32, Write>) -> f32 {
        tile[[0, 4]]
    }

    fn unused() -> usize {
        1
    }

    #[tiled_kernel(block = [32], grid = [1])]
    pub fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
        let tile = shared::<f32>(row_major([8]));
        c[[thread_idx.x]] = wrong(tile);
    }
}

fn main() {}
