package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Values of argv[0] that tell the launcher its job: confine a command, or act as the git that the command calls.
const (
	confineName = "planloop-confine"
	gitName     = "git"
)

// Confine runs the process as the confined command, or as its git, if a command of this package started it as such; it
// does not return then. A program that serves as launcher calls it first in main.
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
