"""Kernel selection: from Fused to Plan."""
