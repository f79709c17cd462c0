// Command packaging makes planloop's packages from one description: the committed files, and the
// packages of a release, which contain the program. It must not know planloop's features: the
// program itself lists its commands, and internal/hosts supplies the hooks.
//
//	go run ./packaging                       writes the committed files
//	go run ./packaging manual FOLDER         man pages, completions and the licences of others' code
//	go run ./packaging bundle FOLDER         the packages for npm with the programs, .mcpb bundles, the registry's entry
//	go run ./packaging goreleaser FOLDER     GoReleaser's configuration for fewer platforms
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

//go:generate go run .

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("packaging", flag.ContinueOnError)
	release := flags.String("version", version, "the version that the programs report")
	var only []platform
	flags.Func("platform", "build only for this platform, such as linux/amd64; may be repeated", func(text string) error {
		i := slices.IndexFunc(platforms(), func(p platform) bool { return p.String() == text })
		if i < 0 {
			return fmt.Errorf("use one of %v", platforms())
		}
		only = append(only, platforms()[i])
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if only == nil {
		only = platforms()
	}
	var all files
	ctx := context.Background()
	switch what := flags.Args(); {
	case len(what) == 0:
		return write(root, generate(), stale(root, generate()))
	case len(what) == 2 && what[0] == "manual":
		all, err = ownManual(ctx, root, *release)
	case len(what) == 2 && what[0] == "bundle":
		all, err = bundle(ctx, root, *release, only)
	case len(what) == 2 && what[0] == "goreleaser":
		all = files{"goreleaser.yaml": []byte(goreleaserConfig(only))}
	default:
		return errors.New("usage: go run ./packaging [-version V] [-platform P] [manual|bundle|goreleaser FOLDER]")
	}
	if err != nil {
		return err
	}
	return write(flags.Arg(1), all, nil)
}

func ownManual(ctx context.Context, root, version string) (files, error) {
	dir, err := os.MkdirTemp("", "planloop-manual-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	here := platform{system: runtime.GOOS, processor: runtime.GOARCH}
	program, err := compile(ctx, root, here, version, dir)
	if err != nil {
		return nil, err
	}
	made, err := manual(ctx, program)
	if err == nil {
		made[licencesFile], err = licences(ctx, root)
	}
	return made, err
}

// repository returns the nearest folder, from the working directory up, that has go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("this is not a clone of planloop: no go.mod was found")
		}
	}
}

// write writes all files below a folder, after it has deleted the obsolete ones.
func write(folder string, all files, obsolete []string) error {
	for _, path := range obsolete {
		if err := os.Remove(filepath.Join(folder, path)); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		file := filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if strings.Contains("/"+path, "/bin/") {
			mode = 0o755
		}
		if err := os.WriteFile(file, all[path], mode); err != nil {
			return err
		}
	}
	return nil
}

// stale lists files that are no longer generated, in folders that have only generated files.
func stale(root string, all files) []string {
	var left []string
	for _, folder := range []string{"packaging/claude", "packaging/codex", "packaging/agent-plugin", "packaging/npm"} {
		_ = filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			path, err = filepath.Rel(root, path)
			if _, made := all[filepath.ToSlash(path)]; !made {
				left = append(left, path)
			}
			return err
		})
	}
	return left
}
