// Package presence keeps signs of life: when a name was last seen, and whether
// the connection that a name stands for has ended. They are files beside the
// log, touched without a record and without a sync, so that every process on the
// workspace sees them.
//
// It must not know what a claim or a lease is, what anybody did, or how a name
// came about, but for one thing: a name that holds a # stands for a connection.
// Nothing here ever stops a call: what the file system refuses is logged at
// debug level, and whoever cannot be judged counts as alive.
package presence
