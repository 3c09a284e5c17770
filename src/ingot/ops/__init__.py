"""Op semantics that passes, fusion and code generation share: the pointwise rules and what each one
costs, the arithmetic behind them, facts about dtypes and about the shapes native kernels take.
Imports nothing above program/ but the machine and its libraries."""
