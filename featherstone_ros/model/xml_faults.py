"""What is wrong with text that is not XML: the line, and what to write instead.

Some of it is read all the same by urdfdom, whose reader (TinyXML-2) is more lenient than XML: two
hyphens in a comment, a prefix that is not declared, ``&`` in a name.
"""

from xml.etree.ElementTree import ParseError
from xml.parsers.expat import errors

SHOWN = 60  # characters of a line

_CODES = {
    name: errors.codes[getattr(errors, f"XML_ERROR_{name}")]
    for name in ("INVALID_TOKEN", "UNBOUND_PREFIX", "UNDEFINED_ENTITY")
}


def xml_fault(data: bytes, error: ParseError) -> str:
    """Return the fault, its line and the remedy, if one is known.

    ``data``: the text that was parsed, without what is blank at its beginning or with it.
    ``error``: as the parser raised it: lines count from the first that is not blank.
    """
    blank = data[: len(data) - len(data.lstrip())]
    line, column = error.position
    lines = data.lstrip().splitlines()
    found = lines[line - 1] if line <= len(lines) else b""
    what = str(error).partition(": line")[0]
    start = max(0, column - SHOWN // 2)
    remedy = _remedy(error.code, lines[: line - 1], found, column)
    shown = found[start : start + SHOWN].decode(errors="replace").strip()
    line += blank.count(b"\n")
    text = f"{what} in line {line}, column {column + 1}"
    return f"{text}: {shown!r}" + (f"; {remedy}" if remedy else "")


def _remedy(code: int, before: list[bytes], line: bytes, column: int) -> str:
    if code == _CODES["UNBOUND_PREFIX"]:
        return (
            "a prefix (as 'x' in <x:name>) is not declared: write xmlns:x=\"...\" into <robot>, "
            'as xmlns:xacro="http://www.ros.org/wiki/xacro", or remove what has the prefix'
        )
    if code == _CODES["UNDEFINED_ENTITY"]:
        return "only &amp; &lt; &gt; &quot; &apos; and &#...; are known: write the character itself"
    if code != _CODES["INVALID_TOKEN"]:
        return ""
    text = b"\n".join([*before, line[:column]])
    if text.rfind(b"<!--") > text.rfind(b"-->"):
        return "a comment must not have -- in it: write - -, or one hyphen"
    if b"&" in line[max(0, column - 1) : column + 1]:
        return "& stands for itself only as &amp;"
    if line[column : column + 1] == b"<":
        return "in a value, < is written &lt;; or a quote is missing before it"
    return ""
