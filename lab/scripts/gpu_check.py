"""Check that the network gives the same values on a CUDA device as on the CPU, and time it.

Needs only torch, NumPy and jaxtyping (and scipy, if installed, for explanations). Prints one line per check and exits
with 1 if a check fails. From a checkout: PYTHONPATH=src python3 lab/scripts/gpu_check.py
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from logiclens.concepts import ConceptTable
from logiclens.nn import EntropyNet, entropy_logic_loss
from logiclens.train import TrainConfig, fit

SHAPES = {
    "MIMIC-II": (1776, 90, 2, (20,)),
    "V-Dem": (3743, 82, 2, (20, 20)),
    "MNIST": (60000, 10, 2, (10,)),
    "CUB": (11788, 108, 200, (10,)),
}
FAILED: list[str] = []


def check(name: str, holds: bool, detail: str = "") -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {name} {detail}", flush=True)
    if not holds:
        FAILED.append(name)


def step(network: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    loss = torch.nn.functional.cross_entropy(network(x), y) + 1e-4 * entropy_logic_loss(network)
    loss.backward()
    return loss


def seconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return min(times), max(times)


def same_as_cpu(name: str, dtype: torch.dtype, tolerance: float) -> None:
    rows, concepts, classes, hidden = SHAPES[name]
    generator = torch.Generator().manual_seed(0)
    cpu = EntropyNet(concepts, classes, hidden, temperature=0.7, generator=generator).to(dtype)
    cuda = copy.deepcopy(cpu).cuda()
    x = torch.rand(min(rows, 4000), concepts, generator=generator).to(dtype)
    y = torch.randint(classes, (len(x),), generator=generator)
    losses = step(cpu, x, y), step(cuda, x.cuda(), y.cuda())
    check(f"{name} {dtype} loss", torch.allclose(losses[0], losses[1].cpu(), rtol=tolerance))
    with torch.no_grad():
        gap = (cpu(x) - cuda(x.cuda()).cpu()).abs().max().item()
    check(f"{name} {dtype} logits", gap < tolerance, f"largest difference {gap:.1e}")
    pairs = zip(cpu.parameters(), cuda.parameters(), strict=True)
    worst = max(((a.grad - b.grad.cpu()).abs().max() / a.grad.abs().max().clamp(min=1e-9)).item() for a, b in pairs)
    check(f"{name} {dtype} gradients", worst < 50 * tolerance, f"largest relative difference {worst:.1e}")
    check(
        f"{name} {dtype} relevance", torch.allclose(cpu.entropy.relevance(), cuda.entropy.relevance().cpu(), atol=1e-5)
    )


def extremes() -> None:
    for scale in (1.0, 1e2, 1e4):
        network = EntropyNet(6, 3).cuda()
        with torch.no_grad():
            network.entropy.weight.mul_(scale * network.entropy.temperature / network.entropy.strength().max())
        step(network, torch.rand(32, 6).cuda(), torch.randint(3, (32,)).cuda())
        finite = all(bool(p.grad.isfinite().all()) for p in network.parameters())
        check(f"finite gradients at γ/τ = {scale:g}", finite)


def transforms() -> None:
    network = EntropyNet(20, 3).cuda()
    x = torch.rand(64, 20).cuda()
    network(x)
    copied = copy.deepcopy(network)
    check("deepcopy after forward", torch.equal(copied(x), network(x)))
    compiled = torch.compile(network)
    check("torch.compile", torch.allclose(compiled(x), network(x), atol=1e-5))
    networks = [EntropyNet(20, 3).cuda() for _ in range(4)]
    parameters, buffers = torch.func.stack_module_state(networks)
    stacked = torch.func.vmap(lambda p, b: torch.func.functional_call(networks[0], (p, b), (x,)))(parameters, buffers)
    check("vmap", torch.allclose(stacked, torch.stack([n(x) for n in networks]), atol=1e-5))
    fresh = EntropyNet(20, 3).cuda()
    fresh.load_state_dict(network.state_dict())
    check("relevance after loading, no forward", torch.equal(fresh.entropy.relevance(), network.entropy.relevance()))


def training() -> None:
    rng = np.random.default_rng(0)
    values = (rng.random((1776, 90)) < 0.3).astype(np.float32)
    table = ConceptTable(values, labels=(values[:, 0] + values[:, 1] > 0).astype(int))
    network = EntropyNet(90, 2, generator=torch.Generator().manual_seed(0)).cuda()
    result = fit(network, table, TrainConfig(epochs=200), validation=table)
    best = result.history.validation_accuracy.max()
    check("fit on CUDA", best > 0.99 and next(network.parameters()).is_cuda, f"validation accuracy {best:.3f}")
    try:
        import scipy  # noqa: F401
    except ImportError:
        print("skip explanations: scipy is not installed")
        return
    from logiclens.explain import explain_all
    from logiclens.formula import parse

    formula = explain_all(network, table)[1].formula
    check("explanation of a CUDA network", formula.equivalent(parse("x0 | x1")), str(formula))


def timings() -> None:
    for name, (rows, concepts, classes, hidden) in SHAPES.items():
        network = EntropyNet(concepts, classes, hidden).cuda()
        x, y = torch.rand(rows, concepts).cuda(), torch.randint(classes, (rows,)).cuda()
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, fused=True)

        def epoch(network=network, x=x, y=y, optimizer=optimizer) -> None:
            optimizer.zero_grad()
            step(network, x, y)
            optimizer.step()

        for _ in range(5):
            epoch()
        torch.cuda.reset_peak_memory_stats()
        low, high = seconds(epoch, 30)
        peak = torch.cuda.max_memory_allocated() / 2**20
        print(f"time {name}: epoch {1e3 * low:.2f} to {1e3 * high:.2f} ms, peak {peak:.0f} MiB", flush=True)


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("this check needs a CUDA device.")
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name()}")
    for name in SHAPES:
        same_as_cpu(name, torch.float32, 1e-4)
        same_as_cpu(name, torch.float64, 1e-9)
    extremes()
    transforms()
    training()
    timings()
    if FAILED:
        sys.exit(f"{len(FAILED)} checks failed: {', '.join(FAILED)}")
    print("all checks hold")


if __name__ == "__main__":
    main()
