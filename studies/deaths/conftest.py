"""For tests: this folder is where its modules are found, as for the programs in it."""
