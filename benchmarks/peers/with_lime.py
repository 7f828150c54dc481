"""lime: its text explainer, with words split at spaces and the mask token in the place of a hidden word."""

from importlib.metadata import version

from game import Notes, Sentence, play
from lime.lime_text import LimeTextExplainer

SAMPLES = 256


def explain(sentence: Sentence, samples: int) -> list[float]:
    mask = sentence.game.tokenizer.mask_token
    explainer = LimeTextExplainer(bow=False, split_expression=lambda text: text.split(" "), mask_string=mask, random_state=0)
    made = explainer.explain_instance(
        sentence.text, sentence.game.probabilities, labels=[sentence.target], num_features=1000, num_samples=samples
    )
    by_place = dict(made.local_exp[sentence.target])
    return [by_place[i] for i in range(len(by_place))]


def contest(notes: Notes, sets: dict[str, list[Sentence]]) -> None:
    for texts, sentences in sets.items():
        notes.time("LIME", texts, SAMPLES, lambda s: explain(s, SAMPLES), sentences)


if __name__ == "__main__":
    play(f"lime {version('lime')}", contest)
