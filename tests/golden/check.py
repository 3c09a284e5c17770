"""LLVM's FileCheck on strings."""

from __future__ import annotations

import io

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts


def file_check(text: str, directives: str, prefix: str) -> None:
    """Check `text` against the lines of `directives` that begin with `prefix`."""
    options = Options(match_filename="directives", check_prefixes=[prefix])
    parser = Parser(options, io.StringIO(directives), *pattern_for_opts(options))
    matcher = Matcher(options, FInput("text", text), parser)
    matcher.stderr = io.StringIO()
    if matcher.run() != 0:
        raise AssertionError(f"{matcher.stderr.getvalue()}\nThe whole text:\n{text}")
