"""The checks: properties that any implementation plugged in must have, and the tests of this project itself."""
