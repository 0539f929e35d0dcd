"""Training of networks, concept encoders and bottlenecks: settings, loops and their history."""

from logiclens.train.bottleneck import BottleneckConfig as BottleneckConfig
from logiclens.train.bottleneck import fit_bottleneck as fit_bottleneck
from logiclens.train.config import History as History
from logiclens.train.config import TrainConfig as TrainConfig
from logiclens.train.config import TrainResult as TrainResult
from logiclens.train.encoder import EncoderConfig as EncoderConfig
from logiclens.train.encoder import encode as encode
from logiclens.train.encoder import fit_encoder as fit_encoder
from logiclens.train.loop import fit as fit
