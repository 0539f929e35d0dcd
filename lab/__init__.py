"""The comparison of methods on the same folds: data sets, baselines, runs and pages. The product never imports this."""
