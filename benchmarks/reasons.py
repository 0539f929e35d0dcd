"""Why a figure of the paper is not met, each found out by looking; and what differs from the original throughout."""

from __future__ import annotations

REASONS: dict[tuple[str, str, str], str] = {}
"""By metric, task and method."""

DIFFERS: tuple[str, ...] = (
    "V-Dem is release v12 with 3,260 country-years, 131 low-level indicators as point estimates, and api and mpi "
    "computed by V-Dem's formulas; the paper had an earlier release with other rows and indicators. Its figures "
    "are laid beside ours with that in mind.",
    "The authors' scripts depart from their text: LeakyReLU for ReLU, the last epoch for the best, unshuffled "
    "half batches, rows that the network gets wrong left out of the truth table, local rules ranked by macro-F1 "
    "instead of support, and literals dropped while the score does not fall, which the text does not mention and "
    "which makes the formulas short: compare `paper`, the text, with `authors`, the scripts.",
    "Under 'paper' V-Dem's first network is trained as theirs (hidden 100 and 50, temperature 5,000, two "
    "unshuffled batches, 200 epochs, logits cut at 0.5); under 'clean' it is a plain network of the same widths.",
    "MNIST's encoder is a ResNet10 a quarter as wide as usual. CUB's is a ResNet10 from scratch, as the paper "
    "says; the default in the authors' code is a pretrained ResNet18.",
    "The one split of the images and the seeds of the weights are ours; theirs are not published.",
    "In the scripts a class without a rule counts as 0 in every metric; here it is the formula `False`, scored "
    "like any other, and a note says so.",
    "BRL is imodels' sampler with item sets mined per class and with negations, as in the original; two classes "
    "share one list. The formula of a psi network is read from the truth tables of its pruned units.",
    "The table was made in several starts on one day while other work shared the machine; settings, folds and "
    "seeds are the same throughout. Times are by the clock, with CPU time beside them in the report.",
)
