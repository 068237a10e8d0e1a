// Assertions.

// Stops the grid. The first thread that comes writes to memory of the host, which survives: the number of the assertion, where it is,
// and the bits of the values. The others wait for it, since the grid stops at once.
template <typename... Bits>
__device__ __forceinline__ void assertion_failed(unsigned long long* failure, unsigned int number, Bits... bits) {
    volatile unsigned long long* state = failure;
    if (atomicCAS(failure, 0ull, 1ull) == 0) {
        unsigned long long* word = failure;
        *++word = number;
        *++word = blockIdx.x;
        *++word = blockIdx.y;
        *++word = blockIdx.z;
        *++word = threadIdx.x;
        *++word = threadIdx.y;
        *++word = threadIdx.z;
        ((*++word = bits), ...);
        __threadfence_system();
        *state = 2;
        __threadfence_system();
    }
    while (*state != 2) {
    }
    __trap();
}
