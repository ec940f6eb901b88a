"""The benchmarks that `irtoolkit build` makes, one a module.

A module has HELP (one line), EXAMPLES, `configure`, which adds its arguments to a parser, and
`execute`, which takes the parsed arguments, as the modules of commands do.
"""
