"""Functionalization of torch.export's pre-dispatch graphs: writes, aliases and toggles of the
autograd and autocast state become a functional graph with regions. The entry point is
`pre_dispatch.pre_dispatch_program`.
"""
