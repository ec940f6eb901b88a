"""Fusion that is learned from judgments: methods, normalisation and weights by cross-validation."""
