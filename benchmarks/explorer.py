"""How quick the policy explorer is with a policy of more than 20,000 nodes. Prints what it measures.

The policy takes random actions in CRS(5,7), drawn once: no two of its histories go on alike. The second half needs
Playwright for Python and a Chromium of the system: a click is timed inside the page, from the click to the next frame
that the browser has painted.

python benchmarks/explorer.py [NODES]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import rcpomdp as rc
from rcpomdp.views.explorer.page import Side, page

CLICKS = 100
# Two frames: the first begins after the click was handled, the second after that frame was painted.
TIMED_CLICK = """(selector) => new Promise((done) => {
  const button = document.querySelector(selector);
  if (!button) return done(null);
  const before = performance.now();
  button.click();
  const handled = performance.now() - before;
  requestAnimationFrame(() => requestAnimationFrame(() => done([handled, performance.now() - before])));
})"""


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 20_500
    model = rc.problems.make("crs-5-7")
    drawing = rc.problems.get("crs-5-7").draw(model)
    sides = [Side("random", rc.policies.RandomPolicy(model))]
    page(model, sides, drawing, most_nodes=10)  # compiles
    before = time.perf_counter()
    made = page(model, sides, drawing, most_nodes=nodes)
    seconds, size = time.perf_counter() - before, len(made.html.encode()) / 1e6
    print(f"page of {made.nodes[0]:,} nodes: {seconds:.1f} s, {size:.1f} MB")
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("no Chromium is installed: clicks are not measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(made.html, encoding="utf-8")
        measure(browser, path.as_uri())


def measure(browser: str, address: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        shown = launched.new_page(viewport={"width": 1400, "height": 900})
        before = time.perf_counter()
        shown.goto(address)
        shown.wait_for_selector(".observe")
        print(f"opened in {time.perf_counter() - before:.2f} s")
        handled, painted, deepest = [], [], 0
        for i in range(CLICKS):
            # Deeper and deeper, then from the start by other observations, so that the tree of histories grows.
            rarest = f"li:nth-last-child({1 + i // 7 % 2}) .observe:not(:disabled)"
            choices = (rarest, ".observe:not(:disabled)", "#restart")
            found = next(filter(None, (shown.evaluate(TIMED_CLICK, choice) for choice in choices)))
            handled.append(found[0])
            painted.append(found[1])
            deepest = max(deepest, int(shown.get_attribute("[data-what=step]", "data-value") or 0))
        launched.close()
    for name, times in (("handled", handled), ("painted", painted)):
        middle, worst = statistics.median(times), max(times)
        print(f"{CLICKS} clicks, up to {deepest} deep, {name}: median {middle:.0f} ms, longest {worst:.0f} ms")


if __name__ == "__main__":
    main()
