package gates

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// locate returns a path as the workspace knows it: relative, with slashes, without
// detours. A path that leaves the workspace in any system's spelling has a fault
// instead, in words that follow "lists".
func locate(given string) (clean, fault string) {
	given = strings.TrimSpace(given)
	switch {
	case given == "":
		return "", "an empty path"
	case !utf8.ValidString(given) || strings.ContainsFunc(given, unprintable):
		return "", "a path with characters that do not show"
	case strings.Contains(given, "://") || strings.HasPrefix(strings.ToLower(given), "file:"):
		return "", "a URL instead of a path"
	case strings.HasPrefix(given, "/"), strings.HasPrefix(given, `\`), strings.HasPrefix(given, "~"), drive(given), variable(given):
		return "", outside
	case climbs(given):
		return "", outside
	case strings.Contains(given, `\`):
		return "", "a path with a backslash"
	case utf8.RuneCountInString(given) > 1_024:
		return "", "a path of more than 1024 characters"
	}
	if clean = path.Clean(given); clean != given {
		return locate(clean) // ./~ is ~ in another spelling
	}
	return clean, ""
}

const outside = "a path outside the workspace"

func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Bidi_Control, r)
}

// drive reports the spelling of a drive, C:/x or C:x.
func drive(given string) bool {
	return len(given) > 1 && given[1] == ':' && (given[0]|0x20 >= 'a' && given[0]|0x20 <= 'z')
}

// variable reports a path that begins with a variable a shell would fill in.
func variable(given string) bool {
	first, _, _ := strings.Cut(strings.ReplaceAll(given, `\`, "/"), "/")
	switch {
	case strings.HasPrefix(first, "${"), strings.HasPrefix(first, "$("):
		return true
	case strings.HasPrefix(first, "$"):
		return len(first) > 1 && strings.ToUpper(first) == first
	}
	return len(first) > 2 && strings.HasPrefix(first, "%") && strings.HasSuffix(first, "%")
}

// climbs reports an element that leads up, also in the spellings some systems take
// for it: dots with spaces around or between.
func climbs(given string) bool {
	for _, element := range strings.FieldsFunc(given, func(r rune) bool { return r == '/' || r == '\\' }) {
		if strings.Trim(element, ". ") == "" && strings.Count(element, ".") > 1 {
			return true
		}
	}
	return false
}

// isGlob reports whether a path may be a pattern. A file may have such a name as well.
func isGlob(p string) bool { return strings.ContainsAny(p, "*?[{") }
