"""An audit and explanations on a Ray cluster of two nodes: the same bytes as here, also when a node is lost on the way."""

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import LABELS, pairs, texts, tiny_bert

from whence.api import load, sweep
from whence.data import Example, open_template
from whence.data.corpus import Corpus
from whence.data.planted import shortcuts
from whence.errors import BadInput
from whence.explain.to_file import explain_to_file
from whence.measure import association_run
from whence.measure import audit as audit_module
from whence.measure.association import RationaleAudit
from whence.measure.audit import run_audit
from whence.measure.audited import Audit
from whence.models import Seq2Seq
from whence.models.text_models import build_text_model
from whence.run.engine import Item, LocalEngine, make_engine
from whence.run.ray_engine import RayEngine
from whence.studies import calibrate as calibration

HERE = Path(__file__).parents[1]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))  # workers import `tiny`
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    try:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 1, "include_dashboard": False})
        made.other = made.add_node(num_cpus=1)
    except Exception as error:
        pytest.skip(f"the machine is too busy: {error}")
    yield made
    ray.shutdown()
    made.shutdown()


def films(count: int) -> list[Example]:
    some = texts()
    return [Example(str(i), some[i % len(some)].texts, some[i % len(some)].label) for i in range(count)]


def test_a_lost_node_loses_nothing(tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, because starting Ray takes many seconds."""
    torch.manual_seed(0)
    bert, quiet = tiny_bert(), lambda _: None
    monkeypatch.setattr(audit_module, "SHARD_EXAMPLES", 2)
    job = Audit("m", "d", "test", films(40), ["leave_one_out", "gradient_l2"], ["decision_flip", "loo_tau"])
    engine = RayEngine(cluster.address)
    run_audit(job, bert, tmp_path / "local", quiet, LocalEngine())
    lost = threading.Event()
    written = audit_module.RunFolder.write_shard

    def write_and_lose(self: Any, name: str, *more: Any) -> None:
        written(self, name, *more)
        if not lost.is_set():  # the first shard is there: now the other node goes, with what it was doing
            lost.set()
            cluster.remove_node(cluster.other, allow_graceful=False)

    monkeypatch.setattr(audit_module.RunFolder, "write_shard", write_and_lose)
    run_audit(job, bert, tmp_path / "ray", quiet, engine)
    assert lost.is_set()
    for name in ("results.json", "explanations.jsonl"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    shards = [sorted((tmp_path / where / "shards").iterdir()) for where in ("ray", "local")]
    assert [p.read_bytes() for p in shards[0]] == [p.read_bytes() for p in shards[1]]

    model, corpus = load(bert), Corpus("films", "text", (), {"test": lambda: iter(films(70))}).select("test")

    def make(method: str, several: list[Example]) -> Any:
        return model.explain(several, method=method)

    for where, chosen in (("a", LocalEngine()), ("b", engine)):
        explain_to_file(tmp_path / where, {}, corpus, ["gradient_l1", "random"], make, quiet, chosen)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    monkeypatch.setattr(calibration, "PART", 4)
    planted = [replace(e, label=LABELS[i % 3]) for i, e in enumerate(shortcuts(0).load("test", 10))]
    found = [calibration.calibrate(bert, planted, ["gradient_l2"], engine=chosen) for chosen in (LocalEngine(), engine)]
    assert found[0] == found[1]
    assert found[0]["examples"] == 10

    writer = small_writer()
    monkeypatch.setattr(association_run, "SHARD", 2)
    for where, chosen in (("written", LocalEngine()), ("written on ray", engine)):
        settings = {"levels": 2, "draws": 2, "max_tokens": 6}
        association_run.run_rationale_audit(
            RationaleAudit("m", "d", "test", told(), settings), writer, tmp_path / where, quiet, chosen
        )
    for name in ("results.json", "rationales.jsonl"):
        assert (tmp_path / "written" / name).read_bytes() == (tmp_path / "written on ray" / name).read_bytes()

    for where, on in (("swept", {}), ("swept on ray", {"engine": "ray", "address": cluster.address})):
        monkeypatch.setenv("WHENCE_CACHE", str(tmp_path / f"cache of {where}"))
        usual: dict[str, Any] = {"limit": 24, "epochs": 1, "options": {"hidden_size": 8}, "say": quiet, **on}
        swept = sweep("reviews", "mlp", tmp_path / where, {"seed": [0, 1]}, **usual)
    for name in ("results.json", *(f"{run['run']}/model/model.safetensors" for run in swept["runs"])):
        assert (tmp_path / "swept" / name).read_bytes() == (tmp_path / "swept on ray" / name).read_bytes()


def told() -> list[Example]:
    names = ("entailment", "neutral", "contradiction")
    return [replace(e, label=names[i % 3], explanations=("it says so",)) for i, e in enumerate(pairs())]


def small_writer() -> Seq2Seq:
    """It was never trained, so it writes nonsense: the same nonsense everywhere."""
    template = open_template("nli.i-or")
    words = [text for e in told() for text in (template.render(e).text, template.render_target(e))]
    model, tokenizer = build_text_model("small_t5", words, {"hidden_size": 16, "layers": 1})
    return Seq2Seq(model.eval(), tokenizer, template, ("entailment", "neutral", "contradiction"))


def test_what_a_task_raises_is_raised_here(cluster: Any) -> None:
    def work(shared: int, given: int, _: Any) -> int:
        if given == 3:
            raise ValueError("three")
        return shared + given

    ticks: list[int] = []
    items = [Item(str(i), i, 2) for i in range(3)]
    engine = RayEngine(cluster.address)
    assert dict(engine.spread(work, 10, items, ticks.append)) == {"0": 10, "1": 11, "2": 12}
    assert ticks == [2, 2, 2]
    with pytest.raises(ValueError, match="three"):
        list(engine.spread(work, 10, [*items, Item("3", 3, 1)], ticks.append))

    def share(shared: int, given: int, _: Any) -> float:
        import ray

        return ray.get_runtime_context().get_assigned_resources()["GPU"]

    assert dict(RayEngine(cluster.address, 0.25).spread(share, 0, items[:1], ticks.append)) == {"0": 0.25}
    with pytest.raises(BadInput, match="a task needs 2 GPUs, but Ray's largest node has 1"):
        list(RayEngine(cluster.address, 2).spread(share, 0, items, ticks.append))


def test_a_task_has_a_gpu_where_the_model_has_one() -> None:
    engine = make_engine("ray")
    assert [engine.on(device).gpus for device in ("cpu", "mps", "cuda")] == [None, None, 1.0]  # type: ignore[attr-defined]
    assert make_engine("ray", gpus=0.25).on("cuda").gpus == 0.25  # type: ignore[attr-defined]
    for wrong in (-1, 1.5, float("nan"), float("inf")):
        with pytest.raises(BadInput, match=r"expected a part of a GPU from 0 to 1, such as 0\.25, or a whole number"):
            make_engine("ray", gpus=wrong)
    with pytest.raises(BadInput, match="with --engine ray only"):
        make_engine("local", gpus=1)
