"""A fuzzer that draws programs from PyTorch's own op schemas: `python -m tests.fuzz.schemas`.

It knows nothing about what ingot supports. Arguments are drawn by schema type; calls that eager
refuses are dropped. See `generate` (programs), `modes` (ways to compile), `judge` (the comparison),
`workers` (process isolation) and `minimise` (reproducers).
"""
