"""Training with hidden alignments: words may be hidden from each other, special tokens never; evaluation is untouched."""

import torch
from tiny import own_model, pairs

from whence.models import collate
from whence.models.pairs import some_hidden, split_pair


def test_special_tokens_stay_and_the_share_is_drawn_up_to_the_most() -> None:
    torch.manual_seed(0)
    lengths, width = [4, 6], 8  # [CLS] w w [SEP] | w w w [SEP] and [CLS] w w w w [SEP] | w [SEP]
    attention = torch.ones(2, width, dtype=torch.long)
    types = torch.tensor([[0] * n + [1] * (width - n) for n in lengths])
    pair = split_pair(torch.randn(2, width, 3), attention, types)
    drawn = torch.stack([some_hidden(pair, 0.5) for _ in range(4000)]).float()
    assert drawn[:, 0, 0].all()  # [CLS]
    assert drawn[:, 0, 3].all()  # [SEP] of the premise
    assert drawn[:, 0, :, 3].all()  # [SEP] of the hypothesis
    words = drawn[:, 0, 1:3, :3]
    assert abs(words.mean() - 0.75) < 0.01  # the share hidden is uniform on [0, 0.5]
    assert not some_hidden(pair, 0.0).logical_not().any()


def test_only_training_hides() -> None:
    classifier = own_model("esim")
    classifier.model.config.hide_alignments = 0.9
    batch = collate(classifier.encode(pairs()), classifier.pad_id, classifier.device)
    with torch.no_grad():
        first, second = (classifier.model.eval()(**batch.inputs()).logits for _ in range(2))
        assert torch.equal(first, second)
        classifier.model.train()
        for part in classifier.model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        assert not torch.equal(classifier.model(**batch.inputs()).logits, first)
        classifier.model.config.hide_alignments = 0.0
        torch.testing.assert_close(classifier.model(**batch.inputs()).logits, first)
