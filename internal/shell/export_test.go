package shell

// Surroundings sets up a command's folder and environment, for tests that run one unconfined.
var Surroundings = surroundings
