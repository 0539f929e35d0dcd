"""Networks: the entropy layer, one head per class, concept encoders, and the losses. Independent of formulas."""

from logiclens.nn import functional as functional
from logiclens.nn.bottleneck import ConceptBottleneck as ConceptBottleneck
from logiclens.nn.bottleneck import Intervention as Intervention
from logiclens.nn.encoders import ResNet10 as ResNet10
from logiclens.nn.functional import entropy_logic_loss as entropy_logic_loss
from logiclens.nn.functional import l1_loss as l1_loss
from logiclens.nn.layers import EntropyLogicLayer as EntropyLogicLayer
from logiclens.nn.layers import EntropyNet as EntropyNet
from logiclens.nn.layers import LinearIndependent as LinearIndependent
