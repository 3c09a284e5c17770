"""Properties of the pure mathematics, on drawn examples: nothing here compiles."""
