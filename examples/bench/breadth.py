"""The operations of `bench -- breadth` by PyTorch, at the same shapes and in the same types: a line for each.

Run: python3 examples/bench/breadth.py [TEXT]; TEXT is a part of the names that are run. A figure is the median of 20 launches, each with a
cold L2 cache; GB/s are of the bytes that `bench` counts. Beside it the copy of as many bytes.
"""

import itertools
import statistics
import sys

import torch
from torch.nn import functional

SHAPES = [(8192, 8192), (8191, 8193), (513, 1027)]
COLD = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")


def milliseconds(call):
    """The median of some launches, each with a cold L2 cache."""
    call()
    times = []
    for _ in range(20):
        COLD.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def copy_of(amount):
    """Milliseconds of a copy that reads and writes so many bytes in all."""
    x = torch.empty(max(1, int(amount) // 2), dtype=torch.uint8, device="cuda")
    y = torch.empty_like(x)
    return milliseconds(lambda: y.copy_(x))


def turned(x, cos, sin, adjacent):
    """Rotary embedding as models write it."""
    if adjacent:
        re, im = x[..., 0::2].float(), x[..., 1::2].float()
        return torch.stack((re * cos - im * sin, im * cos + re * sin), -1).flatten(-2).to(x.dtype)
    half = x.shape[-1] // 2
    re, im = x[..., :half].float(), x[..., half:].float()
    return torch.cat((re * cos - im * sin, im * cos + re * sin), -1).to(x.dtype)


def operations(m, n, dtype):
    """Names, calls, and bytes of all elements."""
    x, y = (torch.rand(m, n, device="cuda").mul(8).sub(4).to(dtype) for _ in range(2))
    size, mask, row, turned_y = x.element_size(), y > 0, y[:1], y.view(n, m).T
    d = 128 if n % 128 == 0 else 2
    heads = x.flatten()[: m * (n // d) * d].view(m, n // d, d)
    cos, sin = (torch.rand(m, 1, d // 2, device="cuda") for _ in range(2))
    rows = torch.arange(m, device="cuda") * 7919 % m
    columns = (torch.arange(m * n, device="cuda") * 7919 % n).view(m, n)
    halves, sums = rows // 2, torch.zeros((m + 1) // 2, n, device="cuda")
    one, two, three = (count * size * m * n for count in (1, 2, 3))
    unary = {
        "affine": lambda: x.mul(0.5).add_(1.25),
        "exp": x.exp,
        "log": x.log,
        "sqrt": x.sqrt,
        "sigmoid": x.sigmoid,
        "relu": x.relu,
        "clamp": lambda: x.clamp(-0.5, 1.25),
        "silu": lambda: functional.silu(x),
        "gelu": lambda: functional.gelu(x),
        "gelu_tanh": lambda: functional.gelu(x, approximate="tanh"),
    }
    binary = {
        "add": lambda: x + y,
        "sub": lambda: x - y,
        "mul": lambda: x * y,
        "div": lambda: x / y,
        "maximum": lambda: torch.maximum(x, y),
        "minimum": lambda: torch.minimum(x, y),
        "swiglu": lambda: functional.silu(x) * y,
        "add of a transposed": lambda: x + turned_y,
    }
    yield from ((name, call, two) for name, call in unary.items())
    yield "cast", lambda: x.to(torch.bfloat16, copy=True), one + 2 * m * n
    yield from ((name, call, three) for name, call in binary.items())
    yield "add of a row", lambda: x + row, two
    yield "choose", lambda: torch.where(mask, x, y), three + m * n
    for name, adjacent in (("rope, halves", False), ("rope, adjacent", True)):
        yield name, lambda adjacent=adjacent: turned(heads, cos, sin, adjacent), 2 * size * heads.numel() + 4 * m * d
    for what, axis in (("rows", 1), ("columns", 0)):
        of_axis = {
            "sum": lambda axis=axis: x.sum(axis, dtype=torch.float32),
            "mean": lambda axis=axis: x.mean(axis, dtype=torch.float32),
            "variance": lambda axis=axis: x.var(axis),
            "max": lambda axis=axis: x.amax(axis),
            "min": lambda axis=axis: x.amin(axis),
            "logsumexp": lambda axis=axis: x.logsumexp(axis),
            "product": lambda axis=axis: x.prod(axis),
            "argmax": lambda axis=axis: x.argmax(axis),
            "argmin": lambda axis=axis: x.argmin(axis),
            "any": lambda axis=axis: x.any(axis),
            "all": lambda axis=axis: x.all(axis),
        }
        yield from ((f"{name} of {what}", call, one) for name, call in of_axis.items())
    yield "select_rows", lambda: x.index_select(0, rows), two
    yield "gather", lambda: x.gather(1, columns), two + 4 * m * n
    yield "scatter_add", lambda: sums.index_add_(0, halves, x.float()), one + 4 * m * n
    yield "roll", lambda: x.roll((3, -5), (0, 1)), two
    yield "flip", lambda: x.flip(1), two
    yield "permute", lambda: x.T.contiguous(), two
    yield "pad", lambda: functional.pad(x, (2, 1, 1, 1)), two
    yield "concat", lambda: torch.cat((x, x), 1), 2 * two


def orders():
    """Shapes, types, names, calls, and bytes of the orders."""
    for m, n in ((1024, 131072), (1023, 131071), (65536, 1000)):
        for kind, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
            x = torch.rand(m, n, device="cuda").mul(8).sub(4).to(dtype)
            size = x.element_size() * m * n
            yield (m, n), kind, "order: top_k 8", lambda x=x: x.topk(8), size
            yield (m, n), kind, "order: top_k 64", lambda x=x: x.topk(64), size
            yield (m, n), kind, "order: sort", lambda x=x: x.sort(stable=True), 2 * size
            yield (m, n), kind, "order: argsort", lambda x=x: x.argsort(stable=True), size + 4 * m * n
            x = x.sort(1)[0]
            yield (m, n), kind, "order: top_k 8, rising", lambda x=x: x.topk(8), size
    x = torch.randint(-(2**31), 2**31, (1 << 27,), device="cuda", dtype=torch.int32)
    yield (1 << 27,), "i32", "order: sort", lambda: x.sort(), 2 * 4 * x.numel()
    yield (1 << 27,), "i32", "order: argsort", lambda: x.argsort(stable=True), 2 * 4 * x.numel()


def narrowed(x):
    """Numbers of e4m3 and scales of groups, which are the second mode and the last one."""
    scales = x.abs().amax((1, 3), keepdim=True).float() / 448
    return (x.float() / scales).to(torch.float8_e4m3fn), scales


def transforms():
    """Shapes, types, names, calls, and bytes of `bench -- transforms`."""
    for m, n in ((1 << 20, 64), (1 << 18, 256), (1 << 16, 1024), (1 << 14, 4096), (1 << 10, 1 << 16), (64, 1 << 20)):
        x = torch.rand(m, n, 2, device="cuda").mul(8).sub(4)
        yield (m, n), "f32", "transform: fft", lambda x=torch.view_as_complex(x): torch.fft.fft(x), 16 * m * n
    for m, n in ((1 << 18, 512), (1 << 16, 2048), (1 << 7, 1 << 20)):
        x = torch.rand(m, n, device="cuda").mul(8).sub(4)
        of_x = torch.fft.rfft(x)
        yield (m, n), "f32", "transform: rfft", lambda x=x: torch.fft.rfft(x), 8 * m * n
        yield (m, n), "f32", "transform: irfft", lambda of_x=of_x: torch.fft.irfft(of_x), 8 * m * n
    n, k = 1 << 20, 1 << 24
    sorted_x, values = torch.rand(n, device="cuda").sort()[0], torch.rand(k, device="cuda")
    yield (n, k), "f32", "transform: searchsorted", lambda: torch.searchsorted(sorted_x, values, out_int32=True), 8 * k
    n = 1 << 26
    x, mask = torch.rand(n, device="cuda"), torch.rand(n, device="cuda") > 0.5
    yield (n,), "f32", "transform: select", lambda: x[mask], 7 * n
    runs = torch.randint(-n // 4, n // 4, (n,), device="cuda", dtype=torch.int32).sort()[0]
    count = runs.unique_consecutive().numel()
    yield (n,), "i32", "transform: unique", lambda: runs.unique_consecutive(return_counts=True), 4 * n + 8 * count
    m, n = 8192, 8192
    x = torch.rand(m, n, device="cuda").mul(8).sub(4).bfloat16()
    for name, shape in (("tensor", (1, m, 1, n)), ("rows", (m, 1, 1, n)), ("1 x 128", (m, 1, n // 128, 128)), ("128 x 128", (m // 128, 128, n // 128, 128))):
        narrow = torch.compile(narrowed, dynamic=False)
        out, scales = narrow(x.view(shape))
        wide = torch.compile(lambda out, scales: (out.float() * scales).bfloat16(), dynamic=False)
        yield (m, n), "e4m3", f"transform: quantize, {name}", lambda narrow=narrow, shape=shape: narrow(x.view(shape)), 3 * m * n
        yield (m, n), "e4m3", f"transform: dequantize, {name}", lambda wide=wide, out=out, scales=scales: wide(out, scales), 3 * m * n
    n = 1 << 26
    weights = torch.rand(n, device="cuda")
    for bins in (10, 1000, 1 << 20):
        keys = torch.randint(0, bins, (n,), device="cuda", dtype=torch.int32)
        yield (n, bins), "f32", "transform: bincount", lambda keys=keys, bins=bins: torch.bincount(keys, weights, bins), 8 * n
    for m, n in ((1 << 14, 64), (1 << 16, 32), (1 << 18, 16)):
        a = torch.rand(m, n, n, device="cuda").mul(2).sub(1)
        a = (a + a.mT) / 2 + n * torch.eye(n, device="cuda")
        root = torch.linalg.cholesky(a)
        yield (m, n, n), "f32", "transform: lu", lambda a=a: torch.linalg.lu_factor(a), 8 * a.numel()
        yield (m, n, n), "f32", "transform: cholesky", lambda a=a: torch.linalg.cholesky(a), 8 * a.numel()
        triangular = lambda a=a, root=root: torch.linalg.solve_triangular(root, a, upper=False)
        yield (m, n, n), "f32", "transform: qr", lambda a=a: torch.linalg.qr(a), 12 * a.numel()
        yield (m, n, n), "f32", "transform: triangular", triangular, 12 * a.numel()


def windows():
    """Shapes, types, names, calls, and bytes of convolutions with a filter for each channel, and of pooling."""
    torch.backends.cudnn.benchmark = True
    for n, side, c, r, stride in ((128, 56, 256, 3, 1), (128, 112, 64, 3, 2), (128, 28, 512, 3, 1), (128, 56, 96, 7, 1), (128, 14, 576, 5, 1)):
        x = torch.rand(n, c, side, side, device="cuda").sub(0.5).bfloat16().to(memory_format=torch.channels_last)
        filters = torch.rand(c, 1, r, r, device="cuda").sub(0.5).bfloat16().to(memory_format=torch.channels_last)
        call = lambda x=x, filters=filters, c=c, r=r, stride=stride: functional.conv2d(x, filters, None, stride, r // 2, 1, c)
        yield (n, side, c, r, stride), "bf16", "depthwise", call, 2 * (x.numel() + call().numel())
    for n, side, c, r, stride in ((128, 112, 64, 3, 2), (128, 56, 256, 2, 2)):
        x = torch.rand(n, c, side, side, device="cuda").sub(0.5).bfloat16().to(memory_format=torch.channels_last)
        shape, before = (n, side, c, r, stride), (r - 1) // 2
        largest = lambda x=x, r=r, stride=stride, before=before: functional.max_pool2d(x, r, stride, before, return_indices=True)
        mean = lambda x=x, r=r, stride=stride, before=before: functional.avg_pool2d(x, r, stride, before, count_include_pad=False)
        yield shape, "bf16", "max pool", largest, 2 * x.numel() + 6 * mean().numel()
        yield shape, "bf16", "average pool", mean, 2 * (x.numel() + mean().numel())


def groups():
    """Shapes, names, types, calls, and operations of products of groups of rows, and of those with scales of blocks."""
    for m, n, k, count in ((16384, 4096, 4096, 8), (16384, 1536, 2048, 128), (4096, 1536, 2048, 128)):
        parts = count * (count + 1) // 2
        ends = [m * (group * (group + 1) // 2) // parts for group in range(1, count + 1)]
        on_device = torch.tensor(ends, device="cuda", dtype=torch.int32)
        a = torch.rand(m, k, device="cuda").sub(0.5).bfloat16()
        b = torch.rand(count, n, k, device="cuda").sub(0.5).bfloat16()
        rows = b.transpose(1, 2).contiguous()
        for name, by in (("grouped, B by rows", rows), ("grouped, B by columns", b.transpose(1, 2))):
            yield (m, n, k, count), name, "bf16", lambda a=a, by=by, ends=on_device: torch._grouped_mm(a, by, offs=ends), 2 * m * n * k
    for m, n, k in ((4096, 7168, 16384), (4096, 32768, 512), (64, 7168, 16384)):
        a, b = (torch.rand(rows, k, device="cuda").sub(0.5).to(torch.float8_e4m3fn) for rows in (m, n))
        of_a = torch.rand(k // 128, m, device="cuda").T
        of_b = torch.rand(n // 128, k // 128, device="cuda").T
        by_blocks = lambda a=a, b=b, of_a=of_a, of_b=of_b: torch._scaled_mm(a, b.T, of_a, of_b, out_dtype=torch.bfloat16)
        yield (m, n, k), "block scales", "e4m3", by_blocks, 2 * m * n * k


def mixture(x, logits, gate_up, down, k):
    """A mixture of experts of sorted tokens, as models write it with grouped products."""
    weights, experts = torch.softmax(logits, -1).topk(k)
    weights = weights / weights.sum(-1, keepdim=True)
    sorted_experts, order = experts.flatten().sort(stable=True)
    each = torch.arange(logits.shape[1], device=x.device)
    ends = torch.searchsorted(sorted_experts, each, right=True, out_int32=True)
    gate, up = torch._grouped_mm(x[order // k], gate_up, offs=ends).chunk(2, -1)
    rows = torch._grouped_mm(functional.silu(gate) * up, down, offs=ends)
    back = torch.empty_like(rows)
    back[order] = rows
    return (back.view(*experts.shape, -1).float() * weights[..., None]).sum(1).to(x.dtype)


def mixtures():
    """Shapes, names, types, calls, and operations of `bench -- experts`."""
    few, many = ((m, 4096, 14336, 8, 2) for m in (8192, 64, 1)), ((m, 2048, 768, 128, 8) for m in (16384, 64, 1))
    compiled = torch.compile(mixture)
    for m, d, h, count, k in (*few, *many):
        x = torch.rand(m, d, device="cuda").sub(0.5).bfloat16()
        logits = torch.rand(m, count, device="cuda").mul(8).sub(4)
        gate_up = torch.rand(count, d, 2 * h, device="cuda").sub(0.5).bfloat16()
        down = torch.rand(count, h, d, device="cuda").sub(0.5).bfloat16()
        for name, call in (("experts", mixture), ("experts, compiled", compiled)):
            arguments = (x, logits, gate_up, down, k)
            yield (m, d, h, count, k), name, "bf16", lambda call=call, arguments=arguments: call(*arguments), 6 * m * k * d * h


def convolutions():
    """Shapes, names, calls and operations of `bench -- convolution`; the fastest of cuDNN's algorithms."""
    torch.backends.cudnn.benchmark = True
    for n, side, c, k, stride in (
        (32, 56, 256, 256, 1),
        (32, 56, 128, 256, 1),
        (32, 56, 64, 64, 1),
        (32, 56, 100, 100, 1),
        (32, 28, 512, 512, 1),
        (32, 56, 256, 256, 2),
    ):
        def random(*shape):
            return torch.rand(*shape, device="cuda").mul(8).sub(4).bfloat16().to(memory_format=torch.channels_last)

        x, filters, bias = random(n, c, side, side), random(k, c, 3, 3), torch.rand(k, device="cuda").bfloat16()

        def plain(x=x, filters=filters, stride=stride):
            return functional.conv2d(x, filters, None, stride, 1)

        def rectified(x=x, filters=filters, bias=bias, stride=stride):
            return functional.conv2d(x, filters, bias, stride, 1).relu_()

        pixels = ((side - 1) // stride + 1) ** 2
        for name, call in (("convolution", plain), ("convolution, bias, ReLU", rectified)):
            yield (n, side, c, k, stride), name, call, 18 * n * pixels * c * k


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'operation':22} {'type':5} {'shape':12} {'ms':>8} {'GB/s':>8} {'of a copy':>10}")
    for m, n in SHAPES:
        for dtype in (torch.float32, torch.bfloat16):
            for name, call, amount in operations(m, n, dtype):
                if wanted not in name:
                    continue
                ms, best = milliseconds(call), copy_of(amount)
                kind = "f32" if dtype == torch.float32 else "bf16"
                print(f"{name:22} {kind:5} {f'{m} x {n}':12} {ms:8.4f} {amount / ms * 1e-6:8.1f} {best / ms:10.2f}", flush=True)
    for shape, kind, name, call, amount in itertools.chain(orders(), transforms(), windows()):
        if wanted in name:
            ms, best, shape = milliseconds(call), copy_of(amount), " x ".join(map(str, shape))
            print(f"{name:22} {kind:5} {shape:12} {ms:8.4f} {amount / ms * 1e-6:8.1f} {best / ms:10.2f}", flush=True)
    for shape, name, call, count in convolutions():
        if wanted in name:
            ms, shape = milliseconds(call), " x ".join(map(str, shape))
            print(f"{name:24} bf16 {shape:24} {ms:8.4f} ms {count / ms * 1e-9:8.1f} TFLOP/s", flush=True)

    for shape, name, kind, call, flops in itertools.chain(groups(), mixtures()):
        if wanted in name:
            ms, shape = milliseconds(call), " x ".join(map(str, shape))
            print(f"{name:22} {kind:5} {shape:24} {ms:8.4f} {flops / ms * 1e-9:8.1f} TFLOP/s", flush=True)


main()
