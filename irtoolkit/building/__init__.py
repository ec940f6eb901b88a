"""Building of benchmarks: N-way tasks from existing datasets, and new ones from texts."""
