// Package e2e holds tests of the whole program: the real binary in real
// processes, as hosts and people run it, on a state folder of its own each time.
// They show what no test inside one process can: that no acknowledged change is
// lost when many processes write or one is killed, that a change is heard of in
// other processes, what a fault of the disk does, and what reaches standard
// output. The package has no code of its own, and must not know how anything is
// done inside: it reads the log, and otherwise only what the program prints.
//
// PLANLOOP_CRASH_ROUNDS sets how often a server is killed (default 20), PLANLOOP_FAULTS=all
// injects every error into every call where otherwise some are tried (it needs strace),
// PLANLOOP_FLOOD sets how many bytes an agent prints that does not end (default 50,000,000), and
// PLANLOOP_E2E_DISK=1 keeps even the busiest logs on the disk instead of in
// memory, where syncing costs next to nothing.
package e2e
