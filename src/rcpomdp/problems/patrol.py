"""Patrol, a drone that looks for an intruder without being seen by it: 576 states, 6 actions, 48 observations."""

from __future__ import annotations

from itertools import product

from ..model import CPOMDP
from . import checks

WIDTH, HEIGHT = 6, 4
STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
SIDES = {"north": ("west", "east"), "south": ("east", "west"), "east": ("north", "south"), "west": ("south", "north")}

Post = tuple[int, int]  # (x, y), x east and y north from 1


def patrol(
    *,
    discount: float = 0.95,
    wind: float = 0.2,
    restless: float = 0.3,
    p_here: float = 0.9,
    p_near: float = 0.5,
    p_false: float = 0.05,
    exposure_cost: float = 1.0,
    photo_reward: float = 10.0,
    miss_reward: float = -1.0,
    budget: float | None = 2.5,
) -> CPOMDP:
    """A drone photographs intruders that it can hardly see, and is exposed to those that are near.

    24 posts make a grid of six columns and four rows. The drone starts at the south-west one and always knows
    its post; the intruder may be at any of them, the drone's included. A flight to a neighbouring post is blown
    to either side with probability 0.1 each, and stays where there is no post. At every step the intruder goes
    to a neighbouring post with probability 0.3, each of them as likely, and stays otherwise. An alarm goes off
    after a step with probability 0.9 if the intruder is at the drone's post, with 0.5 if it is at a neighbouring
    one and with 0.05 if it is further away.

    A photo pays 10 if the intruder is at the drone's post, and the next intruder may then be anywhere; else
    it pays -1. Any action costs 1, as exposure, while the intruder is at the drone's post or next to it; only
    hiding costs nothing, and shows nothing: there is no alarm. So what a step is expected to cost depends on
    where the intruder is, which is hidden. Without a budget the optimum is at most 18.8; policies worth 5.2 spend
    about 4.8.

    Parameters
    ----------
    discount : in [0, 1)
    wind : probability that a flight is blown astray, half of it to either side
    restless : probability that the intruder leaves its post in a step
    p_here, p_near, p_false : probability of an alarm with the intruder here, next to here and elsewhere
    exposure_cost : cost of an action other than hiding while the intruder is here or next to here
    photo_reward : reward of a photo with the intruder on it
    miss_reward : reward of a photo without
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> patrol()
    CPOMDP 'patrol': 576 states, 6 actions, 48 observations, 1 cost, discount 0.95, budget 2.5
    """
    checks.probabilities(wind=wind, restless=restless, p_here=p_here, p_near=p_near, p_false=p_false)
    checks.costs(exposure_cost=exposure_cost)
    posts = list(product(range(1, WIDTH + 1), range(1, HEIGHT + 1)))
    pairs = {f"{_name(drone)} {_name(intruder)}": (drone, intruder) for drone, intruder in product(posts, posts)}
    anywhere = {post: 1 / len(posts) for post in posts}

    def flown(drone: Post, action: str) -> dict[Post, float]:
        if action not in STEPS:
            return {drone: 1.0}
        left, right = SIDES[action]
        row: dict[Post, float] = {}
        for way, p in ((action, 1 - wind), (left, wind / 2), (right, wind / 2)):
            there = _after(drone, way)
            row[there] = row.get(there, 0.0) + p
        return row

    def wandered(intruder: Post) -> dict[Post, float]:
        near = _neighbours(intruder)
        return {intruder: 1 - restless, **{post: restless / len(near) for post in near}}

    def transition(state: str, action: str) -> dict[str, float]:
        drone, intruder = pairs[state]
        caught = action == "photo" and drone == intruder
        moved = anywhere if caught else wandered(intruder)
        return {
            f"{_name(there)} {_name(post)}": p * q
            for there, p in flown(drone, action).items()
            for post, q in moved.items()
        }

    def observation(action: str, state: str) -> dict[str, float]:
        drone, intruder = pairs[state]
        if action == "hide":
            return {f"{_name(drone)} quiet": 1.0}
        alarm = p_here if intruder == drone else p_near if intruder in _neighbours(drone) else p_false
        return {f"{_name(drone)} alarm": alarm, f"{_name(drone)} quiet": 1 - alarm}

    def reward(state: str, action: str) -> float:
        drone, intruder = pairs[state]
        if action != "photo":
            return 0.0
        return photo_reward if drone == intruder else miss_reward

    def cost(state: str, action: str) -> float:
        drone, intruder = pairs[state]
        exposed = intruder == drone or intruder in _neighbours(drone)
        return exposure_cost if exposed and action != "hide" else 0.0

    return CPOMDP.from_functions(
        states=pairs,
        actions=[*STEPS, "photo", "hide"],
        observations=[f"{_name(post)} {heard}" for post in posts for heard in ("alarm", "quiet")],
        transition=transition,
        observation=observation,
        reward=reward,
        cost=cost,
        initial={f"{_name((1, 1))} {_name(post)}": p for post, p in anywhere.items()},
        discount=discount,
        budget=budget,
        costs=["exposure"],
        name="patrol",
    )


def _name(post: Post) -> str:
    return "({},{})".format(*post)


def _after(post: Post, way: str) -> Post:
    """The post where a step ends; one off the grid ends where it began."""
    x, y = post[0] + STEPS[way][0], post[1] + STEPS[way][1]
    return (x, y) if 1 <= x <= WIDTH and 1 <= y <= HEIGHT else post


def _neighbours(post: Post) -> list[Post]:
    return [there for there in (_after(post, way) for way in STEPS) if there != post]
