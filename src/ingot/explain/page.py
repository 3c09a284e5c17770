"""The visual report as one HTML file without references to anything outside. page.html is built
from report-ui/ by `make report-ui`; it has the style and the script, and a place for the document.
"""

from __future__ import annotations

from html import escape
from importlib import resources

from ingot.explain.records import Document

TITLE = "<title>ingot</title>"
PLACE = '<script type="application/json" id="document">'


def document_to_html(document: Document) -> str:
    page = resources.files("ingot.explain").joinpath("page.html").read_text(encoding="utf-8")
    head, end = page.split(PLACE)
    head = head.replace(TITLE, f"<title>{escape(document.name)} · ingot</title>")
    return "".join([head, PLACE, document.to_json(), end])
