"""The papers' tables, as data, and the means to measure them again."""
