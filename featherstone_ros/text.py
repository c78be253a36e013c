"""Text from the network, made safe for logs and terminals."""

LONGEST = 300  # [characters] shown of a received name or message
LONGEST_ERROR = 4000  # [characters] of an error that ends a command: it may quote a file


def plain(text: str, longest: int = LONGEST) -> str:
    """Return a text on one line, without control characters, cut to at most ``longest``."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return " ".join("".join(c if c.isprintable() else " " for c in short).split())


def shortened(error: object) -> str:
    """Return the text of an error, its middle left out where it is endless."""
    text, half = str(error), LONGEST_ERROR // 2
    if len(text) <= LONGEST_ERROR:
        return text
    return f"{text[:half]} ... {text[-half:]}"


def one_line(error: Exception) -> str:
    """Return the error's message without line breaks, its middle left out where it is endless."""
    return " ".join(shortened(error).split())
