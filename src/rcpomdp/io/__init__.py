"""Files: written whole or not at all, and read without executing anything."""

from .controller import CONTROLLER_SCHEMA, controller_c, controller_json
from .model_file import load_model, save_model
from .policy.file import load_policy, policy_info, save_policy
from .policy.foreign import read_policy, write_policy
from .pomdpx.reader import read_pomdpx
from .pomdpx.writer import write_pomdpx
from .proof_file import load_proof, proof_info, save_proof

__all__ = [
    "CONTROLLER_SCHEMA",
    "controller_c",
    "controller_json",
    "load_model",
    "load_policy",
    "load_proof",
    "policy_info",
    "proof_info",
    "read_policy",
    "read_pomdpx",
    "save_model",
    "save_policy",
    "save_proof",
    "write_policy",
    "write_pomdpx",
]
