package scan

import (
	"slices"
	"strings"
)

// skippedFolder reports the folders that hold no work of the people here,
// whatever .gitignore says: version control, dependencies, caches.
func skippedFolder(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj", ".bzr",
		"node_modules", "bower_components", "jspm_packages", "vendor", "Pods", "site-packages",
		"__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache",
		".next", ".nuxt", ".svelte-kit", ".turbo", ".parcel-cache", ".cache", ".gradle", ".terraform", ".yarn", ".pnpm-store",
		".idea", ".vs", "coverage", "htmlcov", ".nyc_output":
		return true
	}
	return strings.HasSuffix(name, ".egg-info")
}

// builtFolder reports folders that mostly hold what a build made. A Go package
// may be called so as well, and then its source gives it away.
func builtFolder(name string, files []string) bool {
	switch name {
	case "build", "dist", "out", "target":
		return !slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, ".go") })
	}
	return false
}

// fixtureFolder reports folders of material for tests: what is wrong in it is
// wrong on purpose.
func fixtureFolder(name string) bool {
	switch name {
	case "testdata", "__fixtures__", "__snapshots__":
		return true
	}
	return false
}
