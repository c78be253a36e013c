"""Text from the network, made safe for logs and terminals."""

LONGEST = 300  # [characters] shown of a received name or message


def plain(text: str, longest: int = LONGEST) -> str:
    """Return a text on one line, without control characters, cut to at most ``longest``."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return " ".join("".join(c if c.isprintable() else " " for c in short).split())
