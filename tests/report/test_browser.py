"""The page in Chromium: links from source to machine code and back, the timeline, the arena, a
large graph, a hostile document, a narrow window. No console message, no request.

Skipped if playwright or a Chromium is missing (`apt-get install chromium`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingot.explain.page import document_to_html
from ingot.explain.records import Document, Roofline
from tests.report.documents import ATTACK, chain, hostile
from tests.report.models import explained

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
VIEWS = ("overview", "code", "timeline", "memory", "graph", "compile")
WIDE, PHONE = (1600, 900), (390, 844)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def document() -> Document:
    return replace(explained().document, roofline=Roofline(20.0, 100.0, 200.0))


Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a document; at the end nothing was logged and nothing but the file was requested."""
    told: list[str] = []
    contexts = []
    path = tmp_path / "report.html"

    def open_page(document: Document, size: tuple[int, int] = WIDE, scheme: str = "light") -> Any:
        path.write_text(document_to_html(document), encoding="utf-8")
        width, height = size
        viewport = {"width": width, "height": height}
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(f"error: {error}"))
        page.on("request", lambda request: told.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(".tiles")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert set(told) == {path.as_uri()}


def show(page: Any, view: str) -> None:
    page.keyboard.press(str(1 + VIEWS.index(view)))
    page.wait_for_selector(f"nav [aria-selected=true]:text-is('{view.capitalize()}')")
    page.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def pane(page: Any, name: str) -> Any:
    return page.locator(f"section[data-pane={name}]")


def rows(page: Any, name: str, text: str) -> Any:
    return pane(page, name).locator(".row").filter(has_text=text)


def selected(page: Any, name: str) -> str:
    return "\n".join(pane(page, name).locator(".row.selected code").all_inner_texts())


def test_overview(opened: Open, document: Document) -> None:
    page = opened(document)
    assert "as fast as eager" in page.inner_text(".tiles")
    assert page.locator(".roofline circle").count() > 0
    assert "special_airy_ai" in page.inner_text(".left")
    page.locator(".hottest tbody tr").first.click()
    assert page.locator(".view.code .card").get_attribute("data-step") is not None


def test_from_a_source_line_to_its_kernel_and_back(opened: Open, document: Document) -> None:
    page = opened(document)
    show(page, "code")
    rows(page, "source", "F.gelu(self.up").click()
    assert "gelu" in page.inner_text(".code .card h3")
    assert "= gelu(" in selected(page, "stage")
    kernels = pane(page, "machine").locator("select option")
    assert "● matmul" in kernels.first.inner_text()
    assert "llvm.func" in pane(page, "machine").inner_text()
    if shutil.which("objdump"):
        pane(page, "machine").get_by_text("Assembly").click()
        assert "matmul" in pane(page, "machine").locator(".row").first.inner_text()
    rows(page, "source", "return torch.softmax").click()
    assert "F.gelu" not in selected(page, "source")
    pane(page, "machine").locator("select").select_option(index=kernels.count() - 1)
    kernel = next(k for k, each in enumerate(document.kernels) if each.family == "matmul")
    names = [option.lstrip("● ") for option in kernels.all_inner_texts()]
    pane(page, "machine").locator("select").select_option(
        index=names.index(document.kernels[kernel].name)
    )
    pane(page, "machine").locator(".row").nth(2).click()
    assert "self.down(hidden)" in selected(page, "source") or "F.gelu" in selected(page, "source")


def test_the_steps_of_a_line_can_be_walked(opened: Open, document: Document) -> None:
    page = opened(document)
    show(page, "code")
    rows(page, "source", "x = block(x)").click()
    earlier, later = (page.get_by_label(f"{name} steps") for name in ("Earlier", "Later"))
    while earlier.count():
        earlier.click()
    found = []
    while True:
        others = page.locator(".code .others button[aria-pressed]")
        for k in range(others.count()):
            others.nth(k).click()
            assert others.nth(k).get_attribute("aria-pressed") == "true"
            found.append(int(page.locator(".code .card").get_attribute("data-step")))
        if not later.count():
            break
        later.click()
    (graph,) = document.graphs
    count = int(page.inner_text(".code .others").split()[0])
    assert len(found) == count >= 8 and found == sorted(set(found))
    assert all(graph.steps[step].kind != "view" for step in found)
    assert "x = block(x)" in selected(page, "source")


def test_every_stage_is_linked(opened: Open, document: Document) -> None:
    page = opened(document)
    show(page, "code")
    stages = {"Program": "airy_ai(", "Regions": "airy_ai", "Plan": "airy_ai", "Python": "airy_ai"}
    for name, text in stages.items():
        page.keyboard.press("Escape")
        pane(page, "stage").locator(".tabs").get_by_text(name, exact=True).click()
        page.keyboard.press("Escape")
        stage = pane(page, "stage").locator(".text")
        for _ in range(40):
            if rows(page, "stage", text).count():
                break
            stage.evaluate("e => e.scrollBy(0, 400)")
            page.wait_for_timeout(30)
        rows(page, "stage", text).first.click()
        assert "airy_ai" in selected(page, "source"), name
        assert page.locator(".code .chip").inner_text() == "left to PyTorch"


def test_hovering_links_lines(opened: Open, document: Document) -> None:
    page = opened(document)
    show(page, "code")
    rows(page, "source", "F.gelu(self.up").hover()
    assert "gelu(" in "\n".join(pane(page, "stage").locator(".row.hovered code").all_inner_texts())


def colours(page: Any) -> int:
    """The number of distinct colours on the canvas."""
    return int(
        page.evaluate(
            """() => { const c = document.querySelector("canvas");
            const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
            const found = new Set();
            for (let k = 0; k < d.length; k += 4) if (d[k + 3] > 250) found.add(d[k] << 16 | d[k + 1] << 8 | d[k + 2]);
            return found.size; }"""  # noqa: E501
        )
    )


def test_timeline(opened: Open, document: Document) -> None:
    page = opened(document)
    show(page, "timeline")
    timed = [s for g in document.graphs for s in g.steps if s.ms > 0]
    assert page.locator(".timeline").get_attribute("data-bars") == str(len(timed))
    assert colours(page) > 5
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 50)
    assert "of the call" in page.inner_text(".tip")
    page.mouse.click(box["x"] + 80, box["y"] + 50)
    assert page.locator(".timeline .card").get_attribute("data-step") is not None
    before = page.locator("canvas").screenshot()
    page.locator("canvas").focus()
    page.keyboard.press("w")
    page.wait_for_timeout(100)
    assert page.locator("canvas").screenshot() != before


def test_arena(opened: Open, document: Document) -> None:
    page = opened(document)
    show(page, "memory")
    arena = document.graphs[0].arena
    assert arena is not None
    assert page.locator(".memory").get_attribute("data-buffers") == str(len(arena.buffers))
    assert colours(page) > 5
    assert "values" in page.inner_text(".hint")


def test_compile(opened: Open) -> None:
    page = opened(chain(40))
    show(page, "compile")
    text = page.inner_text(".compile")
    assert "AOTAutograd" in text and "codegen" in text
    assert "the size of x along dim 0 changed" in text and "mark it dynamic" in text


def test_keys_and_the_address(opened: Open) -> None:
    page = opened(chain(40))
    page.keyboard.press("2")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.url.endswith("#code/1")
    page.keyboard.press("k")
    assert page.url.endswith("#code/0")
    page.reload()
    assert page.locator(".view.code .card").get_attribute("data-step") == "0"
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.keyboard.press("?")
    assert page.locator(".help[open]").count() == 1


@pytest.mark.parametrize("modules", [True, False], ids=["modules", "one chain"])
def test_five_thousand_nodes(opened: Open, modules: bool) -> None:
    start = time.perf_counter()
    page = opened(chain(5000, modules))
    for view in VIEWS[1:]:
        show(page, view)
    assert time.perf_counter() - start < 15
    show(page, "graph")
    assert 1 < page.locator(".box").count() <= 320
    page.keyboard.press("/")
    page.keyboard.type("op.4321")
    assert page.locator(".search li").count() == 1
    assert float(page.locator(".search").get_attribute("data-ms")) < 200
    start = time.perf_counter()
    page.keyboard.press("Enter")
    page.wait_for_selector(".box.selected[data-key=n4321]")
    assert time.perf_counter() - start < 5
    assert page.locator(".box").count() <= 320


def test_a_hostile_document_is_only_text(opened: Open) -> None:
    page = opened(hostile())
    assert page.title().startswith("chain" + ATTACK[:20])
    for view in VIEWS:
        show(page, view)
    show(page, "code")
    assert "onerror" in pane(page, "source").inner_text()
    page.keyboard.press("/")
    page.keyboard.type("onerror")
    assert page.locator(".search li").count() > 5
    assert page.evaluate("window.attacked") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_window(opened: Open, document: Document, scheme: str) -> None:
    page = opened(document, PHONE, scheme)
    for view in VIEWS:
        show(page, view)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE[0], view
    show(page, "code")
    rows(page, "source", "F.gelu(self.up").click()
    page.locator(".switcher").get_by_text("Kernel").click()
    assert "llvm.func" in pane(page, "machine").inner_text()
    assert not pane(page, "source").is_visible()


def test_a_model_without_operations(opened: Open) -> None:
    empty = replace(chain(8), graphs=(), kernels=(), stacks=(), sources=())
    page = opened(empty)
    for view in VIEWS:
        show(page, view)
        assert page.inner_text("main").strip(), view
