// Package lineagetest has tests say the same whoever runs them.
package lineagetest

// Tests are the tests of a package, as *testing.M has them.
type Tests interface{ Run() int }

// Apart are tests that descend from no process with one of some variables. Where an agent runs tests, whoever decides in
// them would be no person to planloop: to unset a variable changes nothing of what the processes above were started with.
type Apart struct {
	Tests
	Without []string // what agents' hosts set
}
