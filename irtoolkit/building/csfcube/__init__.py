"""Building a benchmark in the form of CSFCube: pools, sheets for annotators, graded judgments."""
