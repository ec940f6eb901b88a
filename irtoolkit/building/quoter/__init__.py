"""Building a benchmark in QuoteR's form from a list of quotes and a corpus (Qi et al. 2022, §4)."""
