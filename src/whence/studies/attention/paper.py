"""What the papers report, to stand beside our numbers: Wiegreffe & Pinter 2019, and Jain & Wallace 2019 (stored outputs).

F1 is that of the positive class. TVD as published, which the released code computes as half of the two-class TVD.
"""

from itertools import product

from whence.studies.kit.tables import read_numbers

SIZES = ("mean words", "train, negative", "train, positive", "test, negative", "test, positive")
TABLE_1 = read_numbers("""
    Diabetes:       1858  6381  1353  1295   319
    Anemia:         2188  1847  3251   460   802
    IMDb:            179 12500 12500  2184  2172
    SST:              19  3034  3321   863   862
    AG News:          36 30000 30000  1900  1900
    20 Newsgroups:   115   716   710   151   183
""", SIZES)  # fmt: skip
TABLE_2 = read_numbers("""
    Diabetes:       0.775 0.706
    Anemia:         0.938 0.899
    IMDb:           0.902 0.879
    SST:            0.831 0.822
    AG News:        0.964 0.960
    20 Newsgroups:  0.942 0.934
""", ("base", "uniform"))  # fmt: skip
TABLE_3 = read_numbers("""
    Diabetes:       0.404 0.699 0.753 0.503
    Anemia:         0.873 0.920 0.931 0.932
    SST:            0.812 0.817 0.824 0.592
    IMDb:           0.863 0.888 0.905 0.700
""", ("mlp-uniform", "mlp-trained", "mlp-base", "mlp-adversary"))  # fmt: skip

_SST = """0 .816 .032 .075; 1e-5 .822 .030 .042; 5e-5 .824 .031 .080; 1e-4 .823 .032 .064; 5e-4 .828 .031 .100;
    5.2e-4 .827 .036 .150; 5.25e-4 .823 .036 .514; 5.35e-4 .814 .039 .420; 5.5e-4 .809 .040 .505; 6e-4 .813 .039 .513;
    7.5e-4 .811 .037 .518; 1e-3 .815 .038 .623; 1e-2 .821 .036 .624; .1 .811 .047 .653; .5 .799 .061 .652; 1 .819 .039 .624"""
_IMDB = """0 .906 .011 .043; 1e-4 .907 .011 .027; 2e-4 .906 .012 .059; 4e-4 .906 .015 .202; 5e-4 .905 .016 .141;
    7e-4 .902 .015 .309; 8e-4 .906 .014 .405; 1e-3 .905 .022 .615; 5e-3 .888 .038 .691; 1e-2 .885 .039 .691"""
_ANEMIA = """0 .936 .008 .056; 1e-4 .937 .009 .090; 2e-4 .938 .010 .194; 3.5e-4 .936 .014 .387; 5e-4 .942 .017 .481;
    1e-3 .938 .030 .576; 2e-3 .895 .068 .666; 4e-3 .888 .074 .690; 5e-3 .875 .079 .692; 1e-2 .872 .086 .693"""
_DIABETES = """0 .779 .012 .098; 1e-5 .769 .011 .098; 2e-5 .770 .011 .098; 4e-5 .780 .012 .162; 5e-5 .781 .012 .209;
    1e-4 .781 .016 .385; 2e-4 .775 .015 .409; 5e-4 .759 .029 .494; 1e-3 .690 .051 .646; 5e-3 .645 .067 .693;
    1e-2 .643 .069 .693"""


def _by_strength(rows: str) -> dict[float, dict[str, float]]:
    """λ → F1, TVD, JSD."""
    numbers = [[float(number) for number in row.split()] for row in rows.split(";")]
    return {strength: {"f1": f1, "tvd": tvd, "jsd": jsd} for strength, f1, tvd, jsd in numbers}


TABLE_5 = {
    corpus: _by_strength(rows)
    for corpus, rows in (("SST", _SST), ("IMDb", _IMDB), ("Anemia", _ANEMIA), ("Diabetes", _DIABETES))
}
"""All λ. Table 4 is, for each corpus, the row with the best F1 among those with JSD > 0.4."""

CORRELATION = read_numbers("""
    SST:            0.351 0.49  0.291 0.36  0.656 0.91
    IMDb:           0.437 1.00  0.341 0.99  0.517 1.00
    AG News:        0.389 0.86  0.367 0.80  0.612 0.99
    20 Newsgroups:  0.130 0.48  0.123 0.44  0.534 0.99
    Diabetes:       0.417 1.00  0.421 1.00  0.506 1.00
    Anemia:         0.463 1.00  0.465 1.00  0.679 1.00
""", tuple(product(("attention_gradient", "attention_leave_one_out", "gradient_leave_one_out"), ("τ", "p"))))  # fmt: skip
"""Kendall τ, mean over test, and the share of texts with p ≤ .05."""
