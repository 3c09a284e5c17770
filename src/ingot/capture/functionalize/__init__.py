"""Functionalization of torch.export's graphs before dispatch: writes, aliases and toggles of the
autograd and autocast state become a functional graph with regions. The program that comes of it is
`pre_dispatch.pre_dispatch_program`."""
