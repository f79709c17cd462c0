// Package plan is the pure heart of planloop: the types of a workspace's state,
// the actions that ask for a change, the events that record one, and the two
// functions that connect them.
//
//	Decide(State, Action, Facts) ([]Event, error)   judges, and alone mints step ids
//	Apply(State, Event) State                       folds, and never refuses
//
// A State is an immutable value: Apply returns a new one that shares what did
// not change. Nothing here reads a file, a clock, a configuration or a global;
// what a decision needs to know from outside arrives in Facts. The package must
// not know who stores the events, who asked over which protocol, or how a plan
// is shown.
package plan
