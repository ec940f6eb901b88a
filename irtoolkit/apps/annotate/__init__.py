"""A page on which people judge how relevant documents are, pair by pair."""
