"""C-Tiger, the Tiger problem with a budget for listening: 2 states, 3 actions, 2 observations."""

from __future__ import annotations

from ..model import CPOMDP


def tiger(
    *,
    discount: float = 0.75,
    accuracy: float = 0.85,
    listen_cost: float = 1.0,
    budget: float | None = 3.0,
    listen_reward: float = -1.0,
    treasure_reward: float = 10.0,
    tiger_reward: float = -100.0,
) -> CPOMDP:
    """A tiger waits behind one of two doors, a treasure behind the other, and listening is metered.

    Listening (Kaelbling, Littman and Cassandra 1998) tells the side of the tiger, with errors. Opening a door
    pays and puts the tiger behind either door at random, so the game never ends. The cost, which the classic
    problem does not have, is that of listening.

    The paper takes budgets 3 and 1.5 and discount 0.75; the classic discount is 0.95. Without a budget the
    optimum is 1.933 (discount 0.75). The RC-POMDP optimum lies in [-2.780, -2.769] for budget 3 and in
    [-70.688, -70.677] for 1.5, the C-POMDP optimum is -1.772 and -70.677.

    Parameters
    ----------
    discount : 0.95 gives the classic problem
    accuracy : probability that the tiger is heard where it is
    listen_cost : cost of listening once
    budget : bound on the expected total cost; None is unlimited
    listen_reward : reward of listening once
    treasure_reward : reward of opening the door without the tiger
    tiger_reward : reward of opening the door with the tiger

    Examples
    --------
    >>> tiger(budget=1.5)
    CPOMDP 'tiger': 2 states, 3 actions, 2 observations, 1 cost, discount 0.75, budget 1.5
    """
    stays = [[1, 0], [0, 1]]
    anywhere = [[0.5, 0.5], [0.5, 0.5]]
    heard = [[accuracy, 1 - accuracy], [1 - accuracy, accuracy]]
    return CPOMDP(
        states=["tiger-left", "tiger-right"],
        actions=["listen", "open-left", "open-right"],
        observations=["hear-left", "hear-right"],
        transition=[stays, anywhere, anywhere],
        observation=[heard, anywhere, anywhere],
        reward=[
            [listen_reward, tiger_reward, treasure_reward],
            [listen_reward, treasure_reward, tiger_reward],
        ],
        cost=[[listen_cost, 0, 0], [listen_cost, 0, 0]],
        initial_belief=[0.5, 0.5],
        discount=discount,
        budget=budget,
        name="tiger",
    )
