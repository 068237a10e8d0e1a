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

// The same address in the shared memory of another block of the cluster (sm_90 and later).
template <typename T>
__device__ __forceinline__ T* map_shared_rank(T* shared, unsigned int rank) {
    T* remote;
    asm("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(shared), "r"(rank));
    return remote;
}

// Waits until the launches before this one on the stream have ended, and sees what they wrote (sm_90 and later).
__device__ __forceinline__ void grid_dependency_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// The next launch on the stream may begin, where it waits for this one by itself (sm_90 and later).
__device__ __forceinline__ void launch_dependents() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
