"""What sequence-to-sequence and causal models share: a template in, candidates scored as texts, greedy writing.

  score(candidate) = Σ_k log p(token k | source, tokens before k),   probabilities = softmax over the candidates

A candidate is the target of the template up to the end of its label, with what must follow it: the delimiter before a
rationale, or the end of the text. Without that, "fish" would always be at least as probable as "fish tank". Lengths are not
normalised.

What is read once serves all candidates of an example (the encoder's output, or the cache of the prompt).
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import PreTrainedModel

from whence.data import FIELDS, Example, Span, word_spans
from whence.data.template import Template, open_template
from whence.errors import BadInput
from whence.models.batch import Answers, Batch
from whence.models.encoding import PROMPT, SPECIAL, Encoded, match_words, storable
from whence.models.intervention import Intervention
from whence.models.port import Generated
from whence.models.products import fast_products
from whence.models.reading import Kept, Pooled, evaluating
from whence.models.target import Target, Text
from whence.models.token_gradients import below_the_head, own_logits, token_gradients
from whence.models.torch_port import TorchPort


class Generator(TorchPort):
    """A model that writes. `labels` are the candidates' names; () where it is only to write or to be asked about texts."""

    usual_templates: ClassVar[Mapping[tuple[str, ...], str]]
    """By the texts that examples have: the template where none is given."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: Any, template: Template | str | None = None, labels: Sequence[str] = ()
    ) -> None:
        super().__init__(model, tokenizer)
        self.template = open_template(template) if isinstance(template, str) else template
        self.labels = tuple(labels)
        ends = getattr(model.generation_config, "eos_token_id", None)
        ends = ends if ends is not None else tokenizer.eos_token_id
        self.ends: tuple[int, ...] = () if ends is None else tuple(ends) if isinstance(ends, list) else (int(ends),)

    def fit_labels(self, names: Sequence[str]) -> None:
        """A corpus' labels are the candidates, unless some were given."""
        self.labels = self.labels or tuple(names)
        super().fit_labels(names)

    @property
    def max_tokens(self) -> int | None:
        limits = [self.tokenizer.model_max_length, getattr(self.model.config, "max_position_embeddings", None) or 10**9]
        return int(min(limits)) if min(limits) < 10**6 else None

    def template_for(self, example: Example) -> Template:
        if self.template is not None:
            return self.template
        texts = tuple(example.texts)
        if texts not in self.usual_templates:
            raise BadInput(f"example '{example.id}' has {', '.join(texts)}: no template is usual for it; expected --template")
        return open_template(self.usual_templates[texts])

    @property
    def fingerprint(self) -> str:
        """A prompt decides answers as much as a weight does."""
        return hashlib.sha256(repr((super().fingerprint, self.template)).encode()).hexdigest()[:16]

    @property
    def honours(self) -> frozenset[str]:
        found = super().honours
        return found | {"token_gradients"} if "gradient" in found else found

    def encode(self, examples: Sequence[Example], rationales: Sequence[str] | None = None) -> list[Encoded]:
        """Sources as the template writes them; `rationales` for templates that show one. Words of all fields can be hidden."""
        if not examples:
            return []
        template = self.template_for(examples[0])
        shown = [template.render(e, None if rationales is None else rationales[i]) for i, e in enumerate(examples)]
        limit = self.max_tokens
        batch = self.tokenizer(
            [storable(r.text) for r in shown], return_offsets_mapping=True, padding=False, truncation=limit is not None,
            max_length=limit,
        )  # fmt: skip
        candidate = cache(partial(self.candidate, template))  # examples share many, if not all
        found = []
        for i, (example, rendered) in enumerate(zip(examples, shown, strict=True)):
            ids, names = np.array(batch["input_ids"][i], dtype=np.int64), tuple(rendered.fields)
            texts = {name: rendered.text[a:b] for name, (a, b) in rendered.fields.items()}
            spans = tuple(tuple(word_spans(text)) for text in texts.values())
            special = [s is None for s in batch.sequence_ids(i)]
            field, offsets = _placed(batch["offset_mapping"][i], special, list(rendered.fields.values()))
            full = limit is not None and len(ids) >= limit
            if full and not self.model.config.is_encoder_decoder:
                raise BadInput(f"example '{example.id}': its prompt is longer than the {limit} tokens that {self.name} reads")
            word, carrier = match_words(spans, field, offsets, full)
            texts_of = template.candidates(example, self.labels) if template.says_label else ()
            answers = tuple(candidate(text) for text in texts_of)
            told = replace(example, texts=texts)
            found.append(Encoded(told, names, spans, ids, None, field, word, carrier, answers))
        return found

    def candidate(self, template: Template, text: str) -> tuple[int, ...]:
        """The tokens of a label's text and of what must follow it."""
        follows = template.after_label
        return self.target_ids(template.answer(text) + follows, ended=not follows)

    def target_ids(self, text: str, ended: bool = True) -> tuple[int, ...]:
        """A text as this model would write it."""
        ids = self.tokenizer(storable(text), add_special_tokens=False)["input_ids"]
        return (*ids, *self.ends[:1]) if ended else tuple(ids)

    def text_of(self, target: Text) -> str:
        return self.decode([i for i, asked in zip(target.ids, target.asked, strict=True) if asked])

    def decode(self, ids: Sequence[int]) -> str:
        """Sentinels stay visible: parsing cuts at them."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def generate(self, encoded: Sequence[Encoded], changes: Sequence[Intervention], max_tokens: int) -> list[Generated]:
        hidden = self.hidden(encoded, changes)
        found: dict[int, Generated] = {}
        for rows in self._parts(hidden):
            batch = super()._collate([hidden[i] for i in rows], [changes[i] for i in rows], [])
            with evaluating(self.model), torch.no_grad():
                step, asked = self._writer(batch), [hidden[i].example for i in rows]
                found |= dict(zip(rows, self._greedy(step, len(rows), max_tokens, asked), strict=True))
        return [found[i] for i in range(len(encoded))]

    def _greedy(
        self, step: Callable[[Tensor | None], Tensor], rows: int, max_tokens: int, examples: Sequence[Example] = ()
    ) -> list[Generated]:
        """`step` takes the last tokens, None at first, and gives the scores of the next. `examples`: where a template may say
        what ends a rationale."""
        ids: list[list[int]] = [[] for _ in range(rows)]
        chances: list[list[float]] = [[] for _ in range(rows)]
        going, last = [True] * rows, None
        for _ in range(max_tokens):
            best, token = step(last).float().log_softmax(-1).max(-1)
            for row, (i, p) in enumerate(zip(token.tolist(), best.tolist(), strict=True)):
                if going[row] and i in self.ends:
                    going[row] = False
                elif going[row]:
                    ids[row].append(i)
                    chances[row].append(p)
                    going[row] = not examples or not self._settled(ids[row], examples[row])
            if not any(going):
                break
            last = token[:, None]
        return [Generated(tuple(i), tuple(p), self.decode(i), not g) for i, p, g in zip(ids, chances, going, strict=True)]

    def _settled(self, ids: Sequence[int], example: Example) -> bool:
        """Models that miss their end would go on with another question."""
        if self.template is None or not self.template.stop:
            return False
        return self.template.settled(self.decode(ids), self.template.candidates(example, self.labels))

    @abstractmethod
    def _writer(self, batch: Batch) -> Callable[[Tensor | None], Float[Tensor, "batch vocabulary"]]:
        """Reads the sources; what it returns is called token by token."""

    def _collate(self, encoded: Sequence[Encoded], changes: Sequence[Intervention], targets: Sequence[Target | None]) -> Batch:
        batch = super()._collate(encoded, changes, targets)
        texts = [t for t in targets if isinstance(t, Text)]
        if not texts and not self.labels:
            raise BadInput(f"{self.name} has no candidates to choose from; expected --candidates, or data with labels")
        rows = [[t] for t in texts] or [[Text(ids, (True,) * len(ids)) for ids in e.candidates] for e in encoded]
        batch.answers = Answers.of(rows, self.pad_id, self.device, bool(texts))
        return batch

    def _forward(self, batch: Batch, want: frozenset[str], kept: Kept) -> tuple[Tensor, Pooled | None, dict[str, Tensor]]:
        answers = batch.answers
        assert answers is not None
        logits = self._answered(batch, answers, want, kept).float()  # rows × candidates, length, vocabulary
        found = logits.log_softmax(-1).gather(2, answers.ids.flatten(0, 1)[..., None])[..., 0]
        scores = (found * answers.asked.flatten(0, 1)).sum(1).unflatten(0, answers.ids.shape[:2])
        return scores, None, {"choice": asked_only(logits.argmax(-1), answers)} if answers.texts else {}

    def _run(
        self,
        encoded: Sequence[Encoded],
        changes: Sequence[Intervention],
        want: frozenset[str],
        targets: Sequence[Target | None],
    ) -> dict[str, np.ndarray]:
        """Gradients of many tokens are taken of one forward pass, which also gives what every pass over texts gives."""
        if "token_gradients" not in want:
            return super()._run(encoded, changes, want, targets)
        batch = self._collate(encoded, changes, targets)
        assert batch.answers is not None
        with evaluating(self.model), self._naming_wordless(encoded):
            chances, chosen, slopes = self._token_slopes(batch, batch.answers)
        scores = (chances.detach() * batch.answers.asked[:, 0]).sum(1, keepdim=True).float()
        found = {"scores": scores, "choice": asked_only(chosen, batch.answers), "token_gradients": slopes}
        more = want - {"token_gradients"}
        rest = super()._run(encoded, changes, more, targets) if more else {}
        return {name: tensor.cpu().numpy() for name, tensor in found.items()} | rest

    def _token_slopes(
        self, batch: Batch, answers: Answers
    ) -> tuple[Float[Tensor, "rows length"], Int[Tensor, "rows length"], Float[Tensor, "rows tokens asked"]]:
        """(log-probability and the model's own choice at each token, Σ |g| of each asked token's logit)."""
        kept = Kept()
        with torch.enable_grad(), fast_products():
            logits, chances, chosen = self._asked_about(batch, answers, frozenset({"gradient"}), kept)
            return chances, chosen, token_gradients(logits, answers, kept.leaves[0])

    def _asked_about(
        self, batch: Batch, answers: Answers, want: frozenset[str], kept: Kept
    ) -> tuple[Float[Tensor, "rows length"], Float[Tensor, "rows length"], Int[Tensor, "rows length"]]:
        """(logit, log-probability, the model's own choice) at each token of one text for each row."""
        ids = answers.ids[:, 0]
        with below_the_head(self.model) as seen:
            logits = self._answered(batch, answers, want, kept)
        own = own_logits(self.model, seen, ids, logits.gather(2, ids[..., None])[..., 0])
        return own, own.float() - logits.detach().float().logsumexp(-1), logits.argmax(-1)

    @abstractmethod
    def _answered(self, batch: Batch, answers: Answers, want: frozenset[str], kept: Kept) -> Tensor:
        """Scores of every token of every candidate, before the softmax: float[rows × candidates, length, vocabulary]"""

    def _probe(self, text: str) -> Example:
        template = self.template or open_template(self.usual_templates[("text",)])
        texts = {name: text for name in template.needs if name in {n for names in FIELDS.values() for n in names}}
        return Example("probe", texts, choices=self.labels if "choices" in template.needs else (), explanations=(text,))

    @cached_property
    def _probe_target(self) -> Target:
        return Text(
            (*self.target_ids("a b", ended=False), self.pad_id), (True,) * (len(self.target_ids("a b", ended=False)) + 1)
        )


def _placed(offsets: Sequence[Span], special: Sequence[bool], fields: Sequence[Span]) -> tuple[np.ndarray, list[Span]]:
    """(field of each token, offsets within that field)."""
    field, local = np.full(len(offsets), PROMPT, dtype=np.int64), []
    for i, (start, end) in enumerate(offsets):
        place = next((f for f, (a, b) in enumerate(fields) if start < b and a < end), None)
        if special[i]:
            field[i] = SPECIAL
        elif place is not None:
            field[i] = place
        a, b = (0, 0) if place is None or special[i] else fields[place]
        local.append((max(start, a) - a, min(end, b) - a) if b else (0, 0))
    return field, local


def asked_only(chosen: Int[Tensor, "rows length"], answers: Answers) -> Int[Tensor, "rows asked"]:
    """The choices at asked places, moved to the left; −1 behind them."""
    asked = answers.asked[:, 0]
    order = (~asked).int().argsort(dim=1, stable=True)
    return torch.where(asked, chosen, -1).gather(1, order)[:, : answers.most_asked]
