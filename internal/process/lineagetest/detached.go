// Package lineagetest makes tests independent of the program that runs them.
package lineagetest

// Tests are the tests of a package, such as *testing.M.
type Tests interface{ Run() int }

// Detached runs tests that must not descend from a process with one of some variables: below an agent, planloop would not
// take their decisions for a person's. Unsetting a variable does not change the environments above.
type Detached struct {
	Tests
	Without []string // variables that agents' hosts set
}
