// Package build knows which version this source stands for, and what a program tells
// of how it was built. It must not know what the program does.
package build

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
)

// Version is the version this source stands for. Every package says it, too.
const Version = "0.1.0-dev"

// The ways in which a program comes about.
const (
	Release = "release"    // by the project, as docs/install.md tells
	Install = "go install" // of a version that a module proxy or a repository had
	Clone   = "clone"      // of the repository, by whoever has it
	Source  = "source"     // of files that say nothing of where they are from
)

// Info is what a program tells of its building.
type Info struct {
	Version  string `json:"version"`
	Built    string `json:"built"`
	Commit   string `json:"commit,omitzero"`
	Date     string `json:"date,omitzero"`     // of the commit
	Modified bool   `json:"modified,omitzero"` // the files were not those of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Describe reads what the compiler noted in a program. released is the version that the
// linker was told by who made a release, else empty.
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

// pseudoVersion is how Go calls a commit without a version of its own.
var pseudoVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(?:\+dirty)?$`) })
