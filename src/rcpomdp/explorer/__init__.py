"""Looking into a policy: why it does what it does, and all of its histories as a page to click through."""

from .explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
