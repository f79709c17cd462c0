package build_test

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/build"
)

func TestDescribe(t *testing.T) {
	const (
		commit = "0123456789abcdef0123456789abcdef01234567"
		short  = "0123456789ab"
		date   = "2026-11-22T21:00:00Z"
		local  = build.Version + "+" + short
	)
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: date},
			{Key: "vcs.modified", Value: modified}}
	}
	for name, test := range map[string]struct {
		module, released string
		settings         []debug.BuildSetting
		want             build.Info
	}{
		"nothing noted":           {want: build.Info{Version: build.Version, Built: build.Source}},
		"a folder of files":       {module: "(devel)", want: build.Info{Version: build.Version, Built: build.Source}},
		"go install of a version": {module: "v1.2.3", want: build.Info{Version: "1.2.3", Built: build.Install}},
		"go install of a forerun": {module: "v1.2.3-rc.1", want: build.Info{Version: "1.2.3-rc.1", Built: build.Install}},
		"go install of a branch": {module: "v0.0.0-20261122210000-" + short,
			want: build.Info{Version: local, Built: build.Install, Commit: short}},
		"go install after a tag": {module: "v1.2.4-0.20261122210000-" + short,
			want: build.Info{Version: local, Built: build.Install, Commit: short}},
		"a clone": {module: "v1.2.4-0.20261122210000-" + short, settings: vcs("false"),
			want: build.Info{Version: local, Built: build.Clone, Commit: commit, Date: date}},
		"a clone with changes": {module: "v1.2.4-0.20261122210000-" + short + "+dirty", settings: vcs("true"),
			want: build.Info{Version: local, Built: build.Clone, Commit: commit, Date: date, Modified: true}},
		"a clone at a tag": {module: "v1.2.3", settings: vcs("false"),
			want: build.Info{Version: local, Built: build.Clone, Commit: commit, Date: date}},
		"a release": {module: "v1.2.3", released: "1.2.3", settings: vcs("false"),
			want: build.Info{Version: "1.2.3", Built: build.Release, Commit: commit, Date: date}},
		"a release without a tree": {module: "(devel)", released: "1.2.3", want: build.Info{Version: "1.2.3", Built: build.Release}},
		"a short commit": {settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "01"}},
			want: build.Info{Version: build.Version, Built: build.Clone, Commit: "01"}},
	} {
		test.want.Go, test.want.Platform = "go1.26.8", "linux/amd64"
		noted := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: test.module}, Settings: test.settings}
		if diff := cmp.Diff(test.want, build.Describe(noted, test.released, "linux/amd64")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
