"""Nothing that eager runs is refused: where a stage of the compiler fails, PyTorch's kernels run
the region, the step or the graph that it was about, a warning names a reproducer on disk, and
`explain` shows the reason. With `strict` the failure is raised instead.
"""
