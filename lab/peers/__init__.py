"""Compared rule learners and black boxes behind one protocol: concepts in, predictions and one DNF per class out."""
