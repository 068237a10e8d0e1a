// Copies of a tensor's boxes by TMA (sm_90 and later).

// A tensor and how it is cut into boxes, as the driver encodes it.
struct __align__(64) TensorMap {
    unsigned long long words[16];
};

// A hint that the map will be used soon.
__device__ __forceinline__ void tensor_map_prefetch(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Starts the copy of a box to shared memory; it reports its bytes to the barrier.
__device__ __forceinline__ void tensor_load_1d(void* shared, const TensorMap& map, long long* barrier, int x) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
            address),
        "l"(&map), "r"(told), "r"(x)
        : "memory");
}

// Starts the copy of a box to shared memory; it reports its bytes to the barrier.
__device__ __forceinline__ void tensor_load_2d(void* shared, const TensorMap& map, long long* barrier, int x, int y) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
        "[%2];" ::"r"(address),
        "l"(&map), "r"(told), "r"(x), "r"(y)
        : "memory");
}

// Starts the copy of a box to shared memory; it reports its bytes to the barrier.
__device__ __forceinline__ void tensor_load_3d(
    void* shared, const TensorMap& map, long long* barrier, int x, int y, int z) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
        "[%2];" ::"r"(address),
        "l"(&map), "r"(told), "r"(x), "r"(y), "r"(z)
        : "memory");
}

// The same to every block of the cluster that the mask names, each told at its own barrier.
__device__ __forceinline__ void tensor_load_multicast_1d(
    void* shared, const TensorMap& map, long long* barrier, unsigned short blocks, int x) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%4}], [%2], %3;" ::"r"(address),
        "l"(&map), "r"(told), "h"(blocks), "r"(x)
        : "memory");
}

// The same to every block of the cluster that the mask names, each told at its own barrier.
__device__ __forceinline__ void tensor_load_multicast_2d(
    void* shared, const TensorMap& map, long long* barrier, unsigned short blocks, int x, int y) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%4, %5}], [%2], %3;" ::"r"(address),
        "l"(&map), "r"(told), "h"(blocks), "r"(x), "r"(y)
        : "memory");
}

// The same to every block of the cluster that the mask names, each told at its own barrier.
__device__ __forceinline__ void tensor_load_multicast_3d(
    void* shared, const TensorMap& map, long long* barrier, unsigned short blocks, int x, int y, int z) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
        "{%4, %5, %6}], [%2], %3;" ::"r"(address),
        "l"(&map), "r"(told), "h"(blocks), "r"(x), "r"(y), "r"(z)
        : "memory");
}

// Starts the copy of a box to shared memory by L2's policy; it reports its bytes to the barrier.
__device__ __forceinline__ void tensor_load_hinted_1d(
    void* shared, const TensorMap& map, long long* barrier, unsigned long long policy, int x) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
        "{%3}], [%2], %4;" ::"r"(address),
        "l"(&map), "r"(told), "r"(x), "l"(policy)
        : "memory");
}

// Starts the copy of a box to shared memory by L2's policy; it reports its bytes to the barrier.
__device__ __forceinline__ void tensor_load_hinted_2d(
    void* shared, const TensorMap& map, long long* barrier, unsigned long long policy, int x, int y) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
        "{%3, %4}], [%2], %5;" ::"r"(address),
        "l"(&map), "r"(told), "r"(x), "r"(y), "l"(policy)
        : "memory");
}

// Starts the copy of a box to shared memory by L2's policy; it reports its bytes to the barrier.
__device__ __forceinline__ void tensor_load_hinted_3d(
    void* shared, const TensorMap& map, long long* barrier, unsigned long long policy, int x, int y, int z) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
        "{%3, %4, %5}], [%2], %6;" ::"r"(address),
        "l"(&map), "r"(told), "r"(x), "r"(y), "r"(z), "l"(policy)
        : "memory");
}

// The same by L2's policy.
__device__ __forceinline__ void tensor_load_multicast_hinted_1d(
    void* shared, const TensorMap& map, long long* barrier, unsigned short blocks, unsigned long long policy, int x) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_"
        "hint [%0], [%1, {%4}], [%2], %3, %5;" ::"r"(address),
        "l"(&map), "r"(told), "h"(blocks), "r"(x), "l"(policy)
        : "memory");
}

// The same by L2's policy.
__device__ __forceinline__ void tensor_load_multicast_hinted_2d(
    void* shared, const TensorMap& map, long long* barrier, unsigned short blocks, unsigned long long policy, int x, int y) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_"
        "hint [%0], [%1, {%4, %5}], [%2], %3, %6;" ::"r"(address),
        "l"(&map), "r"(told), "h"(blocks), "r"(x), "r"(y), "l"(policy)
        : "memory");
}

// The same by L2's policy.
__device__ __forceinline__ void tensor_load_multicast_hinted_3d(
    void* shared, const TensorMap& map, long long* barrier, unsigned short blocks, unsigned long long policy, int x, int y, int z) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    unsigned int told = (unsigned int)__cvta_generic_to_shared(barrier);
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_"
        "hint [%0], [%1, {%4, %5, %6}], [%2], %3, %7;" ::"r"(address),
        "l"(&map), "r"(told), "h"(blocks), "r"(x), "r"(y), "r"(z), "l"(policy)
        : "memory");
}

// Starts the copy of a box from shared memory, in the thread's bulk group.
__device__ __forceinline__ void tensor_store_1d(const TensorMap& map, const void* shared, int x) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%1, {%2}], [%0];" ::"r"(address),
                 "l"(&map), "r"(x)
                 : "memory");
}

// Starts the copy of a box from shared memory, in the thread's bulk group.
__device__ __forceinline__ void tensor_store_2d(const TensorMap& map, const void* shared, int x, int y) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%1, {%2, %3}], [%0];" ::"r"(address),
                 "l"(&map), "r"(x), "r"(y)
                 : "memory");
}

// Starts the copy of a box from shared memory, in the thread's bulk group.
__device__ __forceinline__ void tensor_store_3d(const TensorMap& map, const void* shared, int x, int y, int z) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%1, {%2, %3, %4}], [%0];" ::"r"(address),
                 "l"(&map), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

// Starts the copy of a box from shared memory by L2's policy, in the thread's bulk group.
__device__ __forceinline__ void tensor_store_hinted_1d(
    const TensorMap& map, const void* shared, unsigned long long policy, int x) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile(
        "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2}], [%0], %3;" ::"r"(
            address),
        "l"(&map), "r"(x), "l"(policy)
        : "memory");
}

// Starts the copy of a box from shared memory by L2's policy, in the thread's bulk group.
__device__ __forceinline__ void tensor_store_hinted_2d(
    const TensorMap& map, const void* shared, unsigned long long policy, int x, int y) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2, %3}], [%0], %4;" ::"r"(
            address),
        "l"(&map), "r"(x), "r"(y), "l"(policy)
        : "memory");
}

// Starts the copy of a box from shared memory by L2's policy, in the thread's bulk group.
__device__ __forceinline__ void tensor_store_hinted_3d(
    const TensorMap& map, const void* shared, unsigned long long policy, int x, int y, int z) {
    unsigned int address = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2, %3, %4}], [%0], %5;" ::"r"(
            address),
        "l"(&map), "r"(x), "r"(y), "r"(z), "l"(policy)
        : "memory");
}

// Closes this thread's group of stores.
__device__ __forceinline__ void bulk_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most `groups` of this thread's groups are in flight.
template <int groups>
__device__ __forceinline__ void bulk_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(groups) : "memory");
}

// Waits until at most `groups` of this thread's groups have yet to read shared memory.
template <int groups>
__device__ __forceinline__ void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}

// This thread's accesses to shared memory before come before those of TMA and the matrix units after.
__device__ __forceinline__ void fence_async_proxy() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// This thread's accesses to global memory before come before those of TMA after.
__device__ __forceinline__ void fence_async_proxy_global() {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}
