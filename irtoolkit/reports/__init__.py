"""Results for people: tables as text, CSV, JSON and LaTeX; comparisons as pages and pictures."""
