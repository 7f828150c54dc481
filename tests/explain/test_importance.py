"""a(X)_L and a(X)_R against one autograd call for each token, written out by hand; the agreement against scipy."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from test_rationales import PAIRS, writer

from whence.explain.text import Rationale
from whence.explain.text.importance import Importance, importances
from whence.measure.agreement import agreement, rank_agreement
from whence.models import Causal, Text
from whence.models.generator import Generator
from whence.models.token_gradients import below_the_head, own_logits
from whence.run import Request


def one_by_one(model: Generator, source: np.ndarray, ids: tuple[int, ...]) -> np.ndarray:
    """float[source tokens, written tokens]: a forward and a backward pass for each token."""
    columns = []
    read = model.model.get_input_embeddings()
    for k, token in enumerate(ids):
        words = torch.tensor(source)[None]
        if isinstance(model, Causal):
            whole = read(torch.cat([words, torch.tensor([ids])], 1)).detach().requires_grad_()
            logit = model.model(inputs_embeds=whole).logits[0, len(source) + k - 1, token]
            columns.append(torch.autograd.grad(logit, whole)[0][0, : len(source)].abs().sum(-1).numpy())
        else:
            embedded = read(words).detach().requires_grad_()
            begun = torch.tensor([[model.model.config.decoder_start_token_id, *ids[:k]]])
            logit = model.model(inputs_embeds=embedded, decoder_input_ids=begun).logits[0, -1, token]
            columns.append(torch.autograd.grad(logit, embedded)[0][0].abs().sum(-1).numpy())
    return np.stack(columns, 1)


@pytest.mark.parametrize("kind", ["t5", "t5 with capped logits", "llama", "gpt2"])
def test_token_gradients_equal_one_backward_pass_for_each_token(kind: str) -> None:
    runner = writer(kind.split()[0])
    model = runner.classifier
    assert isinstance(model, Generator)
    if "capped" in kind:  # what comes after the output table counts too
        model.model.get_output_embeddings().register_forward_hook(lambda _, __, logits: logits.tanh())
    texts = [model.target_ids("yes explanation: the film is good"), model.target_ids("no")]
    asked = [tuple(k % 3 != 1 for k in range(len(ids))) for ids in texts]
    encoded = model.encode(PAIRS)
    want = frozenset({"token_gradients"})
    requests = [Request(e, want=want, target=Text(t, a)) for e, t, a in zip(encoded, texts, asked, strict=True)]
    for result, item, ids, flags in zip(runner.run(requests), encoded, texts, asked, strict=True):
        expected = one_by_one(model, item.ids, ids)
        found = result.extras["token_gradients"][:, : sum(flags)]
        np.testing.assert_allclose(found, expected[:, list(flags)], rtol=2e-3, atol=1e-5 * expected.max())
        assert not result.extras["token_gradients"][:, sum(flags) :].any()
    assert runner.paid.backward == sum(map(sum, asked))


def test_a_logit_is_read_off_its_own_row_where_that_is_the_same_number() -> None:
    model = writer("t5").classifier
    assert isinstance(model, Generator)
    ids = torch.tensor([[5, 3, 1]])
    with below_the_head(model.model) as seen:
        logits = model.model(input_ids=torch.tensor([[4, 6]]), decoder_input_ids=torch.tensor([[0, 5, 3]])).logits
    plain = logits.gather(2, ids[..., None])[..., 0]
    found = own_logits(model.model, seen, ids, plain)
    assert found is not plain
    torch.testing.assert_close(found, plain)
    for other in (plain + 1, plain.tanh()):
        assert own_logits(model.model, seen, ids, other) is other
    assert own_logits(model.model, [], ids, plain) is plain


def test_parts_are_summed_over_their_own_tokens_and_to_words() -> None:
    runner = writer("t5")
    model = runner.classifier
    assert isinstance(model, Generator)
    ids = model.target_ids("yes explanation: good", ended=False)
    parts = ("label", *[""] * (len(ids) - 3), "rationale", "rationale")
    told = Rationale("a", {}, "yes", "good", ("x",) * len(ids), ids, (-1.0,) * len(ids), parts, True)
    silent = Rationale("b", {}, "yes", "", ("x",), ids[:1], (-1.0,), ("label",), True)
    found, nothing = importances(runner, PAIRS, [told, silent])
    assert nothing is None
    assert found is not None
    [item] = model.encode(PAIRS[:1])
    norms = one_by_one(model, item.ids, ids)
    assert found.words == ("a", "dog", "slept", "the", "old", "cat", "sat")
    np.testing.assert_allclose(found.label, item.sum_to_words(norms[:, 0]), rtol=1e-3)
    np.testing.assert_allclose(found.rationale, item.sum_to_words(norms[:, -2:].sum(1)), rtol=1e-3)


def corpus(bond: float, examples: int = 30) -> list[Importance | None]:
    draw = np.random.default_rng(0)
    made: list[Importance | None] = []
    for i in range(examples):
        label, other = draw.random((2, 8))
        made.append(Importance(str(i), tuple("abcdefgh"), label, bond * label + (1 - bond) * other))
    return made


def test_agreement_is_spearmans_and_has_a_null() -> None:
    bound = [one for one in corpus(0.5) if one is not None]
    together = agreement([*bound, None])
    assert together is not None
    expected = [spearmanr(one.label, one.rationale).statistic for one in bound]
    np.testing.assert_allclose(together.value.value, np.mean(expected))
    np.testing.assert_allclose(rank_agreement(bound[0].label, bound[0].rationale), expected[0])
    assert (together.examples, together.left_out) == (30, 1)
    assert together.above_chance
    assert together.p == pytest.approx(1 / 2001)
    assert abs(together.null) < 0.02
    apart = agreement(corpus(0.0))
    assert apart is not None
    assert not apart.above_chance
    opposed = agreement([Importance(x.id, x.words, x.label, -x.label) for x in bound])
    assert opposed is not None
    assert opposed.p == 1.0


def test_constant_importance_has_no_agreement() -> None:
    flat = Importance("a", tuple("abc"), np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert rank_agreement(flat.label, flat.rationale) is None
    assert agreement([flat]) is None
