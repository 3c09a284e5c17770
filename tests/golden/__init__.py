"""Texts of programs, kept in the tests themselves."""
