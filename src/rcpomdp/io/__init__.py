"""Files: written whole or not at all, and read without executing anything."""

from .policy_file import load_policy, policy_info, save_policy

__all__ = ["load_policy", "policy_info", "save_policy"]
