"""Kernels written in Rust, as PyTorch operators: eager, under autograd and torch.compile, and in CUDA graphs.

A CUDA tensor is launched on with torch's current stream; a tensor of the CPU runs on the simulator, which is for small sizes.
"""

import functools
import math

import torch

from . import _native

__all__ = ["attention", "rms_norm"]

_scaled = _native.rms_norm.with_parameters(SCALED=True)
_bare = _native.rms_norm.with_parameters(SCALED=False)


@functools.cache
def _empty(device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(0, device=device, dtype=dtype)


# Looked up once: each call of torch's by its full name costs a tenth of a launch.
_is_compiling, _is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
_dispatch_modes, _function_modes = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack
_Tensor, _Parameter, _float32, _empty_like = torch.Tensor, torch.nn.Parameter, torch.float32, torch.empty_like


def _plain(*tensors: torch.Tensor) -> bool:
    """Whether nobody but the kernel has to see the call: no tracing, no mode, no gradient. Then the dispatcher is passed over."""
    if _is_compiling() or _dispatch_modes() or _function_modes():
        return False
    grad = _is_grad_enabled()
    for x in tensors:
        kind = type(x)
        if (kind is not _Tensor and kind is not _Parameter) or (grad and x.requires_grad):
            return False
    return True


def _rows(x: torch.Tensor) -> torch.Tensor:
    return x if x.dim() == 2 and x.is_contiguous() else x.reshape(-1, x.shape[-1]).contiguous()


def _norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float, keep_scale: bool) -> tuple[torch.Tensor, torch.Tensor]:
    rows = _rows(x)
    out, none = _empty_like(rows), _empty(x.device, _float32)
    scale = none.new_empty(rows.shape[0]) if keep_scale else none
    (_scaled if keep_scale else _bare)(rows, weight.contiguous(), out, scale, epsilon)
    return out if rows is x else out.view(x.shape), scale


@torch.library.custom_op("layout_kernels::rms_norm", mutates_args=())
def _rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    return _norm(x, weight, epsilon, True)


@_rms_norm.register_fake
def _(x, weight, epsilon):
    torch._check(weight.shape == x.shape[-1:], lambda: f"weight {weight.shape}, rows of {x.shape[-1:]}")
    rows = x.numel() // x.shape[-1] if x.shape[-1] else 0
    return x.new_empty(x.shape), x.new_empty(rows, dtype=torch.float32)


@torch.library.custom_op("layout_kernels::rms_norm_backward", mutates_args=())
def _rms_norm_backward(
    x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor, dy: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    rows, slopes = _rows(x), _rows(dy)
    dx, parts = torch.empty_like(rows), scale.new_empty(min(256, rows.shape[0]), rows.shape[1])
    _native.rms_norm_dx(rows, weight.contiguous(), scale, slopes, dx)
    _native.rms_norm_dweight(rows, scale, slopes, parts)
    return dx.view(x.shape), parts.sum(0).to(weight.dtype)


@_rms_norm_backward.register_fake
def _(x, weight, scale, dy):
    return x.new_empty(x.shape), weight.new_empty(weight.shape)


def _setup_context(ctx, inputs, output):
    x, weight, _ = inputs
    ctx.save_for_backward(x, weight, output[1])


def _backward(ctx, dy, _):
    return *torch.ops.layout_kernels.rms_norm_backward(*ctx.saved_tensors, dy), None


_rms_norm.register_autograd(_backward, setup_context=_setup_context)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-6) -> torch.Tensor:
    """``x / sqrt(mean of x² + epsilon) * weight`` along the last dimension; sums are float32."""
    if _plain(x, weight):
        return _norm(x, weight, epsilon, False)[0]
    return torch.ops.layout_kernels.rms_norm(x, weight, epsilon)[0]


_ELEMENTS = {torch.bfloat16: "bf16", torch.float16: "f16"}

# Keys of a block, and warpgroups that multiply, by the dimension of a head.
_TILES = {64: (128, 3), 96: (128, 2), 128: (128, 2), 256: (80, 2)}


def _mask(causal: bool) -> dict[str, str]:
    return {"KEEP": "causal", "RANGE": "keys_before"} if causal else {"KEEP": "every", "RANGE": "all_keys"}


@functools.cache
def _half_of_l2(device: torch.device) -> int:
    properties = torch.cuda.get_device_properties(device) if device.type == "cuda" else None
    return getattr(properties, "L2_cache_size", 60 << 20) // 2


@functools.cache
def _attention_of(dtype: torch.dtype, d: int, causal: bool, in_pairs: bool, device: torch.device):
    """The kernel, an empty tensor in place of sequence ends, and an empty float32 tensor that logarithms are allocated by."""
    if dtype not in _ELEMENTS:
        raise TypeError(f"attention takes bfloat16 and float16, not {dtype}")
    keys, consumers = _TILES.get(d, (64, 2))
    blocks = torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 2
    kernel = _native.attention.with_parameters(
        T=_ELEMENTS[dtype], D=d, DV=d, BN=keys, CONSUMERS=consumers, SMS=blocks, SCORE="plain", PACKED=False,
        BY_HEADS=not causal, PAIRED=in_pairs, **_mask(causal),
    )  # fmt: skip
    return kernel, _empty(device, torch.int32), _empty(device, _float32)


@functools.cache
def _gradients_of(dtype: torch.dtype, d: int, causal: bool):
    both = dict(T=_ELEMENTS[dtype], D=d, DV=d, SCORE="plain", SLOPE="one", PACKED=False, **_mask(causal))
    return (
        _native.attention_prepare.with_parameters(T=_ELEMENTS[dtype], DV=d),
        _native.attention_of_keys.with_parameters(**both),
        _native.attention_of_queries.with_parameters(**both),
    )


def _attend(q, k, v, causal: bool, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    batch, heads, places, d = q.shape
    device = q.device
    # As `in_pairs` of `layout-cuda/kernels/src/attention.rs`: K and V of all heads are more than half of L2, and there is work enough.
    in_pairs = causal and places <= 8192 < batch * heads * places // 4
    in_pairs = in_pairs and 2 * k.numel() * k.element_size() > _half_of_l2(device)
    kernel, none, floats = _attention_of(q.dtype, d, causal, in_pairs, device)
    # Of its own type and with no tuple, `new_empty` takes 2 us less.
    out, logs = _empty_like(q), floats.new_empty(batch, heads, places)
    kernel(q, k, v, none, none, out, logs, places, scale, 1.0, 0)
    return out, logs


@torch.library.custom_op("layout_kernels::attention", mutates_args=())
def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    return _attend(q, k, v, causal, scale)


@_attention.register_fake
def _(q, k, v, causal, scale):
    return torch.empty_like(q), q.new_empty(q.shape[:3], dtype=torch.float32)


def _addressable(x: torch.Tensor) -> torch.Tensor:
    """As TMA reads it: a gradient may be one number expanded."""
    *outer, inner = x.stride()
    fits = inner == 1 and all(step > 0 and step * x.element_size() % 16 == 0 for step in outer)
    return x if fits and x.data_ptr() % 16 == 0 else x.clone(memory_format=torch.contiguous_format)


@torch.library.custom_op("layout_kernels::attention_backward", mutates_args=())
def _attention_backward(
    do: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, logs: torch.Tensor,
    causal: bool, scale: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    batch, heads, places, d = q.shape
    if d > 128:
        raise ValueError(f"attention's gradient takes heads of up to 128 elements, not {d}")
    prepare, of_keys, of_queries = _gradients_of(q.dtype, d, causal)
    do = _addressable(do)
    facts = logs.new_empty((batch, heads, 2, max(1, -(-places // 128)) * 128))
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    prepare(out, do, logs, facts)
    none = _empty(q.device, torch.int32)
    of_keys(q, k, v, do, none, none, facts, dk, dv, scale, 1.0, 0)
    of_queries(q, k, v, do, none, none, facts, dq, scale, 1.0, 0)
    return dq, dk, dv


@_attention_backward.register_fake
def _(do, q, k, v, out, logs, causal, scale):
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def _setup_attention(ctx, inputs, output):
    *tensors, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(*tensors, *output)


def _attention_gradients(ctx, do, _):
    backward = torch.ops.layout_kernels.attention_backward
    return *backward(do, *ctx.saved_tensors, ctx.causal, ctx.scale), None, None


_attention.register_autograd(_attention_gradients, setup_context=_setup_attention)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, scale: float | None = None
) -> torch.Tensor:
    """``softmax(scale q kᵀ) v`` of (batch, heads, places, d); heads of q may share those of k and v. Hopper.

    ``scale`` is 1 / sqrt(d) without it. The elements of a head are contiguous, the other modes have any order. A gradient is of heads
    of up to 128 elements; sums for `q` are added in an open order, so its last bits may differ from run to run.
    """
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if _plain(q, k, v):
        return _attend(q, k, v, causal, scale)[0]
    return torch.ops.layout_kernels.attention(q, k, v, causal, scale)[0]
