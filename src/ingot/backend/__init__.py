"""torch.compile(backend="ingot")."""
