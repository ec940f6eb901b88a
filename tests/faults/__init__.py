"""Commands that are killed, interrupted or refused a resource, again and again, at chosen moments.

A moment is no time but the n-th change of the folder in which a command works, as Python's audit hooks
report it, or the n-th byte of a file: the same moment each time. `python -m tests.faults` runs all.
"""
