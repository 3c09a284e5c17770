"""Fallback to eager: ingot refuses nothing that eager runs. If a stage of the compiler fails,
PyTorch's kernels run the affected region, step or graph, a warning names a reproducer on disk, and
`explain` shows the reason. With `strict` the failure is raised instead.
"""
