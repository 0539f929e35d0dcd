"""Measure MNIST's encoder on a CPU: train on 60,000 images, test on the other 10,000.

    LOGICLENS_DATA=... .venv/bin/python -m lab.scripts.encoder.py

The settings are those of the bench. Wall time depends on other work on the machine, so CPU time is printed too.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from lab.datasets.catalogue import load
from lab.runs.fold_data import SPECS
from lab.scripts.tables import data_folder
from logiclens.nn.encoders import ResNet10
from logiclens.train.encoder import encode, fit_encoder


def main() -> None:
    mnist, spec = load("mnist", data_folder()), SPECS["mnist", "clean"]
    assert mnist.final is not None
    digits, asked = (part.concepts(part.all_rows).values.argmax(axis=1) for part in (mnist, mnist.final))
    encoder = ResNet10(1, 10, width=spec.width, generator=torch.Generator().manual_seed(0))
    wall, cpu = time.perf_counter(), time.process_time()
    result = fit_encoder(encoder, mnist.inputs, digits, spec.config, seed=0)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    right = encode(encoder, mnist.final.inputs).argmax(axis=1) == asked
    threads = torch.get_num_threads()
    print(f"ResNet10 of width {spec.width}, {spec.config.epochs} epochs, on {result.device}, {threads} threads")
    print(f"accuracy on the {len(asked):,} test images {100 * np.mean(right):.2f}%")
    print(f"training took {wall:.0f} s, {cpu:.0f} s of CPU")


if __name__ == "__main__":
    main()
