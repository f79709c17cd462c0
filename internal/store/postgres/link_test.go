package postgres_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPlanloopLinksNoDatabaseServer fails if planloop links code of the team server alone: it would cost each start of every command and
// hook.
func TestPlanloopLinksNoDatabaseServer(t *testing.T) {
	const module = "github.com/planloop/planloop/"
	linked := dependencies(t, module+"cmd/planloop")
	for _, path := range linked {
		for _, server := range []string{"github.com/jackc/", "github.com/pressly/", "github.com/go-webauthn/",
			module + "internal/store/postgres"} {
			if strings.HasPrefix(path, server) {
				t.Errorf("cmd/planloop links %s", path)
			}
		}
	}
	if !slices.Contains(linked, module+"internal/store/sqlite") {
		t.Error("cmd/planloop does not link its own store: the test reads nothing")
	}
	own := dependencies(t, ".")
	if !slices.Contains(own, "github.com/jackc/pgx/v5") || !slices.Contains(own, "github.com/pressly/goose/v3") {
		t.Error("this package has another driver: name it here")
	}
}

// dependencies lists the packages that a package links.
func dependencies(t *testing.T, name string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
