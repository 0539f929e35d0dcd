"""The paper's own names, for users coming from its listing."""

from logiclens.logic import nn as nn
from logiclens.logic.metrics import TestedExplanation as TestedExplanation
from logiclens.logic.metrics import test_explanation as test_explanation
