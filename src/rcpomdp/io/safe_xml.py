"""XML read as a stream of events, without anything that a stranger's file could abuse.

A document type, and so every entity of one's own, is refused where it begins: nothing is expanded and nothing is
fetched. Only the text of elements that are still open is kept. Every complaint names its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Protocol
from xml.parsers import expat

from ..errors import InputError
from .readable import check_readable

_CHUNK = 1 << 16
LONGEST_TOKEN = 1 << 28  # bytes of a comment, a tag or an instruction, which are held whole
_LONGEST_TEXT = 1 << 30  # letters of all elements that are open
_DEEPEST = 1000  # elements in elements
_BRIEF = 60  # letters of what is quoted
_ENCODINGS = ("utf-8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "utf-16")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Handler(Protocol):
    """A receiver of the events of a file as it is read."""

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        """An element begins."""
        ...

    def end(self, name: str, text: str, line: int) -> None:
        """An element ends; `text` is what stood directly in it, `line` where it began."""
        ...

    def instruction(self, target: str, text: str, line: int) -> None:
        """A processing instruction."""
        ...


def at_line(line: int, sentence: str) -> str:
    """A complaint that names its line.

    >>> at_line(14, "the discount is missing")
    'line 14: the discount is missing'
    """
    return f"line {line}: {sentence}"


def brief(text: str) -> str:
    """A text of a file, quoted for a complaint, and cut where it is long.

    >>> brief("one two"), brief("x" * 1000)[-9:]
    ("'one two'", "xxxxx...'")
    """
    words = " ".join(text[: 10 * _BRIEF].split())
    return repr(words if len(words) <= _BRIEF else f"{words[: _BRIEF - 3]}...")


def in_xml(text: str) -> bool:
    """Return whether XML can hold a text, escaped or not.

    >>> in_xml("a < b"), in_xml(chr(7))
    (True, False)
    """
    return not _NOT_IN_XML.search(text)


def read_xml(path: str | os.PathLike[str], kind: str, handler: Handler, complaint: type[InputError]) -> None:
    """Tell a handler of all that is in an XML file.

    Parameters
    ----------
    kind : what such a file is called in a complaint, as in "model file"
    complaint : what is raised if the file cannot be read, or is not well formed
    """
    check_readable(path, kind, complaint)
    parser = _parser(handler, complaint)
    try:
        with open(path, "rb") as file:
            fed, waiting = 0, 0
            # As much again as what the parser still waits to see the end of, and looks through anew each time.
            while chunk := file.read(max(_CHUNK, waiting)):
                parser.Parse(chunk, False)
                fed += len(chunk)
                waiting = fed - max(parser.CurrentByteIndex, 0)
                if waiting > LONGEST_TOKEN + _CHUNK:
                    told = f"a comment, tag or instruction has more than {LONGEST_TOKEN:,} bytes"
                    raise complaint(at_line(parser.CurrentLineNumber, told))
        parser.Parse(b"", True)
    except OSError as error:
        raise complaint(f"{kind} {os.fsdecode(path)!r} cannot be read: {error.strerror}") from None
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise complaint(at_line(error.lineno, f"this is not well-formed XML: {reason}")) from None


def _parser(handler: Handler, complaint: type[InputError]) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    opened: list[tuple[int, list[str]]] = []  # line and text of each open element
    kept = 0  # letters of them all

    def declaration(_version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise complaint(
                at_line(parser.CurrentLineNumber, f"the encoding {brief(encoding)} is not known; use UTF-8")
            )

    def document_type(*_: object) -> None:
        raise complaint(at_line(parser.CurrentLineNumber, "a document type (<!DOCTYPE ...>) is not allowed here"))

    def start(name: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if len(opened) >= _DEEPEST:
            raise complaint(at_line(line, "the elements are nested too deeply"))
        opened.append((line, []))
        handler.start(name, attributes, line)

    def end(name: str) -> None:
        nonlocal kept
        line, pieces = opened.pop()
        whole = "".join(pieces)
        kept -= len(whole)
        handler.end(name, whole, line)

    def text(piece: str) -> None:
        nonlocal kept
        kept += len(piece)
        if kept > _LONGEST_TEXT:
            raise complaint(at_line(opened[-1][0], f"an element has more than {_LONGEST_TEXT:,} letters"))
        opened[-1][1].append(piece)

    parser.XmlDeclHandler = declaration
    parser.StartDoctypeDeclHandler = document_type
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.ProcessingInstructionHandler = lambda target, data: handler.instruction(
        target, data, parser.CurrentLineNumber
    )
    return parser
