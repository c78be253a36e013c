"""Text from the network, made safe for logs and terminals."""

LONGEST = 300  # characters of a received name or message that are shown


def plain(text: str, longest: int = LONGEST) -> str:
    """Return a text in one line, without control characters, and not too long."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return " ".join("".join(c if c.isprintable() else " " for c in short).split())
