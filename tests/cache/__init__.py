"""The cache on disk, and the machine code in it."""
