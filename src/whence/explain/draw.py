"""How one example or explanation looks in a terminal."""

from rich.console import Group
from rich.text import Text

from whence.data import Example


def visible(text: str) -> str:
    """Hostile text made printable: control characters cannot move the cursor, lone surrogates cannot break the encoding."""
    return "".join(c if c.isprintable() or c == " " else "\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else " " for c in text)


def draw_example(example: Example) -> Group:
    """The texts with human highlights underlined, the label, and what people wrote as explanation."""
    lines = [Text(f"{visible(example.id)}  ", style="dim") + Text(visible(example.label or "no label"), style="bold")]
    for name, content in example.texts.items():
        shown = Text(visible(content))
        for annotator in example.highlights:
            for start, end in annotator.get(name, ()):
                shown.stylize("bold underline", start, end)
        lines.append(Text(f"  {name}: ", style="cyan") + shown)
    lines += [Text(f"  ({chr(ord('A') + i)}) {visible(choice)}") for i, choice in enumerate(example.choices)]
    lines += [Text("  because: ", style="green") + Text(visible(why)) for why in example.explanations]
    return Group(*lines, Text())
