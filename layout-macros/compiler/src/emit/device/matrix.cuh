// Matrix products of a warpgroup (wgmma), stores of matrices (stmatrix), registers of a warpgroup (sm_90 and later: sm_90a).

// The descriptor of a matrix in shared memory: bytes to its next columns and to its next eight rows, and the swizzle
// (1: over 128 bytes, 2: over 64, 3: over 32).
__device__ __forceinline__ unsigned long long matrix_descriptor(
    unsigned int shared, unsigned int leading, unsigned int stride, unsigned long long swizzle) {
    unsigned long long low = (shared & 0x3ffff) >> 4 | leading >> 4 << 16;
    return low | (unsigned long long)(stride >> 4) << 32 | swizzle << 62;
}

// The warpgroup's accesses to registers before come before the products after.
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes the warpgroup's group of products.
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// What wrote an accumulator before is done here: not between the products after.
template <int count>
__device__ __forceinline__ void accumulator_fence(float (&sums)[count]) {
    #pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i]));
}

// The same of integers.
template <int count>
__device__ __forceinline__ void accumulator_fence(int (&sums)[count]) {
    #pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+r"(sums[i]));
}

// Waits until at most `groups` of the warpgroup's groups are in flight.
template <int groups>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}

// Two floats as bf16, the first in the lower half.
__device__ __forceinline__ unsigned int pack_bf16(float low, float high) {
    unsigned int packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

// Two floats as f16, the first in the lower half.
__device__ __forceinline__ unsigned int pack_f16(float low, float high) {
    unsigned int packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

// Stores four matrices of 8 x 8 of 2-byte elements; lane `l` gives row `l % 8` of matrix `l / 8`.
__device__ __forceinline__ void store_matrix(
    unsigned int row, unsigned int first, unsigned int second, unsigned int third, unsigned int fourth) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(first),
                 "r"(second), "r"(third), "r"(fourth)
                 : "memory");
}

// From here on each thread of the warpgroup has so many registers, fewer than at the start.
template <int registers>
__device__ __forceinline__ void registers_down() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

// From here on each thread of the warpgroup has so many registers, more than at the start.
template <int registers>
__device__ __forceinline__ void registers_up() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// So many threads wait for each other at one of the block's barriers.
__device__ __forceinline__ void named_barrier(unsigned int barrier, unsigned int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// The warp counts there and goes on; those who wait see what it wrote before.
__device__ __forceinline__ void named_barrier_arrive(unsigned int barrier, unsigned int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// The 32 bits of registers that begin at an element.
__device__ __forceinline__ unsigned int register_word(const void* first) {
    return *reinterpret_cast<const unsigned int*>(first);
}

// Orders this after what computes the 32 bits of registers that begin at an element.
__device__ __forceinline__ void register_fence(void* first) {
    asm volatile("" : "+r"(*reinterpret_cast<unsigned int*>(first))::"memory");
}
