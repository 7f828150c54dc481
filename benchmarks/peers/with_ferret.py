"""ferret-xai as its users call it: six explainers and three measures of faithfulness, with its defaults; one text at a time."""

from importlib.metadata import version
from typing import Any

from ferret import Benchmark
from ferret.benchmark import lp_normalize
from game import Notes, Sentence, play

FAITHFULNESS = ("aopc_compr", "aopc_suff", "taucorr_loo")
EQUAL = {"num_samples": 256}
"""Of LIME, for the table of equal samples; Partition SHAP stops by itself on short sentences."""
LIMIT = {"n_steps": 300}
"""Points of the path that stand for the limit of integrated gradients."""


def contest(notes: Notes, sets: dict[str, list[Sentence]]) -> None:
    bench = Benchmark(notes.game.model, notes.game.tokenizer)
    bench.evaluators = [e for e in bench.evaluators if e.SHORT_NAME in FAITHFULNESS]
    made: dict[str, dict[str, Any]] = {}

    def explained(sentence: Sentence, explainer: Any, **given: Any) -> Any:
        one = explainer(sentence.text, sentence.target, call_args=dict(given))
        made.setdefault(sentence.text, {})[explainer.NAME] = one
        return one.scores

    def evaluated(sentence: Sentence) -> None:
        several = lp_normalize(list(made[sentence.text].values()))
        bench.evaluate_explanations(several, sentence.target, show_progress=False)

    for name, sentences in sets.items():
        for explainer in bench.explainers:
            notes.time(explainer.NAME, name, "default", lambda s, e=explainer: explained(s, e), sentences)
        notes.time("three measures of six explanations", name, "default", evaluated, sentences)
    by_name = {explainer.NAME: explainer for explainer in bench.explainers}
    path = by_name["Integrated Gradient (x Input)"]
    notes.time("LIME", "short", EQUAL["num_samples"], lambda s: explained(s, by_name["LIME"], **EQUAL), sets["short"])
    for name, sentences in sets.items():
        notes.time(path.NAME, name, "limit", lambda s: explained(s, path, **LIMIT), sentences)


if __name__ == "__main__":
    play(f"ferret-xai {version('ferret-xai')}", contest)
