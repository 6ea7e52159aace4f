"""The page in a browser: walked by clicks and keys, and compared with what Python says of the same histories.

Needs Playwright for Python and a Chromium of the system; without them these tests are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.views.explorer.alternatives import Bounds
from rcpomdp.views.explorer.page import Side, page

# A browser is no Python package: `.ci/run` installs one, `make test` takes what there is and says what it left out.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
EXECUTABLE = next(filter(None, map(shutil.which, BROWSERS)), None)
try:
    from playwright.sync_api import Page, sync_playwright
except ImportError:
    pytest.skip("Playwright for Python is not installed, so that no page is tested", allow_module_level=True)
if EXECUTABLE is None:
    pytest.skip(f"none of {', '.join(BROWSERS)} is installed, so that no page is tested", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        # Test machines run as root, under which Chromium has no sandbox; the pages are our own.
        launched = playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a page; in the end nothing was complained of in the console, nor asked of the network."""
    troubles: list[str] = []
    requests: list[str] = []
    contexts: list[Any] = []

    def call(html: str, fragment: str = "", **options: Any) -> Page:
        path = tmp_path / f"{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        contexts.append(browser.new_context(**options))
        shown = contexts[-1].new_page()
        shown.on("console", lambda message: troubles.append(f"console: {message.text}"))
        shown.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        shown.on("request", lambda request: requests.append(request.url))
        shown.goto(path.as_uri() + fragment)
        return shown

    yield call
    for context in contexts:
        context.close()
    assert troubles == []
    assert {Path(request.partition("#")[0]).parent.name for request in requests} == {tmp_path.name}  # the page itself


def made(name: str, *sides: Any, **options: Any) -> str:
    model = rc.problems.make(name)
    shown = [Side(f"policy {i}", policy) for i, policy in enumerate(sides, 1)]
    return page(model, shown, rc.problems.get(name).draw(model), **options).html


@pytest.fixture(scope="module")
def tiger() -> Any:
    return rc.solve(rc.problems.make("tiger"), epsilon=0.05, time_limit=30).policy


@pytest.fixture(scope="module")
def tiger_html(tiger: Any) -> str:
    return made("tiger", tiger, most_nodes=300)


@pytest.fixture(scope="module")
def rocks() -> Any:
    return rc.solve(rc.problems.make("crs-5-7"), epsilon=0.5, time_limit=30).policy


@pytest.fixture(scope="module")
def cave_html() -> str:
    model = rc.problems.make("ce")
    return made("ce", rc.solve(model, "cgcp").policy, rc.solve(model).policy)


# What a side shows


def value(shown: Page, what: str, side: int = 0) -> float:
    return float(shown.get_attribute(f"[data-side='{side}'] [data-what='{what}']", "data-value") or "nan")


def action(shown: Page, side: int = 0) -> str:
    return shown.get_attribute(f"[data-side='{side}'] [data-what='action']", "data-value") or ""


def check(shown: Page, told: rc.Explanation, side: int = 0) -> None:
    """All facts of a side are those that Python tells."""
    facts = told.summary()
    panel = shown.locator(f"[data-side='{side}']")
    assert action(shown, side) == (facts["action"] or "")
    assert value(shown, "step", side) == len(facts["history"])
    assert value(shown, "probability", side) == pytest.approx(facts["probability"], rel=1e-6)
    assert value(shown, "left-0", side) == pytest.approx(facts["left"][0], abs=1e-7)
    assert value(shown, "expected-0", side) == pytest.approx(facts["cost_to_come"][0][0], abs=1e-7)
    assert value(shown, "reward", side) == pytest.approx(facts["reward_to_come"][0], rel=1e-6, abs=1e-9)
    states = "all => all.map(e => [e.dataset.state, +e.dataset.value])"
    bars = panel.locator(".bars:not(.part .bars) li[data-value]").evaluate_all(states)
    believed = {row["state"]: row["probability"] for row in facts["belief"]}
    assert [p for _, p in bars] == pytest.approx(sorted(believed.values(), reverse=True)[:8], rel=1e-6)
    assert all(believed[state] == pytest.approx(p, rel=1e-6) for state, p in bars)
    for part in panel.locator(".part").all():
        values = facts["marginals"][int(part.get_attribute("data-part") or 0) - 1]
        shown_values = dict(map(tuple, part.locator("li[data-value]").evaluate_all(states)))
        assert shown_values == pytest.approx({value: values[value] for value in shown_values}, rel=1e-6)
        assert len(shown_values) == min(8, len(values)) > 1
    observed = panel.locator(".observe").evaluate_all("all => all.map(e => [+e.dataset.o, +e.dataset.value])")
    assert dict(map(tuple, observed)) == pytest.approx(dict(told.observations), rel=1e-6)
    words = {"breaks the budget": "would break the budget"}
    rows = panel.locator("tbody tr").evaluate_all("all => all.map(e => ({...e.dataset}))")
    assert len(rows) == len(facts["alternatives"])
    for row in rows:
        option = next(option for option in facts["alternatives"] if option["action"] == row["action"])
        assert row["verdict"] == words.get(option["verdict"], option["verdict"])
        assert float(row["least"]) == pytest.approx(option["cost_at_least"][0], abs=1e-7)
        if option["reward_at_most"] is None:
            assert "most" not in row
        else:
            assert float(row["most"]) == pytest.approx(option["reward_at_most"], rel=1e-6, abs=1e-6)
    alarm = panel.locator(".alarm")
    assert alarm.count() == (told.broken is not None)
    if told.broken is not None:
        assert int(alarm.get_attribute("data-step") or -1) == told.broken[0]


def walk_by_clicks(shown: Page, policy: Any, model: rc.CPOMDP, rng: np.random.Generator, steps: int) -> None:
    history: list[int] = []
    bounds = Bounds(model)
    told = rc.explain(policy, model, bounds=bounds)
    check(shown, told)
    for _ in range(steps):
        if told.action is None:
            break
        o = int(rng.choice([o for o, _ in told.observations]))
        shown.click(f".observe[data-o='{o}']")
        history.append(o)
        told = rc.explain(policy, model, history, bounds=bounds)
        check(shown, told)


@pytest.mark.parametrize("seed", range(2))
def test_tiger_is_walked_as_python_does(opened, tiger, tiger_html: str, seed: int) -> None:
    model = rc.problems.make("tiger")
    walk_by_clicks(opened(tiger_html), tiger, model, np.random.default_rng(seed), 6)


@pytest.mark.parametrize("seed", range(2))
def test_rocks_are_walked_as_python_does_and_drawn_on_their_map(opened, rocks, seed: int) -> None:
    model = rc.problems.make("crs-5-7")
    shown = opened(made("crs-5-7", rocks))
    walk_by_clicks(shown, rocks, model, np.random.default_rng(seed), 9)
    shown.click("#restart")
    titles = shown.locator(".map .overlay title").all_text_contents()
    assert "rover at (1, 1): 1" in titles
    assert "rock 7 at (2, 4): good with probability 0.5" in titles


def test_policies_over_beliefs_are_walked_too(opened) -> None:
    model = rc.problems.make("tiger")
    policy = rc.policies.fib(model)
    shown = opened(made("tiger", policy, most_nodes=400))
    shown.click(".observe[data-o='0']")
    told = rc.explain(policy, model, [0])
    assert action(shown) == model.actions[told.action]
    assert value(shown, "left-0") == pytest.approx(told.left[0])


def test_any_number_of_costs_is_shown(opened) -> None:
    free = rc.problems.make("rs-5-7")
    shown = opened(made("rs-5-7", rc.policies.blind(free, "east")))
    assert shown.locator(".gauge").count() == 0
    assert shown.locator("#risk").is_hidden()
    shown.keyboard.press("1")
    assert value(shown, "step") == 1
    arrays = {"transition": np.ones((2, 1, 1)), "observation": np.ones((2, 1, 1)), "reward": [[1.0, 3.0]]}
    cost = [[[0.0, 1.0]], [[2.0, 0.0]]]
    model = rc.CPOMDP(
        **arrays, cost=cost, budget=[1, None], initial_belief=[1.0], discount=0.5, costs=["energy", "risk"]
    )
    shown = opened(page(model, [Side("second", rc.policies.blind(model, 1))]).html)
    assert (value(shown, "left-0"), value(shown, "expected-0")) == (1, pytest.approx(2))
    assert shown.locator("[data-what='left-1']").inner_text() == "unlimited"
    assert "2 of energy where 1 is left" in shown.locator(".alarm").inner_text()


def test_unexplored_branches_are_marked(opened, tiger) -> None:
    shown = opened(made("tiger", tiger, most_nodes=1))
    assert shown.locator(".observe:disabled").count() == 2
    assert "not explored further" in shown.locator(".observe").first.inner_text()
    assert shown.locator("#risk").inner_text() == "Riskiest explored branch"
    shown.click("#risk")
    assert "explored" in shown.locator("#note").inner_text()


# Two policies


def test_self_destruction_is_marked_where_it_begins(opened, cave_html: str) -> None:
    model = rc.problems.make("ce")
    shown = opened(cave_html)
    assert (action(shown, 0), action(shown, 1)) == ("tunnel-A", "tunnel-B")
    assert shown.locator(".alarm").count() == 0
    shown.click("[data-side='0'] .observe[data-o='0']")  # looks rocky
    check(shown, rc.explain(rc.policies.blind(model, "tunnel-A"), model, ["looks-rocky"]), 0)
    assert shown.locator("[data-side='0'] .alarm").inner_text().startswith("Self-destruction at step 1")
    assert shown.locator("[data-side='0'] .node.here.broken .cross").count() == 1
    # The other one has left by tunnel B, from where nothing looks rocky.
    assert shown.locator("[data-side='1'] .alarm").count() == 0
    assert value(shown, "step", 1) == 1
    assert "looks-clear" in shown.locator("[data-side='1'] .remark").inner_text()
    shown.click("[data-side='0'] .observe")
    assert value(shown, "left-0", 0) == pytest.approx(-3, abs=1e-4)
    shown.click("[data-side='0'] .alarm button")  # back to where it began
    assert value(shown, "step", 0) == 1


def test_breaking_the_budget_later_is_told_before_it_happens(opened, cave_html: str) -> None:
    shown = opened(cave_html)
    rows = shown.locator("[data-side='0'] tbody tr").all_inner_texts()
    assert "earns 12 by breaking the budget later" in rows[0]
    assert "earns less within the budget" in rows[1]
    assert "at most 10; the policy earns 12 by breaking the budget later" in rows[1]


def test_one_draw_of_a_randomised_policy_says_so(opened) -> None:
    model = rc.problems.make("tiger")
    policy = rc.policies.RandomPolicy(model)
    seed = next(seed for seed in range(20) if rc.explain(policy, model, seed=seed).broken)
    shown = opened(made("tiger", policy, most_nodes=50, seed=seed))
    assert shown.locator(".one-draw").inner_text().startswith(f"One draw (seed {seed}) of a randomised policy.")
    assert shown.locator(".alarm b").inner_text() == "Self-destruction of this draw at step 0"
    assert shown.locator(".badge").inner_text() == "this draw: over budget"
    assert shown.locator("tbody tr:not(.taken):not(.breaks) .verdict", has_not_text="than this draw").count() == 0


def test_the_riskiest_branch_is_one_click_away(opened, cave_html: str) -> None:
    shown = opened(cave_html)
    shown.click("#risk")
    assert shown.locator("[data-side='0'] .alarm").get_attribute("data-step") == "1"
    shown.click("#back")
    assert shown.locator(".alarm").count() == 0


def test_a_mixture_shows_the_policy_that_was_drawn(opened) -> None:
    model = rc.problems.make("ce")
    parts = [rc.policies.blind(model, name) for name in ("tunnel-A", "tunnel-B")]
    shown = opened(made("ce", rc.policies.MixturePolicy(parts, [0.3, 0.7])))
    assert (action(shown), value(shown, "probability")) == ("tunnel-B", pytest.approx(0.7))
    shown.select_option("select", "0")
    assert (action(shown), value(shown, "probability")) == ("tunnel-A", pytest.approx(0.3))
    shown.click(".observe[data-o='0']")
    shown.reload()
    assert value(shown, "probability") == pytest.approx(0.15)


# Getting about


def test_a_place_is_found_again_by_its_address(opened, tiger_html: str) -> None:
    shown = opened(tiger_html)
    for key in "121":
        shown.keyboard.press(key)
    place = value(shown, "step"), action(shown), value(shown, "left-0"), value(shown, "probability")
    address = shown.url
    assert address.partition("#")[2].startswith("w=")
    shown.reload()
    assert place == (value(shown, "step"), action(shown), value(shown, "left-0"), value(shown, "probability"))
    again = opened(tiger_html, "#" + address.partition("#")[2])
    assert place == (value(again, "step"), action(again), value(again, "left-0"), value(again, "probability"))
    nowhere = opened(tiger_html, "#w=7.x.0&d=5")
    assert value(nowhere, "step") == 0


def test_skipping_to_the_policy_keeps_the_walk(opened, tiger_html: str) -> None:
    shown = opened(tiger_html)
    shown.keyboard.press("1")
    address = shown.url
    shown.locator(".skip").focus()
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.activeElement.id") == "sides"
    assert (value(shown, "step"), shown.url) == (1, address)
    shown.evaluate("location.hash = '#elsewhere'")
    shown.wait_for_timeout(50)
    assert value(shown, "step") == 1


def test_keys_do_all_that_clicks_do(opened, tiger_html: str) -> None:
    shown = opened(tiger_html)
    shown.keyboard.press("1")
    assert value(shown, "step") == 1
    assert shown.evaluate("document.activeElement.className") == "observe"
    shown.keyboard.press("Enter")  # the first observation has the focus
    assert value(shown, "step") == 2
    shown.keyboard.press("ArrowLeft")
    assert value(shown, "step") == 1
    shown.keyboard.press("Home")
    assert value(shown, "step") == 0
    assert "step 0" in shown.locator("#live").inner_text()
    # By the tabulator alone: past the link to the policy, the theme and the walk's buttons.
    for _ in range(20):
        shown.keyboard.press("Tab")
        if shown.evaluate("document.activeElement.classList.contains('observe')"):
            break
    shown.keyboard.press("Space")
    assert value(shown, "step") == 1
    shown.click("#help summary")
    shown.uncheck("#shortcuts")
    shown.keyboard.press("Home")
    assert value(shown, "step") == 1


def test_the_tree_grows_as_it_is_visited_and_leads_back(opened, tiger_html: str) -> None:
    shown = opened(tiger_html)
    assert shown.locator(".node").count() == 3  # the start, and two that may follow
    shown.keyboard.press("1")
    shown.keyboard.press("1")
    shown.locator(".node[data-path='0']").focus()
    shown.keyboard.press("Enter")
    assert value(shown, "step") == 1
    assert shown.locator(".node:not(.next)").count() == 3  # what was visited stays
    shown.click(".node.next >> nth=0")
    assert value(shown, "step") == 2
    assert shown.locator(".node[tabindex='0']").count() == 1
    shown.locator(".node[tabindex='0']").focus()
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowLeft")
    assert value(shown, "step") == 2  # arrows only look around in the tree
    shown.keyboard.press("Enter")
    assert value(shown, "step") == 0


def test_a_run_plays_by_itself_to_its_end(opened, rocks) -> None:
    shown = opened(made("crs-5-7", rocks))
    shown.click("#play")
    assert shown.get_attribute("#play", "aria-pressed") == "true"
    shown.locator(".badge", has_text="ended").wait_for(timeout=60_000)
    shown.locator("#play[aria-pressed=false]").wait_for()
    assert shown.locator("#note").inner_text() == "the run is over"


def test_everything_has_a_name_and_a_role(opened, rocks) -> None:
    shown = opened(made("crs-5-7", rocks))
    nameless = shown.evaluate(
        """() => [...document.querySelectorAll("button, select, [role=button], [role=img], [role=meter]")]
             .filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label"))).length"""
    )
    assert nameless == 0
    assert shown.get_attribute("#live", "aria-live") == "polite"
    assert shown.evaluate("document.documentElement.lang") == "en"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_pages_fit_and_are_legible(opened, cave_html: str, scheme: str, width: int) -> None:
    shown = opened(cave_html, "#w=0-1", viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert shown.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    ratios = shown.evaluate(CONTRASTS)
    assert len(ratios) > 20
    assert min(ratio for ratio, _ in ratios) >= 4.5, min(ratios)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("width", [360, 800, 1100, 1400])
def test_long_names_stay_inside(opened, sides: int, width: int) -> None:
    long = "a_name_without_any_end_" * 6
    arrays = {"transition": np.ones((2, 1, 1)), "observation": np.ones((2, 1, 1)), "reward": [[1.0, 3.0]]}
    labels = {"states": [f"s{long}"], "actions": [f"a{long}", f"b{long}"], "observations": [f"o{long}"]}
    cost, costs = [[[0.0, 1.0]], [[2.0, 0.0]]], [f"c{long}", f"d{long}"]
    start = {"initial_belief": [1.0], "discount": 0.5, "budget": [1, 9]}
    model = rc.CPOMDP(**arrays, **labels, **start, cost=cost, costs=costs, name=long)
    shown = opened(
        page(model, [Side(long, rc.policies.blind(model, 1), long)] * sides).html,
        viewport={"width": width, "height": 800},
    )
    assert shown.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert shown.evaluate(
        "[...document.querySelectorAll('.card:not(.tree)')].every(e => e.scrollWidth <= e.clientWidth)"
    )


def test_the_theme_can_be_changed(opened, cave_html: str) -> None:
    shown = opened(cave_html, color_scheme="light")
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.click("#theme")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != before
    shown.keyboard.press("t")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == before


# The contrast of every text with what is behind it (WCAG 2.2, 1.4.3), disabled buttons aside.
CONTRASTS = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [r, g, b] = numbers(colour).slice(0, 3).map(c => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return getComputedStyle(e).backgroundColor;
    }
    return "rgb(255, 255, 255)";
  };
  const speaks = (e) => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  return [...document.querySelectorAll("body *:not(script)")]
    .filter(e => speaks(e) && e.getClientRects().length && !e.closest(":disabled, title, .map"))
    .map(e => {
      const style = getComputedStyle(e), ink = e instanceof SVGElement ? style.fill : style.color;
      const [x, y] = [light(ink), light(behind(e))].sort((a, b) => b - a);
      return [(x + 0.05) / (y + 0.05), e.textContent.slice(0, 40)];
    });
}"""


def test_the_node_of_a_small_controller_moves_along(opened: Callable[..., Page]) -> None:
    model = rc.problems.make("tiger").with_budget(4)
    policy = rc.policies.ControllerPolicy(model, [0, 0, 0, 2, 1], [[1, 2], [3, 0], [0, 4], [0, 0], [0, 0]])
    shown = opened(page(model, [Side("small", policy)]).html)

    def here() -> tuple[int, str | None]:
        nodes = shown.locator(".nodes .node")
        return nodes.count(), shown.locator(".nodes .node.here").get_attribute("data-node")

    assert here() == (5, "0")
    shown.keyboard.press("1")  # hear-left
    assert here() == (5, "1")
    shown.keyboard.press("1")
    assert here() == (5, "3")
    shown.keyboard.press("Home")
    assert here() == (5, "0")
