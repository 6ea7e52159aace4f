"""Files: written whole or not at all, and read without executing anything."""

from .model_file import load_model, save_model
from .policy_file import load_policy, policy_info, save_policy

__all__ = ["load_model", "load_policy", "policy_info", "save_model", "save_policy"]
