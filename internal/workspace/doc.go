// Package workspace says where planloop works, by which rules, and for whom: it
// finds the workspace and the folder of its state, reads the layers of the
// configuration, and names the actor.
//
// Everything it needs of the world (environment, current directory, home)
// arrives as a value. It writes nothing but the marker file it is asked for. It
// must not know what a plan is made of, how a log is kept, which tools a toolset
// holds, or what a gate checks.
package workspace
