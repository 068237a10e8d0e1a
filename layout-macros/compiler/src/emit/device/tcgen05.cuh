// Tensor memory and the matrix products of one thread (the families of sm_100 and sm_110), for a block alone.

// By a warp: allocates columns of tensor memory, whose address goes to shared memory, and none after.
template <int columns>
__device__ __forceinline__ void tcgen05_allocate(unsigned int shared) {
    asm volatile(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n\t"
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(shared), "n"(columns)
        : "memory");
}

// By a warp: frees columns of tensor memory.
template <int columns>
__device__ __forceinline__ void tcgen05_free(unsigned int tensor) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tensor), "n"(columns) : "memory");
}

// Arrives at a barrier when the products that this thread issued are complete.
__device__ __forceinline__ void tcgen05_commit(unsigned int barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier) : "memory");
}

// The thread's use of tensor memory before comes before its next synchronisation.
__device__ __forceinline__ void tcgen05_fence_before_thread_sync() {
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

// The thread's use of tensor memory after comes after its last synchronisation.
__device__ __forceinline__ void tcgen05_fence_after_thread_sync() {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// Waits for the warp's loads from tensor memory.
__device__ __forceinline__ void tcgen05_wait_load() {
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

// Waits for the warp's stores to tensor memory.
__device__ __forceinline__ void tcgen05_wait_store() {
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

// The descriptor of a matrix in shared memory, in the version of tcgen05 (bit 46): bytes to its next columns and to its next
// eight rows, and the swizzle (1: over 128 bytes, 2: over 64, 3: over 32; the field counts in halves of that: 2, 4, 6).
__device__ __forceinline__ unsigned long long tcgen05_descriptor(
    unsigned int shared, unsigned int leading, unsigned int stride, unsigned long long swizzle) {
    unsigned long long low = (shared & 0x3ffff) >> 4 | leading >> 4 << 16;
    return low | (unsigned long long)(stride >> 4 | 1 << 14) << 32 | swizzle << 62;
}
