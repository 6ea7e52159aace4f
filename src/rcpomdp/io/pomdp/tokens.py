"""The words of a `.pomdp` file, read piece by piece, and where each of them stands.

A word is ``:``, ``*`` or a run of other characters without blanks; ``#`` starts a comment, and newlines are blanks. A
line may end with a line feed, a carriage return or both.
Lines that begin with ``#!`` are comments to other programs. Here they make up a second stream of words.

A piece ends with a line, so no word is cut in two. It stays in memory while anything of it may be asked for, no longer.
"""

from __future__ import annotations

import re
from typing import BinaryIO, NamedTuple, NoReturn

from ...errors import ModelFileError

PIECE = 1 << 22  # bytes read at a time
_LONGEST_LINE = 1 << 31
LONGEST_WORD = 1000
_QUOTED = 72  # characters of a line that an error shows

_TOKEN = re.compile(rb"[ \t\n\r\f\v]*(?:#[^\n]*\n[ \t\n\r\f\v]*)*([:*]|[^\s:*#]+)?")
# "#!/bin/..." and "#!!!" are comments of other people.
_PRAGMA = re.compile(rb"^[ \t]*#!(?![/!])([^\n]*)$", re.MULTILINE)
_LINE_END = re.compile(rb"[ \t\r\f\v]*[#\n]")
_BLANKED = bytes(byte if byte in b"\n" else 32 for byte in range(256))
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Place(NamedTuple):
    """The place of a word: an offset into a piece of the file, and the lines before that piece."""

    piece: bytes
    line: int
    offset: int


class Words:
    """The words of a file one by one, with two words of lookahead.

    Parameters
    ----------
    file : what to read, from where it stands
    shown : how errors call the file
    pragmas : read the lines that begin with ``#!``, and nothing else
    piece : bytes to read at a time
    """

    def __init__(self, file: BinaryIO, shown: str, *, pragmas: bool = False, piece: int = PIECE) -> None:
        self._file, self._shown, self._pragmas, self._size = file, shown, pragmas, piece
        self._raw = b""  # the piece as the file has it
        self._carry = b""  # the beginning of the line that follows the piece
        self._ended = self._begun = False
        self.piece = b""  # the piece as it is read: of pragmas, all else is blank
        self.line = 1  # line of the piece's first byte
        self.position = 0  # offset after the last word taken
        self.has_pragmas = False
        self._last = Place(b"", 1, 0)  # where the last word taken stands

    def peek(self) -> bytes:
        """The next word, which stays the next; empty at the end."""
        return self._ahead()[0]

    def peek_second(self) -> bytes:
        """The word after the next."""
        while True:
            first, end = self._ahead()
            second = self._match(end)[1] if first else b""
            if second is not None:
                return second
            if not self._read_on():
                return b""

    def take(self) -> bytes:
        """The next word, empty at the end."""
        word, end = self._ahead()
        self._last = Place(self._raw, self.line, end - len(word))
        self.position = end
        return word

    def rest_of_line(self) -> bytes:
        """All that is left of the line of the last word."""
        end = self.piece.find(b"\n", self.position)
        text = self.piece[self.position : end]
        self._last = Place(self._raw, self.line, self.position + len(text) - len(text.lstrip()))
        self.position = end
        return text.strip()

    def at_line_end(self) -> bool:
        """Return whether no word is left in the line of the last one."""
        return _LINE_END.match(self.piece, self.position) is not None

    def next_offset(self) -> int:
        """Offset of the next word in `piece`."""
        word, end = self._ahead()
        return end - len(word)

    def here(self) -> Place:
        """The place of the last word taken."""
        return self._last

    def ahead(self) -> Place:
        """The place of the next word, or of the end of the file."""
        offset = self.next_offset()
        return Place(self._raw, self.line, offset)

    def error(self, sentence: str, place: Place | None = None) -> NoReturn:
        """Refuse the file for what stands at `place`: the last word taken unless given."""
        piece, line, offset = place or self.here()
        if offset >= len(piece):
            raise ModelFileError(f"{self._shown}: {sentence}")
        begin = piece.rfind(b"\n", 0, offset) + 1
        end = piece.find(b"\n", offset)
        line += piece.count(b"\n", 0, begin)
        before = piece[begin:offset].decode(errors="replace")
        after = piece[offset : len(piece) if end < 0 else end][: 4 * _QUOTED].decode(errors="replace")
        quoted = _shortened(before, after)
        raise ModelFileError(f"{self._shown}, line {line}, column {len(before) + 1}: {sentence} (in {quoted!r})")

    # Inside

    def _match(self, position: int) -> re.Match[bytes]:
        match = _TOKEN.match(self.piece, position)
        assert match is not None  # every part of the pattern may be empty
        return match

    def _ahead(self) -> tuple[bytes, int]:
        """The next word, and where it ends; the end of the file is an empty word."""
        match = self._match(self.position)
        while match[1] is None:
            self.position = len(self.piece)  # all that was left is blank
            if not self._read_on():
                return b"", len(self.piece)
            match = self._match(self.position)
        word = match[1]
        if len(word) > LONGEST_WORD:
            where = Place(self._raw, self.line, match.start(1))
            self.error(f"a word of {len(word):,} characters is longer than any name or number", where)
        return word, match.end()

    def _read_on(self) -> bool:
        """Append the next lines to what is left of the piece; False at the end of the file."""
        lines = self._next_lines()
        if not lines:
            return False
        keep = self._raw.rfind(b"\n", 0, self.position) + 1
        self.line += self._raw.count(b"\n", 0, keep)
        self._check_text(lines, self.line + self._raw.count(b"\n", keep))
        self.piece = self.piece[keep:] + self._readable(lines)
        self._raw = self._raw[keep:] + lines
        self.position -= keep
        return True

    def _next_lines(self) -> bytes:
        """Whole lines, the last of the file ended with a newline if it has none."""
        if self._ended:
            return b""
        parts = [self._carry]
        size, total = self._size, len(self._carry)
        while True:
            block = self._file.read(size)
            if b"\r" in block:
                block = self._with_line_feeds(block)
            cut = block.rfind(b"\n") + 1
            if not block:
                self._ended = True
                last = b"".join(parts)
                lines, self._carry = last + b"\n" if last else b"", b""
                break
            if cut:
                lines, self._carry = b"".join((*parts, block[:cut])), block[cut:]
                break
            parts.append(block)
            total += len(block)
            if total > _LONGEST_LINE:
                raise ModelFileError(f"{self._shown} has a line of more than {_LONGEST_LINE:,} bytes")
            if b"\0" in block:
                self._check_text(b"".join(parts), self.line + self._raw.count(b"\n"))
        if not self._begun:
            self._begun = True
            if lines.startswith(b"\xef\xbb\xbf"):
                lines = b"   " + lines[3:]  # a byte order mark
        return lines

    def _with_line_feeds(self, block: bytes) -> bytes:
        """A block whose lines all end with a line feed; each byte stays where it is."""
        if block.endswith(b"\r"):
            block += self._file.read(1)  # "\r\n" is one line end, not two
        return block.replace(b"\r\n", b" \n").replace(b"\r", b"\n")

    def _check_text(self, lines: bytes, line: int) -> None:
        at, fault = lines.find(b"\0"), "a NUL byte; the file is not text"
        try:
            (lines if at < 0 else lines[:at]).decode()
        except UnicodeDecodeError as error:
            at, fault = error.start, "the text is not UTF-8"
        if at >= 0:
            number = line + lines.count(b"\n", 0, at)
            raise ModelFileError(f"{self._shown}, line {number}: {fault}")

    def _readable(self, lines: bytes) -> bytes:
        if not self._pragmas:
            self.has_pragmas = self.has_pragmas or (b"#!" in lines and _PRAGMA.search(lines) is not None)
            return lines
        if b"#!" not in lines:
            return lines.translate(_BLANKED)
        shown = bytearray(lines.translate(_BLANKED))
        for match in _PRAGMA.finditer(lines):
            shown[match.start(1) : match.end(1)] = match[1]
        return bytes(shown)


def number(word: bytes) -> float | None:
    """The number that a word is, or None.

    >>> number(b"1e-3"), number(b".5"), number(b"nan"), number(b"left")
    (0.001, 0.5, None, None)
    """
    return float(word) if _NUMBER.fullmatch(word) else None


def text(word: bytes) -> str:
    """A word as errors quote it."""
    return word.decode(errors="replace")


def _shortened(before: str, after: str) -> str:
    """A line, or what of it is near the word in question."""
    room = _QUOTED - min(len(after), _QUOTED // 2)
    head = before if len(before) <= room else "..." + before[-room:]
    rest = _QUOTED - min(len(before), room)
    tail = after if len(after) <= rest else after[:rest] + "..."
    return (head + tail).strip()
