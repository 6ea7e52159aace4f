"""Random small models, solved by ARCS and by a brute force that shares no code with the package. Counts disagreements.

    python benchmarks/oracle.py [--models 10000] [--seconds 10] [--from SEED] [--workers 2] [--nodes 20000] [--kinds]

Model and budget are functions of the seed (`random_models`). The optimum under a budget at every history is bounded by
a search over beliefs and what was spent (`brute_force`), that for a finite k by trees of actions whose leaves are
linear programs (`lotteries`).

What is counted: bounds that contradict the brute force's, "infeasible" where a policy keeps the budget, policies where
none does, policies that `verify` does not confirm, errors, and models that the brute force closes and ARCS does not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np  # noqa: E402 - the number of threads is read when NumPy is loaded

from brute_force import Model, Search  # noqa: E402 - likewise
from lotteries import Trees  # noqa: E402 - likewise
from random_models import draw  # noqa: E402 - likewise

CLOSED = 1e-3  # a gap that counts as none: the solver's own default
GRAPH = 0.1  # of the nodes of the brute force: beliefs in a linear program


class Finding(NamedTuple):
    """What came of one seed."""

    seed: int
    what: str  # sizes and kind of the model
    k: int  # 0: every history
    n_costs: int
    low: float  # by brute force
    high: float
    faults: tuple[str, ...]
    lower: float = np.nan  # by ARCS
    upper: float = np.nan
    status: str = "error"

    @property
    def closed(self) -> bool:
        """By ARCS."""
        return self.status == "infeasible" or self.upper - self.lower <= CLOSED * (1 + 1e-9)

    @property
    def closed_by_force(self) -> bool:
        """By brute force, which has no gap if no policy keeps the budget."""
        return self.high == -np.inf or self.high - self.low <= CLOSED


def examine(seed: int, seconds: float, nodes: int, kinds: bool = False) -> Finding:
    """Solve the model of a seed twice, and compare."""
    import rcpomdp as rc

    model = draw(seed, kinds)
    low, high = Trees(model, int(GRAPH * nodes)).run() if model.k else Search(model, nodes).run(0.1 * CLOSED)
    found = Finding(seed, _tell(model, kinds), model.k, len(model.C), low, high, ())
    given = rc.CPOMDP(
        transition=model.T,
        observation=model.Z,
        reward=model.R,
        cost=model.C,
        initial_belief=model.start,
        discount=model.discount,
        budget=model.budget,
        cost_discount=model.beta,
        step_limit=model.step_limit,
        horizon=model.horizon or None,
    )
    k = model.k or None
    try:
        r = rc.solve(given, "arcs", time_limit=seconds, k=k)
    except Exception as error:  # whatever goes wrong is what is looked for
        return found._replace(faults=(f"error: {type(error).__name__}: {error}",))
    rounding = 1e-7 if k else 1e-8  # of linear programs, of sums
    faults = list(_contradictions(r, low, high, rounding * (1 + float(np.abs(model.R).max()) / given.fade)))
    if r.status != "infeasible" and r.lower > -np.inf:
        try:
            checked = rc.verify(given, r.policy, r.claims(given) if k else r.summary(), k=k)
            if not checked.verified:
                faults.append(f"not verified: {checked.problem}")
        except Exception as error:  # likewise
            faults.append(f"verify: {type(error).__name__}: {error}")
    return found._replace(faults=tuple(faults), lower=r.lower, upper=r.upper, status=r.status)


def _tell(model: Model, kinds: bool) -> str:
    """Sizes and kind."""
    what = f"{model.sizes}, γ {model.discount}, {model.kind}, ĉ {', '.join(f'{c:.6g}' for c in model.budget)}"
    if kinds:
        what += f", k {model.k or '∞'}, β {model.beta.round(4).tolist()}, horizon {model.horizon}"
    if np.isfinite(model.step_limit).any():
        what += f", steps {model.step_limit.tolist()}"
    return what


def _contradictions(r: Any, low: float, high: float, tolerance: float) -> Iterator[str]:
    if r.status == "infeasible":
        if low > -np.inf:
            yield "wrong infeasible: a policy keeps the budget"
        return
    if high == -np.inf:
        if r.lower > -np.inf:
            yield "wrong policy: no policy keeps the budget"
        return
    if r.lower > high + tolerance:
        yield f"wrong lower bound, by {r.lower - high:.3g}"
    if r.upper < low - tolerance:
        yield f"wrong upper bound, by {low - r.upper:.3g}"


def line(found: Finding) -> str:
    """One finding in one line."""
    excess = f"upper {found.upper - found.high:+.4g} above, lower {found.low - found.lower:+.4g} below"
    force, arcs = f"[{found.low:.5f}, {found.high:.5f}]", f"[{found.lower:.5f}, {found.upper:.5f}]"
    return f"seed {found.seed} ({found.what}): brute force {force}, ARCS {arcs} {found.status}; {excess}"


def table(findings: list[Finding]) -> None:
    """Counts by k and number of costs."""
    print("   k  costs  models  closed by brute force  by ARCS  infeasible by brute force  by ARCS  faulty")
    groups = sorted({(f.k or np.inf, f.n_costs) for f in findings})
    for k, n_costs in [*groups, (None, None)]:
        group = [f for f in findings if k is None or (f.k or np.inf, f.n_costs) == (k, n_costs)]
        name = "all" if k is None else "∞" if k == np.inf else str(k)
        closed, forced = sum(f.closed for f in group), sum(f.closed_by_force for f in group)
        none, none_by_force = sum(f.status == "infeasible" for f in group), sum(f.high == -np.inf for f in group)
        print(
            f"{name:>4s}  {n_costs or '':>5}  {len(group):6,}  {forced:21,}  {closed:7,}"
            f"  {none_by_force:25,}  {none:7,}  {sum(bool(f.faults) for f in group):6,}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of ARCS for each model")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="SEED", help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=20_000, help="of the brute force")
    parser.add_argument("--kinds", action="store_true", help="discounts of costs, limits of steps, horizons, finite k")
    given = parser.parse_args()
    findings: list[Finding] = []
    began = time.monotonic()
    seeds = range(given.first, given.first + given.models)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.workers, context) as pool:
        n = len(seeds)
        tasks = pool.map(examine, seeds, [given.seconds] * n, [given.nodes] * n, [given.kinds] * n)
        for found in tasks:
            findings.append(found)
            for fault in found.faults:
                print(f"{fault}: {line(found)}", file=sys.stderr, flush=True)
            if len(findings) % 100 == 0:
                seconds = time.monotonic() - began
                print(f"{len(findings):,} of {len(seeds):,} models, {seconds:.0f} s", file=sys.stderr, flush=True)
    kinds = Counter(fault.partition(":")[0].partition(", by")[0] for found in findings for fault in found.faults)
    unclosed = [f for f in findings if f.closed_by_force and not f.closed]
    print(f"models {len(findings):,}, seeds {seeds.start} to {seeds.stop - 1}, {given.seconds:g} s each")
    table(findings)
    for kind in ("wrong lower bound", "wrong upper bound", "wrong infeasible", "wrong policy", "not verified"):
        print(f"{kind}: {kinds.pop(kind, 0)}")
    for kind, count in sorted(kinds.items()):
        print(f"{kind}: {count}")
    print(f"closed by brute force and not by ARCS: {len(unclosed)}")
    for found in unclosed:
        print(f"  gap {found.upper - found.lower:.4g}, {line(found)}")
    faulty = [f for f in findings if f.faults]
    if faulty:
        print("faults:")
        for found in faulty:
            print(f"  {'; '.join(found.faults)}: {line(found)}")
    sys.exit(bool(faulty))


if __name__ == "__main__":
    main()
