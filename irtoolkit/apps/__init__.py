"""Applications over the core: the page for readers and the page on which people judge documents."""
