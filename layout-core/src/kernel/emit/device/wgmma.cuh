// One product of a warpgroup, with a place for each number that depends on its shape: COLUMNS, HALF (of the columns: the
// registers), DEPTH, NAME and TYPE (of the operands), TRANSPOSED (16-bit operands say how they lie), REGISTERS,
// OPERANDS, A, B, ACCUMULATE.

// d = a b, added to d where `accumulate` holds; in flight until the wait.
TEMPLATE__device__ __forceinline__ void wgmma_m64nCOLUMNSkDEPTH_NAME(
    float (&d)[HALF], unsigned long long a, unsigned long long b, bool accumulate) {
    asm volatile(
        "{\n\t.reg .pred add;\n\t"
        "setp.ne.b32 add, %ACCUMULATE, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64nCOLUMNSkDEPTH.f32.TYPE.TYPE {"
REGISTERS
        "}, %A, %B, add, 1, 1TRANSPOSED;\n\t}"
OPERANDS
        : "l"(a), "l"(b), "r"((int)accumulate)MAJORS
        : "memory");
}
