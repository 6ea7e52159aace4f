"""A Sphinx extension: the directive ``commands`` lists the command line as it explains itself."""

from __future__ import annotations

from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rcpomdp.cli import app as command_line


class Commands(SphinxDirective):
    """A section per command: what it does, its arguments and options."""

    def run(self) -> list[nodes.Node]:
        """The sections, in the order of their names."""
        commands: dict[str, Any] = typer.main.get_command(command_line).commands  # type: ignore[attr-defined]  # a group
        return [self._section(name, commands[name]) for name in sorted(commands)]

    def _section(self, name: str, command: Any) -> nodes.section:
        title = f"rcpomdp {name}"
        section = nodes.section(ids=[nodes.make_id(title)], names=[title])
        section += nodes.title(text=title)
        section += nodes.paragraph(text=command.help)
        listed = nodes.bullet_list()
        for parameter in command.params:
            if names := self._names(parameter):
                item = nodes.paragraph()
                item += nodes.literal(text=names)
                item += nodes.Text(f": {parameter.help}" if getattr(parameter, "help", None) else "")
                listed += nodes.list_item("", item)
        section += listed
        return section

    @staticmethod
    def _names(parameter: Any) -> str:
        value = parameter.metavar or ""
        if parameter.param_type_name == "argument":
            return value or parameter.name.upper()
        flag = ", ".join(parameter.opts)
        return flag if parameter.is_flag else f"{flag} {value or parameter.name.upper()}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
