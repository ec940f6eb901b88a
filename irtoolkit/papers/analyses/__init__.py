"""The papers' analyses of their data and of rankings, one a module, for `irtoolkit analyse`."""
