"""The pytest plugin and the command line. Knows nothing of what it runs."""
