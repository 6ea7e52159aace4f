"""pomdp-py at work; run.py starts this in an environment that has pomdp-py and not rcpomdp.

It reads what to do as JSON from stdin and prints what it measured as JSON: the value of POMCP over simulated runs, and
simulated steps per second. Problems are those that pomdp-py brings along. The compiled RockSample of
this version offers POMCP the four moves alone, neither checks nor samples, so the one in Python is taken.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
import sys
import time
from importlib.metadata import version
from typing import Any

import pomdp_py
from pomdp_py.problems.rocksample import rocksample_problem as rocks
from pomdp_py.problems.tiger import tiger_problem as tiger

PARTICLES = 1000


def main() -> None:
    task = json.load(sys.stdin)
    random.seed(task["seed"])
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet):  # pomdp-py prints; stdout is for the answer
        rows = [steps_per_second(task["steps_per_second"])]
        rows += [pomcp(case) for case in task["cases"]]
    json.dump({"version": version("pomdp-py"), "rows": rows}, sys.stdout)


def tiger_problem() -> Any:
    """Tiger with a tiger behind a door drawn at random, and particles for POMCP."""
    states = [tiger.TigerState("tiger-left"), tiger.TigerState("tiger-right")]
    belief = pomdp_py.Particles([random.choice(states) for _ in range(PARTICLES)])
    return tiger.TigerProblem(0.15, random.choice(states), belief)


def rock_problem(case: dict[str, Any]) -> Any:
    """RockSample on our map; pomdp-py counts cells from 0, and y southwards, which mirrors the map."""
    locations = {(x - 1, y - 1): i for i, (x, y) in enumerate(case["rocks"])}
    start = (case["start"][0] - 1, case["start"][1] - 1)

    def state() -> Any:
        return rocks.State(start, tuple(random.choice(("good", "bad")) for _ in locations), False)

    belief = pomdp_py.Particles([state() for _ in range(PARTICLES)])
    return rocks.RockSampleProblem(case["n"], len(locations), state(), locations, belief)


def pomcp(case: dict[str, Any]) -> dict[str, Any]:
    """The mean discounted reward of POMCP with so many simulations for every step."""
    totals, planned, steps, lost = [], 0.0, 0, 0
    for _ in range(case["runs"]):
        problem = tiger_problem() if case["problem"] == "tiger" else rock_problem(case)
        planner = pomdp_py.POMCP(
            max_depth=case["depth"],
            discount_factor=case["discount"],
            num_sims=case["simulations"],
            exploration_const=case["exploration"],
            rollout_policy=problem.agent.policy_model,
        )
        total, weight = 0.0, 1.0
        for _ in range(case["steps"]):
            begin = time.process_time()
            action = planner.plan(problem.agent)
            planned += time.process_time() - begin
            steps += 1
            total += weight * problem.env.state_transition(action, execute=True)
            weight *= case["discount"]
            if getattr(problem.env.state, "terminal", False):
                break
            observation = problem.agent.observation_model.sample(problem.env.state, action)
            problem.agent.update_history(action, observation)
            try:
                planner.update(problem.agent, action, observation)
            except ValueError:  # an observation that no particle explains: POMCP has lost its belief
                lost += 1
                break
        totals.append(total)
    mean = sum(totals) / len(totals)
    error = math.sqrt(sum((x - mean) ** 2 for x in totals) / (len(totals) - 1) / len(totals))
    return {"problem": case["name"], "mean": mean, "se": error, "planned": planned, "steps": steps, "lost": lost}


def steps_per_second(count: int) -> dict[str, Any]:
    """Random actions in Tiger, with the belief by Bayes' rule, as our simulator keeps it."""
    problem = tiger_problem()
    states = [tiger.TigerState("tiger-left"), tiger.TigerState("tiger-right")]
    belief = pomdp_py.Histogram(dict.fromkeys(states, 0.5))
    agent, env = problem.agent, problem.env
    actions = list(agent.policy_model.get_all_actions())
    begin = time.process_time()
    for _ in range(count):
        action = random.choice(actions)
        env.state_transition(action, execute=True)
        observation = agent.observation_model.sample(env.state, action)
        belief = pomdp_py.update_histogram_belief(
            belief, action, observation, agent.observation_model, agent.transition_model
        )
    return {"problem": "steps per second", "rate": count / (time.process_time() - begin)}


if __name__ == "__main__":
    main()
