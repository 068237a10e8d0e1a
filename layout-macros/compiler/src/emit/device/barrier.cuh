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

// Every thread of the grid waits for every other; all blocks run at the same time. `arrived` counts them: the one at the origin adds
// what makes the highest bit change when all others have come, so that the next barrier finds the lower bits as they were.
__device__ __forceinline__ void grid_barrier(unsigned int* arrived) {
    __syncthreads();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        unsigned int others = gridDim.x * gridDim.y * gridDim.z - 1;
        unsigned int own = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - others : 1;
        __threadfence();
        unsigned int before = atomicAdd(arrived, own);
        while (((before ^ *reinterpret_cast<volatile unsigned int*>(arrived)) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

// The same address in the shared memory of another block of the cluster (sm_90 and later).
template <typename T>
__device__ __forceinline__ T* map_shared_rank(T* shared, unsigned int rank) {
    T* remote;
    asm("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(shared), "r"(rank));
    return remote;
}

// Waits until the launches before this one on the stream have ended, and sees what they wrote. Before sm_90 they have.
__device__ __forceinline__ void grid_dependency_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next launch on the stream may begin, where it waits for this one by itself. Before sm_90 it begins after this one.
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
