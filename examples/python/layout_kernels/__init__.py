"""Kernels written in Rust: on NumPy's arrays as `_native` has them, and with PyTorch installed as its operators (`operators.py`)."""

from importlib.util import find_spec

from . import _native

__all__ = ["attention", "rms_norm"] if find_spec("torch") else []

if find_spec("torch"):
    from .operators import attention, rms_norm


def __getattr__(name: str):
    if name in ("attention", "rms_norm"):
        raise AttributeError(f"layout_kernels.{name} is an operator of PyTorch's, which is not installed: pip install torch")
    raise AttributeError(f"module 'layout_kernels' has no attribute '{name}'")
