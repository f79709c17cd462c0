package demo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/demo"
	"github.com/planloop/planloop/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }

// The demo's processes find nothing of the user's: no settings, state, project or name. Remove leaves nothing.
func TestPlaceLeadsNowhereElse(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	own := filepath.Join(t.TempDir(), "own")
	p, err := demo.NewPlace([]string{"PATH=/bin", "HOME=" + own, "XDG_STATE_HOME=" + own, "XDG_CONFIG_HOME=" + own, "XDG_DATA_DIRS=" + own,
		"PLANLOOP_WORKSPACE=" + own, "PLANLOOP_AGENT=own", "PLANLOOP_TOKEN=own", "USERPROFILE=" + own, "APPDATA=" + own,
		"LOCALAPPDATA=" + own})
	testenv.Check(t, err)
	for _, variable := range p.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.Contains(p.Getenv(name), "own") {
			t.Errorf("%s is %s", name, value)
		}
	}
	if p.Getenv("PATH") != "/bin" || p.Getenv("PLANLOOP_WORKSPACE") != p.Project || p.Getenv("PLANLOOP_AGENT") != "" {
		t.Errorf("%q", p.Environ())
	}
	testenv.Check(t, p.Remove())
	if _, err := os.Stat(p.Project); !os.IsNotExist(err) {
		t.Errorf("the project is left: %v", err)
	}
}
