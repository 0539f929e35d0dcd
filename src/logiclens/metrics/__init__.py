"""The six metrics of the paper as functions on arrays and formulas, and the list of all metrics."""

from logiclens.metrics.measured_table import Measured as Measured
from logiclens.metrics.measured_table import MeasuredTable as MeasuredTable
from logiclens.metrics.scores import METRICS as METRICS
from logiclens.metrics.scores import Consistency as Consistency
from logiclens.metrics.scores import Fidelity as Fidelity
from logiclens.metrics.scores import Metric as Metric
from logiclens.metrics.scores import accuracy as accuracy
from logiclens.metrics.scores import class_consistency as class_consistency
from logiclens.metrics.scores import complexity as complexity
from logiclens.metrics.scores import consistency as consistency
from logiclens.metrics.scores import explanation_accuracy as explanation_accuracy
from logiclens.metrics.scores import fidelity as fidelity
from logiclens.metrics.scores import macro_f1 as macro_f1
from logiclens.metrics.scores import standard_error as standard_error
