"""What docs/security.md promises and no other test keeps."""

import io
import json
import pickle
import sys
from pathlib import Path

import pytest
import torch
from tiny import tiny_bert, wordpiece_tokenizer

from whence.cli import main
from whence.errors import BadInput
from whence.models import Classifier


@pytest.mark.parametrize("verb", [["train", "--data", "reviews", "--limit", "20", "--out", "OUT", "--model"],
                                  ["explain", "--text", "good", "--model"],
                                  ["audit", "--data", "reviews", "--out", "OUT", "--model"]])  # fmt: skip
def test_no_verb_runs_the_python_of_a_model_folder(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, ran = tmp_path / "evil", tmp_path / "ran"
    folder.mkdir()
    (folder / "evil.py").write_text(f"open({str(ran)!r}, 'w')\nclass EvilConfig: pass\nclass Evil: pass\n")
    auto = {"AutoConfig": "evil.EvilConfig", "AutoModelForSequenceClassification": "evil.Evil", "AutoTokenizer": "evil.Evil"}
    (folder / "config.json").write_text(json.dumps({"model_type": "no such type", "auto_map": auto}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"auto_map": auto}))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 9))
    monkeypatch.setattr(
        sys, "argv", ["whence", *(str(tmp_path / "out") if word == "OUT" else word for word in verb), str(folder)]
    )
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert not ran.exists()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1


class Payload:
    def __init__(self, ran: Path) -> None:
        self.ran = ran

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.ran,)


def test_pickled_weights_run_nothing(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    tiny_bert().model.config.save_pretrained(tmp_path)
    wordpiece_tokenizer().save_pretrained(tmp_path)
    torch.save({"bert.embeddings.word_embeddings.weight": Payload(ran)}, tmp_path / "pytorch_model.bin")
    pickle.loads(pickle.dumps(Payload(ran)))
    assert ran.exists(), "the payload works"
    ran.unlink()
    with pytest.raises(BadInput, match="cannot load model"):
        Classifier.load(tmp_path)
    assert not ran.exists()


def test_no_source_file_unpickles_or_evaluates() -> None:
    """Readers of files of others never hand them to something that runs what they say."""
    forbidden = (
        "import pickle", "torch.load(", "yaml.load(", " eval(", " exec(", "os.system", "shell=True", "trust_remote_code=True",
    )  # fmt: skip
    source = Path(__file__).parent.parent / "src"
    found = [(file.name, word) for file in source.rglob("*.py") for word in forbidden if word in file.read_text()]
    assert found == []
