"""SaLoss: the divergence by hand, by scipy and by finite differences; the released variant by plain loops; real tiny models."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from tiny import MODELS, pairs, texts
from torch import Tensor

from whence.data import Corpus, Example
from whence.errors import BadInput
from whence.models import Classifier, collate
from whence.run import Request, Runner
from whence.teach import Job, Settings, default_settings, run_job
from whence.teach.objectives import CorpusFacts, Step, total
from whence.teach.objectives.divergence import divergence
from whence.teach.objectives.saloss import released_divergence
from whence.teach.salience import Tokens
from whence.teach.salience.cache import salience


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / "cache"))


def drawn(rows: int = 3, tokens: int = 6, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(attention over all real tokens, σ over content, content, real), float64, with specials and padding of each kind."""
    draw = torch.Generator().manual_seed(seed)
    real = torch.ones(rows, tokens, dtype=torch.bool)
    real[1, -2:] = False
    content = real.clone()
    content[:, 0] = False
    content[torch.arange(rows), real.sum(1) - 1] = False
    attention = torch.rand(rows, tokens, generator=draw, dtype=torch.float64) * real
    target = torch.rand(rows, tokens, generator=draw, dtype=torch.float64) * content
    return attention / attention.sum(1, keepdim=True), target / target.sum(1, keepdim=True), content, real


def test_by_hand() -> None:
    """α = (½, ¼, ¼ at [SEP]) over content (⅔, ⅓); σ = (½, ½): KL = ⅔ ln 4⁄3 + ⅓ ln ⅔. The second text has no words."""
    attention = torch.tensor([[0.0, 0.5, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0]], dtype=torch.float64)
    target = torch.tensor([[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    content = torch.tensor([[False, True, True, False], [False, False, False, False]])
    expected = 2 / 3 * math.log(4 / 3) + 1 / 3 * math.log(2 / 3)
    assert divergence(attention, target, content).item() == pytest.approx(expected / 2, abs=1e-8)


def test_is_scipys_relative_entropy() -> None:
    attention, target, content, _ = drawn()
    expected = [entropy(a[c], t[c]) for a, t, c in zip(attention, target, content, strict=True)]
    assert divergence(attention, target, content).item() == pytest.approx(np.mean(expected), abs=1e-7)
    assert divergence(target, target, content).item() == pytest.approx(0, abs=1e-7)


def test_a_zero_in_the_prior_costs_much_but_not_all() -> None:
    content = torch.tensor([[True, True]])
    attention, target = torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])
    assert divergence(attention, target, content).item() == pytest.approx(0.5 * (-math.log(1e-10)) - math.log(2), rel=1e-5)


def test_gradients_by_finite_differences() -> None:
    attention, target, content, real = drawn()
    attention.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda a: divergence(a, target, content), attention)
    softmaxed = torch.where(real, target, torch.zeros_like(target)).masked_fill(~real, float("-inf")).softmax(-1)
    assert torch.autograd.gradcheck(lambda a: released_divergence(a, softmaxed, real), attention)


def test_released_by_loops() -> None:
    attention, target, _, real = drawn()
    target = target.masked_fill(~real, float("-inf")).softmax(-1)
    summed = 0.0
    for a, t, r in zip(attention.tolist(), target.tolist(), real.tolist(), strict=True):
        powers = [math.exp(x) for x, is_real in zip(a, r, strict=True) if is_real]
        again = [p / sum(powers) for p in powers]
        summed += sum(p * (math.log(p + 1e-10) - math.log(q + 1e-10)) for p, q in zip(again, t, strict=False))
    assert released_divergence(attention, target, real).item() == pytest.approx(summed**2, rel=1e-9)


def facts_of(classifier: Classifier, examples: list[Example]) -> CorpusFacts:
    labels = torch.tensor([i % 3 for i in range(len(examples))])
    return CorpusFacts(examples, classifier.encode(examples), labels, classifier)


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("fields", ["texts", "pairs"])
@pytest.mark.parametrize("model", ["bert", "roberta", "distilbert"])
def test_reads_the_models_own_attention(model: str, fields: str, variant: str) -> None:
    """A padded batch against each text alone: attention by the runner, special tokens by the tokenizer's own ids."""
    torch.manual_seed(0)
    classifier = MODELS[model]()
    examples = texts() if fields == "texts" else pairs()
    facts = facts_of(classifier, examples)
    rows = [4, 0, 2]
    batch = collate([facts.encoded[i] for i in rows], classifier.pad_id, torch.device("cpu"))
    classifier.model.eval()
    logits, attention = classifier.training_pass(batch, read_attention=True)
    found = total({"saloss": 1.0}, {"saloss": {"variant": variant}}, facts)(
        Step(batch, rows, facts.labels[rows], logits, attention)
    )
    tokens = Tokens(facts.encoded, facts.labels.numpy())
    options, scaling = ({"window": 8, "released": True}, "softmaxed") if variant == "released" else ({}, "normalised")
    priors = salience("textrank", tokens, tokens, options, scaling)
    alone = []
    for i in rows:
        [result] = Runner(classifier).run([Request(facts.encoded[i], want=frozenset({"attention"}))])
        special = np.isin(facts.encoded[i].ids, classifier.tokenizer.all_special_ids)
        a = result.extras["attention"].astype(np.float64)
        if variant == "released":
            a = np.exp(a) / np.exp(a).sum()
            alone.append((a * (np.log(a) - np.log(priors[i]))).sum())
        else:
            alone.append(entropy(a[~special], priors[i][~special]))
    expected = np.sum(alone) ** 2 if variant == "released" else np.mean(alone)
    assert found.item() == pytest.approx(expected, rel=2e-4)
    found.backward()
    assert any(
        p.grad is not None and p.grad.abs().sum() > 0
        for n, p in classifier.model.named_parameters()
        if "quer" in n or "q_lin" in n
    )


def marked_corpus() -> Corpus:
    """ "good" and "bad" decide, and are marked."""

    def rows(split: str, count: int) -> list[Example]:
        draw = np.random.default_rng(len(split))
        made = []
        for i in range(count):
            noise = draw.choice(["film", "the", "plot", "was", "and", "a"], size=6).tolist()
            at = int(draw.integers(0, 6))
            noise[at] = "good" if i % 2 else "bad"
            start = sum(len(w) + 1 for w in noise[:at])
            mark = {"text": ((start, start + len(noise[at])),)}
            made.append(
                Example(f"{split}{i}", {"text": " ".join(noise)}, "positive" if i % 2 else "negative", highlights=(mark,))
            )
        return made

    sizes = {"train": 160, "dev": 20, "test": 20}
    return Corpus("toy", "text", ("negative", "positive"), {s: (lambda s=s, n=n: iter(rows(s, n))) for s, n in sizes.items()})


def mean_divergence(folder: Path, corpus: Corpus, prior: str) -> float:
    classifier = Classifier.load(folder)
    facts = CorpusFacts([], classifier.encode(corpus.load("test")), torch.zeros(20, dtype=torch.long), classifier)
    tokens = Tokens(facts.encoded, facts.labels.numpy())
    results = Runner(classifier).run([Request(e, want=frozenset({"attention"})) for e in facts.encoded])
    found = []
    for e, r, s in zip(facts.encoded, results, salience(prior, tokens, tokens), strict=True):
        content = e.field >= 0
        found.append(entropy(r.extras["attention"][content], s[content] + 1e-10))
    return float(np.mean(found))


def test_on_dev_a_prior_is_the_one_fitted_on_the_training_set() -> None:
    """Else dev labels would tell which words are salient on dev."""
    classifier = MODELS["bert"]()
    training, dev = facts_of(classifier, texts()), facts_of(classifier, texts()[:3])
    batch = collate(list(dev.encoded), classifier.pad_id, torch.device("cpu"))
    classifier.model.eval()
    logits, attention = classifier.training_pass(batch, read_attention=True)
    step = Step(batch, [0, 1, 2], dev.labels, logits, attention)

    def loss(facts: CorpusFacts) -> float:
        return total({"saloss": 1.0}, {"saloss": {"prior": "chi2"}}, facts)(step).item()

    tokens = Tokens(training.encoded, training.labels.numpy())  # the dev texts are its first three
    same_texts = salience("chi2", tokens, tokens)
    target = torch.zeros_like(batch.input_ids, dtype=torch.float32)
    for row in range(3):
        target[row, : len(same_texts[row])] = torch.tensor(same_texts[row])
    assert attention is not None
    assert loss(replace(dev, training=training)) == pytest.approx(divergence(attention, target, batch.content).item(), rel=1e-5)
    assert loss(dev) != pytest.approx(loss(replace(dev, training=training)), rel=1e-3)


def test_training_draws_attention_to_the_prior(tmp_path: Path) -> None:
    def job(weight: float) -> Job:
        given = default_settings("encoder") | {"epochs": 6, "batch_size": 8, "learning_rate": 5e-3, "select": "loss"}
        objective = {"cross_entropy": 1.0} | ({"saloss": weight} if weight else {})
        options = {"saloss": {"prior": "planted"}} if weight else {}
        settings = Settings(**given, objective=objective, options=options)
        return Job(data="toy", model="encoder", options={"hidden_size": 16}, settings=settings)

    corpus = marked_corpus()
    for name, weight in (("without", 0.0), ("with", 1.0)):
        run_job(job(weight), corpus, tmp_path / name, lambda _: None)
    without, guided = (mean_divergence(tmp_path / name, corpus, "planted") for name in ("without", "with"))
    assert guided < 0.2 * without


def test_bad_options(tmp_path: Path) -> None:
    facts = facts_of(MODELS["bert"](), texts())
    with pytest.raises(BadInput, match="unknown variant of saloss 'x': expected one of paper, released"):
        total({"saloss": 1.0}, {"saloss": {"variant": "x"}}, facts)
    with pytest.raises(BadInput, match="unknown salience prior 'x'"):
        total({"saloss": 1.0}, {"saloss": {"prior": "x"}}, facts)


def test_cross_entropy_on_probabilities() -> None:
    facts = facts_of(MODELS["bert"](), texts())
    batch = collate(facts.encoded[:1], 0, torch.device("cpu"))
    step = Step(batch, [0], torch.tensor([2]), torch.tensor([[0.0, 0.0, 50.0]]))
    found = total({"cross_entropy_on_probabilities": 1.0}, {}, facts)(step)
    assert found.item() == pytest.approx(math.log(2 + math.e) - 1, rel=1e-6)  # sure and right, and still far from 0
