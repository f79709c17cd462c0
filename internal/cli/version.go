package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/build"
	"github.com/planloop/planloop/internal/safetext"
)

// released is the version of a release, which the linker sets: -ldflags "-X github.com/planloop/planloop/internal/cli.released=1.2.3".
var released string

// built describes the build of this program. It is cached: a server reports it at every call, and reading it is slow.
var built = sync.OnceValue(func() build.Info {
	noted, ok := debug.ReadBuildInfo()
	if !ok {
		noted = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return build.Describe(noted, released, runtime.GOOS+"/"+runtime.GOARCH)
})

// version returns the version, for unreleased builds with the commit if known.
func version() string { return built().Version }

func (a *app) printVersion(*cobra.Command, []string) error {
	if a.flags.json {
		return a.printJSON(built())
	}
	return a.print([]byte(versionText(built())))
}

func versionText(i build.Info) string {
	from := map[string]string{build.Release: "as a release", build.Install: "by go install", build.Clone: "in a clone of the source",
		build.Source: "from source without its history"}[i.Built]
	if i.Commit != "" {
		from += ", commit " + i.Commit
	}
	if day, _, dated := strings.Cut(i.Date, "T"); dated {
		from += " of " + day
	}
	if i.Modified {
		from += ", with changes"
	}
	return fmt.Sprintf("planloop %s %s\nbuilt with %s %s\n", i.Version, i.Platform, i.Go, safetext.EscapeLine(from))
}

// ownPath returns the path that starts this program: the one on which it was found, since an update may change a link's target.
func ownPath() string {
	own, err := os.Executable()
	if err != nil {
		return "planloop"
	}
	found, err := exec.LookPath(os.Args[0])
	if err != nil {
		return own
	}
	if found, err = filepath.Abs(found); err != nil || !sameFile(found, own) {
		return own
	}
	return found
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(first, second)
}
