// The tests' shared ground.
