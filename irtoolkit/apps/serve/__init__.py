"""A page for readers, the HTTP API behind it, and the same functions as MCP tools."""
