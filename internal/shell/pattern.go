package shell

import (
	"regexp"
	"sync"
)

// pattern returns a regular expression that is compiled when it is first used:
// every command pays for what a package does at its start.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
