package shell

// Surroundings are those of a command, for tests that run one without the wall.
var Surroundings = surroundings
