"""What tests an alignment: how near it keeps the model, how small it is, and whether it is where people, or we, put it."""
