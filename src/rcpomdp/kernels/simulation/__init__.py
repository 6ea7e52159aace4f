"""Compiled steps of policies in models: whole runs, and episodes step by step."""
