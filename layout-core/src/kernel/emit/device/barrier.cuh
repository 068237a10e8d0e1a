// Barriers of more than a warp that are not the whole block.

// Four warps wait for each other; each warpgroup has a hardware barrier of its own.
__device__ __forceinline__ void warpgroup_barrier() {
    unsigned int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    asm volatile("bar.sync %0, 128;" ::"r"(1 + thread / 128) : "memory");
}

// Every thread of the cluster waits for every other (sm_90 and later).
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
