"""Encoders: blocks compared with plain sums, images with NumPy, resumed training with uninterrupted training."""

from __future__ import annotations

import dataclasses
import gzip
import os
from itertools import pairwise
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from torch import Tensor, nn

import logiclens.train.encoder as checkpoint_module
import logiclens.train.encoder as encoder_module
from logiclens.errors import LogicLensError
from logiclens.nn import EntropyNet
from logiclens.nn.encoders import LEAST_CROP, SHIFT, BasicBlock, ImageScale, ResNet10, cropped, shifted
from logiclens.train.encoder import (
    EncoderConfig,
    Feed,
    encode,
    fingerprint,
    fit_encoder,
    load_checkpoint,
    save_checkpoint,
    set_rate,
)

QUICK = EncoderConfig(epochs=3, batch_size=32, learning_rate=1e-2, device="cpu")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def quadrants(n: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """8x8 images with one bright quadrant, and which it is."""
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 60, (n, 1, 8, 8))
    which = draw.integers(0, 4, n)
    for image, place in zip(images, which, strict=True):
        image[0, 4 * (place // 2) :, 4 * (place % 2) :][:4, :4] += 150
    return images.astype(np.uint8), which


def tiny(seed: int = 0, n_outputs: int = 4) -> ResNet10:
    return ResNet10(1, n_outputs, width=4, generator=seeded(seed))


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


# --- the network ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stem", "kernel"), [("small", 3), ("large", 7)])
def test_resnet10_has_the_parameters_of_its_definition(stem, kernel):
    widths = [64, 128, 256, 512]
    kernels = [3 * 64 * kernel**2, 64 * 64 * 9, 64 * 64 * 9]
    for before, after in pairwise(widths):
        kernels += [before * after * 9, after * after * 9, before * after]
    # Each convolution is followed by a norm with two numbers a channel.
    norms = 2 * (64 + 2 * 64 + 3 * (128 + 256 + 512))
    expected = sum(kernels) + norms + 512 * 10 + 10
    count = sum(p.numel() for p in ResNet10(3, 10, stem=stem, generator=seeded()).parameters())
    assert count == expected
    assert 4.85e6 < count < 4.95e6


@pytest.mark.parametrize(
    ("stem", "size", "sides"), [("small", 28, [28, 28, 14, 7, 4]), ("large", 128, [32, 32, 16, 8, 4])]
)
def test_stages_shrink_as_defined(stem, size, sides):
    network = ResNet10(3, 5, width=4, stem=stem, generator=seeded())
    seen: list[tuple[int, ...]] = []
    for part in (network.stem, *network.stages):
        part.register_forward_hook(lambda module, inputs, out: seen.append(tuple(out.shape[1:])))
    assert network(torch.zeros(2, 3, size, size, dtype=torch.uint8)).shape == (2, 5)
    assert seen == [(c, s, s) for c, s in zip([4, 4, 8, 16, 32], sides, strict=True)]


def test_initial_weights_come_from_the_generator_alone():
    before = torch.get_rng_state()
    one, same, other = tiny(1), tiny(1), tiny(2)
    assert torch.equal(torch.get_rng_state(), before)
    assert same_weights(one, same)
    assert not torch.equal(one.stages[2].conv1.weight, other.stages[2].conv1.weight)
    assert not torch.equal(one.linear.weight, other.linear.weight)
    # He's rule: 2 / (outgoing channels · size²).
    wide = ResNet10(3, 2, generator=seeded()).stages[3].conv2.weight
    assert float(wide.detach().std()) == pytest.approx((2 / (512 * 9)) ** 0.5, rel=0.01)


def test_gradients_reach_every_weight():
    network = ResNet10(2, 3, width=4, stem="large", generator=seeded())
    network(torch.rand(6, 2, 64, 64, generator=seeded())).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert float(parameter.grad.abs().sum()) > 0, name


def test_evaluation_is_the_same_twice_and_row_by_row():
    network = tiny()
    images = torch.from_numpy(quadrants(8)[0])
    trained = network(images)
    network.eval()
    with torch.no_grad():
        first = network(images)
        assert torch.equal(first, network(images))
        alone = torch.cat([network(image.unsqueeze(0)) for image in images])
    torch.testing.assert_close(first, alone)
    assert not torch.allclose(trained, first)


@pytest.mark.parametrize(("channels_in", "stride"), [(3, 2), (3, 1), (5, 1), (5, 2)])
@pytest.mark.parametrize("train", [True, False])
def test_block_equals_its_twin_in_plain_sums(channels_in, stride, train):
    block = BasicBlock(channels_in, 5, stride, generator=seeded()).double()
    norms = [m for m in block.modules() if isinstance(m, nn.BatchNorm2d)]
    with torch.no_grad():
        for norm in norms:
            for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
                tensor.uniform_(0.5, 1.5, generator=seeded(tensor.numel()))
    block.train(train)
    x = torch.randn(2, channels_in, 6, 5, generator=seeded(), dtype=torch.float64)
    stats = [(n.running_mean.clone(), n.running_var.clone()) for n in norms]

    def norm(x: Tensor, layer: nn.BatchNorm2d) -> Tensor:
        mean, variance = stats[norms.index(layer)]
        if train:
            mean, variance = x.mean(dim=(0, 2, 3)), x.var(dim=(0, 2, 3), unbiased=False)
        scaled = (x - mean.view(-1, 1, 1)) / (variance.view(-1, 1, 1) + 1e-5).sqrt()
        return scaled * layer.weight.view(-1, 1, 1) + layer.bias.view(-1, 1, 1)

    hidden = norm(plain_convolution(x, block.conv1.weight, stride), block.norm1).clamp(min=0)
    carried = x
    if stride != 1 or channels_in != 5:
        carried = norm(plain_convolution(x, block.shortcut[0].weight, stride), block.shortcut[1])
    expected = (norm(plain_convolution(hidden, block.conv2.weight, 1), block.norm2) + carried).clamp(min=0)
    torch.testing.assert_close(block(x), expected)


def plain_convolution(x: Tensor, kernel: Tensor, stride: int) -> Tensor:
    """Σ over channels and places, by the definition, with zeros around the image."""
    size, (height, width) = kernel.shape[-1], x.shape[-2:]
    pad = size // 2
    padded = torch.zeros(*x.shape[:2], height + 2 * pad, width + 2 * pad, dtype=x.dtype)
    padded[:, :, pad : pad + height, pad : pad + width] = x
    rows = []
    for i in range(0, height + 2 * pad - size + 1, stride):
        windows = [padded[:, None, :, i : i + size, j : j + size] for j in range(0, width + 2 * pad - size + 1, stride)]
        rows.append(torch.stack([(window * kernel).sum(dim=(2, 3, 4)) for window in windows], dim=-1))
    return torch.stack(rows, dim=-2)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: ResNet10(1, 2, stem="tiny"), "stem must be 'small' .* got 'tiny'"),
        (lambda: ResNet10(1, 0), "n_outputs must be at least 1, got 0"),
        (lambda: tiny()(torch.zeros(1, 3, 8, 8)), "takes images of 1 channel.* got 3"),
    ],
)
def test_network_messages(build, sentence, monkeypatch):
    # What a user without run-time checks of types would see.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(LogicLensError, match=sentence):
        build()


# --- images --------------------------------------------------------------------------------------------------------


def test_scale_is_numpys_mean_and_deviation():
    images = np.random.default_rng(0).integers(0, 256, (1500, 3, 4, 5)).astype(np.uint8)
    images[:, 2] = 77
    scale = ImageScale(3)
    scale.measure(torch.from_numpy(images))
    as_floats = images[:, :2] / 255
    expected = (as_floats - as_floats.mean(axis=(0, 2, 3), keepdims=True)) / as_floats.std(
        axis=(0, 2, 3), keepdims=True
    )
    np.testing.assert_allclose(scale(torch.from_numpy(images))[:, :2].numpy(), expected, rtol=1e-4, atol=1e-5)
    # A constant channel becomes 0, not NaN.
    np.testing.assert_allclose(scale(torch.from_numpy(images))[:, 2].numpy(), 0, atol=1e-6)
    halves = torch.from_numpy(images).float() / 255
    torch.testing.assert_close(scale(halves), scale(torch.from_numpy(images)))


def test_shifted_images_are_moved_whole_and_each_by_its_own():
    images = torch.randint(1, 256, (40, 2, 6, 7), generator=seeded(), dtype=torch.uint8)
    moved = shifted(images, seeded(3))
    assert torch.equal(moved, shifted(images, seeded(3)))
    found = set()
    for image, result in zip(images, moved, strict=True):
        fits = [
            (down, right)
            for down in range(-SHIFT, SHIFT + 1)
            for right in range(-SHIFT, SHIFT + 1)
            if torch.equal(rolled(image, down, right), result)
        ]
        assert len(fits) == 1
        found.add(fits[0])
    assert len(found) > 10
    assert {abs(down) for down, _ in found} == {abs(right) for _, right in found} == {0, 1, 2}


def rolled(image: Tensor, down: int, right: int) -> Tensor:
    out = torch.zeros_like(image)
    height, width = image.shape[1:]
    for i in range(height):
        for j in range(width):
            if 0 <= i - down < height and 0 <= j - right < width:
                out[:, i, j] = image[:, i - down, j - right]
    return out


def test_cropped_images_are_full_size_parts_often_mirrored():
    ramp = torch.linspace(0, 255, 64).round().to(torch.uint8)
    across = ramp.view(1, 1, 1, -1).expand(200, 1, 64, 64).contiguous()
    down = ramp.view(1, 1, -1, 1).expand(200, 1, 64, 64).contiguous()
    # On a ramp a part is a ramp of another slope: its slope says how much was cut, its sign whether it was mirrored.
    slope_across = (cropped(across, seeded()).diff(dim=3) * 63).mean(dim=(1, 2, 3))
    slope_down = (cropped(down, seeded()).diff(dim=2) * 63).mean(dim=(1, 2, 3))
    for slope in (slope_across.abs(), slope_down):
        assert LEAST_CROP - 0.02 < float(slope.min()) < LEAST_CROP + 0.05
        assert 0.95 < float(slope.max()) < 1.02
    assert 0.35 < float((slope_across < 0).float().mean()) < 0.65
    both = cropped(across, seeded())
    assert float(both.min()) >= 0
    assert float(both.max()) <= 1
    assert torch.equal(both, cropped(across, seeded()))
    # Parts come from everywhere: some begin at the dark end, some end at the bright one.
    assert float(both.amin(dim=(1, 2, 3)).max()) > 0.28
    assert float(both.amax(dim=(1, 2, 3)).min()) < 0.72


def test_an_epoch_takes_every_row_once_in_equal_batches():
    feed = Feed.of(torch.arange(257.0).view(-1, 1), dataclasses.replace(QUICK, batch_size=256), torch.device("cpu"), 0)
    parts = list(feed.batches())
    assert [len(index) for index, _ in parts] == [129, 128]
    order = torch.cat([index for index, _ in parts])
    assert sorted(order.tolist()) == list(range(257))
    assert order.tolist() != list(range(257))
    assert torch.equal(torch.cat([rows for _, rows in parts]).squeeze(1).long(), order)
    assert not torch.equal(torch.cat([index for index, _ in feed.batches()]), order)


# --- training ------------------------------------------------------------------------------------------------------


def test_encoder_learns_exclusive_concepts():
    images, which = quadrants(240)
    encoder = tiny()
    result = fit_encoder(encoder, images, which, dataclasses.replace(QUICK, epochs=6), seed=0)
    unseen, truth = quadrants(100, seed=9)
    probability = encode(encoder, unseen, task="multiclass", batch_size=33, device="cpu")
    assert probability.dtype == np.float32
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-5)
    assert (probability.argmax(axis=1) == truth).mean() > 0.97
    assert result.accuracy[-1] > 0.95 > result.accuracy[0]
    assert result.loss[-1] < result.loss[0]
    assert (result.n_rows, result.resumed_from, result.device) == (240, 0, "cpu")


def test_encoder_learns_several_concepts_in_bfloat16():
    images, which = quadrants(240)
    wanted = np.stack([which % 2, which // 2, which == 0], axis=1)
    encoder = tiny(n_outputs=3)
    config = dataclasses.replace(QUICK, epochs=6, task="multilabel", precision="bfloat16")
    fit_encoder(encoder, images, wanted, config, seed=0)
    unseen, truth = quadrants(100, seed=9)
    bits = encode(encoder, unseen, task="multilabel", device="cpu") >= 0.5
    assert (bits == np.stack([truth % 2, truth // 2, truth == 0], axis=1)).mean() > 0.95
    assert {p.dtype for p in encoder.parameters()} == {torch.float32}


def test_encode_is_the_softmax_or_sigmoid_of_evaluation_mode():
    images = quadrants(10)[0]
    encoder = tiny()
    with torch.no_grad():
        encoder.eval()
        logits = encoder(torch.from_numpy(images)).numpy().astype(float)
        encoder.train()
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    before = {k: v.clone() for k, v in encoder.state_dict().items()}
    np.testing.assert_allclose(encode(encoder, images, task="multiclass", batch_size=3, device="cpu"), expected, 1e-4)
    np.testing.assert_allclose(
        encode(encoder, images, task="multilabel", device="cpu"), 1 / (1 + np.exp(-logits)), rtol=1e-4
    )
    assert encoder.training
    assert all(torch.equal(v, before[k]) for k, v in encoder.state_dict().items())


def test_scaling_is_learned_in_training_and_saved_with_weights():
    images, which = quadrants(64)
    encoder = tiny()
    fit_encoder(encoder, images, which, dataclasses.replace(QUICK, epochs=1), seed=0)
    assert float(encoder.scale.mean) == pytest.approx(images.mean() / 255, rel=1e-5)
    assert float(encoder.scale.deviation) == pytest.approx(images.std() / 255, rel=1e-5)
    copied = tiny(5)
    copied.load_state_dict(encoder.state_dict())
    assert np.array_equal(
        encode(copied, images, task="multiclass", device="cpu"),
        encode(encoder, images, task="multiclass", device="cpu"),
    )


def test_encoder_comes_back_as_it_was_but_for_its_weights():
    images, which = quadrants(64)
    encoder = tiny()
    encoder.stem.eval()
    fit_encoder(encoder, images, which, dataclasses.replace(QUICK, epochs=1), seed=0)
    assert encoder.training
    assert not encoder.stem.training
    assert all(value.is_contiguous() for value in encoder.state_dict().values())


def test_matrix_inputs_train_other_networks():
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((300, 4))
    wanted = np.stack([rows[:, 0] > 0, rows[:, 1] < 0], axis=1)
    for encoder in (nn.Linear(4, 2), EntropyNet(4, 2, generator=seeded())):
        config = EncoderConfig(epochs=30, batch_size=50, learning_rate=5e-2, task="multilabel", device="cpu")
        fit_encoder(encoder, rows, wanted, config, seed=0)
        assert ((encode(encoder, rows, task="multilabel", device="cpu") >= 0.5) == wanted).mean() > 0.95


def test_same_seed_same_weights():
    images, which = quadrants(96)
    config = dataclasses.replace(QUICK, augment="shift")
    runs = []
    for seed in (0, 0, 1):
        encoder = tiny()
        before = torch.get_rng_state()
        fit_encoder(encoder, images, which, config, seed=seed)
        assert torch.equal(torch.get_rng_state(), before)
        runs.append(encoder)
    assert same_weights(runs[0], runs[1])
    assert not same_weights(runs[0], runs[2])


def test_the_learning_rate_rises_linearly_and_falls_by_cosine():
    weights = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    optimizer = torch.optim.AdamW([{"params": [w], "peak": p} for w, p in zip(weights, (1.0, 3.0), strict=True)])
    rates = []
    for share in (0.0, 0.1, 0.2, 0.6, 1.0):
        set_rate(optimizer, share)
        rates.append([group["lr"] for group in optimizer.param_groups])
    np.testing.assert_allclose(np.array(rates)[:, 0], [0.04, 0.52, 1, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(np.array(rates)[:, 1], 3 * np.array(rates)[:, 0])


def test_first_step_is_adamws_on_torchs_loss():
    images, which = quadrants(32)
    encoder, twin = tiny(), tiny()
    # One step of one epoch has 0.04 of the peak rate.
    config = dataclasses.replace(QUICK, epochs=1, weight_decay=0.3)
    result = fit_encoder(encoder, images, which, config, seed=0)
    twin.scale.measure(torch.from_numpy(images))
    decayed = [p for p in twin.parameters() if p.ndim > 1]
    others = [p for p in twin.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.3}, {"params": others, "weight_decay": 0}], lr=0.04 * 1e-2
    )
    loss = nn.CrossEntropyLoss()(twin(torch.from_numpy(images)), torch.from_numpy(which))
    loss.backward()
    optimizer.step()
    assert result.loss[0] == pytest.approx(float(loss.detach()), rel=1e-4)
    for mine, theirs in zip(encoder.parameters(), twin.parameters(), strict=True):
        # AdamW's first step is the sign of the gradient: a rounding may turn a gradient of about 0.
        torch.testing.assert_close(mine, theirs, atol=1e-3, rtol=0)
        assert float((mine - theirs).detach().abs().median()) < 1e-6


# --- checkpoints ---------------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


def killed_after(monkeypatch, epochs: int) -> None:
    """Let `save_checkpoint` end the run once it has written this many times."""
    written = []

    def save(*args: object) -> None:
        save_checkpoint(*args)
        written.append(1)
        if len(written) == epochs:
            raise Killed

    monkeypatch.setattr(encoder_module, "save_checkpoint", save)


@pytest.mark.parametrize("augment", ["shift", "crop_flip"])
def test_a_killed_run_ends_in_the_uninterrupted_weights(tmp_path, monkeypatch, augment):
    images, which = quadrants(96)
    config = dataclasses.replace(QUICK, epochs=4, augment=augment)
    whole = tiny()
    expected = fit_encoder(whole, images, which, config, seed=3)
    path = tmp_path / "encoder.pt"
    with monkeypatch.context() as patch:
        killed_after(patch, 2)
        with pytest.raises(Killed):
            fit_encoder(tiny(), images, which, config, seed=3, checkpoint=path)
    again = tiny()
    result = fit_encoder(again, images, which, config, seed=3, checkpoint=path)
    assert result.resumed_from == 2
    assert same_weights(again, whole)
    assert result.loss.tolist() == expected.loss.tolist()
    assert result.accuracy.tolist() == expected.accuracy.tolist()
    # A finished run is taken as it is.
    third = tiny()
    assert fit_encoder(third, images, which, config, seed=3, checkpoint=path).resumed_from == 4
    assert same_weights(third, whole)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["encoder.pt"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    images, which = quadrants(64)
    path = tmp_path / "encoder.pt"
    config = dataclasses.replace(QUICK, epochs=1)
    fit_encoder(tiny(), images, which, config, seed=0, checkpoint=path)
    other_images, other_which = images.copy(), which.copy()
    other_images[0, 0, 0, 0] ^= 1
    other_which[0] = (which[0] + 1) % 4
    cases = [
        ("seed", (tiny(), images, which, config), 1),
        ("settings", (tiny(), images, which, dataclasses.replace(config, weight_decay=0.5)), 0),
        ("data", (tiny(), other_images, which, config), 0),
        ("data", (tiny(), images, other_which, config), 0),
        ("initial weights", (tiny(7), images, which, config), 0),
    ]
    for part, arguments, seed in cases:
        with pytest.raises(LogicLensError, match=f"belongs to another run: its {part} differ .* Remove it"):
            fit_encoder(*arguments, seed=seed, checkpoint=path)


def test_a_write_that_breaks_off_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "state.pt"
    save_checkpoint(path, {"epoch": 1}, {"seed": "0"})

    def broken(content: object, file) -> None:
        file.write(b"half of it")
        raise Killed

    monkeypatch.setattr(checkpoint_module.torch, "save", broken)
    with pytest.raises(Killed):
        save_checkpoint(path, {"epoch": 2}, {"seed": "0"})
    assert load_checkpoint(path, {"seed": "0"}) == {"epoch": 1}


class Trap:
    sprung = False

    def __reduce__(self):
        return (_spring, ())


def _spring() -> int:
    Trap.sprung = True
    return 1


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", "trap", "empty"])
def test_a_file_that_is_no_checkpoint_is_refused_unexecuted(tmp_path, content):
    path = tmp_path / "state.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save({"belongs": {}, "state": {"x": Trap()}} if content == "trap" else {}, path)
    with pytest.raises(LogicLensError, match=r"state.pt is not a readable checkpoint: remove it"):
        load_checkpoint(path, {})
    assert not Trap.sprung
    assert load_checkpoint(tmp_path / "none.pt", {}) is None


def test_fingerprints_tell_values_types_and_shapes_apart():
    array = np.arange(6, dtype=np.int32)
    others = [array.reshape(2, 3), array.astype(np.int64), array.view(np.float32), array[::-1], "text", "texts"]
    prints = {fingerprint(other) for other in [array, *others]}
    assert len(prints) == 7
    assert fingerprint(array) == fingerprint(torch.arange(6, dtype=torch.int32))
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


# --- messages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be a whole number"),
        ({"learning_rate": 0}, "learning_rate must be above 0"),
        ({"weight_decay": -1}, "weight_decay must be a finite number"),
        ({"task": "both"}, "task must be 'multiclass' or 'multilabel', got 'both'"),
        ({"augment": "blur"}, "augment must be 'shift' or 'crop_flip' or None, got 'blur'"),
        ({"precision": "half"}, "precision must be 'float32' or 'bfloat16', got 'half'"),
    ],
)
def test_settings_that_cannot_be_trained_with_are_refused(settings, sentence):
    with pytest.raises(LogicLensError, match=sentence):
        EncoderConfig(**settings)


IMAGES, WHICH = quadrants(8)
MATRIX, GAPS = np.zeros((8, 3)), np.full((8, 3), np.nan)


@pytest.mark.parametrize(
    ("encoder", "inputs", "targets", "settings", "sentence"),
    [
        (tiny(), IMAGES / 255, WHICH, {}, "inputs must be images .* of uint8 or a matrix .* got torch.float64"),
        (tiny(), IMAGES[:0], WHICH[:0], {}, "there are no rows"),
        (tiny(), IMAGES, WHICH[:5], {}, "targets must be 8 class numbers"),
        (tiny(), IMAGES, WHICH / 2, {}, "targets must be 8 class numbers"),
        (tiny(), IMAGES, WHICH - 9, {}, "targets must be 8 class numbers"),
        (tiny(), IMAGES, np.full((8, 4), 2), {"task": "multilabel"}, r"targets must be numbers in \[0, 1\]"),
        (tiny(), IMAGES, WHICH, {"task": "multilabel"}, r"targets must be numbers in \[0, 1\]"),
        (tiny(), IMAGES, np.zeros((8, 3)), {"task": "multilabel"}, "the targets have 3 concepts, .* with 3 outputs"),
        (tiny(n_outputs=2), IMAGES, np.full(8, 3), {}, "the targets have 4 concepts"),
        (nn.Flatten(), IMAGES, WHICH, {}, "Flatten does not scale images: put logiclens.nn.encoders.ImageScale"),
        (nn.Linear(3, 4), MATRIX, WHICH, {"augment": "shift"}, "augment='shift' is for images"),
        (nn.Linear(3, 4), GAPS, WHICH, {}, "inputs must be finite numbers"),
        (nn.Identity(), np.zeros((8, 4)), WHICH, {}, "Identity has no parameters to train"),
        (nn.Linear(3, 4), MATRIX, WHICH, {"learning_rate": 1e30, "epochs": 4}, "the loss became .*: lower"),
        (nn.Linear(3, 4), MATRIX + 1, WHICH, {"learning_rate": 1e39, "epochs": 1}, "the weights became .*: lower"),
    ],
)
def test_data_that_cannot_be_trained_on_are_refused(encoder, inputs, targets, settings, sentence):
    with pytest.raises(LogicLensError, match=sentence):
        fit_encoder(encoder, inputs, targets, dataclasses.replace(QUICK, **settings), seed=0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_named():
    with pytest.raises(LogicLensError, match="device='cuda' was requested, but torch sees no CUDA device"):
        encode(tiny(), IMAGES, task="multiclass", device="cuda")
    with pytest.raises(LogicLensError, match="task must be"):
        encode(tiny(), IMAGES, task="none", device="cpu")


# --- devices and real images ---------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("augment", ["shift", "crop_flip", None])
def test_encoder_learns_on_cuda_and_resumes(tmp_path, monkeypatch, augment):
    images, which = quadrants(400)
    config = EncoderConfig(epochs=8, batch_size=32, learning_rate=1e-2, augment=augment, precision="bfloat16")
    path = tmp_path / "encoder.pt"
    with monkeypatch.context() as patch:
        killed_after(patch, 3)
        with pytest.raises(Killed):
            fit_encoder(tiny(), images, which, config, seed=0, checkpoint=path)
    encoder = tiny()
    result = fit_encoder(encoder, images, which, config, seed=0, checkpoint=path)
    assert result.device == "cuda"
    assert result.resumed_from == 3
    assert next(encoder.parameters()).device.type == "cpu"
    on_gpu, on_cpu = (encode(encoder, images, task="multiclass", device=name) for name in ("cuda", "cpu"))
    np.testing.assert_allclose(on_gpu, on_cpu, atol=1e-2)
    if augment != "crop_flip":
        assert (on_gpu.argmax(axis=1) == which).mean() > 0.97


@pytest.mark.data
@pytest.mark.slow
def test_mnist_digits_are_learned_from_a_few_thousand_images():
    folder = Path(os.environ["LOGICLENS_DATA"]) / "mnist"

    def read(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        pixels = gzip.decompress((folder / f"{kind}-images-idx3-ubyte.gz").read_bytes())
        labels = gzip.decompress((folder / f"{kind}-labels-idx1-ubyte.gz").read_bytes())
        images = np.frombuffer(pixels, np.uint8, offset=16).reshape(-1, 1, 28, 28)
        return images[:n], np.frombuffer(labels, np.uint8, offset=8)[:n].astype(np.int64)

    images, digits = read("train", 6000)
    encoder = ResNet10(1, 10, width=8, generator=seeded())
    config = EncoderConfig(epochs=3, batch_size=128, learning_rate=1e-2, precision="bfloat16")
    fit_encoder(encoder, images, digits, config, seed=0)
    unseen, truth = read("t10k", 2000)
    assert (encode(encoder, unseen, task="multiclass").argmax(axis=1) == truth).mean() > 0.94
