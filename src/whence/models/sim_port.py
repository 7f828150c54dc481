"""A stepwise model (sim.py) behind the port: it decides while it explains, and says both as its template's target would.

The label is the state after the model's own greedy explanation, so a pass that scores labels writes first; where gradients are
wanted, it then follows what it wrote. What is written reads "{label} explanation: {rationale}", though the label is said by the
label state, not by tokens of the decoder: its first token has the label's probability, the rest of it and the delimiter have
probability 1. A text that is asked about must begin with one of the labels and its delimiter; the label's logit is then taken
after all of that text's explanation. So everything that works on a model that writes its label works here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from whence.data.template import Template, open_template
from whence.data.template.pattern import fields_of
from whence.errors import BadInput
from whence.models.batch import Answers, Batch
from whence.models.encoding import Encoded
from whence.models.generator import asked_only
from whence.models.intervention import UNCHANGED, Intervention
from whence.models.port import Generated
from whence.models.reading import Kept, evaluating
from whence.models.seq2seq import Seq2Seq
from whence.models.sim import Decoding, SimOutput
from whence.models.target import Target, Text

Edit = Callable[[int, Tensor], Tensor]
"""(step, label state after it) → the state that the model goes on with; step 0 is what the encoder says."""


@dataclass
class StepBatch(Batch):
    places: Bool[Tensor, "batch parts tokens"] | None = None
    """Which tokens belong to which part that the model knows by name (`config.parts`): each of the choices; None for none."""
    said: Int[Tensor, "batch 2"] | None = None
    """Of texts that are asked about: the label that they begin with, and how many tokens it has with its delimiter."""
    explanations: Sequence[Int[Tensor, " tokens"]] = ()
    """What follows in these texts, without the end."""


class SimPort(Seq2Seq):
    usual_templates: ClassVar = {("premise", "hypothesis"): "nli.i-or", ("question",): "cose.i-or"}

    def __init__(
        self, model: PreTrainedModel, tokenizer: Any, template: Template | str | None = None, labels: Sequence[str] = ()
    ) -> None:
        own = model.config.template
        given = open_template(template) if isinstance(template, str) else template
        chosen = given or (Template(**own) if own else open_template("cose.i-or" if model.config.choices else "nli.i-or"))
        answered = fields_of(chosen.target)
        if len(answered) != 2 or answered[1] != "rationale":
            raise BadInput(
                f"template '{chosen.name}' asks for '{chosen.target}'; expected a label and then a rationale, "
                "which is what a stepwise model says"
            )
        names = tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels))
        super().__init__(model, tokenizer, chosen, tuple(labels) or names)

    @property
    def forced(self) -> tuple[int, ...]:
        """A stepwise model was trained to begin with its explanation."""
        return ()

    @cached_property
    def _probe_target(self) -> Target:
        assert self.template is not None
        ids = (*self.candidate(self.template, self.labels[0]), *self.target_ids("a b", ended=False))
        return Text(ids, (True,) * len(ids))

    def _collate(
        self, encoded: Sequence[Encoded], changes: Sequence[Intervention], targets: Sequence[Target | None]
    ) -> StepBatch:
        batch = super()._collate(encoded, changes, targets)
        found = StepBatch(**vars(batch), places=self.places(encoded, batch.input_ids.shape[1]))
        texts = [target for target in targets if isinstance(target, Text)]
        if texts:
            begun = [self._begun(e, t.ids) for e, t in zip(encoded, texts, strict=True)]
            found.said = torch.tensor(begun, device=self.device)
            after = [[i for i in text.ids[size:] if i not in self.ends] for text, (_, size) in zip(texts, begun, strict=True)]
            found.explanations = [torch.tensor(ids, dtype=torch.long, device=self.device) for ids in after]
        return found

    def places(self, encoded: Sequence[Encoded], width: int) -> Bool[Tensor, "batch parts tokens"] | None:
        parts = self.model.config.parts
        if not parts:
            return None
        where = np.zeros((len(encoded), len(parts), width), dtype=bool)
        for row, e in zip(where, encoded, strict=True):
            for number, name in enumerate(parts):
                if name not in e.fields:
                    raise BadInput(f"example '{e.example.id}' shows no {name}; expected a template with {', '.join(parts)}")
                row[number, : len(e)] = e.field == e.fields.index(name)
        return torch.from_numpy(where).to(self.device)

    def _begun(self, encoded: Encoded, ids: tuple[int, ...]) -> tuple[int, int]:
        """(label, tokens of the label and its delimiter) with which a text begins; the longest that fits."""
        fits = [(len(c), i) for i, c in enumerate(encoded.candidates) if ids[: len(c)] == c]
        if not fits:
            raise BadInput(f"example '{encoded.example.id}': a text does not begin with a label; expected one of {self.labels}")
        size, label = max(fits, key=lambda fit: (fit[0], -fit[1]))
        return label, size

    def training_pass(  # type: ignore[override]  # a stepwise model also reads where the choices stand
        self, encoded: Sequence[Encoded], targets: Int[Tensor, "batch length"]
    ) -> tuple[StepBatch, Tensor, SimOutput]:
        """(batch, the encoder's states, token logits and label states) with their graph; `targets` are padded with −100."""
        batch = self._collate(encoded, [UNCHANGED] * len(encoded), [])
        source = self.model.read(batch.input_ids, batch.attention_mask)
        fed = self._fed(targets.masked_fill(targets < 0, self.pad_id))
        output = self.model(
            encoder_outputs=(source,), attention_mask=batch.attention_mask, decoder_input_ids=fed, places=batch.places
        )
        return batch, source, output

    def _forward(self, batch: Batch, want: frozenset[str], kept: Kept) -> tuple[Tensor, None, dict[str, Tensor]]:
        assert isinstance(batch, StepBatch)
        assert batch.answers is not None
        if batch.said is not None:
            _, chances, chosen = self._asked_about(batch, batch.answers, want, kept)
            scores = (chances * batch.answers.asked[:, 0]).sum(1, keepdim=True)
            return scores, None, {"choice": asked_only(chosen, batch.answers)}
        source = self._read(batch, want, kept)
        with torch.no_grad():
            written, states = self._explained(source.detach(), batch, self.model.config.longest, None)
        if not torch.is_grad_enabled():
            return torch.stack([row[-1] for row in states]), None, {}
        rows = [torch.tensor(output.ids, dtype=torch.long, device=self.device) for output in written]
        followed = self._follow(source, batch, rows)[1]
        return _at(followed, torch.tensor([len(row) + 1 for row in rows], device=self.device)), None, {}

    def _asked_about(self, batch: Batch, answers: Answers, want: frozenset[str], kept: Kept) -> tuple[Tensor, Tensor, Tensor]:
        """(logit, log-probability, the model's own choice) at each token of the texts: float[batch, length] twice, ints."""
        assert isinstance(batch, StepBatch)
        assert batch.said is not None
        ids, (label, size) = answers.ids[:, 0], batch.said[:, :, None].unbind(1)
        logits, states = self._follow(self._read(batch, want, kept), batch, batch.explanations)
        final = _at(states, torch.tensor([len(row) + 1 for row in batch.explanations], device=ids.device))
        step = torch.arange(ids.shape[1], device=ids.device) - size  # of each token; below 0 those of label and delimiter
        by_token = logits.gather(1, step.clamp(0, logits.shape[1] - 1)[..., None].expand(-1, -1, logits.shape[2]))
        best = final.argmax(1, keepdim=True)
        chosen = torch.where(step >= 0, by_token.argmax(-1), torch.where(best == label, ids, -2 - best))

        def spread(tokens: Tensor, labels: Tensor) -> Tensor:
            """At a token its own value, at the label's first token the label's, at the others of them 0."""
            said = torch.where(step == -size, labels.gather(1, label), 0.0)
            return torch.where(step >= 0, tokens.gather(2, ids[..., None])[..., 0], said)

        chances = spread(by_token.float().log_softmax(-1), final.float().log_softmax(-1))
        return spread(by_token, final), chances, chosen

    def _follow(self, source: Tensor, batch: StepBatch, rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Token logits and label states along known explanations, through the step that has read all of each."""
        fed = pad_sequence([torch.cat([row.new_tensor([self.start]), row]) for row in rows], True, self.pad_id)
        now = self.model.begin(source, batch.attention_mask, batch.places, self.model.recurrent)
        output = self.model.follow(now, self.model.words(fed))
        return output.logits, output.states

    def _explained(
        self, source: Tensor, batch: StepBatch, limit: int, edit: Edit | None
    ) -> tuple[list[Generated], list[Tensor]]:
        """Greedy: for each row its explanation, and the label state before it, after each of its tokens and after its end."""
        now: Decoding = self.model.begin(source, batch.attention_mask, batch.places)
        last = torch.full((len(source), 1), self.start, device=self.device)

        def edited() -> None:
            if edit is not None:
                now.states[-1] = edit(len(now.states) - 1, now.states[-1])

        def step(token: Tensor | None) -> Tensor:
            nonlocal last
            outputs = self.model.advance(now, self.model.words(last if token is None else token))
            edited()
            logits = self.model.head(outputs, now)[:, -1]
            last = logits.argmax(-1, keepdim=True)
            return logits

        edited()
        written = self._greedy(step, len(source), limit)
        if not all(output.ended for output in written):
            step(last)  # the label counts once the last token has been read
        states = torch.stack(now.states, 1)
        return written, [row[: len(output.ids) + 2] for row, output in zip(states, written, strict=True)]

    def generate(
        self, encoded: Sequence[Encoded], changes: Sequence[Intervention], max_tokens: int, edit: Edit | None = None
    ) -> list[Generated]:
        """`edit` intervenes on the label state while the model writes."""
        hidden = self.hidden(encoded, changes)
        limit = min(max_tokens, self.model.config.longest)
        found: dict[int, Generated] = {}
        for rows in self._parts(hidden):
            batch = self._collate([hidden[i] for i in rows], [changes[i] for i in rows], [])
            with evaluating(self.model), torch.no_grad():
                written, states = self._explained(self._read(batch, frozenset(), Kept()), batch, limit, edit)
            for i, output, row in zip(rows, written, states, strict=True):
                found[i] = self._told(hidden[i], output, row.float().softmax(-1))
        return [found[i] for i in range(len(encoded))]

    def _told(self, encoded: Encoded, output: Generated, evolution: Tensor) -> Generated:
        label = int(evolution[-1].argmax())
        said = encoded.candidates[label]
        sure = (float(evolution[-1, label].clamp(min=1e-38).log()), *[0.0] * (len(said) - 1))
        ids = (*said, *output.ids)
        moved = tuple(tuple(row) for row in evolution.tolist())
        return Generated(ids, (*sure, *output.log_probabilities), self.decode(ids), output.ended, moved)

    @torch.no_grad()
    def evolution(self, encoded: Sequence[Encoded], explanations: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Label distributions while the model reads explanations that are given as tokens: float[tokens + 2, labels] each.

        The model's own (`Generated.ids` behind the label), one cut short, or another example's: does the label need it?
        """
        found: dict[int, np.ndarray] = {}
        for rows in self._parts(encoded):
            batch = self._collate([encoded[i] for i in rows], [UNCHANGED] * len(rows), [])
            texts = [torch.tensor(list(explanations[i]), dtype=torch.long, device=self.device) for i in rows]
            with evaluating(self.model):
                states = self._follow(self._read(batch, frozenset(), Kept()), batch, texts)[1].float().softmax(-1)
            found |= {i: s[: len(t) + 2].cpu().numpy() for i, s, t in zip(rows, states, texts, strict=True)}
        return [found[i] for i in range(len(encoded))]


def _at(states: Tensor, steps: Int[Tensor, " batch"]) -> Tensor:
    return states[torch.arange(len(states), device=states.device), steps]
