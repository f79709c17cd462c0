// Package e2e holds tests of the whole program: the real binary in real processes, as hosts and people run it, each time with its own state
// folder. They show what tests inside one process cannot: that no acknowledged change is lost when many processes write or one is killed,
// that other processes notice a change, how disk errors are handled, and what reaches standard output. The package has no code of its own,
// and must not know internals: it reads the log, and otherwise only the program's output.
//
// PLANLOOP_E2E_CRASH_ROUNDS sets how often a server is killed (default 20). PLANLOOP_E2E_FAULTS=some injects errors into a sample of the
// system calls, "all" into every one (it needs strace). PLANLOOP_E2E_FLOOD sets how many bytes an endlessly printing agent prints (default
// 50,000,000).
// PLANLOOP_E2E_DISK=1 keeps even the busiest logs on the disk instead of in memory, where syncing costs next to nothing.
package e2e
