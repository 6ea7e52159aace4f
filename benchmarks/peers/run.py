"""rcpomdp beside PAYNT, pomdp-py, scikit-decide and the C++ SARSOP, on the same problems and in one run, in Markdown.

    python benchmarks/peers/run.py [--seconds 60] [--sarsop PATH] [--out FILE]

Each peer is installed in an environment of its own below the cache folder, from requirements.txt; one that cannot be
installed is reported and left out. Every figure is measured when it is printed; compilation is not counted. Times are
the processor's, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from paynt_sketch import read_controller, write_sketch
from point_based import point_based

import rcpomdp as rc
from rcpomdp.gym import CPOMDPVectorEnv
from rcpomdp.policies import RandomPolicy
from rcpomdp.problems.layouts import LAYOUTS

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rcpomdp" / "peers"
BUDGETED: list[tuple[str, str, dict[str, Any]]] = [
    ("C-Tiger, ĉ = 3", "tiger", {}),
    ("C-Tiger, ĉ = 1.5", "tiger", {"budget": 1.5}),
    ("CE, ĉ = 5", "ce", {}),
    ("Tunnels, ĉ = 1", "tunnels", {}),
]
ROCKS = {"RockSample, 5 x 5, 3 rocks": ("crs-4-4", 10), "RockSample, 5 x 5, 7 rocks": ("rs-5-7", 10)}  # map, runs
TIGER_RUNS, SEED = 60, 0
STEPS = 50_000  # to measure speed with


class Peer(NamedTuple):
    """Where a peer is installed, or why it is not."""

    folder: Path
    failure: str | None
    version: str


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=int, default=60, help="time of each solver for each problem")
    arguments.add_argument("--sarsop", metavar="PATH", help="pomdpsol, the C++ SARSOP of its authors")
    arguments.add_argument("--out", type=Path, help="also write the tables there")
    given = arguments.parse_args()
    lines: list[str] = []

    def say(text: str = "") -> None:
        print(text, flush=True)
        lines.append(text)

    paynt, pomdp_py, skdecide = installed("paynt"), installed("pomdp-py"), installed("scikit-decide")
    for name in ("arcs", "cgcp", "sarsop"):
        rc.solve(rc.problems.make("ce"), name)  # compiles
    say("# Beside what else can be installed\n")
    say(f"{date.today()}, rcpomdp {rc.__version__}, PAYNT {paynt.version}, pomdp-py {pomdp_py.version},")
    say(
        f"scikit-decide {skdecide.version}, Python {platform.python_version()}, {os.cpu_count()} processors. Command:\n"
    )
    sarsop = f" --sarsop {given.sarsop}" if given.sarsop else ""
    say(f"    python benchmarks/peers/run.py --seconds {given.seconds}{sarsop}\n")
    with_budget(paynt, given.seconds, say)
    point_based(skdecide.folder / "bin" / "python", skdecide.failure, given.sarsop, given.seconds, say)
    without_budget(pomdp_py, say)
    say((HERE / "notes.md").read_text().rstrip())
    if given.out:
        given.out.write_text("\n".join(lines) + "\n")


def installed(package: str) -> Peer:
    """A peer's environment, made unless it is there."""
    wanted = next(line for line in (HERE / "requirements.txt").read_text().split() if line.startswith(f"{package}=="))
    folder = CACHE / wanted
    version = wanted.partition("==")[2]
    if (folder / "ready").exists():
        return Peer(folder, None, version)
    print(f"installing {wanted} in {folder}", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=True)
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Peer(folder, (done.stderr.strip().splitlines() or ["pip failed"])[-1], f"{version} (not installed)")
    (folder / "ready").touch()
    return Peer(folder, None, version)


# Under a budget: PAYNT


def with_budget(paynt: Peer, seconds: int, say: Callable[..., None]) -> None:
    say("## Under a budget\n")
    say("| problem | program | reward | cost | sure cost | holds in every history | optimum | seconds |")
    say("|---|---|---|---|---|---|---|---|")
    remarks = []
    for title, problem, parameters in BUDGETED:
        model = rc.problems.make(problem, **parameters)
        for solver in ("arcs", "cgcp"):
            begin = time.process_time()
            result = rc.solve(model, solver, epsilon=0.001, time_limit=seconds)
            took = time.process_time() - begin
            bounds = f"in [{result.lower:.4f}, {result.upper:.4f}]"
            say(row(title, f"rcpomdp, {solver}", model, result.policy, bounds, took))
        if paynt.failure:
            say(f"| {title} | PAYNT | not installed: {paynt.failure} | | | | | |")
            continue
        found = synthesis(paynt, model, seconds)
        if found.assignment is None:
            say(f"| {title} | PAYNT | none found | | | | | {found.seconds:.1f} |")
            continue
        policy = read_controller(model, found.assignment)
        say(row(title, f"PAYNT, memory {found.memory}", model, policy, "", found.seconds))
        exact = rc.evaluate(model, policy)
        remarks.append(
            f"- {title}: PAYNT says {found.reward:.4f} and {found.cost:.4f} of this controller, `rc.evaluate` "
            f"{exact.reward:.4f} and {exact.cost[0]:.4f}. All controllers of memory {found.exhausted} were examined, "
            f"and some of memory {found.tried} until {seconds} s had passed."
        )
    say("\n" + "\n".join(remarks) + "\n" if remarks else "")


def row(title: str, program: str, model: rc.CPOMDP, policy: Any, bounds: str, seconds: float) -> str:
    """What a policy is worth by our evaluation, and whether it keeps its budget by our checker."""
    exact = rc.evaluate(model, policy)
    check = rc.verify(model, policy)
    holds = "yes" if check.verified else "no"
    return (
        f"| {title} | {program} | {exact.reward:.4f} | {exact.cost[0]:.4f} | {check.sure_cost[0]:.4f} | {holds} | "
        f"{bounds} | {seconds:.1f} |"
    )


class Synthesis(NamedTuple):
    """What PAYNT found."""

    assignment: str | None
    memory: int  # of the controller
    reward: float
    cost: float
    exhausted: int  # memory of the largest controllers all of which were examined
    tried: int  # memory of those it was at when time ran out
    seconds: float


def synthesis(paynt: Peer, model: rc.CPOMDP, seconds: int) -> Synthesis:
    """Controllers of growing memory, for so many seconds."""
    folder = CACHE / "sketches" / f"{model.name}-{model.budget[0]:g}"
    write_sketch(model, folder)
    command = [paynt.folder / "bin" / "paynt", folder, "--fsc-synthesis", "--timeout", str(seconds)]
    begin = children()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = Synthesis(None, 0, 0.0, 0.0, 0, 0, 0.0)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if match := re.search(r"Synthesizing optimal k=(\d+)", line):
                found = found._replace(tried=int(match[1]))
            elif match := re.search(r"- (A\(\[o=.*)", line):
                found = found._replace(assignment=match[1], memory=found.tried)
            elif match := re.search(r"satisfiability: (\S+) : (\S+)", line):
                cost, reward = (float(value) / model.discount for value in match.groups())
                found = found._replace(cost=cost, reward=reward)
            elif re.search(r"explored: 100 %", line):
                found = found._replace(exhausted=found.tried)
    finally:
        process.kill()
        process.wait()
    return found._replace(seconds=children() - begin)


# Without a budget: POMCP of pomdp-py


def without_budget(pomdp_py: Peer, say: Callable[..., None]) -> None:
    cases: list[dict[str, Any]] = [
        {"name": "Tiger, γ = 0.75", "problem": "tiger", "discount": 0.75, "depth": 10, "exploration": 110.0}
        | {"runs": TIGER_RUNS, "steps": 20, "simulations": 500}
    ]
    for title, (name, runs) in ROCKS.items():
        layout = {"start": (1, 1)} | LAYOUTS[name]
        cases.append(
            {"name": title, "problem": "rocksample", "discount": 0.95, "depth": 30, "exploration": 20.0}
            | {"runs": runs, "steps": 40, "simulations": 1000}
            | {key: layout[key] for key in ("n", "rocks", "start")}
        )
    task = {"seed": SEED, "steps_per_second": STEPS, "cases": cases}
    measured: list[dict[str, Any]] = []
    failure = pomdp_py.failure
    if failure is None:
        command = [pomdp_py.folder / "bin" / "python", HERE / "with_pomdp_py.py"]
        done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, check=False)
        failure = done.stderr.strip().splitlines()[-1] if done.returncode else None
        measured = [] if done.returncode else json.loads(done.stdout)["rows"]

    say("## Without a budget\n")
    say("| problem | program | reward | optimum | planning |")
    say("|---|---|---|---|---|")
    for i, case in enumerate(cases):
        ours(case, say)
        if failure:
            say(f"| {case['name']} | pomdp-py, POMCP | none: {failure} | | |")
            continue
        m = measured[i + 1]
        lost = f"; {m['lost']} runs cut short for want of particles" if m["lost"] else ""
        each = m["planned"] / m["steps"]
        planning = f"{case['simulations']} simulations, {each:.2f} s, for each of {m['steps']} steps{lost}"
        say(f"| {case['name']} | pomdp-py, POMCP | {m['mean']:.2f} ± {m['se']:.2f} | | {planning} |")
    say("\n## Simulated steps per second\n")
    say("Tiger, random actions, beliefs by Bayes' rule, one processor.\n")
    say("| program | steps per second |")
    say("|---|---|")
    for program, rate in our_speed():
        say(f"| {program} | {rate:,.0f} |")
    say(f"| pomdp-py, a loop | {failure or format(measured[0]['rate'], ',.0f')} |\n")


def ours(case: dict[str, Any], say: Callable[..., None]) -> None:
    """SARSOP on the same problem, simulated as often."""
    if case["problem"] == "tiger":
        model = rc.problems.make("tiger", budget=None)
    else:
        place = {key: case[key] for key in ("n", "rocks", "start")}
        model = rc.problems.make("rocksample", **place, costs=False, budget=None)
    begin = time.process_time()
    result = rc.solve(model, "sarsop", epsilon=0.01, time_limit=60)
    seconds = time.process_time() - begin
    runs = rc.simulate(model, result.policy, case["runs"], case["steps"], SEED)
    say(
        f"| {case['name']} | rcpomdp, sarsop | {runs.reward.mean:.2f} ± {runs.reward.se:.2f} | "
        f"in [{result.lower:.3f}, {result.upper:.3f}] | {seconds:.2f} s beforehand |"
    )


def our_speed() -> list[tuple[str, float]]:
    """Steps per second of the simulator and of the environments."""
    model = rc.problems.make("tiger")
    policy = RandomPolicy(model)
    rc.simulate(model, policy, 1)  # compiles
    runs = 1_000_000 // 20
    simulated = runs * 20 / seconds_of(lambda: rc.simulate(model, policy, runs, 20))

    rng = np.random.default_rng(SEED)
    env = rc.to_gymnasium(model)
    env.reset(seed=SEED)
    actions = rng.integers(model.n_actions, size=STEPS)
    single = STEPS / seconds_of(lambda: [env.step(a) for a in actions])

    n, steps = 1024, 500
    envs = CPOMDPVectorEnv(model, n)
    envs.reset(seed=SEED)
    many = rng.integers(model.n_actions, size=(steps, n))
    batch = n * steps / seconds_of(lambda: [envs.step(row) for row in many])
    return [
        ("rcpomdp, `rc.simulate`", simulated),
        (f"rcpomdp, {n} Gymnasium environments at once", batch),
        ("rcpomdp, one Gymnasium environment", single),
    ]


def seconds_of(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def children() -> float:
    """Seconds of the programs that this one has started and waited for."""
    used = os.times()
    return used.children_user + used.children_system


if __name__ == "__main__":
    main()
