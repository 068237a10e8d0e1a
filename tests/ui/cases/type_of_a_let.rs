use layout_cuda::tiled_kernel;

type Real = f64;

#[tiled_kernel(block = [1], grid = [1])]
fn kernel(y: &mut LayoutTensor<i32, RowMajor<1>>) {
    fn narrow(x: u128) -> i32 {
        x as i32
    }
    let wide: (i32, i128) = (1, 2);
    let number: i32 = -7i32;
    y[[0]] = wide.0 + narrow(5);
    y[[(-7i32) as usize]] = number;
    y[[0]] = 300u8 as i32;
}

fn main() {
    let _: Real = 0.0;
}
