"""The tables of each SQL view, apart from what folds events into them: the views' file is opened with these alone."""
