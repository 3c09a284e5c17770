"""A fuzzer that draws its programs from PyTorch's own op schemas: `python -m tests.fuzz.schemas`.

It knows nothing about what ingot supports. An argument is drawn by its schema type, and a call that
eager refuses is dropped. See `generate` (programs), `modes` (the ways to compile), `judge` (the
comparison), `workers` (process isolation) and `minimise` (reproducers).
"""
