// Barriers in shared memory whose phases end by arrivals and by bytes (sm_90 and later).

// Makes a barrier whose phases end after so many arrivals.
__device__ __forceinline__ void mbarrier_init(unsigned int barrier, unsigned int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// The barriers made before are seen by TMA and by the cluster.
__device__ __forceinline__ void mbarrier_init_fence() {
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}

// Arrives.
__device__ __forceinline__ void mbarrier_arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and the phase waits for so many bytes more.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned int barrier, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the same barrier of another block of the cluster.
__device__ __forceinline__ void mbarrier_arrive_remote(unsigned int barrier, unsigned int rank) {
    asm volatile(
        "{\n\t.reg .b32 remote;\n\t"
        "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n\t}" ::"r"(barrier), "r"(rank)
        : "memory");
}

// Waits until the phase of this parity has ended.
__device__ __forceinline__ void mbarrier_wait(unsigned int barrier, unsigned int parity) {
    asm volatile(
        "{\n\t.reg .pred ended;\n\t"
        "again:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n\t"
        "@!ended bra again;\n\t}" ::"r"(barrier), "r"(parity)
        : "memory");
}
