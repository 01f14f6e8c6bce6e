"""Judges many documents as an API server would: in their order, with their references and their old state."""
