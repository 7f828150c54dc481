"""What every contender is given, in whatever environment it runs: the same weights, the same sentences, the same clock.

Words are the players. Hiding one replaces its token by the mask token; in all sentences that are compared by their scores, a
word is one token for every tool. A text's worth is the probability of the label that the whole text gets. Nothing here needs
Whence.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

BATCH = 64


class Game:
    """One model and, in turn, the sentences. `passes` counts rows that went through the model."""

    def __init__(self, model: str) -> None:
        torch.set_num_threads(1)
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModelForSequenceClassification.from_pretrained(model).eval()
        self.passes = 0
        self.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        read = [*args, kwargs.get("input_ids"), kwargs.get("inputs_embeds")]
        self.passes += len(next(x for x in read if x is not None))

    def read(self, text: str) -> "Sentence":
        return Sentence(self, text)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Of strings, as the users of lime and shap give them: float[texts, labels]."""
        found = []
        for start in range(0, len(texts), BATCH):
            rows = self.tokenizer(list(texts[start : start + BATCH]), return_tensors="pt", padding=True)
            with torch.no_grad():
                found.append(self.model(**rows).logits.softmax(-1).numpy())
        return np.concatenate(found)


class Sentence:
    def __init__(self, game: Game, text: str) -> None:
        self.game, self.text = game, text
        self.ids = game.tokenizer(text, return_tensors="pt")["input_ids"][0]
        self.words = len(self.ids) - 2
        self.target = int(game.probabilities([text])[0].argmax())

    def worth(self, kept: Any) -> np.ndarray:
        """Of the target where only these tokens are read: 0/1[masks, words], or with the two special tokens around them."""
        kept = torch.as_tensor(np.asarray(kept)).bool()
        if kept.shape[1] == self.words:
            edge = torch.ones(len(kept), 1, dtype=torch.bool)
            kept = torch.cat([edge, kept, edge], 1)
        found = []
        for rows in kept.split(BATCH):
            ids = torch.where(rows, self.ids, self.game.tokenizer.mask_token_id)
            with torch.no_grad():
                logits = self.game.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
            found.append(logits.softmax(-1)[:, self.target])
        return torch.cat(found).numpy()


class Notes:
    """CPU seconds and passes of each piece of work, written down as they come."""

    def __init__(self, tool: str, game: Game, out: Path) -> None:
        self.tool, self.game, self.out = tool, game, out
        self.lines: list[dict[str, Any]] = []

    def time(
        self, method: str, texts: str, setting: Any, work: Callable[[Sentence], Any], sentences: Sequence[Sentence]
    ) -> None:
        if not sentences:
            return
        work(sentences[0])  # warm-up
        before, started = self.game.passes, time.process_time()
        scores = [work(sentence) for sentence in sentences]
        seconds = (time.process_time() - started) / len(sentences)
        self.add(method, texts, setting, seconds, (self.game.passes - before) / len(sentences), scores)

    def add(self, method: str, texts: str, setting: Any, seconds: float, passes: float, scores: Any = None) -> None:
        kept = None if scores is None else [None if s is None else np.asarray(s, dtype=float).tolist() for s in scores]
        self.lines.append({"tool": self.tool, "method": method, "texts": texts, "setting": setting, "seconds": seconds,
                           "passes": passes, "scores": kept})  # fmt: skip
        self.out.write_text(json.dumps(self.lines))
        print(f"{self.tool} {method} {texts} {setting}: {seconds:.3f} s, {passes:.0f} passes", file=sys.stderr, flush=True)


def play(tool: str, contest: Callable[[Notes, dict[str, list[Sentence]]], None]) -> None:
    """The body of every `with_….py TASK OUT`."""
    task, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    game, unfinished = Game(task["model"]), out.with_suffix(".part")
    contest(Notes(tool, game, unfinished), {name: [game.read(text) for text in task[name]] for name in ("short", "usual")})
    unfinished.rename(out)
