"""``python -m rcpomdp`` is the command line."""

from .cli import main

main()
