"""The Plan IR: memory of every value, native launches and eager ops."""
