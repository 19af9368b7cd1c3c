"""What is true: events, aggregates (decide, evolve), rules, errors. Pure: no clock, random number, file or network."""
