"""Building a benchmark in EgRet's form from answers, Natural Questions or books (Wang et al. 2022, §2.1)."""
