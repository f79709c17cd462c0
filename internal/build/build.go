// Package build provides the version of this source, and a program's build information. It must not know the purpose of
// the program.
package build

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
)

// Version is the version of this source. All packages have it, too.
const Version = "0.1.0-dev"

// The values of Info.Built.
const (
	Release = "release"    // by the project, as in docs/guides/install.md
	Install = "go install" // of a version from a module proxy or a repository
	Clone   = "clone"      // from a clone of the repository
	Source  = "source"     // from files of unknown origin
)

// Info is a program's build information.
type Info struct {
	Version  string `json:"version"`
	Built    string `json:"built"`
	Commit   string `json:"commit,omitzero"`
	Date     string `json:"date,omitzero"`     // of the commit
	Modified bool   `json:"modified,omitzero"` // the files differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Describe reads the compiler's build information. released is the version that a release set through the linker, else
// empty.
func Describe(noted *debug.BuildInfo, released, platform string) Info {
	i := Info{Version: Version, Built: Source, Go: noted.GoVersion, Platform: platform}
	for _, setting := range noted.Settings {
		switch setting.Key {
		case "vcs.revision":
			i.Built, i.Commit = Clone, setting.Value
		case "vcs.time":
			i.Date = setting.Value
		case "vcs.modified":
			i.Modified = setting.Value == "true"
		}
	}
	fetched := strings.TrimPrefix(noted.Main.Version, "v")
	pseudo := pseudoVersion().FindStringSubmatch(fetched)
	switch {
	case released != "":
		i.Version, i.Built = released, Release
		return i
	case i.Commit != "":
	case pseudo != nil:
		i.Built, i.Commit = Install, pseudo[1]
	case fetched != "" && fetched != "(devel)":
		i.Version, i.Built = fetched, Install
	}
	if len(i.Commit) >= shortCommit {
		i.Version += "+" + i.Commit[:shortCommit]
	}
	return i
}

const shortCommit = 12

// pseudoVersion matches Go's version of a commit without a tag.
var pseudoVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(?:\+dirty)?$`) })
