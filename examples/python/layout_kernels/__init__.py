"""Kernels written in Rust, as PyTorch operators: eager, under autograd and torch.compile, and in CUDA graphs.

A CUDA tensor is launched on with torch's current stream; a tensor of the CPU runs on the simulator, which is for small sizes.
"""

import torch

from . import _native

__all__ = ["rms_norm"]


def _rows(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1, x.shape[-1]).contiguous()


@torch.library.custom_op("layout_kernels::rms_norm", mutates_args=())
def _rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    rows = _rows(x)
    out, scale = torch.empty_like(rows), rows.new_empty(rows.shape[0], dtype=torch.float32)
    _native.rms_norm(rows, weight.contiguous(), out, scale, epsilon)
    return out.view(x.shape), scale


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
    return torch.ops.layout_kernels.rms_norm(x, weight, epsilon)[0]
