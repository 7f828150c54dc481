"""Published numbers: Wiegreffe, Marasović & Smith 2021, Measuring Association Between Labels and Free-Text Rationales.

Figures 4, 5, 7 to 9, 11 and 12 have no printed numbers. T5-base; CoS-E's epochs were chosen on what is tested.
"""

TABLE_3 = {
    "esnli": {"gold": 97.67, "i-r": 89.11, "i-or": 90.52},
    "cose_v1.0": {"gold": 84.84, "i-r": 53.47, "i-or": 62.00},
    "cose_v1.11": {"gold": 68.63, "i-r": 45.45, "i-or": 53.15},
}
"""Accuracy of R→O by whose rationales it reads."""

TABLE_4 = {
    "esnli": {"gold": 7.77, "i-r": -1.63, "i-or": -0.86},
    "cose_v1.0": {"gold": 21.26, "i-r": -12.11, "i-or": -6.21},
    "cose_v1.11": {"gold": 19.09, "i-r": -12.77, "i-or": -6.06},
}
"""Rationale quality, Acc(IR→O) − Acc(I→O)."""

TABLE_5 = {
    "esnli": {"r-o": 97.67, "ir-o": 98.72, "difference": 1.05},
    "cose_v1.0": {"r-o": 84.84, "ir-o": 90.42, "difference": 5.58},
    "cose_v1.11": {"r-o": 68.63, "ir-o": 80.84, "difference": 12.21},
}
"""Accuracy on gold rationales."""

TABLE_7 = {
    "esnli": {"input": 20.27, "highlighted": 4.01, "highlighted share": 21.30, "rationale": 12.39, "rationale share": 65.67},
    "cose_v1.0": {
        "input": 13.69,
        "highlighted": 4.57,
        "highlighted share": 35.36,
        "rationale": 12.74,
        "rationale share": 108.18,
    },
    "cose_v1.11": {
        "input": 13.40,
        "highlighted": 6.80,
        "highlighted share": 53.24,
        "rationale": 6.97,
        "rationale share": 58.01,
    },
}
"""Means over training examples: tokens, and shares of the input in per cent."""

TABLE_9 = {
    "esnli": {"random": 33.33, "majority": 33.39, "i-o": 90.95, "i-or": 90.81, "difference": -0.14},
    "cose_v1.0": {"random": 33.33, "majority": 33.75, "i-o": 69.16, "i-or": 64.84, "difference": -4.32},
    "cose_v1.11": {"random": 20.0, "majority": 20.31, "i-o": 61.75, "i-or": 55.61, "difference": -6.14},
}
TABLE_10 = {
    "esnli": {"i-or": 90.81, "pipeline": 89.11, "difference": -1.70},
    "cose_v1.0": {"i-or": 64.84, "pipeline": 53.47, "difference": -11.37},
    "cose_v1.11": {"i-or": 55.61, "pipeline": 45.45, "difference": -10.16},
}
SHARED = {10: 17.0, 20: 24.0, 30: 31.0}
"""Per cent of the top k % of words that gradients and input × gradient share (CoS-E v1.0)."""
