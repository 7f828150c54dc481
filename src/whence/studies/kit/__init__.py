"""What every study needs, once: corpora and their titles, trained models, estimates, verdicts, sheets for judges."""
