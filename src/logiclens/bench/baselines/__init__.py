"""Other learners of rules, and black boxes, behind one protocol: concepts in, predictions and one DNF a class out."""
