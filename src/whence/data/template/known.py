"""The templates that have a name.

nli.*, cose.*   the formats of Wiegreffe et al. 2021, as their code writes them. I is the input, R the rationale, O the label.
                Their I→O input keeps the word "explain", and their I→R target says "None" where the label would stand.
                Their own end mark "[EOS]" is left out: today's tokenizers add the model's own.
t5.*            what T5 was pre-trained on (Raffel et al. 2020)
source.i-or     a source that was made before (an occluded one), as it is
prompt.*        for causal models; the target begins with a space, because tokenizers of such models glue it to the word
"""

from whence.data.example import Example
from whence.data.template.template import Template

_NLI = "hypothesis: {hypothesis} premise: {premise}"
_COSE = "question: {question}{choices}"
_ANSWER = "{label} explanation: {rationale}"


def _published(name: str, everything: str, without_question: str) -> list[Template]:
    """The five models of a task: `everything` is the whole input, `without_question` what R→O sees besides the rationale."""
    told = "explanation: {rationale}"
    task = "nli" if name == "nli" else "cos_e"
    return [
        Template(f"{name}.i-or", f"explain {task} {everything}", _ANSWER),
        Template(f"{name}.i-r", f"explain {task} {everything}", "None explanation: {rationale}"),
        Template(f"{name}.i-o", f"explain {task} {everything}", "{label}"),
        Template(f"{name}.r-o", f"{task}{without_question} {told}", "{label}"),
        Template(f"{name}.ir-o", f"{task} {everything} {told}", "{label}"),
    ]


def _pair(premise: str, hypothesis: str, label: str, why: str) -> Example:
    return Example(f"demonstration: {label}", {"premise": premise, "hypothesis": hypothesis}, label, explanations=(why,))


_PAIRS = (
    _pair("A woman reads a newspaper on a bench.", "A person is reading.", "entailment", "A woman is a person."),
    _pair("A boy throws a ball.", "The boy is on holiday.", "neutral", "Boys also throw balls when they are not on holiday."),
    _pair("Two dogs run across a field.", "The dogs are asleep.", "contradiction", "Dogs cannot run while they are asleep."),
)
_QUESTIONS = (
    Example("demonstration: 1", {"question": "Where is bread baked?"}, "B", ("library", "oven", "river"),
            explanations=("Bread is baked in an oven.",)),
    Example("demonstration: 2", {"question": "What do people wear on cold hands?"}, "A", ("gloves", "socks", "hats"),
            explanations=("Gloves keep hands warm.",)),
)  # fmt: skip
_ASKED_PAIR = (
    "Is the hypothesis true (entailment), false (contradiction) or undecided (neutral), given the premise?\n"
    "Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:"
)
_ASKED_CHOICE = "Question: {question}\nChoices:{choices}\nAnswer:"
_LABEL, _WHY = " {label}", " {label}\nBecause: {rationale}"

_ALL = [
    *_published("nli", _NLI, ""),
    *_published("cose", _COSE, "{choices}"),
    Template("source.i-or", "{text}", _ANSWER),
    Template("t5.mnli", f"mnli {_NLI}", "{label}"),
    Template("t5.sst2", "sst2 sentence: {text}", "{label}"),
    Template("text", "classify: {text}", "{label}"),
    Template("pair", "classify: {premise} {hypothesis}", "{label}"),
    Template("choice", _COSE, "{label}"),
    Template("prompt.text", "Text: {text}\nLabel:", _LABEL, stop="\n"),
    Template("prompt.nli", _ASKED_PAIR, _LABEL, stop="\n"),
    Template("prompt.nli-few", _ASKED_PAIR, _LABEL, demonstrations=_PAIRS, stop="\n"),
    Template("prompt.nli-why", _ASKED_PAIR, _WHY, demonstrations=_PAIRS, stop="\n"),
    Template("prompt.choice", _ASKED_CHOICE, _LABEL, " {choice};", stop="\n"),
    Template("prompt.choice-few", _ASKED_CHOICE, _LABEL, " {choice};", _QUESTIONS, stop="\n"),
    Template("prompt.choice-why", _ASKED_CHOICE, _WHY, " {choice};", _QUESTIONS, stop="\n"),
    Template("prompt.choice-letter", _ASKED_CHOICE, " {letter}", "\n{letter}. {choice}", _QUESTIONS, stop="\n"),
]
TEMPLATES: dict[str, Template] = {template.name: template for template in _ALL}
