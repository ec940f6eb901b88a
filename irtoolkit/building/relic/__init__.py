"""Building a benchmark in RELiC's form from books and criticism (Thai et al. 2022, §2 and appendix A)."""
