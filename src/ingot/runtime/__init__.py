"""Binding and running plans."""
