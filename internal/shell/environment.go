package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// FreeName reports whether a command may be given a variable of this name: neither a shell nor any program that the
// command starts gives it a special meaning.
func FreeName(name string) bool {
	if !syntax.ValidName(name) || slices.Contains(names()["special variables"], name) {
		return false
	}
	upper := strings.ToUpper(name)
	if name != upper {
		return !strings.HasPrefix(name, "npm_config_") && !strings.HasPrefix(upper, "BASH_FUNC") && !hasAffix(name, "exported")
	}
	return !hasAffix(name, "special") && !hasAffix(name, "exported")
}

// hasAffix reports whether a name begins or ends like those of a kind in names.txt.
func hasAffix(name, kind string) bool {
	return slices.ContainsFunc(names()[kind+" beginnings"], func(prefix string) bool { return strings.HasPrefix(name, prefix) }) ||
		slices.ContainsFunc(names()[kind+" ends"], func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// knownLocale matches locales in which the shell reads every byte below 0x80 as itself. In others a character may end
// in a byte that looks like a quote or a bracket.
var knownLocale = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:C|POSIX|(?:C|[a-z]{2,3}(?:_[A-Z]{2})?)\.(?:UTF-8|utf-?8))$`)
})
