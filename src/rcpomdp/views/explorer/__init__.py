"""Looking into a policy: why it does what it does, and all of its histories as a page to click through."""

from .explanation import Explanation, explain
from .file import Written, explore
from .page import Side

__all__ = ["Explanation", "Side", "Written", "explain", "explore"]
