extern "C" __global__ void __launch_bounds__(4) add_one(
    const float* __restrict__ x, float* __restrict__ y, int N
) {
    int thread_x = threadIdx.x;
    int block_x = blockIdx.x;

    int i = block_x * 4 + thread_x;
    if (i < N) {
        y[i] = x[i] + 1.0f;
    }
}
