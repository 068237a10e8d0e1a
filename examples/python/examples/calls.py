"""What a call costs from Python beside the same launch from Rust, microseconds: `python examples/calls.py target/release/examples/calls`.

Of the host's time over asynchronous calls, and between the device's events over the same calls; medians. Needs a GPU.
"""

import statistics
import subprocess
import sys
import time

import layout_kernels
import torch
from layout_kernels import _native

# Calls in one sample, few enough that the stream's queue never fills; samples.
CALLS, SAMPLES = 500, 41
# The most that Python may add.
BOUND = 3.0


def from_rust(program):
    """The name of each kernel, and what its launch costs: the host, between events."""
    lines = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {name: (float(host), float(events)) for name, host, events in rows}


def measure(call):
    for _ in range(CALLS):
        call()
    host, events = [], []
    for _ in range(SAMPLES):
        torch.cuda.synchronize()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        host.append((time.perf_counter() - start) * 1e6 / CALLS)
        last.record()
        last.synchronize()
        events.append(first.elapsed_time(last) * 1e3 / CALLS)
    return statistics.median(host), statistics.median(events)


def main():
    program = sys.argv[1]
    functional = torch.nn.functional
    x = torch.full((4, 1024), 2.0, device="cuda", dtype=torch.bfloat16)
    weight, out, none = torch.full_like(x[0], 3.0), torch.empty_like(x), x.new_empty(0, dtype=torch.float32)
    q, k, v = [torch.ones((1, 2, 128, 64), device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    o, logs, no_ends = torch.empty_like(q), q.new_empty((1, 2, 128), dtype=torch.float32), q.new_empty(0, dtype=torch.int32)
    bare = _native.rms_norm.with_parameters(SCALED=False)
    attend = _native.attention.with_parameters(
        T="bf16", D=64, DV=64, BN=128, CONSUMERS=3, SMS=torch.cuda.get_device_properties(0).multi_processor_count,
        SCORE="plain", PACKED=False, BY_HEADS=True, PAIRED=False, KEEP="every", RANGE="all_keys",
    )  # fmt: skip
    slope = x.clone().requires_grad_()
    calls = [
        ("rms_norm", "layout_kernels.rms_norm", lambda: layout_kernels.rms_norm(x, weight)),
        ("rms_norm", "the kernel alone, into memory that is there", lambda: bare(x, weight, out, none, 1e-6)),
        ("rms_norm", "layout_kernels.rms_norm with a gradient", lambda: layout_kernels.rms_norm(slope, weight)),
        ("rms_norm", "torch.nn.functional.rms_norm", lambda: functional.rms_norm(x, (1024,), weight, 1e-6)),
        ("attention", "layout_kernels.attention", lambda: layout_kernels.attention(q, k, v)),
        (
            "attention",
            "the kernel alone, into memory that is there",
            lambda: attend(q, k, v, no_ends, no_ends, o, logs, 128, 0.125, 1.0, 0),
        ),
        ("attention", "scaled_dot_product_attention", lambda: functional.scaled_dot_product_attention(q, k, v)),
        (None, "torch.empty_like alone", lambda: torch.empty_like(x)),
    ]
    rust = [from_rust(program)]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    assert (layout_kernels.rms_norm(x, weight) == 3).all() and (layout_kernels.attention(q, k, v) == 1).all()
    found = [(kernel, what, *measure(call)) for kernel, what, call in calls]
    rust.append(from_rust(program))
    print(f"{'us a call':56}  host  + to Rust  events  + to Rust")
    best = {name: [min(run[name][i] for run in rust) for i in range(2)] for name in rust[0]}
    for run in rust:
        for name, (host, events) in run.items():
            print(f"{name + ' from Rust':56}{host:6.2f}{'':11}{events:8.2f}")
    late = []
    for kernel, what, host, events in found:
        if kernel is None:
            print(f"{what:56}{host:6.2f}")
            continue
        more = [host - best[kernel][0], events - best[kernel][1]]
        print(f"{what:56}{host:6.2f}{more[0]:+11.2f}{events:8.2f}{more[1]:+11.2f}")
        if what == f"layout_kernels.{kernel}" and max(more) > BOUND:
            late.append(what)
    print(f"more than {BOUND} us above Rust: {', '.join(late)}" if late else f"each within {BOUND} us of Rust")
    return bool(late)


if __name__ == "__main__":
    sys.exit(main())
