"""Planning under uncertainty with budgets that hold all along the way.

>>> import rcpomdp as rc
>>> rc.problems.make("tiger")
CPOMDP 'tiger': 2 states, 3 actions, 2 observations, 1 cost, discount 0.75, budget 3
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import bounds as bounds
    from . import io as io
    from . import policies as policies
    from . import problems as problems
    from ._to_gymnasium import to_gymnasium as to_gymnasium
    from .compression import Compression as Compression
    from .compression import compress as compress
    from .errors import InputError as InputError
    from .errors import ModelError as ModelError
    from .errors import ModelFileError as ModelFileError
    from .errors import PolicyError as PolicyError
    from .errors import ProblemError as ProblemError
    from .errors import ProofError as ProofError
    from .evaluation import Evaluation as Evaluation
    from .evaluation import evaluate as evaluate
    from .io import load_model as load_model
    from .io import load_policy as load_policy
    from .io import load_proof as load_proof
    from .io import policy_info as policy_info
    from .io import save_model as save_model
    from .io import save_policy as save_policy
    from .io import save_proof as save_proof
    from .model import CPOMDP as CPOMDP
    from .model import beliefs as beliefs
    from .model.classes import Classes as Classes
    from .model.classes import observability_classes as observability_classes
    from .model.risk import risk_cost as risk_cost
    from .simulation.simulate import Simulation as Simulation
    from .simulation.simulate import simulate as simulate
    from .solvers import Result as Result
    from .solvers import solve as solve
    from .verification import Proof as Proof
    from .verification import ProofCheck as ProofCheck
    from .verification import Verification as Verification
    from .verification import verify as verify
    from .verification.proof_check import check_proof as check_proof
    from .views.explorer import Explanation as Explanation
    from .views.explorer import explain as explain
    from .views.explorer import explore as explore
    from .views.rendering import render as render

__version__ = "0.1.0"

# Public names and where they live. They are imported on first use, so that `import rcpomdp` is quick.
_HOME = {
    "CPOMDP": "model",
    "Classes": "model.classes",
    "Compression": "compression",
    "Evaluation": "evaluation",
    "Explanation": "views.explorer",
    "InputError": "errors",
    "ModelError": "errors",
    "ModelFileError": "errors",
    "PolicyError": "errors",
    "ProblemError": "errors",
    "Proof": "verification",
    "ProofCheck": "verification",
    "ProofError": "errors",
    "Result": "solvers",
    "Simulation": "simulation",
    "Verification": "verification",
    "check_proof": "verification",
    "compress": "compression",
    "evaluate": "evaluation",
    "load_model": "io",
    "explain": "views.explorer",
    "explore": "views.explorer",
    "load_policy": "io",
    "load_proof": "io",
    "observability_classes": "model.classes",
    "policy_info": "io",
    "save_model": "io",
    "render": "views.rendering",
    "risk_cost": "model.risk",
    "save_policy": "io",
    "save_proof": "io",
    "simulate": "simulation",
    "solve": "solvers",
    "to_gymnasium": "_to_gymnasium",
    "verify": "verification",
}
_MODULES = {"beliefs": "model.beliefs", "bounds": "bounds", "io": "io", "policies": "policies", "problems": "problems"}

__all__ = ["__version__", *_HOME, *_MODULES]  # noqa: PLE0604 - all of them are strings


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
