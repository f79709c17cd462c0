package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// licencesFile has the licences of the code of others in the programs, and travels with each copy of them.
const licencesFile = "THIRD_PARTY_LICENSES"

// licences returns the licences of Go, of each module in the programs on any platform, and of the packages in the review page.
func licences(ctx context.Context, root string) ([]byte, error) {
	folders := map[string]string{} // by module
	for _, p := range platforms() {
		const each = "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}\t{{.Dir}}{{end}}{{end}}"
		list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", each, "./cmd/planloop", "./cmd/planloop-server")
		list.Dir, list.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.system, "GOARCH="+p.processor)
		printed, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the modules of the programs: %w", err)
		}
		for line := range strings.Lines(string(printed)) {
			if module, folder, found := strings.Cut(strings.TrimSpace(line), "\t"); found {
				folders[module] = folder
			}
		}
	}
	goRoot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	folders["Go"] = strings.TrimSpace(string(goRoot))
	var all bytes.Buffer
	for _, module := range slices.Sorted(maps.Keys(folders)) {
		if err := writeLicences(&all, module, folders[module]); err != nil {
			return nil, err
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "internal/review/page", licencesFile))
	all.Write(page)
	return all.Bytes(), err
}

// writeLicences appends the licence files in a module's folder; a module without one is an error.
func writeLicences(all *bytes.Buffer, module, folder string) error {
	found := false
	for _, pattern := range []string{"LICEN[SC]E*", "COPYING*", "NOTICE*", "PATENTS*"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return fmt.Errorf("look for licences: %w", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("read a licence: %w", err)
			}
			found = true
			fmt.Fprintf(all, "== %s: %s\n\n%s\n\n", module, filepath.Base(file), bytes.TrimSpace(text))
		}
	}
	if !found {
		return fmt.Errorf("%s has no licence file in %s", module, folder)
	}
	return nil
}
