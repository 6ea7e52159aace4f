"""The loop that libraries for reinforcement learning run, on constrained Tiger: collect, act, watch the budget.

    python examples/gymnasium_loop.py

It trains nothing. A random policy fills a buffer from environments stepped side by side, as an on-policy learner would.
Then ARCS acts in one environment, and a gauge shows what is left of the budget. It needs `pip install 'rcpomdp[gym]'`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import rcpomdp as rc
import rcpomdp.gym  # registers rcpomdp/tiger-v0 and the other problems

ENVS, STEPS, EPISODES = 64, 128, 200


def main() -> None:
    buffer = collect()
    print(f"random policy: {buffer['reward'].size:,} steps, {int(buffer['done'].sum())} episodes over")
    print(f"  reward {buffer['reward'].mean():.2f} and cost {buffer['cost'].mean():.2f} a step")
    print(f"  {int(buffer['broke'].sum())} of {int(buffer['done'].sum())} episodes over budget")
    act()


def collect() -> dict[str, Any]:
    """A buffer [STEPS, ENVS] of what random actions lead to, with the cost apart from the reward."""
    envs = rcpomdp.gym.VectorSafetyGymnasium(
        gymnasium.make_vec("rcpomdp/tiger-v0", num_envs=ENVS, max_episode_steps=20, autoreset_mode="SameStep")
    )
    shape = STEPS, ENVS
    buffer = {
        "observation": np.zeros(shape, dtype=int),
        "action": np.zeros(shape, dtype=int),
        "reward": np.zeros(shape),
        "cost": np.zeros(shape),
        "done": np.zeros(shape, dtype=bool),
        "broke": np.zeros(shape, dtype=bool),  # the episode ends here, with less than nothing left
    }
    envs.action_space.seed(0)
    observation, _ = envs.reset(seed=0)
    for t in range(STEPS):
        action = envs.action_space.sample()
        buffer["observation"][t], buffer["action"][t] = observation, action
        observation, reward, cost, terminated, truncated, info = envs.step(action)
        buffer["reward"][t], buffer["cost"][t], buffer["done"][t] = reward, cost, terminated | truncated
        if "final_info" in info:
            buffer["broke"][t] = info["_final_info"] & (info["final_info"]["remaining_budget"][:, 0] < 0)
    return buffer


def act() -> None:
    """ARCS in one environment: each episode is a run of `rc.simulate`, to the last bit."""
    model = rc.problems.make("tiger")
    policy = rc.solve(model, epsilon=0.05).policy
    env = rc.to_gymnasium(model, max_episode_steps=20, render_mode="ansi")
    rng = np.random.default_rng(0)
    totals, over_budget = [], 0
    for episode in range(EPISODES):
        _, info = env.reset(seed=0 if episode == 0 else None)
        state, total, weight, least, done = policy.initial(rng), 0.0, 1.0, np.inf, False
        while not done:
            observation, reward, terminated, truncated, info = env.step(policy.action(state))
            state = policy.update(state, int(observation))
            total += weight * float(reward)
            weight *= model.discount
            left = float(info["remaining_budget"][0])
            least = min(least, left)
            done = terminated or truncated
            if episode == 0:
                print(f"{gauge(left, float(model.budget[0]))} {env.render().strip()}")
        totals.append(total)
        over_budget += least < 0
    runs = rc.simulate(model, policy, EPISODES, 20, seed=0)
    print(f"ARCS: reward {np.mean(totals):.4f} a run, by rc.simulate {runs.reward.mean:.4f}")
    print(f"  {over_budget} of {EPISODES} episodes over budget")


def gauge(left: float, budget: float, width: int = 10) -> str:
    """What is left as a bar; it may be more than there was, since what is saved gains by discounting."""
    full = round(width * min(max(left / budget, 0.0), 1.0))
    return f"[{'#' * full}{'.' * (width - full)}]"


if __name__ == "__main__":
    main()
