"""What the other rooms stand on: errors, ids, files, spans, text analysis."""
