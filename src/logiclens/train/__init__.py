"""Training: one loop, one configuration, a history that can be plotted."""

from logiclens.train.config import TrainConfig as TrainConfig
from logiclens.train.history import History as History
from logiclens.train.history import TrainResult as TrainResult
from logiclens.train.loop import fit as fit
