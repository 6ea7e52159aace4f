"""Running experiments: cells on processes or on a cluster, and the store that keeps what came of them."""
