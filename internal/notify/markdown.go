package notify

import "strings"

// markdown returns text that Discord shows as it is, in at most limit units. A
// backslash takes the meaning from a mark; a space of no width after an @ keeps it
// from naming anybody, even where backslashes are not looked at. Escaping the
// colon undoes links and the short names of emoji.
func markdown(s string, limit int) string {
	return rewritten(s, limit, func(r rune) string {
		switch {
		case r == '@':
			return "@\u200b"
		case strings.ContainsRune("\\`*_~|<>#-.:[]()", r):
			return `\` + string(r)
		}
		return string(r)
	})
}
