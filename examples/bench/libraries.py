"""The float32 product by NumPy and PyTorch on the CPU and by PyTorch on the GPU: what the tutorials compare their kernels with.

Run: python3 examples/bench/libraries.py FILE COMMIT M N K [M N K ..]. A record for each library and size is added to FILE, one JSON
object a line, as `bench --json` writes them. Every result is checked against float64; a figure is the median of 20 rounds. PyTorch
multiplies in full float32 (no TF32) on the GPU. A round is one product on the CPU, and 20 ms of products between two events on the GPU.
"""

import datetime
import json
import math
import os
import platform
import statistics
import sys
import time

import numpy
import torch

ROUNDS = 20


def on_the_cpu(call):
    """Milliseconds of one call, in each round."""
    call()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def on_the_gpu(call):
    """Milliseconds of one call, in each round."""

    def round_of(launches):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(launches):
            call()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / launches

    round_of(3)
    launches = max(1, math.ceil(20 / round_of(3)))
    return [round_of(launches) for _ in range(ROUNDS)]


def cpu_name():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main():
    path, commit, *extents = sys.argv[1:]
    if not extents or len(extents) % 3:
        sys.exit("a size is three numbers: libraries.py FILE COMMIT M N K [M N K ..]")
    torch.backends.cuda.matmul.allow_tf32 = False
    cpu = f"CPU: {cpu_name()}, {len(os.sched_getaffinity(0))} cores"
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    random = numpy.random.default_rng(7)
    with open(path, "a") as file:
        for at in range(0, len(extents), 3):
            m, n, k = map(int, extents[at : at + 3])
            a, b = (random.uniform(-1, 1, shape).astype("float32") for shape in ((m, k), (k, n)))
            exact = a.astype("float64") @ b.astype("float64")
            magnitude = numpy.abs(a).astype("float64") @ numpy.abs(b).astype("float64")
            ta, tb = torch.from_numpy(a), torch.from_numpy(b)
            ways = [("numpy", "cpu", cpu, lambda: a @ b), ("torch", "cpu", cpu, lambda: ta @ tb)]
            if gpu:
                ga, gb = ta.cuda(), tb.cuda()
                ways.append(("torch", "gpu", f"GPU 0: {gpu}", lambda: ga @ gb))
            for library, place, device, call in ways:
                found = call()
                found = found if library == "numpy" else found.cpu().numpy()
                error = numpy.abs(found - exact) / magnitude
                ms = statistics.median((on_the_gpu if place == "gpu" else on_the_cpu)(call))
                version = (numpy if library == "numpy" else torch).__version__
                record = {
                    "workload": "matmul",
                    "kernel": f"{library} on the {place.upper()}",
                    "place": place,
                    "dtype": "f32",
                    "shape": [m, n, k],
                    "ms": ms,
                    "rate": 2 * m * n * k / ms * 1e-9,
                    "unit": "TFLOP/s",
                    "wrong": int((error > 1e-5).sum()),
                    "max_rel_err": float(error.max()),
                    "library": f"{library} {version}",
                    "device": device,
                    "date": datetime.date.today().isoformat(),
                    "commit": commit,
                }
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
                print(f"{m} x {n} x {k}  {record['kernel']:14} {ms:10.4f} ms  {record['rate']:8.3f} TFLOP/s  {record['max_rel_err']:.1e}  {device}")


main()
