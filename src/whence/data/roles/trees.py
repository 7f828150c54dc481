"""Bracketed phrase-structure trees, `(S (NP (DT The) (NN dog)) (VP (VBD slept)))`, laid over the words of their sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from whence.data.roles.roles import words_in
from whence.data.words import word_spans
from whence.errors import BadInput

_TOKEN = re.compile(r"\(\s*([^\s()]*)\s*|([^\s()][^()]*)|\)")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"'}


@dataclass
class Tree:
    """A phrase, or with `text` a leaf; its words are [start, end). Leaves of one word ("do", "n't") have the same words."""

    label: str
    children: "list[Tree]" = field(default_factory=list)
    text: str = ""
    start: int = 0
    end: int = 0

    @property
    def category(self) -> str:
        """NP for NP-SBJ and NP=2."""
        return re.split(r"[-=|^]", self.label)[0] or self.label

    def leaves(self) -> "Iterator[Tree]":
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def child(self, *categories: str) -> "Tree | None":
        """The first child of one of these categories."""
        return next((child for child in self.children if child.category in categories), None)


def read_tree(parse: str, sentence: str) -> Tree:
    """The tree of a sentence, every phrase with its words in it."""
    root = Tree("")
    stack = [root]
    for match in _TOKEN.finditer(parse):
        if match[0].startswith("("):
            stack.append(Tree(match[1]))
            stack[-2].children.append(stack[-1])
        elif match[0] == ")":
            if len(stack) == 1:
                raise _bad(parse, "a bracket is closed that was never opened")
            stack.pop()
        else:
            stack[-1].text = match[2].strip()
    if len(stack) > 1 or not root.children:
        raise _bad(parse, "a bracket is never closed" if root.children else "there is no tree")
    _place(root, parse, sentence)
    return root.children[0] if len(root.children) == 1 else root


def _place(root: Tree, parse: str, sentence: str) -> None:
    spans, at = word_spans(sentence), 0
    for leaf in root.leaves():
        written = _ESCAPES.get(leaf.text, leaf.text)
        found = sentence.find(written, at) if written else -1
        here = words_in(spans, found, found + len(written)) if found >= 0 else None
        if here is None:
            raise _bad(parse, f"its word '{leaf.text}' does not come next in '{sentence[:60]}'")
        leaf.start, leaf.end = here
        at = found + len(written)
    _spread(root)


def _spread(tree: Tree) -> None:
    for child in tree.children:
        _spread(child)
    if tree.children:
        tree.start, tree.end = tree.children[0].start, tree.children[-1].end


def _bad(parse: str, problem: str) -> BadInput:
    return BadInput(f"parse '{parse[:60]}': {problem}; expected a bracketed tree of the sentence")
