"""From runs and judgments to figures, tests, checks and submissions."""
