"""The numbers of the AREC paper (Jiang et al. 2021, "Alignment Rationale for Natural Language Inference", ACL), Tables 1 to 4.

Its BERT-base stands where we have a MiniLM.
"""

from itertools import product

from whence.studies.kit.tables import read_numbers

MODELS = ("da", "esim", "minilm")
TABLE_1_CORPORA = ("esnli", "breaking_nli", "hans")
TABLE_1_COLUMNS = ("aorc", "fidelity", "compactness", "contiguity")
"""Compactness in per cent of cells, contiguity in per mille. Fidelity of an attribution: that of its induced rationale."""
TABLE_4_COLUMNS = tuple(product(("entailment", "non-entailment"), ("lexical_overlap", "subsequence", "constituent")))

_TABLE_1 = """
da co_attention:               0.60   0.45  42.46 131.30    0.46   0.39  30.93  59.85    0.48   0.56  22.88  41.90
da leave_one_out:              1.12   0.43  57.78  70.91    1.23   0.34  64.67  65.02    0.95   0.58  66.30 125.06
da back_select:                1.15   0.43  57.05  67.08    1.34   0.34  65.19  55.88    1.07   0.58  71.61 137.85
da lime:                       0.99   0.43  52.80  90.81    1.22   0.34  63.01  71.95    0.81   0.57  48.32 124.71
da gradient:                   1.42   0.42  65.65 135.09    1.73   0.35  74.80 155.50    1.76   0.55  65.69 194.50
da integrated_gradients:       1.83   0.35  63.87  49.76    2.31   0.25  81.60  44.76    2.37   0.38  70.98  80.43
da diffmask:                   0.54   1.28   2.77   0.21    0.62   1.30   6.86   1.36    0.71   0.97   6.46   1.39
da arec:                       0.47   0.36   6.23   1.40    0.42   0.32   6.83   1.12    0.60   0.50   6.07   0.23
esim co_attention:             0.24   0.29   8.72   4.43    0.55   0.15  15.46  6.555    0.51   0.42  14.40   1.36
esim leave_one_out:            1.01   0.25  42.88  17.80    1.05   0.16  53.15  23.38    1.05   0.43  56.37  30.76
esim back_select:              0.90   0.25  41.08  15.73    1.08   0.16  52.32  16.12    0.98   0.43  50.88  27.52
esim lime:                     0.94   0.27  52.46  72.29    1.52   0.16  76.52  57.85    1.29   0.42  73.68 179.10
esim gradient:                 2.84   0.20  73.37 109.19    3.51   0.10  83.60  78.83    5.15   0.22  91.05 111.14
esim integrated_gradients:     2.99   0.21  80.32  33.21    3.80   0.15  89.68  13.91    4.45   0.38  91.38  55.63
esim diffmask:                 0.51   1.21   3.94   0.26    0.71   2.62   9.77   2.00    0.79   1.89   8.34   1.06
esim arec:                     0.40   0.23   4.86   0.70    0.60   0.15  11.02   0.62    0.73   0.36  12.43   0.41
minilm co_attention:           0.52   0.45  27.91  58.20    0.65   0.34  26.81  46.40    0.61   0.50  29.60  57.68
minilm leave_one_out:          1.00   0.44  45.50  50.05    0.64   0.36  39.82  66.35    0.93   0.48  43.51  58.19
minilm back_select:            0.92   0.45  41.32  42.08    0.69   0.37  40.08  60.90    0.98   0.48  40.94  55.80
minilm lime:                   0.82   0.44  39.69  57.69    0.62   0.36  44.01  96.05    0.99   0.46  50.47  92.14
minilm gradient:               1.77   0.39  75.58 127.92    4.63   0.16  90.35  74.64    3.59   0.26  90.93 132.30
minilm integrated_gradients:   1.45   0.42  59.82  56.57    1.21   0.32  54.30  70.37    2.52   0.31  74.26  90.15
minilm diffmask:               0.62   1.00  14.40   7.41    1.61   2.67  19.43  20.17    0.70   0.95  18.95  10.26
minilm arec:                   0.43   0.36   6.05   2.18    0.47   0.28   8.30   2.65    0.53   0.44   8.56   0.79
"""
_TABLE_2 = """
co_attention:         2.70 3.75 2.19
leave_one_out:        2.42 2.67 2.47
back_select:          2.60 2.71 2.74
lime:                 2.40 2.13 2.42
gradient:             1.68 1.42 1.31
integrated_gradients: 2.14 1.69 2.28
diffmask:             3.98 3.92 3.08
arec:                 4.07 4.03 3.98
"""
_TABLE_3 = """
esnli accuracy:                     85.04 87.78 90.27
esnli iou_f1:                       27.62 20.44 30.24
esnli token_f1:                     54.45 44.57 60.52
breaking_nli accuracy:              48.82 67.09 95.40
breaking_nli max_f1:                35.04 49.90 64.05
breaking_nli exact_inc:             66.58 83.11 89.50
breaking_nli soft_inc:              71.86 89.01 93.11
hans entailment accuracy:           96.94 99.35 99.56
hans entailment human_agreement:    41.67 91.33 94.00
hans non-entailment accuracy:        2.47  1.51 16.59
hans non-entailment human_agreement: 9.33 24.00 27.33
"""
_TABLE_4 = """
da as it is:       97.18  96.02  97.62   2.66   1.76   3.00
esim as it is:     99.68  98.76  99.60   0.18   0.12   4.22
minilm as it is:   98.82 100.00  99.86  43.02   2.94   3.82
da role mask:      93.66  96.64  96.36  88.24  25.88   3.28
esim role mask:    93.94  96.76  99.42  99.10  32.28   5.30
minilm role mask:  96.24  99.36  99.74  96.26  29.44   0.24
"""
TABLE_1 = read_numbers(_TABLE_1, tuple(product(TABLE_1_CORPORA, TABLE_1_COLUMNS)))
TABLE_2 = read_numbers(_TABLE_2, MODELS)
"""Readability, 1 to 5, of two judges on 300 pairs."""
TABLE_3 = read_numbers(_TABLE_3, MODELS)
TABLE_4 = read_numbers(_TABLE_4, TABLE_4_COLUMNS)
