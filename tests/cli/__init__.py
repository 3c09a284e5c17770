"""The command line as users call it: what it prints, its exit codes, its errors."""
