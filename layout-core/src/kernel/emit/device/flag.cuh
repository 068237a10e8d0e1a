// Undivided loads and stores that other blocks see, of 4 or 8 bytes, with and without an order of the accesses around.

// An element as it is in memory now.
template <typename T>
__device__ __forceinline__ T load_relaxed(const T* element) {
    T value;
    if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.relaxed.gpu.b32 %0, [%1];" : "=r"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned long long bits;
        asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    }
    return value;
}

// The same; what stands after it sees what was written before the release that wrote the value.
template <typename T>
__device__ __forceinline__ T load_acquire(const T* element) {
    T value;
    if constexpr (sizeof(T) == 4) {
        unsigned int bits;
        asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    } else {
        unsigned long long bits;
        asm volatile("ld.acquire.gpu.b64 %0, [%1];" : "=l"(bits) : "l"(element) : "memory");
        value = *reinterpret_cast<T*>(&bits);
    }
    return value;
}

// Writes an element.
template <typename T, typename V>
__device__ __forceinline__ void store_relaxed(T* element, V given) {
    T value = given;
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.relaxed.gpu.b32 [%0], %1;" ::"l"(element), "r"(*reinterpret_cast<unsigned int*>(&value)) : "memory");
    } else {
        asm volatile("st.relaxed.gpu.b64 [%0], %1;" ::"l"(element), "l"(*reinterpret_cast<unsigned long long*>(&value)) : "memory");
    }
}

// The same, after all that this thread did before.
template <typename T, typename V>
__device__ __forceinline__ void store_release(T* element, V given) {
    T value = given;
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(element), "r"(*reinterpret_cast<unsigned int*>(&value)) : "memory");
    } else {
        asm volatile("st.release.gpu.b64 [%0], %1;" ::"l"(element), "l"(*reinterpret_cast<unsigned long long*>(&value)) : "memory");
    }
}
