// What emitted CUDA C needs to be C++ of the host, for kernels whose threads do not talk: one thread after the other.
//
// A launch reads its arguments from one file and writes what it leaves to another. Each tensor is between guard zones;
// whether they are whole is written, too.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct Axes {
    unsigned x, y, z;
};
static Axes threadIdx, blockIdx, blockDim, gridDim;

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline int wrapping_neg(int a) { return (int)(0u - (unsigned)a); }
static inline long long wrapping_neg(long long a) { return (long long)(0ull - (unsigned long long)a); }
static inline int wrapping_abs(int a) { return a < 0 ? wrapping_neg(a) : a; }
static inline long long wrapping_abs(long long a) { return a < 0 ? wrapping_neg(a) : a; }
static inline int wrapping_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
static inline long long wrapping_mul(long long a, long long b) {
    return (long long)((unsigned long long)a * (unsigned long long)b);
}
static inline int sign_mask(int a) { return a < 0 ? -1 : 0; }
static inline long long sign_mask(long long a) { return a < 0 ? -1 : 0; }
static inline longlong2 make_longlong2(long long x, long long y) { return {x, y}; }

template <class To, class From>
static inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline float __int_as_float(int bits) { return bits_as<float>(bits); }
static inline int __float_as_int(float value) { return bits_as<int>(value); }
static inline float __uint_as_float(unsigned bits) { return bits_as<float>(bits); }
static inline unsigned __float_as_uint(float value) { return bits_as<unsigned>(value); }
static inline double __longlong_as_double(long long bits) { return bits_as<double>(bits); }
static inline long long __double_as_longlong(double value) { return bits_as<long long>(value); }

// NVRTC's overloads.
#define EXTREMA(A, B, C)                                              \
    static inline C min(A a, B b) { return (C)a < (C)b ? (C)a : (C)b; } \
    static inline C max(A a, B b) { return (C)a > (C)b ? (C)a : (C)b; }
EXTREMA(int, int, int)
EXTREMA(unsigned, unsigned, unsigned)
EXTREMA(int, unsigned, unsigned)
EXTREMA(unsigned, int, unsigned)
EXTREMA(long long, long long, long long)
EXTREMA(unsigned long long, unsigned long long, unsigned long long)
EXTREMA(long long, unsigned long long, unsigned long long)
EXTREMA(unsigned long long, long long, unsigned long long)

// As the hardware's: the zero of a sign is below the one without.
#define FLOAT_EXTREMA(T, LEAST, MOST)                                                                          \
    static inline T ordered_##LEAST(T a, T b) { return a == b ? (__builtin_signbit(a) ? a : b) : LEAST(a, b); } \
    static inline T ordered_##MOST(T a, T b) { return a == b ? (__builtin_signbit(a) ? b : a) : MOST(a, b); }
FLOAT_EXTREMA(float, fminf, fmaxf)
FLOAT_EXTREMA(double, fmin, fmax)
#define fminf ordered_fminf
#define fmaxf ordered_fmaxf
#define fmin ordered_fmin
#define fmax ordered_fmax

// CUDA's words for bits.
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
static inline int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
static inline int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
static inline unsigned long long __brevll(unsigned long long a) {
    unsigned long long out = 0;
    for (int bit = 0; bit < 64; bit++) out |= (a >> bit & 1) << (63 - bit);
    return out;
}
static inline unsigned __brev(unsigned a) { return (unsigned)(__brevll(a) >> 32); }
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long eight = (unsigned long long)b << 32 | a;
    unsigned out = 0;
    for (int byte = 0; byte < 4; byte++) out |= (unsigned)(eight >> 8 * (selector >> 4 * byte & 7) & 255) << 8 * byte;
    return out;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return (unsigned)((((unsigned long long)high << 32 | low) << n % 32) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> n % 32);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
template <class T, class Byte>
static inline T dot4(T a, T b, T c) {
    unsigned sum = (unsigned)c;
    for (int byte = 0; byte < 4; byte++)
        sum += (unsigned)((int)(Byte)((unsigned)a >> 8 * byte) * (int)(Byte)((unsigned)b >> 8 * byte));
    return (T)sum;
}
static inline int __dp4a(int a, int b, int c) { return dot4<int, signed char>(a, b, c); }
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return dot4<unsigned, unsigned char>(a, b, c); }

// Words of bytes and of halves.
#define LANES(name, Lane, value) \
    static inline unsigned name(unsigned x, unsigned y) { \
        unsigned out = 0, mask = 0xffffffffu >> (32 - 8 * sizeof(Lane)); \
        for (unsigned at = 0; at < 32; at += 8 * sizeof(Lane)) { \
            int a = (Lane)(x >> at), b = (Lane)(y >> at); \
            out |= ((unsigned)(value) & mask) << at; \
        } \
        return out; \
    }
LANES(__vminu4, unsigned char, a < b ? a : b)
LANES(__vmins4, signed char, a < b ? a : b)
LANES(__vminu2, unsigned short, a < b ? a : b)
LANES(__vmins2, short, a < b ? a : b)
LANES(__vmaxu4, unsigned char, a > b ? a : b)
LANES(__vmaxs4, signed char, a > b ? a : b)
LANES(__vmaxu2, unsigned short, a > b ? a : b)
LANES(__vmaxs2, short, a > b ? a : b)
LANES(__vadd4, unsigned char, a + b)
LANES(__vadd2, unsigned short, a + b)
LANES(__vsub4, unsigned char, a - b)
LANES(__vsub2, unsigned short, a - b)
LANES(__vcmpgtu4, unsigned char, a > b ? -1 : 0)
LANES(__vcmpgts4, signed char, a > b ? -1 : 0)
LANES(__vcmpgtu2, unsigned short, a > b ? -1 : 0)
LANES(__vcmpgts2, short, a > b ? -1 : 0)
LANES(__vcmpeq4, unsigned char, a == b ? -1 : 0)
LANES(__vcmpeq2, unsigned short, a == b ? -1 : 0)
#undef LANES

// To the nearest integer toward zero, cut at the ends, as the hardware's `cvt.rzi` does.
template <class To>
static inline To toward_zero(double value, To least, To most) {
    if (value != value) return 0;
    if (value <= (double)least) return least;
    if (value >= (double)most) return most;
    return (To)value;
}
static inline int __float2int_rz(float a) { return toward_zero<int>(a, INT32_MIN, INT32_MAX); }
static inline int __double2int_rz(double a) { return toward_zero<int>(a, INT32_MIN, INT32_MAX); }
static inline unsigned __float2uint_rz(float a) { return toward_zero<unsigned>(a, 0, UINT32_MAX); }
static inline unsigned __double2uint_rz(double a) { return toward_zero<unsigned>(a, 0, UINT32_MAX); }
static inline long long __float2ll_rz(float a) { return toward_zero<long long>(a, INT64_MIN, INT64_MAX); }
static inline long long __double2ll_rz(double a) { return toward_zero<long long>(a, INT64_MIN, INT64_MAX); }
static inline unsigned long long __float2ull_rz(float a) { return toward_zero<unsigned long long>(a, 0, UINT64_MAX); }
static inline unsigned long long __double2ull_rz(double a) { return toward_zero<unsigned long long>(a, 0, UINT64_MAX); }

// Rounded toward zero.
static inline float __double2float_rz(double a) {
    float near = (float)a;
    return fabs((double)near) > fabs(a) ? nextafterf(near, 0.0f) : near;
}
static inline float __int2float_rz(int a) { return __double2float_rz(a); }
static inline float __uint2float_rz(unsigned a) { return __double2float_rz(a); }
static inline float whole2float_rz(__int128 a) {
    float near = (float)a;
    __int128 whole = (__int128)near;
    return (whole < 0 ? -whole : whole) > (a < 0 ? -a : a) ? nextafterf(near, 0.0f) : near;
}
static inline float __ll2float_rz(long long a) { return whole2float_rz(a); }
static inline float __ull2float_rz(unsigned long long a) { return whole2float_rz(a); }

// What the device functions say in PTX, whose definitions are left out of the texts.
static inline float bf16_to_f32(unsigned short bits) { return bits_as<float>((unsigned)bits << 16); }
static inline unsigned short f32_to_bf16(float value) {
    unsigned bits = bits_as<unsigned>(value);
    if (value != value) return 0x7fff;
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static inline float f16_to_f32(unsigned short bits) { return (float)bits_as<_Float16>(bits); }
static inline unsigned short f32_to_f16(float value) { return bits_as<unsigned short>((_Float16)value); }

static inline unsigned short min_f16(unsigned short a, unsigned short b) { return f32_to_f16(fminf(f16_to_f32(a), f16_to_f32(b))); }
static inline unsigned short max_f16(unsigned short a, unsigned short b) { return f32_to_f16(fmaxf(f16_to_f32(a), f16_to_f32(b))); }
static inline unsigned short min_bf16(unsigned short a, unsigned short b) { return f32_to_bf16(fminf(bf16_to_f32(a), bf16_to_f32(b))); }
static inline unsigned short max_bf16(unsigned short a, unsigned short b) { return f32_to_bf16(fmaxf(bf16_to_f32(a), bf16_to_f32(b))); }

template <class T>
static inline T exchanged(T* element, T value) {
    T old = *element;
    *element = value;
    return old;
}
static inline int atomicAdd(int* at, int b) { return exchanged(at, (int)((unsigned)*at + (unsigned)b)); }
static inline unsigned atomicAdd(unsigned* at, unsigned b) { return exchanged(at, *at + b); }
static inline float atomicAdd(float* at, float b) { return exchanged(at, *at + b); }
static inline double atomicAdd(double* at, double b) { return exchanged(at, *at + b); }
static inline int atomicMax(int* at, int b) { return exchanged(at, max(*at, b)); }
static inline unsigned atomicMax(unsigned* at, unsigned b) { return exchanged(at, max(*at, b)); }
static inline int atomicMin(int* at, int b) { return exchanged(at, min(*at, b)); }
static inline unsigned atomicMin(unsigned* at, unsigned b) { return exchanged(at, min(*at, b)); }
template <class T, class V>
static inline T atomicAnd(T* at, V b) { return exchanged(at, (T)(*at & b)); }
template <class T, class V>
static inline T atomicOr(T* at, V b) { return exchanged(at, (T)(*at | b)); }
template <class T, class V>
static inline T atomicXor(T* at, V b) { return exchanged(at, (T)(*at ^ b)); }
static inline unsigned atomicCAS(unsigned* at, unsigned expected, unsigned b) {
    return exchanged(at, *at == expected ? b : *at);
}

// A tensor between guard zones.
static const size_t GUARD = 1 << 16;
struct Guarded {
    std::vector<unsigned char> memory;
    unsigned char* first;
    size_t bytes;
};

static FILE *in, *out;
static uint64_t word() {
    uint64_t value = 0;
    if (fread(&value, sizeof value, 1, in) != 1) exit(3);
    return value;
}

template <class T>
static T argument(uint64_t word) {
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}

template <class... A, size_t... I>
static void thread(void (*kernel)(A...), const std::vector<uint64_t>& words, std::index_sequence<I...>) {
    kernel(argument<A>(words[I])...);
}

template <class... A>
static void launch(void (*kernel)(A...)) {
    uint64_t grid = word(), block = word();
    std::vector<Guarded> tensors(word());
    for (Guarded& tensor : tensors) {
        tensor.bytes = word();
        size_t offset = word();
        tensor.memory.assign(tensor.bytes + 2 * GUARD + 32, 0x5a);
        tensor.first = tensor.memory.data() + GUARD;
        while ((uintptr_t)tensor.first % 16 != offset) tensor.first++;
        if (tensor.bytes && fread(tensor.first, tensor.bytes, 1, in) != 1) exit(3);
    }
    // 0 and the word itself, or the number of a tensor from 1.
    std::vector<uint64_t> words(word());
    for (uint64_t& value : words) {
        uint64_t tensor = word();
        value = word();
        if (tensor) value = (uint64_t)(uintptr_t)tensors[tensor - 1].first;
    }
    if (words.size() != sizeof...(A)) exit(4);
    blockDim = {(unsigned)block, 1, 1};
    gridDim = {(unsigned)grid, 1, 1};
    for (unsigned b = 0; b < grid; b++)
        for (unsigned t = 0; t < block; t++) {
            blockIdx = {b, 0, 0};
            threadIdx = {t, 0, 0};
            thread(kernel, words, std::index_sequence_for<A...>());
        }
    for (Guarded& tensor : tensors) {
        unsigned char whole = 1, *begin = tensor.memory.data(), *end = begin + tensor.memory.size();
        for (unsigned char* byte = begin; byte < end; byte++)
            if ((byte < tensor.first || byte >= tensor.first + tensor.bytes) && *byte != 0x5a) whole = 0;
        fwrite(&whole, 1, 1, out);
        fwrite(tensor.first, 1, tensor.bytes, out);
    }
    fflush(out);
}
