"""Property tests of pure functions; nothing is compiled."""
