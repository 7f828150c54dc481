"""Measures of written explanations: against people's (BLEU, cosine), by themselves (PPL, repetition), with their labels."""
