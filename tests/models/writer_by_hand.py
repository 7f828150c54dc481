"""What explainers should say of a model that writes, when it chooses a label: one prompt and one candidate at a time.

  score(label) = Σ log p(token | prompt, tokens before)  over the label's tokens and what must follow them,
  probability  = softmax over the labels

The words of the template's fields can be hidden; the words of the template itself stay. Nothing here calls Whence but for what
a word is and how a template is rendered.
"""

from collections.abc import Sequence
from typing import Any

import torch
from by_hand import OneText
from torch import Tensor

from whence.data import Example, Template, word_spans


class WriterByHand(OneText):
    """One model, one example. `follows` is what must stand after a label; "" for the end of the text."""

    def __init__(
        self, model: Any, tokenizer: Any, template: Template, example: Example, labels: Sequence[str], follows: str
    ) -> None:
        self.model, self.mask_id = model, tokenizer.mask_token_id
        rendered = template.render(example)
        found = tokenizer(rendered.text, return_offsets_mapping=True)
        self.ids = found["input_ids"]
        places = zip(found["offset_mapping"], found.sequence_ids(), strict=True)
        tokens = [(0, 0) if field is None else place for place, field in places]
        self.content = [any(start < b and end > a for a, b in rendered.fields.values()) for start, end in tokens]
        texts = {name: rendered.text[a:b] for name, (a, b) in rendered.fields.items()}
        self.place_words([rendered.place(name, span) for name, text in texts.items() for span in word_spans(text)], tokens)
        written = [tokenizer(template.answer(label) + follows, add_special_tokens=False)["input_ids"] for label in labels]
        self.answers = written if follows else [[*ids, tokenizer.eos_token_id] for ids in written]

    def read(self, ids: list[int], there: list[bool]) -> Tensor:
        return torch.stack([self._score(ids, answer) for answer in self.answers]).softmax(-1)

    def _score(self, source: list[int], answer: list[int]) -> Tensor:
        if self.model.config.is_encoder_decoder:
            fed = torch.tensor([[self.model.config.decoder_start_token_id, *answer[:-1]]])
            logits = self.model(input_ids=torch.tensor([source]), decoder_input_ids=fed).logits[0]
        else:
            logits = self.model(input_ids=torch.tensor([source + answer])).logits[0, len(source) - 1 : -1]
        return logits.log_softmax(-1).gather(1, torch.tensor(answer)[:, None]).sum()

    def slopes(self, target: int, path: str, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        """Each candidate reads the same source anew, so their slopes add up; what follows the source is no leaf."""
        inside = torch.tensor(self.content)[:, None]
        x: list[Tensor] = []
        leaves: list[Tensor] = []

        def read(tensor: Tensor) -> Tensor:
            x.append(tensor[0, : len(self.ids)].detach())
            leaves.append(torch.where(inside, x[0] * scale, x[0]).requires_grad_())
            return torch.cat([leaves[-1], tensor[0, len(self.ids) :].detach()])[None]

        with self.changed(path, read):
            slopes = torch.autograd.grad(self.probabilities()[target], leaves)
        return x[0], torch.stack(list(slopes)).sum(0)
