"""The kernels on NumPy's arrays, which run on the simulator; and what is refused."""

import subprocess
import sys

import numpy as np
import pytest

from layout_kernels import _native  # `bash test.sh` builds it


def norm(x, weight, epsilon):
    scale = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(1) + epsilon)
    return x * scale[:, None] * weight, scale


@pytest.mark.parametrize("dtype,bound", [(np.float32, 1e-6), (np.float16, 1e-3)])
@pytest.mark.parametrize("shape", [(3, 8), (2, 1027), (1, 1), (0, 4), (5, 3001)])
def test_rms_norm(shape, dtype, bound):
    random = np.random.default_rng(7)
    x, weight = random.normal(size=shape).astype(dtype), random.normal(size=shape[1]).astype(dtype)
    out, scale = np.full_like(x, np.nan), np.full(shape[0], np.nan, np.float32)
    _native.rms_norm(x, weight, out, scale, 1e-6)
    expected, factors = norm(x, weight, 1e-6)
    np.testing.assert_allclose(scale, factors, rtol=1e-6)
    np.testing.assert_allclose(out, expected, rtol=bound, atol=bound)


def test_arguments_that_do_not_fit_are_refused():
    x, weight, scale = np.ones((2, 8), np.float32), np.ones(8, np.float32), np.ones(2, np.float32)

    def refused(error, words, *arguments, **parameters):
        with pytest.raises(error, match=words):
            _native.rms_norm(*arguments, **parameters)

    out = np.empty_like(x)
    refused(TypeError, r"takes 5 arguments \(x, weight, out, scale, epsilon\), 2 were given", x, weight)
    refused(TypeError, "out: a tensor was expected, not `list`", x, weight, [1.0], scale, 1e-6)
    refused(ValueError, "weight.*7", x, weight[:7], out, scale, 1e-6)
    refused(ValueError, "`x` is of f64 and `weight` of f32", x.astype(np.float64), weight, out, scale, 1e-6)
    refused(ValueError, "`weight` is of f64 and `x` of f32", x, weight.astype(np.float64), out, scale, 1e-6)
    refused(TypeError, "DLPack's code 5", x.astype(np.complex64), weight, out, scale, 1e-6)
    refused(ValueError, "writes `out`, which overlaps `x`", x, weight, x, scale, 1e-6)
    refused(TypeError, "epsilon: ", x, weight, out, scale, "small")
    refused(TypeError, "no parameter `BLOCK`; it has T, SCALED, THREADS", x, weight, out, scale, 1e-6, BLOCK=1)
    refused(TypeError, "`f31` is none of", x, weight, out, scale, 1e-6, T="f31")
    refused(ValueError, "stride", x[:, ::-1], weight, out, scale, 1e-6)
    refused(ValueError, "stride 2 in mode 1", np.ones((2, 16), np.float32)[:, ::2], weight, out, scale, 1e-6)
    out.flags.writeable = False
    refused((ValueError, BufferError), "read|writ", x, weight, out, scale, 1e-6)
    assert np.array_equal(x, np.ones_like(x)) and np.array_equal(scale, np.ones(2, np.float32))


def test_parameters_and_words():
    x, out, scale = np.ones((2, 8), np.float32), np.empty((2, 8), np.float32), np.empty(2, np.float32)
    _native.rms_norm(x, 3 * x[0], out, scale, 0.0, THREADS=64, T="f32")
    assert (out == 3).all()
    fixed = _native.rms_norm.with_parameters(THREADS=32)
    fixed(x, 4 * x[0], out, scale, 0.0)
    assert (out == 4).all()
    fixed(x, x[0], out, scale[:0], 0.0, SCALED=False)
    assert (out == 1).all()
    with pytest.raises(ValueError, match="S == if SCALED|require"):
        fixed(x, x[0], out, scale[:0], 0.0)
    assert "__global__" in _native.rms_norm.source and _native.rms_norm.name == "rms_norm"
    assert repr(_native.rms_norm) == "<kernel rms_norm(x, weight, out, scale, epsilon)>"


def test_the_package_needs_no_torch():
    program = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import layout_kernels
assert layout_kernels._native.rms_norm.source
try:
    layout_kernels.rms_norm
except AttributeError as error:
    assert "pip install torch" in str(error), error
else:
    raise AssertionError("an operator without PyTorch")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
