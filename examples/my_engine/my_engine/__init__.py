"""An engine that plugs its masks and its cache into the suite."""
