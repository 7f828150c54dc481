"""The stepwise model: its recurrence against a hand-written step, its cache against none, and every way to it agrees."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import bytelevel_tokenizer, wordpiece_tokenizer
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertModel, PreTrainedModel

import whence
from whence.data import Example, Template, open_template
from whence.data.planted import choices, scenes
from whence.errors import BadInput
from whence.explain import METHODS, explain
from whence.explain.text import load_rationales, save_rationales, write_rationales
from whence.explain.text.importance import importances
from whence.measure.text.evolution import read_at
from whence.models import UNCHANGED, Label, Sim, SimPort, Text, load_port
from whence.models.sim import own_distribution, sim_over
from whence.models.text_models import build_text_model
from whence.models.warm_start import warm_start
from whence.run import Request, Runner

LABELS = ("yes", "no", "maybe")
BASES = ("t5", "bart", "warm")
SWITCHES = [(True, True), (True, False), (False, True), (False, False)]


@cache
def corpus(kind: str) -> tuple[list[Example], Template]:
    planted = scenes() if kind == "fixed" else choices()
    return planted.load("dev", 6, 0), open_template("nli.i-or" if kind == "fixed" else "cose.i-or")


def texts_of(kind: str) -> list[str]:
    examples, template = corpus(kind)
    return [text for e in examples for text in (template.render(e).text, template.render_target(e))]


def base_of(name: str, kind: str = "fixed") -> tuple[PreTrainedModel, object]:
    torch.manual_seed(0)
    if name == "t5":
        model, tokenizer = build_text_model("small_t5", texts_of(kind), {"hidden_size": 16, "layers": 2})
        model.lm_head = torch.nn.Linear(16, len(tokenizer), bias=False)  # its own, so that it writes words and not sentinels
        model.lm_head.weight.data[-100:] = 0.0
        model.config.tie_word_embeddings = False
        return model, tokenizer
    if name == "bart":
        tokenizer = bytelevel_tokenizer()
        config = BartConfig(
            vocab_size=len(tokenizer), d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, init_std=0.4, scale_embedding=True,
            max_position_embeddings=512, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
        )  # fmt: skip
        return BartForConditionalGeneration(config), tokenizer
    tokenizer = wordpiece_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24,
        initializer_range=0.4, max_position_embeddings=512,
    )  # fmt: skip
    return warm_start(BertModel(config, add_pooling_layer=False), tokenizer), tokenizer


@cache
def port(name: str = "t5", kind: str = "fixed", fusion: tuple[bool, bool] = (True, True)) -> SimPort:
    base, tokenizer = base_of(name, kind)
    ends = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    start = base.generation_config.decoder_start_token_id or 0
    labels = ("entailment", "neutral", "contradiction") if kind == "fixed" else ("A", "B", "C")
    sim = sim_over(
        base, labels, start, ends, tokenizer.pad_token_id, choices=kind == "choices", longest=7, label_to_text=fusion[0],
        text_to_label=fusion[1],
    )  # fmt: skip
    return SimPort(sim.eval(), tokenizer, corpus(kind)[1])


def numpy_mlp(layers: torch.nn.Sequential, x: np.ndarray) -> np.ndarray:
    norm, *rest = layers
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    x = (x - mean) / np.sqrt(var + norm.eps) * norm.weight.detach().numpy() + norm.bias.detach().numpy()
    for layer in rest:
        if isinstance(layer, torch.nn.Linear):
            x = x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        else:
            x = np.maximum(x, 0)
    return x


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def by_hand(asked: SimPort, encoded: object, fed: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(token logits, label states) of one example, written out: no cache, no batch, the whole prefix decoded anew each step."""
    model = asked.model
    cat = np.concatenate
    with torch.no_grad():
        mask = torch.ones(1, len(encoded))
        source = model.get_encoder()(input_ids=torch.from_numpy(encoded.ids)[None], attention_mask=mask).last_hidden_state
        states_of_source, space = source[0].numpy(), model.labels
        several = [states_of_source[encoded.field == encoded.fields.index(f"choice {i}")].mean(0) for i in range(3)] if (
            model.config.choices
        ) else []  # fmt: skip

        def scored(layers: torch.nn.Sequential, state: np.ndarray) -> np.ndarray:
            return (
                np.array([numpy_mlp(layers, cat([state, h, state * h]))[0] for h in several])
                if several
                else numpy_mlp(layers, state)
            )

        label = scored(space.first, states_of_source[0])
        states, read, logits = [label], [], []
        for token in fed:
            p = np.exp(label) / np.exp(label).sum()
            v = numpy_mlp(space.embed, sum(p[i] * several[i] for i in range(3)) if several else label)
            word = model.words(torch.tensor([[token]]))[0, 0].numpy()
            g = sigmoid(numpy_mlp(model.gate, cat([v, word])))
            read.append(torch.from_numpy(g * v + (1 - g) * word).float())
            stack = model.base.get_decoder().base_model
            out = stack(inputs_embeds=torch.stack(read)[None], encoder_hidden_states=source, use_cache=False).last_hidden_state
            o = out[0, -1].numpy()
            full = model.base(
                encoder_outputs=(source,), attention_mask=mask, decoder_inputs_embeds=torch.stack(read)[None], use_cache=False
            )
            logits.append(full.logits[0, -1].numpy())
            c = sigmoid(numpy_mlp(model.contribution, cat([v, numpy_mlp(model.fused, o)])))
            label = label + c * scored(space.step, o)
            states.append(label)
    return np.stack(logits), np.stack(states)


CASES = [(name, "fixed") for name in BASES] + [("t5", "choices")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_teacher_forced_steps_are_those_written_by_hand(name: str, kind: str) -> None:
    """In a padded batch with explanations of several lengths."""
    asked = port(name, kind)
    encoded = asked.encode(corpus(kind)[0])[:3]
    draw = np.random.default_rng(0)
    fed = [[asked.start, *draw.integers(3, 30, n).tolist()] for n in (2, 5, 4)]
    padded = torch.tensor([[*row, *[asked.pad_id] * (6 - len(row))] for row in fed])
    batch = asked._collate(encoded, [UNCHANGED] * 3, [])
    with torch.no_grad():
        output = asked.model(batch.input_ids, batch.attention_mask, padded, batch.places)
    for i, row in enumerate(fed):
        logits, states = by_hand(asked, encoded[i], row)
        assert np.abs(output.logits[i, : len(row)].numpy() - logits).max() < 2e-4
        assert np.abs(output.states[i, : len(row) + 1].numpy() - states).max() < 2e-4


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_greedy_writing_with_the_cache_is_greedy_writing_by_hand(name: str, kind: str) -> None:
    asked = port(name, kind)
    encoded = asked.encode(corpus(kind)[0])[:2]
    for item, found in zip(encoded, asked.generate(encoded, [UNCHANGED] * 2, 5), strict=True):
        fed, states = [asked.start], np.zeros(0)
        while len(fed) < 7:
            logits, states = by_hand(asked, item, fed)
            if int(logits[-1].argmax()) in asked.ends:
                break
            fed.append(int(logits[-1].argmax()))
        fed = fed[:6]
        _, states = by_hand(asked, item, fed)
        chances = np.exp(states) / np.exp(states).sum(-1, keepdims=True)
        label = int(chances[-1].argmax())
        assert found.ids == (*item.candidates[label], *fed[1:])
        assert np.abs(np.array(found.evolution) - chances).max() < 1e-4
        assert found.log_probabilities[0] == pytest.approx(np.log(chances[-1, label]), abs=1e-4)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_following_its_own_words_gives_the_label_states_of_writing_them(name: str, kind: str) -> None:
    asked = port(name, kind)
    encoded = asked.encode(corpus(kind)[0])
    written = asked.generate(encoded, [UNCHANGED] * len(encoded), 7)
    own = [w.ids[len(e.candidates[int(np.argmax(w.evolution[-1]))]) :] for e, w in zip(encoded, written, strict=True)]
    for found, followed in zip(written, asked.evolution(encoded, own), strict=True):
        assert np.abs(np.array(found.evolution) - followed).max() < 1e-5


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_word_changes_the_label_at_the_step_that_reads_it(name: str, kind: str) -> None:
    """One later than the step that writes it; why movement is counted there (measure/text/evolution.py)."""
    asked = port(name, kind)
    encoded = asked.encode(corpus(kind)[0])[:2]
    for place in (0, 2):
        other = [5, 6, 7, 8]
        other[place] = 9
        for plain, changed in zip(*(asked.evolution(encoded, [said] * 2) for said in ([5, 6, 7, 8], other)), strict=True):
            moved = np.abs(plain - changed).max(-1)
            assert len(moved) == 6
            assert moved[: place + 2].max() < 1e-6, "not before, nor at the step that writes it"
            assert moved[place + 2] > 1e-6
            assert read_at(np.arange(4) == place)[place + 1]


@pytest.mark.parametrize("fusion", SWITCHES)
def test_what_is_switched_off_plays_no_part(fusion: tuple[bool, bool]) -> None:
    """All steps at once, where nothing recurs, equals one step after the other; and each switch cuts its own way."""
    asked = port(fusion=fusion)
    model = asked.model
    encoded = asked.encode(corpus("fixed")[0])[:2]
    batch = asked._collate(encoded, [UNCHANGED] * 2, [])
    fed = torch.tensor([[asked.start, 5, 6, 7], [asked.start, 9, 8, 4]])
    with torch.no_grad():
        at_once = model(batch.input_ids, batch.attention_mask, fed)
        source = model.read(batch.input_ids, batch.attention_mask)
        now = model.begin(source, batch.attention_mask)
        single = torch.cat([model.advance(now, word) for word in model.words(fed).split(1, 1)], 1)
        plain = model.base(input_ids=batch.input_ids, attention_mask=batch.attention_mask, decoder_input_ids=fed).logits
    assert torch.allclose(at_once.logits, model.head(single, now), atol=1e-5)
    assert torch.allclose(at_once.states, torch.stack(now.states, 1), atol=1e-5)
    assert torch.allclose(at_once.logits, plain, atol=1e-5) is not fusion[0]
    assert torch.equal(at_once.states[:, 0], at_once.states[:, -1]) is not fusion[1]


@pytest.mark.parametrize("kind", ["fixed", "choices"])
def test_in_its_first_training_batches_every_step_reads_the_first_label_state(kind: str) -> None:
    """Against the recurrence with a label vector that never changes; and it is for these batches alone."""
    asked = port(kind=kind)
    model = asked.model
    encoded = asked.encode(corpus(kind)[0])[:2]
    batch = asked._collate(encoded, [UNCHANGED] * 2, [])
    fed = torch.tensor([[asked.start, 5, 6, 7], [asked.start, 9, 8, 4]])
    given = (batch.input_ids, batch.attention_mask, fed, batch.places)
    with torch.no_grad():
        exact = model(*given)
        source = model.read(batch.input_ids, batch.attention_mask)
        fixed = model.labels.vector(exact.states[:, 0], model.begin(source, batch.attention_mask, batch.places).choices)
        real, model.labels.vector = model.labels.vector, lambda *_: fixed
        expected = model(*given)
        model.labels.vector = real
        model.config.early_steps = 1
        try:
            early, later = model.train()(*given), model(*given)
        finally:
            model.config.early_steps = 0
            model.eval()
            model.seen.zero_()
    assert torch.allclose(early.logits, expected.logits, atol=1e-4)
    assert torch.allclose(early.states, expected.states, atol=1e-4)
    assert torch.allclose(later.states, exact.states, atol=1e-5)
    assert not torch.allclose(early.states, exact.states, atol=1e-4)


def test_gates_and_label_states_have_the_gradients_of_finite_differences() -> None:
    torch.manual_seed(0)
    base, _ = base_of("bart")  # T5's norm computes in single precision
    model = sim_over(base, LABELS, 0, 1, 0).double().eval()
    source, mask = torch.randn(2, 5, 16, dtype=torch.double), torch.ones(2, 5, dtype=torch.long)

    def scored(words: Tensor, read: Tensor) -> tuple[Tensor, Tensor]:
        output = model.follow(model.begin(read, mask), words)
        return output.states[:, -1], output.logits[:, -1, :4]

    words = torch.randn(2, 3, 16, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(scored, (words, source.requires_grad_()), eps=1e-6, atol=1e-6)
    for parameter in (model.gate[1].weight, model.contribution[5].weight, model.labels.embed[1].weight):
        value = parameter.detach().clone()

        def moved(by: float, parameter: Tensor = parameter, value: Tensor = value) -> float:
            with torch.no_grad():
                parameter.copy_(value).view(-1)[0] += by
                return float(scored(words, source)[0].sum())

        [slope] = torch.autograd.grad(scored(words, source)[0].sum(), parameter)
        assert float(slope.view(-1)[0]) == pytest.approx((moved(1e-5) - moved(-1e-5)) / 2e-5, rel=1e-4, abs=1e-8)
        moved(0.0)


def test_soft_words_are_expected_embeddings_and_hard_ones_differ_in_value_only() -> None:
    logits = torch.randn(2, 1, 9, requires_grad=True)
    soft, hard = own_distribution(logits, False), own_distribution(logits, True)
    assert torch.equal(hard.argmax(-1), logits.argmax(-1))
    assert torch.allclose(hard.sum(-1), torch.ones(2, 1))
    assert torch.allclose(hard.max(-1).values, torch.ones(2, 1), atol=1e-6)
    weights = torch.randn(9)
    slopes = [torch.autograd.grad((p * weights).sum(), logits, retain_graph=True)[0] for p in (soft, hard)]
    assert torch.allclose(*slopes)
    asked = port("bart")  # its table is scaled
    model = asked.model
    encoded = asked.encode(corpus("fixed")[0])[:1]
    batch = asked._collate(encoded, [UNCHANGED], [])
    with torch.no_grad():
        source = model.read(batch.input_ids, batch.attention_mask)
        start = model.words(torch.tensor([[asked.start]]))
        wandered = model.wander(model.begin(source, batch.attention_mask), start, 4, hard=True)
        tokens = wandered.logits.argmax(-1)
        fed = torch.cat([torch.tensor([[asked.start]]), tokens[:, :-1]], 1)
        followed = model(batch.input_ids, batch.attention_mask, fed)
    assert torch.allclose(wandered.states, followed.states, atol=1e-4)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_saved_and_opened_it_is_the_same_model(name: str, kind: str, tmp_path: Path) -> None:
    asked = port(name, kind)
    asked.model.save_pretrained(tmp_path)
    asked.tokenizer.save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.bin"))
    assert (tmp_path / "model.safetensors").exists()
    again = load_port(str(tmp_path), template=None if name == "t5" else "nli.i-or")
    assert isinstance(again, SimPort)
    assert isinstance(again.model, Sim)
    assert again.labels == asked.labels
    encoded = again.encode(corpus(kind)[0])[:2]
    for one, other in zip(
        again.generate(encoded, [UNCHANGED] * 2, 6), asked.generate(encoded, [UNCHANGED] * 2, 6), strict=True
    ):
        assert one.ids == other.ids
        assert np.abs(np.array(one.evolution) - np.array(other.evolution)).max() < 1e-5


@pytest.mark.parametrize("kind", ["fixed", "choices"])
def test_a_label_pass_is_the_label_after_its_own_explanation_and_gradients_follow_it(kind: str) -> None:
    asked = port(kind=kind)
    examples = corpus(kind)[0]
    runner = Runner(asked)
    rationales = write_rationales(runner, examples)
    results = runner.predict(asked.encode(examples))
    for rationale, result, example in zip(rationales, results, examples, strict=True):
        names = asked.template_for(example).candidates(example, asked.labels)
        assert rationale.label == names[result.label]
        assert list(rationale.probabilities) == list(names)
        assert list(rationale.probabilities.values()) == pytest.approx(result.probabilities.tolist(), abs=1e-5)
        [encoded] = asked.encode([example])
        assert len(rationale.evolution) == len(rationale.ids) - len(encoded.candidates[result.label]) + 2
        assert rationale.evolution[-1] == pytest.approx(tuple(result.probabilities.tolist()), abs=1e-5)
    [plain] = asked.encode(examples[:1])
    [base] = runner.predict([plain])
    slopes = runner.run([Request(plain, want=frozenset({"gradient"}), target=Label(base.label))])[0].extras["gradient"]
    # the score at the embeddings, moved a little towards zero: Σ x·g is its slope (T5's first layer reads the table itself)
    table = asked.model.get_input_embeddings().weight.detach()[torch.from_numpy(plain.ids)].numpy()
    place, step = int(np.abs(slopes[:, 0]).argmax()), 1e-3

    def at(factor: float) -> float:
        moved = table.copy()
        moved[place] *= factor
        return asked.run([plain], [whence.models.Intervention(embeddings=moved)], frozenset(), [None])["scores"][0]

    there, back = (float(asked.probabilities(at(f)[None])[0, base.label]) for f in (1 + step, 1 - step))
    assert slopes[place, 0] == pytest.approx((there - back) / (2 * step), rel=0.05, abs=1e-5)


def test_gradients_of_label_and_explanation_tokens_are_those_of_their_logits() -> None:
    asked = port()
    examples = corpus("fixed")[0][:3]
    runner = Runner(asked)
    rationales = write_rationales(runner, examples)
    several = importances(runner, examples, rationales)
    assert any(found is not None for found in several)  # an untrained model may write sentinels alone
    for example, rationale, found in zip(examples, rationales, several, strict=True):
        if found is None:
            continue
        [encoded] = asked.encode([example])
        label = asked.labels.index(rationale.label)
        own = list(rationale.ids[len(encoded.candidates[label]) :])
        read = asked.model.get_input_embeddings()(torch.from_numpy(encoded.ids)[None]).detach().requires_grad_()
        mask = torch.ones(1, len(encoded), dtype=torch.long)
        source = asked.model.get_encoder()(inputs_embeds=read, attention_mask=mask).last_hidden_state
        words = asked.model.words(torch.tensor([[asked.start, *own]]))
        output = asked.model.follow(asked.model.begin(source, mask), words)
        norms = [
            torch.autograd.grad(logit, read, retain_graph=True)[0][0].abs().sum(-1).numpy()
            for logit in (output.states[0, -1, label], *(output.logits[0, k, i] for k, i in enumerate(own)))
        ]
        by_label, by_text = (encoded.sum_to_words(n)[encoded.seen] for n in (norms[0], sum(norms[1:])))
        assert np.allclose(found.label, by_label, rtol=1e-3, atol=1e-5)
        assert np.allclose(found.rationale, by_text, rtol=1e-3, atol=1e-5)


def test_the_score_of_a_text_is_that_of_its_label_and_its_tokens() -> None:
    asked = port()
    [encoded] = asked.encode(corpus("fixed")[0][:1])
    [written] = asked.generate([encoded], [UNCHANGED], 5)
    for ended in (False, True):
        ids = (*written.ids, *asked.ends[:1]) if ended else written.ids
        [result] = Runner(asked).run([Request(encoded, target=Text(ids, (True,) * len(ids)))])
        logits, states = by_hand(asked, encoded, [asked.start, *written.ids[len(encoded.candidates[0]) :]])
        tokens = torch.from_numpy(logits).log_softmax(-1)
        own = ids[len(encoded.candidates[0]) :]
        label = int(np.argmax(written.evolution[-1]))
        expected = float(torch.from_numpy(states[-1]).log_softmax(-1)[label]) + sum(
            float(tokens[k, i]) for k, i in enumerate(own)
        )
        assert result.score(Text(ids, (True,) * len(ids))) == pytest.approx(expected, abs=1e-3)
        assert tuple(result.best)[: len(written.ids)] == written.ids
    with pytest.raises(BadInput, match="does not begin with a label"):
        Runner(asked).run([Request(encoded, target=Text((5, 6), (True, True)))])


def test_an_edit_of_the_label_state_is_what_the_model_goes_on_with() -> None:
    asked = port.__wrapped__()
    asked.model.gate[-1].bias.data.fill_(9.0)  # an untrained gate hardly lets the label through, and an argmax hides the rest
    encoded = asked.encode(corpus("fixed")[0])
    changes = [UNCHANGED] * len(encoded)

    def frozen(step: int, state: Tensor) -> Tensor:
        return torch.tensor([[0.0, 0.0, 9.0]]).expand_as(state) if step >= 2 else state

    plain, edited = asked.generate(encoded, changes, 6), asked.generate(encoded, changes, 6, frozen)
    for before, after in zip(plain, edited, strict=True):
        assert before.evolution[:2] == after.evolution[:2]
        assert all(row[2] > 0.99 for row in after.evolution[2:])
        assert asked.decode(encoded[0].candidates[2]) in after.text
    assert any(a.ids[3:] != b.ids[3:] for a, b in zip(plain, edited, strict=True)), "the decoder reads the label state"


def test_rows_of_a_batch_do_not_change_each_other() -> None:
    for kind in ("fixed", "choices"):
        asked = port(kind=kind)
        encoded = asked.encode(corpus(kind)[0])
        together = asked.generate(encoded, [UNCHANGED] * len(encoded), 7)
        for item, found in zip(encoded, together, strict=True):
            [alone] = asked.generate([item], [UNCHANGED], 7)
            assert alone.ids == found.ids
            assert np.abs(np.array(alone.evolution) - np.array(found.evolution)).max() < 1e-5


def test_every_explainer_works_and_rationales_are_saved_with_their_evolution(tmp_path: Path) -> None:
    asked = port(kind="choices")
    examples = corpus("choices")[0][:2]
    runner = Runner(asked)
    few = {"lime": {"n_samples": 12}, "kernel_shap": {"n_samples": 32}, "integrated_gradients": {"n_steps": 2, "max_steps": 4}}
    for name, method in METHODS.items():
        if "attention" not in name:
            assert np.isfinite(explain(runner, asked.encode(examples), method, parameters=few.get(name))[0].scores).all(), name
    rationales = write_rationales(runner, examples, noise=0.1, seed=3)
    save_rationales(tmp_path / "r.jsonl", rationales)
    assert load_rationales(tmp_path / "r.jsonl") == rationales
    assert write_rationales(runner, examples, noise=0.1, seed=3) == rationales


def test_a_template_without_label_and_rationale_is_refused() -> None:
    asked = port()
    for name in ("nli.i-o", "nli.i-r"):
        with pytest.raises(BadInput, match="expected a label and then a rationale"):
            SimPort(asked.model, asked.tokenizer, name)


def test_with_label_heads_the_first_label_state_reads_every_state_and_no_padding() -> None:
    torch.manual_seed(0)
    base, _ = base_of("bart")
    model = sim_over(base, LABELS, 0, 1, 0, label_heads=2).eval()
    source, mask = torch.randn(2, 5, 16), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    with torch.no_grad():
        [found] = model.begin(source, mask).states
        for row, length in enumerate((5, 3)):
            states = source[row, :length]
            read = [torch.softmax(states @ w, 0) @ states for w in model.labels.heads.weight]
            assert torch.allclose(found[row], model.labels.first(torch.cat(read)), atol=1e-5)
    assert model.labels.first[0].normalized_shape == (32,)
    assert sim_over(base_of("bart")[0], LABELS, 0, 1, 0).labels.heads is None
    with torch.no_grad():  # all units below 0: with a plain ReLU nothing would be learned any more
        model.labels.first[1].bias.fill_(-100.0)
    [slope] = torch.autograd.grad(model.begin(source.requires_grad_(), mask).states[0].square().sum(), source)
    assert slope.abs().max() > 0
