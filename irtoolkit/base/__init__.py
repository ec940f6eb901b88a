"""The foundations of the other rooms: errors, ids, files, spans, text analysis."""
