"""Op semantics shared by passes, fusion and code generation: the pointwise rules and their costs,
the arithmetic behind them, facts about dtypes and about the shapes that native kernels take.
Imports nothing above program/ except the machine and its libraries."""
