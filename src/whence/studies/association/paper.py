"""Published numbers: Wiegreffe, Marasović & Smith 2021, Measuring Association Between Labels and Free-Text Rationales.

Figures 4, 5, 7 to 9, 11 and 12 have no printed numbers. T5-base; CoS-E's epochs were chosen on what is tested.
"""

from whence.studies.kit.tables import read_numbers

TABLE_3 = read_numbers("""
    esnli:       97.67  89.11  90.52
    cose_v1.0:   84.84  53.47  62.00
    cose_v1.11:  68.63  45.45  53.15
""", ("gold", "i-r", "i-or"))  # fmt: skip
"""Accuracy of R→O by whose rationales it reads."""
TABLE_4 = read_numbers("""
    esnli:        7.77   -1.63  -0.86
    cose_v1.0:   21.26  -12.11  -6.21
    cose_v1.11:  19.09  -12.77  -6.06
""", ("gold", "i-r", "i-or"))  # fmt: skip
"""Rationale quality, Acc(IR→O) − Acc(I→O)."""
TABLE_5 = read_numbers("""
    esnli:       97.67  98.72   1.05
    cose_v1.0:   84.84  90.42   5.58
    cose_v1.11:  68.63  80.84  12.21
""", ("r-o", "ir-o", "difference"))  # fmt: skip
"""Accuracy on gold rationales."""
TABLE_7 = read_numbers("""
    esnli:       20.27  4.01  21.30  12.39   65.67
    cose_v1.0:   13.69  4.57  35.36  12.74  108.18
    cose_v1.11:  13.40  6.80  53.24   6.97   58.01
""", ("input", "highlighted", "highlighted share", "rationale", "rationale share"))  # fmt: skip
"""Means over training examples: tokens, and shares of the input in per cent."""
TABLE_9 = read_numbers("""
    esnli:       33.33  33.39  90.95  90.81  -0.14
    cose_v1.0:   33.33  33.75  69.16  64.84  -4.32
    cose_v1.11:  20.00  20.31  61.75  55.61  -6.14
""", ("random", "majority", "i-o", "i-or", "difference"))  # fmt: skip
TABLE_10 = read_numbers("""
    esnli:       90.81  89.11   -1.70
    cose_v1.0:   64.84  53.47  -11.37
    cose_v1.11:  55.61  45.45  -10.16
""", ("i-or", "pipeline", "difference"))  # fmt: skip
SHARED = {"cose_v1.0": {"input_x_gradient": {10: 17.0, 20: 24.0, 30: 31.0}}}
"""Per cent of the top k % of words that gradients and another ranking share."""
