"""Systems by name, the runs they produce, free-text sessions, fusion."""
