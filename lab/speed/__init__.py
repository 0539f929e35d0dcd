"""Speed: beside torch_explain, trees and rule learners, growth with the size of a table, and a GPU."""
