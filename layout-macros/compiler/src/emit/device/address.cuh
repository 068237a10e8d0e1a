// Addresses in shared memory.

// The 32-bit address of an element. A known part of the index becomes a part of the instruction.
template <typename T>
__device__ __forceinline__ unsigned int shared_address(const T* array, unsigned int index = 0) {
    return (unsigned int)__cvta_generic_to_shared(array) + (unsigned int)sizeof(T) * index;
}
