"""ingot: a compiler for PyTorch programs."""
