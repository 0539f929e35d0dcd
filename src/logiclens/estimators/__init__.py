"""The scikit-learn face."""

from logiclens.estimators.classifier import EntropyClassifier as EntropyClassifier
from logiclens.estimators.fitted import NotFittedError as NotFittedError
