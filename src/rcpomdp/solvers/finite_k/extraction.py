"""The policy that attains the tree's lower bound, as a controller that draws its lots at depth k − 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._types import FloatArray
from ...evaluation import controller_values
from ...model import CPOMDP
from ...policies import ControllerPolicy, StochasticControllerPolicy
from ..belief_graph.search import BeliefGraphSearch
from .fronts import Mix
from .tree import ACTION, LOT, Branch, Node, Tree


class Extraction:
    """A tree's best policy: its controller, what it earns and costs, and whether it keeps the budget, exactly."""

    def __init__(self, tree: Tree, model: CPOMDP) -> None:
        self._tree, self._model = tree, model
        self._nodes = list(self._followed(tree.root))  # those that act by the tree come first
        self._acting = [node for node in self._nodes if node.choice[0] == ACTION]
        self._place: dict[tuple[int, int], int] = {}  # node of each graph search's plan
        self._lots: list[tuple[tuple[int, ...], tuple[float, ...]]] = []
        self.policy = self._controller()

    def _followed(self, root: Node) -> Iterator[Node]:
        """The nodes that the policy can reach, each once."""
        met, queue = {id(root)}, [root]
        for node in queue:
            yield node
            kind, branch = node.choice
            if kind == ACTION and isinstance(branch, Branch):
                for edge in branch.edges:
                    if edge.node.front is not None and id(edge.node) not in met:
                        met.add(id(edge.node))
                        queue.append(edge.node)

    def _plans(self, node: Node) -> list[tuple[BeliefGraphSearch, int, float]]:
        """The plans that a node goes on with, and their weights."""
        _, chosen = node.choice
        assert node.front is not None
        if isinstance(chosen, Mix):
            parts = zip(chosen.columns, chosen.weights, strict=True)
            return [(*node.front.columns.plans[i], weight) for i, weight in parts]
        assert isinstance(chosen, int)
        return [(*node.front.columns.plans[chosen], 1.0)]

    def _controller(self) -> ControllerPolicy | StochasticControllerPolicy:
        graph_searches: dict[int, tuple[BeliefGraphSearch, list[int]]] = {}
        for node in self._nodes:
            if node.choice[0] != ACTION:
                for graph_search, plan, _ in self._plans(node):
                    used = graph_searches.setdefault(id(graph_search), (graph_search, []))[1]
                    if plan not in used:
                        used.append(plan)
        n_tree = len(self._acting)
        actions = [np.zeros(n_tree, dtype=np.int64)]
        successors = [np.zeros((n_tree, self._model.n_observations), dtype=np.int64)]
        at = n_tree
        for graph_search, used in graph_searches.values():
            act, follow = graph_search.graph(used)
            self._place.update({(id(graph_search), plan): at + i for i, plan in enumerate(used)})
            actions.append(act)
            successors.append(follow + at)
            at += act.size
        self._number = {id(node): i for i, node in enumerate(self._acting)}
        for i, node in enumerate(self._acting):
            branch = node.choice[1]
            assert isinstance(branch, Branch)
            actions[0][i] = branch.action
            for edge in branch.edges:
                if edge.node.front is not None:  # what follows the end is of no consequence
                    successors[0][i, edge.observation] = self._target(edge.node, at)
        start = self._target(self._tree.root, at)
        graph = np.concatenate(actions), np.concatenate(successors)
        if not self._lots:
            return ControllerPolicy(self._model, *graph, start)
        return StochasticControllerPolicy(
            self._model,
            *graph,
            np.cumsum([0, *(len(nodes) for nodes, _ in self._lots)]),
            np.concatenate([nodes for nodes, _ in self._lots]),
            np.concatenate([weights for _, weights in self._lots]),
            start,
        )

    def _target(self, node: Node, n: int) -> int:
        """The controller's node, or its lot, that stands for a node of the tree."""
        if id(node) not in self._number:
            parts = self._plans(node)
            places = tuple(self._place[id(graph_search), plan] for graph_search, plan, _ in parts)
            if len(places) == 1:
                self._number[id(node)] = places[0]
            else:
                self._number[id(node)] = n + len(self._lots)
                self._lots.append((places, tuple(weight for _, _, weight in parts)))
        return self._number[id(node)]

    def evaluated(self) -> tuple[float, FloatArray, float, bool]:
        """Exact reward and costs [K], how far they may be off, and whether the budget holds at every leaf."""
        tree = self._tree
        model = tree.model  # in class order, as the beliefs of the tree are
        found = controller_values(model, self.policy)
        limit = np.asarray(self._model.spending_limit) - tree.merged
        n = self.policy.actions.size

        def expected(target: int, node: Node) -> FloatArray:
            assert node.front is not None
            if target < n:
                return found.at(target, node.front.belief)
            nodes, weights = self._lots[target - n]
            return np.asarray(np.array(weights) @ [found.at(i, node.front.belief) for i in nodes])

        keeps = True
        for node in self._nodes:
            if node.choice[0] == LOT:
                to_come = expected(self._number[id(node)], node)[1:]
                keeps &= bool((node.spent + tree.cost_weight(node.depth) * to_come <= limit).all())
        totals = expected(self._target(tree.root, n), tree.root)
        return float(totals[0]), totals[1:], found.error, keeps

    def sure_cost(self) -> FloatArray:
        """What no history exceeds, as far as plans tell, [K]."""
        known: dict[int, FloatArray] = {}
        for node in reversed(self._nodes):  # deeper nodes come later
            kind, chosen = node.choice
            assert node.front is not None
            if kind == ACTION and isinstance(chosen, Branch):
                after = [known[id(e.node)] for e in chosen.edges if e.node.front is not None]
                worst = np.max(after, axis=0) if after else np.zeros(self._model.n_costs)
                known[id(node)] = chosen.cost + self._tree.cost_discount * worst
            else:
                assert isinstance(chosen, Mix | int)
                columns = [*chosen.columns] if isinstance(chosen, Mix) else [chosen]
                known[id(node)] = node.front.sure[columns].max(axis=0)
        return known[id(self._tree.root)]
