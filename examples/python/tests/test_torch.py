"""The torch operators: eager, fake, under autograd, torch.compile and CUDA graphs. CPU tensors run on the simulator."""

import pytest

torch = pytest.importorskip("torch")
import layout_kernels  # noqa: E402, `bash test.sh` builds it

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no device")


def reference(x, weight, epsilon):
    return torch.nn.functional.rms_norm(x.double(), weight.shape, weight.double(), epsilon)


def inputs(device, shape=(2, 3, 40), dtype=torch.float32, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x, weight = torch.randn(shape, generator=generator), torch.randn(shape[-1], generator=generator)
    return x.to(device, dtype), weight.to(device, dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype,bound", [(torch.float32, 1e-6), (torch.bfloat16, 1e-2), (torch.float16, 2e-3)])
@pytest.mark.parametrize("shape", [(2, 3, 40), (5, 1), (0, 8), (1, 515)])
def test_rms_norm(device, dtype, bound, shape):
    x, weight = inputs(device, shape, dtype)
    out = layout_kernels.rms_norm(x, weight, 1e-5)
    assert (out.dtype, out.shape, out.device) == (x.dtype, x.shape, x.device)
    torch.testing.assert_close(out.double(), reference(x, weight, 1e-5), rtol=bound, atol=bound)


@pytest.mark.parametrize("device", DEVICES)
def test_no_contiguous_tensor_is_needed(device):
    x, weight = inputs(device, (40, 6, 4))
    x = x.permute(1, 2, 0)
    expected = reference(x, weight[:1].expand(40), 1e-6)
    torch.testing.assert_close(layout_kernels.rms_norm(x, weight[:1].expand(40)).double(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_are_those_of_torch(device):
    x, weight = inputs(device, (7, 260))
    x.requires_grad_(), weight.requires_grad_()
    dy = torch.linspace(-1, 1, x.numel(), device=device).reshape(x.shape)
    layout_kernels.rms_norm(x, weight, 1e-6).backward(dy)
    a, b = x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    torch.nn.functional.rms_norm(a, b.shape, b, 1e-6).backward(dy.double())
    torch.testing.assert_close(x.grad.double(), a.grad, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(weight.grad.double(), b.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_are_what_torch_asks_of_them(device):
    x, weight = inputs(device, (3, 24))
    x.requires_grad_(), weight.requires_grad_()
    torch.library.opcheck(torch.ops.layout_kernels.rms_norm.default, (x, weight, 1e-6))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(device, causal):
    generator = torch.Generator().manual_seed(3)
    shapes = [(1, 2, 130, 64), (1, 1, 130, 64), (1, 1, 130, 64)]
    q, k, v = [torch.randn(shape, generator=generator).to(device, torch.bfloat16) for shape in shapes]
    ours = layout_kernels.attention(q, k, v, causal)
    whole = torch.nn.functional.scaled_dot_product_attention
    expected = whole(q.float(), k.float(), v.float(), is_causal=causal, enable_gqa=True)
    torch.testing.assert_close(ours.float(), expected, rtol=2e-2, atol=2e-2)
    # As rows of (batch, places, heads, d), which is how a model has them.
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    assert torch.equal(torch.ops.layout_kernels.attention(*turned, causal, 0.125)[0], ours)
    with pytest.raises(TypeError, match="not torch.float32"):
        layout_kernels.attention(q.float(), k, v)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype,bound", [(torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_gradients_of_attention_are_those_of_torch(device, causal, dtype, bound):
    generator = torch.Generator().manual_seed(4)
    shapes = [(1, 4, 37, 64), (1, 2, 37, 64), (1, 2, 37, 64)]
    ours = [torch.randn(shape, generator=generator).to(device, dtype).requires_grad_() for shape in shapes]
    # In (batch, places, heads, d), which is how a model has the gradient, too.
    do = torch.randn((1, 37, 4, 64), generator=generator).to(device, dtype).transpose(1, 2)
    layout_kernels.attention(*ours, causal).backward(do)
    theirs = [x.detach().float().requires_grad_() for x in ours]
    whole = torch.nn.functional.scaled_dot_product_attention
    whole(*theirs, is_causal=causal, enable_gqa=True).backward(do.float())
    for own, other in zip(ours, theirs):
        assert own.grad.dtype == dtype
        torch.testing.assert_close(own.grad.float(), other.grad, rtol=bound, atol=bound * other.grad.abs().max().item())


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_of_attention_with_other_strides(device):
    generator = torch.Generator().manual_seed(5)
    q, k, v = [torch.randn((2, 1, 9, 64), generator=generator).to(device, torch.bfloat16) for _ in range(3)]
    q.requires_grad_(), v.requires_grad_()
    # The gradient of a sum is one number expanded; nobody asks for k's.
    layout_kernels.attention(q, k, v).sum().backward()
    sums = torch.softmax(q.float() @ k.float().mT / 8, -1).sum(-2).unsqueeze(-1).expand_as(v)
    torch.testing.assert_close(v.grad.float(), sums, rtol=2e-2, atol=2e-2)
    assert k.grad is None and q.grad.shape == q.shape
    torch.library.opcheck(torch.ops.layout_kernels.attention.default, (q, k, v, True, 0.125))
    wide = torch.zeros((1, 1, 3, 256), device=device, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(ValueError, match="not 256"):
        layout_kernels.attention(wide, wide, wide).sum().backward()


@pytest.mark.parametrize("device", DEVICES)
def test_torch_compile_sees_them_whole(device):
    def block(x, weight):
        return torch.nn.functional.silu(layout_kernels.rms_norm(x * 2, weight)) + 1

    x, weight = inputs(device, (4, 48))
    backend = "inductor" if device == "cuda" else "aot_eager"
    compiled = torch.compile(block, fullgraph=True, backend=backend)
    torch.testing.assert_close(compiled(x, weight), block(x, weight), rtol=1e-5, atol=1e-5)
    x.requires_grad_()
    (ours,) = torch.autograd.grad(compiled(x, weight).sum(), x)
    (plain,) = torch.autograd.grad(block(x, weight).sum(), x)
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_torch_compile_sees_attention_whole(device):
    def block(q, k, v):
        return layout_kernels.attention(q * 2, k, v, causal=True) + 1

    generator = torch.Generator().manual_seed(6)
    q, k, v = [torch.randn((1, 1, 40, 64), generator=generator).to(device, torch.bfloat16) for _ in range(3)]
    backend = "inductor" if device == "cuda" else "aot_eager"
    compiled = torch.compile(block, fullgraph=True, backend=backend)
    torch.testing.assert_close(compiled(q, k, v), block(q, k, v), rtol=2e-2, atol=2e-2)
    for x in (q, k, v):
        x.requires_grad_()
    ours, plain = [torch.autograd.grad(of(q, k, v).sum(), (q, k, v)) for of in (compiled, block)]
    for own, other in zip(ours, plain):
        torch.testing.assert_close(own, other, rtol=2e-2, atol=2e-2 * other.abs().max().item())


@on_gpu
def test_a_cuda_graph_holds_the_launch():
    x, weight = inputs("cuda", (64, 1024))
    layout_kernels.rms_norm(x, weight)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = layout_kernels.rms_norm(x, weight)
    x.copy_(inputs("cuda", (64, 1024), seed=2)[0])
    graph.replay()
    torch.testing.assert_close(out.double(), reference(x, weight, 1e-6), rtol=1e-5, atol=1e-5)


@on_gpu
@pytest.mark.parametrize("causal", [False, True])
def test_a_cuda_graph_holds_attention(causal):
    def tensors(seed):
        generator = torch.Generator().manual_seed(seed)
        shapes = [(2, 4, 300, 128), (2, 2, 300, 128), (2, 2, 300, 128)]
        return [torch.randn(shape, generator=generator).to("cuda", torch.bfloat16) for shape in shapes]

    given = tensors(7)
    layout_kernels.attention(*given, causal)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = layout_kernels.attention(*given, causal)
    for own, other in zip(given, tensors(8)):
        own.copy_(other)
    graph.replay()
    whole = torch.nn.functional.scaled_dot_product_attention
    expected = whole(*(x.float() for x in given), is_causal=causal, enable_gqa=True)
    torch.testing.assert_close(out.float(), expected, rtol=2e-2, atol=2e-2)


@on_gpu
def test_it_is_launched_on_the_current_stream():
    x, weight = inputs("cuda", (8192, 8192))
    layout_kernels.rms_norm(x, weight)
    torch.cuda.synchronize()
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        x.mul_(0)
        for _ in range(20):
            x.add_(1)
        out = layout_kernels.rms_norm(x, weight)
    other.synchronize()
    torch.testing.assert_close(out, weight.expand_as(out), rtol=1e-5, atol=1e-5)
