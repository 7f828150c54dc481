# ruff: noqa: E501  (a rule of the grammar reads best on one line)
"""A grammar of command lines, good, wrong and hostile, and a sandbox that they run in; `test_fuzz.py` runs them.

A case is made from its number alone: `WHENCE_FUZZ_CASE=123 pytest tests/test_fuzz.py` runs that one again.
"""

import gzip
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import torch
from tiny import own_model

HOSTILE = (
    "", " ", "\x1b[31mred\x1b]0;title\x07", "[red]x[/red]", "[/]", "\udcff\udc80", "ü\u202e\u2066", "a" * 5000, "../..", "~nobody/x",
    "nan", "-1", "0", "1e309", "9" * 400, "null", "{}", "[]", "true", "a=b", ".", "/", "/dev/null", "-", "%s%n{}", "\n\r\n", "LABEL_0",
    "\x9b31m", "--", "good\ttext", "\u200b", "😀👩‍👩‍👧",
)  # fmt: skip
LONG = "x " * 700
TEXTS = (
    "a good film",
    "bad",
    "",
    "   ",
    "\u200b",
    LONG,
    "ein <b>guter</b> Film & mehr",
    "a\ud800b",
    "\x1b[2Jclear",
    "数字2.5 电影",
)


def build(folder: Path) -> None:
    """Models, data, explanations, broken files, and folders that nobody may touch."""
    torch.manual_seed(0)
    for name in ("mlp", "decomposable", "bilstm"):
        classifier = own_model(name)
        classifier.model.save_pretrained(folder / name)
        classifier.tokenizer.save_pretrained(folder / name)
    (folder / "out").mkdir()
    rows = "".join(
        f"{'a good film' if i % 2 else 'a bad, long film'};{('negative', 'neutral', 'positive')[i % 3]}\n" for i in range(6)
    )
    (folder / "good.csv").write_text("text,label\n" + rows.replace(", ", " ").replace(";", ","))
    (folder / "Semi.CSV").write_text("Text;Label\n" + rows)
    (folder / "pairs.tsv").write_text(
        "premise\thypothesis\tlabel\n" + "A cat sat.\tA dog slept.\tneutral\nA man naps.\tA man runs.\tpositive\n"
    )
    (folder / "unlabelled.jsonl").write_text('{"text": "fine"}\n{"text": "\\ud800 odd"}\n')
    (folder / "hostile.jsonl").write_text(
        "".join(json.dumps({"text": t, "label": h, "id": h}) + "\n" for t, h in zip(TEXTS, HOSTILE[4:], strict=False))
    )
    (folder / "\x1b[31m[red]name.csv").write_text("te\x1bxt,la[bold]bel\nx\n")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("text,label\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 4)
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"text,label\n" + b"a film,pos\n" * 999)[:60])
    (folder / "bad.parquet").write_bytes(b"PAR1 no PAR1")
    (folder / "bad.xlsx").write_bytes(b"PK\x03\x04 no")
    (folder / "quotes.csv").write_text('text,label\n"open,x\n')
    (folder / "twice.csv").write_text("text,text\na,b\n")
    (folder / "folder.csv").mkdir()
    (folder / "splits").mkdir()
    for split in ("train", "dev", "test"):
        (folder / "splits" / f"{split}.csv").write_text("text,label\n" + rows.replace(", ", " ").replace(";", ","))
    (folder / "precious").mkdir()
    (folder / "precious" / "thesis.txt").write_text("years of work")
    (folder / "list").mkdir()
    (folder / "list" / "config.json").write_text("[]")
    (folder / "halfmodel").mkdir()
    (folder / "halfmodel" / "config.json").write_text((folder / "mlp" / "config.json").read_text())
    (folder / "garbage").mkdir()
    (folder / "garbage" / "config.json").write_text('{"model_type": "bert", "hidden_size": "many"}')
    (folder / "old.jsonl").write_text("an older file\n")
    scored = {"format": "whence.token_scores@1", "id": "all-1", "texts": {"text": "a bad long film"}, "spans": {"text": [[0, 1], [2, 5]]},
              "scores": [0.5, 1.0], "method": "m", "target": "negative", "probability": 0.5}  # fmt: skip
    (folder / "made.jsonl").write_text(json.dumps(scored) + "\n")
    (folder / "eraser.jsonl").write_text('{"annotation_id": "all-1", "rationales": [], "classification": "neutral"}\n')


def listing(folder: Path) -> dict[str, tuple[int, str]]:
    """Every path below with its size and hash; folders have none."""
    found = {}
    for path in sorted(folder.rglob("*")):
        whole = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (len(whole), hashlib.sha256(whole).hexdigest() if path.is_file() else "folder")
    return found


class Grammar:
    """One command line from one number."""

    def __init__(self, number: int) -> None:
        self.draw = random.Random(number)
        self.number = number
        self.out: str | None = None

    def case(self) -> list[str]:
        verbs: list[tuple[Callable[[], list[str]], int]] = [
            (self.explain, 24), (self.align, 12), (self.audit, 14), (self.score, 8), (self.plan, 8), (self.train, 10),
            (self.calibrate, 4), (self.study, 4), (self.data, 12), (self.other, 4),
        ]  # fmt: skip
        made = self.draw.choices([v for v, _ in verbs], [w for _, w in verbs])[0]()
        if self.draw.random() < 0.06:  # a slip anywhere
            made.insert(self.draw.randrange(len(made) + 1), self.draw.choice((*HOSTILE, "--nope", "-x", "--seed")))
        return made

    def one(self, *good: str) -> str:
        return self.draw.choice(good) if self.draw.random() < 0.95 else self.draw.choice(HOSTILE)

    def maybe(self, chance: float, *argv: str) -> list[str]:
        return list(argv) if self.draw.random() < chance else []

    def model(self) -> list[str]:
        return self.maybe(
            0.97, "--model", self.one(*["mlp"] * 16, *["bilstm"] * 3, "decomposable", "halfmodel", "garbage", "list", "splits")
        )

    def file(self) -> str:
        return self.one(
            *["good.csv"] * 14, *["splits"] * 3, *["Semi.CSV"] * 2, "Semi.CSV", "pairs.tsv", "unlabelled.jsonl", "hostile.jsonl", "splits", "splits",
            "\x1b[31m[red]name.csv", "empty.csv", "header.csv", "binary.csv", "cut.csv.gz", "bad.parquet", "bad.xlsx", "quotes.csv",
            "twice.csv", "folder.csv", "precious", "missing.csv", "reviews", "sst", "esnlii", "mlp",
        )  # fmt: skip

    def place(self, kind: str) -> list[str]:
        """--out: new, a file that may be replaced, or something that must stay."""
        new = f"out/{self.number}{kind}"
        chosen = self.draw.choice((*[new] * 14, "precious", "old.jsonl", "out", ".", "list", "good.csv/inside", "/proc/nope/x",
                                   f"memory://fuzz/{self.number}{kind}", f"memory://fuzz/{self.number}{kind}/", "memory://", "nope://a/b",
                                   "memory://fuzz/..", "http://[/x", "memory://\x1b[31mfuzz/x.jsonl"))  # fmt: skip
        self.out = chosen
        return ["--out", chosen]

    def common(self, hides: bool = True) -> list[str]:
        return [
            *self.maybe(0.15, "--seed", self.one("0", "1", "7")), *self.maybe(0.2 * hides, "--hide", self.one("mask", "pad", "delete")),
            *self.maybe(0.05, "--labels", self.one("negative,neutral,positive", "a,b,c", "a,a,b", "a,,c", "x")),
            *self.maybe(0.1, "--set", self.one("lime.n_samples=9", "kernel_shap.n_samples=8", "lime.n_samples=0", "lime.n_samples=abc",
                                               "integrated_gradients.n_steps=0", "lime.foo=1", "nope.x=1", "lime.width=nan", "lime", "=")),
            *self.maybe(0.05, "--device", self.one("cpu", "cuda:7", "meta")), *self.maybe(0.1, "--dtype", self.one("float32", "bfloat16")),
            *self.maybe(0.1, "--batch-tokens", self.one("64", "1")), *self.maybe(0.3, "--json"),
        ]  # fmt: skip

    def reading(self) -> list[str]:
        return [
            *self.maybe(0.06, "--split", self.one("all", "test", "train")), *self.maybe(0.06, "--text-column", self.one("text", "TEXT")),
            *self.maybe(0.03, "--pair-column", self.one("hypothesis")), *self.maybe(0.05, "--label-column", self.one("label", "Label")),
            *self.maybe(0.02, "--data-root", self.one("precious")),
        ]  # fmt: skip

    def engine(self) -> list[str]:
        """Nothing here starts Ray: nobody answers at port 1."""
        nobody = ["--engine", "ray", "--address", "127.0.0.1:1"]
        wrong = [
            *self.maybe(0.05, "--engine", self.one("local", "steam")),
            *self.maybe(0.03, "--address", self.one("x", "127.0.0.1:1")),
        ]
        return [
            *self.draw.choice((nobody, *[wrong] * 30)),
            *self.maybe(0.05, "--gpus-per-task", self.one("0.25", "1", "1.5", "inf", "x")),
        ]

    def methods(self, *known: str) -> list[str]:
        chosen = [self.one(*known) for _ in range(self.draw.choice((0, 1, 1, 1, 2)))]
        return [part for name in chosen for part in ("--method", name)]

    def explain(self) -> list[str]:
        given = self.draw.choice(
            (["--text", self.draw.choice((*TEXTS, *HOSTILE))], ["--data", self.file(), "--limit", self.one("1", "2")])
        )
        return [
            "explain", *self.model(), *given, *self.maybe(0.05, "--pair", self.draw.choice(TEXTS)),
            *self.methods("leave_one_out", "lime", "attention", "gradient_l2", "integrated_gradients", "kernel_shap", "random"),
            *self.maybe(0.2, "--target", self.one("negative", "positive")), *(self.place(".jsonl") if self.draw.random() < 0.4 else []),
            *self.maybe(0.05, "--eraser"), *self.maybe(0.1, "--share", self.one("0.5", "2", "nan")), *self.common(), *self.reading(),
            *self.engine(),
        ]  # fmt: skip

    def align(self) -> list[str]:
        pair = ["--text", self.draw.choice(TEXTS), "--pair", self.draw.choice(TEXTS[:6])]
        if pair[1] == pair[3] == LONG:  # half a million word pairs: hours, and nothing that one long text does not show
            pair[3] = "bad"
        given = self.draw.choice(
            (pair, pair, ["--data", self.draw.choice(("pairs.tsv", "good.csv", self.file())), "--limit", "1"])
        )
        ending = self.draw.choice((".jsonl", ".svg", ".png", ".pdf", ".PDF", ".docx", ""))
        return [
            "align", "--model", self.one("decomposable", "decomposable", "mlp"), *given,
            *self.methods("co_attention", "leave_one_out", "gradient", "lime", "random", "diffmask"),
            *(self.place(ending) if self.draw.random() < 0.4 else []), *self.common(hides=False), *self.reading(), *self.engine(),
        ]  # fmt: skip

    def audit(self) -> list[str]:
        measures = [
            part for _ in range(self.draw.choice((0, 1))) for part in ("--measure", self.one("sufficiency", "auprc", "loo_tau"))
        ]
        return [
            "audit", *self.model(), "--data", self.file(), *self.place(""), "--limit", self.one("1", "2", "3"), *measures,
            "--method", self.one("gradient_l2", "attention", "random", "leave_one_out"), *self.methods("random", "gradient_l1"),
            *self.common(), *self.reading(), *self.engine(),
            *self.maybe(0.08, "--budget", self.one("1h", "0.001s", "30", "-1m", "nanm", "1e400h", "9" * 300 + "s")),
        ]  # fmt: skip

    def score(self) -> list[str]:
        files = [
            self.one("made.jsonl", "eraser.jsonl", "good.csv", "hostile.jsonl", "precious")
            for _ in range(self.draw.choice((1, 1, 2)))
        ]
        given = [part for file in files for part in ("--explanations", file)]
        return [
            "score",
            *given,
            *self.model(),
            "--data",
            self.file(),
            *self.place(""),
            *self.reading(),
            *self.maybe(0.3, "--json"),
        ]

    def plan(self) -> list[str]:
        verb = self.draw.choice(("audit", "explain", "align", "train", "study", *HOSTILE))
        if verb == "study":
            return ["plan", "study", *self.maybe(0.8, self.one("attention", "saloss")), "--scale", self.one("smoke", "small")]
        return ["plan", verb, *self.model(), *self.maybe(0.95, "--data", self.file()), "--limit", "2", "--method", self.one("random", "lime"),
                *self.common()]  # fmt: skip

    def train(self) -> list[str]:
        return [
            "train", "--data", self.draw.choice(("splits", "splits", self.file())), "--model", self.one("mlp", "mlp", "esim", "halfmodel", "x"),
            *self.place(""), "--epochs", self.one("1"), *self.maybe(0.2, "--learning-rate", self.one("0.01", "-0.1", "nan")),
            *self.maybe(0.3, "--option", self.one("hidden_size=8", "hidden_size=0", "attention=uniform", "attention=odd", "foo=1", "dropout=2")),
            *self.maybe(0.2, "--objective", self.one("cross_entropy", "saloss=0.1", "adversary", "cross_entropy=x")),
            *self.maybe(0.04, "--set", self.one("saloss.prior=tfidf", "saloss.prior=odd", "x.y=1")),
            *self.maybe(0.1, "--vectors", self.one("good.csv", "missing.txt")), *self.maybe(0.1, "--guide", self.one("uniform", "mlp", "precious")),
            *self.maybe(0.1, "--limit", self.one("4", "2")), *self.maybe(0.1, "--batch-size", self.one("2")),
            *self.maybe(0.1, "--select", self.one("accuracy", "odd")), *self.maybe(0.1, "--seed", self.one("3")), *self.maybe(0.3, "--json"),
            *self.maybe(0.2, "--sweep", self.one("seed=0,1", "seed=0,0", "learning-rate=0.1,x", "seed", "seed=", "=1", "option.hidden_size=4,8",
                                                 "objective.saloss=0,0.1", "saloss.prior=tfidf,odd", "nope=1", "select=a,b", "guide=[1,{}]")),
            *self.maybe(0.03, "--sweep", "seed=1"), *self.engine(),
        ]  # fmt: skip

    def calibrate(self) -> list[str]:
        return ["calibrate", "--data", self.one("reviews", "scenes", "sst", "choices"), "--model", self.one("mlp", "decomposable", "precious"),
                "--limit", "2", *self.methods("gradient_l2", "nope"), *self.maybe(0.2, "--arch", self.one("mlp")), *self.engine()]  # fmt: skip

    def study(self) -> list[str]:
        wrong = self.draw.choice(
            (["--scale", "tiny"], ["--set", "nope=1"], ["--engine", "steam"], ["--address", "x"], ["--seed", "-1"])
        )
        return ["study", *self.maybe(0.7, self.one("attention", "alignment", "nope")), *wrong, *self.place(""), *self.engine()]

    def data(self) -> list[str]:
        verb = self.draw.choice(("list", "check", "check", "show", "show", self.draw.choice(HOSTILE)))
        given = {"list": [], "check": [self.file()], "show": [self.file(), *self.maybe(0.3, "-n", self.one("2"))]}.get(
            verb, [self.file()]
        )
        return ["data", verb, *given, *self.reading(), *self.maybe(0.2, "--json")]

    def other(self) -> list[str]:
        return self.draw.choice(
            (["--version"], ["-h"], ["--help"], ["explain", "-h"], ["demo", "--seed", "-1"], [], [self.draw.choice(HOSTILE)])
        )


def mutated(whole: bytes, draw: random.Random) -> bytes:
    """A few bytes changed, cut out, doubled or put in."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(whole) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            whole = whole[:at]
        elif kind == 1:
            whole = whole[:at] + bytes([draw.randrange(256)]) + whole[at + 1 :]
        elif kind == 2:
            whole = whole[:at] + whole[at + draw.randrange(1, 20) :]
        elif kind == 3:
            whole = (
                whole[:at]
                + draw.choice(
                    (b"\x00", b"\xff\xfe", b'"', b"\n", b",", b"\t", b"{", b"[", b"null", b"1e999", b"\\ud800", b"-1")
                )
                + whole[at:]
            )
        else:
            whole = whole[:at] + whole[max(0, at - draw.randrange(1, 40)) : at] + whole[at:]
    return whole
