"""Concept encoders g: X → C for images: a small residual network, image scaling and augmentation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float, Shaped, UInt8
from torch import Tensor, nn
from torch.nn import functional as F

from logiclens.errors import LogicLensError, quoted
from logiclens.nn.layers import check_sizes, seeded_linear

Stem = Literal["small", "large"]

MEASURED = 1024
"""Number of images whose pixels are summed at a time."""
SHIFT = 2
"""Largest number of pixels by which `shifted` moves an image."""
LEAST_CROP = 0.6
"""Smallest share of an image's height and width that `cropped` keeps."""


class ImageScale(nn.Module):
    """Scale each channel of images to mean 0 and standard deviation 1, as measured on the training images.

    Whole numbers (0 to 255) are divided by 255 first; floats must be in [0, 1] already. Mean and deviation are part of
    the state, so that a saved encoder scales new images as it scaled its training images.

    Args:
        channels: number of channels.

    Example:
        >>> scale = ImageScale(1)
        >>> scale.set(torch.tensor([0.5]), torch.tensor([0.25]))
        >>> scale(torch.full((1, 1, 1, 2), 255, dtype=torch.uint8))
        tensor([[[[2., 2.]]]])
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, channels: int) -> None:
        """Start with mean 0 and deviation 1, until `set` or `measure` is called."""
        super().__init__()
        check_sizes(channels=channels)
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("deviation", torch.ones(channels))

    def measure(self, images: UInt8[Tensor, "rows channel height width"]) -> None:
        """Set the mean and the deviation of each channel to those of the training images."""
        total, squares = (torch.zeros(images.shape[1], dtype=torch.int64) for _ in range(2))
        for part in torch.split(images, MEASURED):
            # Sums of whole numbers are exact on every device and in any order.
            total += part.sum(dim=(0, 2, 3), dtype=torch.int64).cpu()
            squares += part.int().square().sum(dim=(0, 2, 3), dtype=torch.int64).cpu()
        n_pixels = images.numel() // images.shape[1]
        mean = total.double() / n_pixels
        deviation = (squares.double() / n_pixels - mean.square()).clamp(min=0).sqrt()
        self.set((mean / 255).to(self.mean), (deviation / 255).to(self.mean))

    @torch.no_grad()
    def set(self, mean: Float[Tensor, " channel"], deviation: Float[Tensor, " channel"]) -> None:
        """Set the mean and the deviation of each channel, on the scale of [0, 1]."""
        self.mean.copy_(mean)
        # A constant channel has deviation 0; dividing by it would give NaN.
        self.deviation.copy_(torch.where(deviation > 0, deviation, torch.ones_like(deviation)))

    def forward(
        self, images: Shaped[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Return (x − mean) / deviation."""
        if images.shape[1] != len(self.mean):
            raise LogicLensError(f"this encoder takes images of {len(self.mean)} channel(s), got {images.shape[1]}.")
        mean, deviation = self.mean.view(-1, 1, 1), self.deviation.view(-1, 1, 1)
        scale = 1 if images.is_floating_point() else 255
        return (images.to(mean.dtype) - scale * mean) / (scale * deviation)

    def extra_repr(self) -> str:
        """Return the number of channels."""
        return f"channels={len(self.mean)}"


class BasicBlock(nn.Module):
    """A residual block of two 3x3 convolutions: relu(bn(conv(relu(bn(conv(x))))) + shortcut(x)).

    The shortcut is the identity if the shape stays the same, else a 1x1 convolution with the same stride.

    Args:
        channels_in: number of input channels.
        channels_out: number of output channels.
        stride: factor by which height and width shrink. Default: 1.
        generator: random generator of the initial weights; torch's global one by default.

    Example:
        >>> BasicBlock(4, 8, stride=2)(torch.rand(2, 4, 6, 6)).shape
        torch.Size([2, 8, 3, 3])
    """

    def __init__(
        self, channels_in: int, channels_out: int, stride: int = 1, *, generator: torch.Generator | None = None
    ) -> None:
        """Draw the weights of the convolutions in order."""
        super().__init__()
        self.conv1 = _conv(channels_in, channels_out, 3, stride, generator)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = _conv(channels_out, channels_out, 3, 1, generator)
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Sequential(
                _conv(channels_in, channels_out, 1, stride, generator), nn.BatchNorm2d(channels_out)
            )

    def forward(self, x: Float[Tensor, "batch c_in h_in w_in"]) -> Float[Tensor, "batch c_out h_out w_out"]:
        """Return the output of the block, which is never negative."""
        hidden = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(hidden)) + self.shortcut(x))


class ResNet10(nn.Module):
    """A residual network of ten layers with weights: a stem, four stages of one block each, and a linear layer.

    The stages have 1, 2, 4 and 8 times `width` channels; each after the first halves height and width. The network
    returns logits. It scales images itself (`scale`), so that pixels from 0 to 255 can be passed unchanged.

    Args:
        in_channels: number of channels of the images.
        n_outputs: number of concepts.
        width: number of channels of the first stage. Default: 64.
        stem: `"small"` (the default; 3x3, keeps the size; for 28x28) or `"large"` (7x7 with stride 2 and max pooling,
            which divides the size by 4; for 128x128 and larger).
        generator: random generator of the initial weights; torch's global one by default.

    Example:
        >>> ResNet10(1, 10, width=8)(torch.zeros(2, 1, 28, 28, dtype=torch.uint8)).shape
        torch.Size([2, 10])

    Reference:
        He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.
    """

    def __init__(
        self,
        in_channels: int,
        n_outputs: int,
        *,
        width: int = 64,
        stem: Stem = "small",
        generator: torch.Generator | None = None,
    ) -> None:
        """Build the layers in order and draw their weights from `generator`."""
        super().__init__()
        check_sizes(in_channels=in_channels, n_outputs=n_outputs, width=width)
        if stem not in ("small", "large"):
            raise LogicLensError(f"stem must be 'small' (for 28x28) or 'large' (for 128x128), got {quoted(stem)}.")
        self.in_channels, self.n_outputs, self.width = in_channels, n_outputs, width
        self.scale = ImageScale(in_channels)
        size, stride = (3, 1) if stem == "small" else (7, 2)
        first = _conv(in_channels, width, size, stride, generator)
        pool = nn.Identity() if stem == "small" else nn.MaxPool2d(3, stride=2, padding=1)
        self.stem = nn.Sequential(first, nn.BatchNorm2d(width), nn.ReLU(), pool)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        self.stages = nn.Sequential(
            *(
                BasicBlock(channels_in, channels_out, stride=1 if i == 0 else 2, generator=generator)
                for i, (channels_in, channels_out) in enumerate(pairwise(widths))
            )
        )
        self.linear = seeded_linear(widths[-1], n_outputs, generator)

    def forward(self, images: Shaped[Tensor, "batch channel height width"]) -> Float[Tensor, "batch concept"]:
        """Return one logit per concept.

        Args:
            images: the images, as whole numbers from 0 to 255 or as floats.
        """
        features = self.stages(self.stem(self.scale(images)))
        logits: Tensor = self.linear(features.mean(dim=(-2, -1)))
        return logits


def shifted(
    images: UInt8[Tensor, "batch channel height width"], generator: torch.Generator
) -> UInt8[Tensor, "batch channel height width"]:
    """Move each image by up to two pixels in both directions and fill the border with 0."""
    n, _, height, width = images.shape
    device = images.device
    by = torch.randint(0, 2 * SHIFT + 1, (2, n, 1), generator=generator, device=device)
    rows = by[0] + torch.arange(height, device=device)
    columns = by[1] + torch.arange(width, device=device)
    padded = F.pad(images, [SHIFT] * 4)
    image = torch.arange(n, device=device).view(-1, 1, 1)
    # The slice between the indices puts channels last in memory, which makes convolutions faster.
    return padded[image, :, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


def cropped(
    images: UInt8[Tensor, "batch channel height width"], generator: torch.Generator
) -> Float[Tensor, "batch channel height width"]:
    """Cut a random part out of each image, resize it to full size and mirror half of them; return values in [0, 1]."""
    n, device = len(images), images.device
    drawn = torch.rand(5, n, generator=generator, device=device)
    size = LEAST_CROP + (1 - LEAST_CROP) * drawn[:2]
    centre = (1 - size) * (2 * drawn[2:4] - 1)
    mirror = torch.where(drawn[4] < 0.5, -1.0, 1.0)
    nothing = torch.zeros(n, device=device)
    across = torch.stack([mirror * size[0], nothing, centre[0]], dim=1)
    down = torch.stack([nothing, size[1], centre[1]], dim=1)
    where = F.affine_grid(torch.stack([across, down], dim=1), list(images.shape), align_corners=False)
    return F.grid_sample(images.float() / 255, where, padding_mode="border", align_corners=False)


def set_scale(encoder: nn.Module, rows: Tensor) -> None:
    """Measure the mean and deviation of images for the encoder's `ImageScale`; do nothing for a matrix."""
    if rows.ndim != 4:
        return
    scales = [module for module in encoder.modules() if isinstance(module, ImageScale)]
    if not scales:
        raise LogicLensError(
            f"{type(encoder).__name__} does not scale images: put logiclens.nn.encoders.ImageScale in front of it."
        )
    for scale in scales:
        scale.measure(rows)


def device_of(name: str | None) -> torch.device:
    """Return the named device; by default a CUDA device if there is one, else the CPU."""
    there = torch.cuda.is_available()
    if name is not None and name.startswith("cuda") and not there:
        raise LogicLensError(f"device={quoted(name)} was requested, but torch sees no CUDA device: pass None or 'cpu'.")
    return torch.device(("cuda" if there else "cpu") if name is None else name)


@contextmanager
def placed(module: nn.Module, device: torch.device) -> Iterator[None]:
    """Move a module to a device for the `with` block, in the memory layout that is fastest there, and back."""
    first = next(module.parameters(), None)
    before = torch.device("cpu") if first is None else first.device
    module.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    try:
        yield
    finally:
        module.to(device=before, memory_format=torch.contiguous_format)  # type: ignore[call-overload]


def on_device(rows: Tensor, device: torch.device) -> Tensor:
    """Return rows on a device, images with their channels last in memory."""
    return rows.to(device, memory_format=torch.channels_last if rows.ndim == 4 else torch.preserve_format)


@contextmanager
def training(module: nn.Module, on: bool = True) -> Iterator[None]:
    """Switch a module to training mode (or evaluation mode) for the `with` block; restore the mode of every part."""
    modes = {part: part.training for part in module.modules()}
    module.train(on)
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode


def forward_all(
    module: nn.Module, call: Callable[[Tensor], Tensor], rows: Tensor, *, batch_size: int, device: torch.device
) -> Tensor:
    """Apply `call`, a method of `module`, to all rows in evaluation mode; return float32 on the CPU.

    Args:
        module: the module, which is on `device` already.
        call: the method to apply to each batch.
        rows: the inputs.
        batch_size: number of rows per call.
        device: where to run.
    """
    with training(module, False), torch.no_grad():
        # Concatenate on the device: one transfer back, and no synchronisation between batches.
        return torch.cat([call(on_device(part, device)).float() for part in torch.split(rows, batch_size)]).cpu()


def _conv(channels_in: int, channels_out: int, size: int, stride: int, generator: torch.Generator | None) -> nn.Conv2d:
    check_sizes(channels_in=channels_in, channels_out=channels_out)
    # Skip the initialisation of nn.Conv2d, which would advance torch's global generator.
    layer: nn.Conv2d = nn.utils.skip_init(  # type: ignore[no-untyped-call]
        nn.Conv2d, channels_in, channels_out, size, stride=stride, padding=size // 2, bias=False
    )
    with torch.no_grad():
        # He initialisation by fan-out: the variance of activations is the same at every width.
        layer.weight.normal_(0, math.sqrt(2 / (channels_out * size * size)), generator=generator)
    return layer
