"""The function names of the paper's code listing, for users who know the paper."""

from logiclens.logic import nn as nn
from logiclens.logic.metrics import TestedExplanation as TestedExplanation
from logiclens.logic.metrics import test_explanation as test_explanation
