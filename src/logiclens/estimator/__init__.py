"""The scikit-learn face."""

from logiclens.estimator.classifier import EntropyClassifier as EntropyClassifier
from logiclens.estimator.classifier import NotFittedError as NotFittedError
