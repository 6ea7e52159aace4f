"""Compiled readers of text."""
