"""The checks behind tools/tidy, one idea per file; each has check(tree) yielding findings."""
