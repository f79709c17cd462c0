package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The names that the launcher is called by, argv[0] of the child: to confine a command,
// and where the command calls git.
const (
	confineName = "planloop-confine"
	gitName     = "git"
)

// Confine turns the process into what a command of this package has started it as, and
// does not return then: the confined command, or its git. A program that is a launcher
// calls it first in main.
func Confine() {
	switch name := os.Args[0]; {
	case name == confineName && len(os.Args) > 3:
		err := become(os.Args[1], os.Args[2], os.Args[3:])
		fmt.Fprintf(os.Stderr, "planloop: the command cannot be confined: %v\n", err)
		os.Exit(126)
	case strings.TrimSuffix(filepath.Base(name), ".exe") == gitName:
		code, err := runGit(os.Args[1:])
		if err != nil {
			fmt.Fprintf(os.Stderr, "planloop: git: %v\n", err)
		}
		os.Exit(code)
	}
}
