package plan

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// masked replaces the secret part of a text. The text before it shows the kind of secret.
const masked = "[masked]"

// Mask returns a program's or an agent's text with keys and passwords replaced: those with a known prefix, the values of
// names such as password=, Authorization headers and cookies, passwords in URLs, and private keys. It takes linear time,
// and masking again changes nothing. It keeps placeholders, hashes and source code that only handles secrets.
func Mask(text string) string {
	if strings.Contains(text, "PRIVATE KEY") {
		for _, pattern := range privateKeys() {
			text = pattern.ReplaceAllString(text, "$1…"+masked)
		}
	}
	for least, prefixes := range keyPrefixes() {
		for prefix := range strings.FieldsSeq(prefixes) {
			text = maskPrefix(text, prefix, least)
		}
	}
	var b strings.Builder
	from := 0 // the text before it is written
	for i := 0; i < len(text); i++ {
		if text[i] != '=' && text[i] != ':' && text[i] != ' ' {
			continue
		}
		at, end := passwordInURL(text, i)
		if end == 0 {
			at, end = valueOf(text, i).secret()
		}
		if end > at && at >= from && !strings.Contains(text[at:end], masked) {
			b.WriteString(text[from:at] + masked)
			from, i = end, end-1
		}
	}
	return b.String() + text[from:]
}

// privateKeys match private keys in PEM, also as a string in JSON, with a margin or cut off at either end.
var privateKeys = sync.OnceValue(func() []*regexp.Regexp {
	const (
		begin = `(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)`
		end   = `-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`
		gap   = `(?:[ \t>|+*#"',]|\\?\\[nrt]|\r?\n)*`
		body  = `(?:` + gap + `[A-Za-z0-9+/=]{16,})+` + gap
	)
	return []*regexp.Regexp{
		regexp.MustCompile(begin + `[^-]+(?:-[^-]+){0,4}` + end), // headers have single hyphens
		regexp.MustCompile(begin + `(?:` + gap + `[A-Za-z-]+: [^\n\\]*)*` + body + `[A-Za-z0-9+/=]*`),
		regexp.MustCompile(body + `(?:[A-Za-z0-9+/=]{1,80}` + gap + `)?()` + end),
	}
})

// keyPrefixes lists the prefixes that services give to their keys, by the least number of characters after them.
func keyPrefixes() []string {
	return []string{
		10: "xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp-", 16: "AKIA ASIA ABIA ACCA sk_live_ sk_test_ rk_live_ rk_test_",
		20: "sk- glpat- gldt- glrt- glptt- glcbt- ya29. ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ whsec_ GOCSPX- shpat_ dckr_pat_",
		30: "AIza npm_ pypi- hf_ dop_v1_ SG. AGE-SECRET-KEY-1 eyJ plt_", // the last: of a team's server
	}
}

// maskPrefix masks the words that begin with a prefix and look random.
func maskPrefix(text, prefix string, least int) string {
	var b strings.Builder
	for {
		at := strings.Index(text, prefix)
		if at < 0 {
			return b.String() + text
		}
		end := at + len(prefix)
		for end < len(text) && (isKey(text[end]) || text[end] == '.' && (prefix == "eyJ" || prefix == "SG.")) {
			end++
		}
		key := text[at+len(prefix) : end]
		found := (at == 0 || !isKey(text[at-1]) || text[at-1] == '-') && len(key) >= least && looksRandom(key)
		switch prefix {
		case "sk-": // CSS classes begin so, too
			found = found && slices.ContainsFunc(strings.FieldsFunc(key, func(r rune) bool { return r == '-' || r == '_' }),
				func(part string) bool { return len(part) >= 12 && looksRandom(part) })
		case "eyJ": // JSON in base64; a token has a second part
			_, second, _ := strings.Cut(key, ".")
			found = found && len(second) >= 16
		case "AKIA", "ASIA", "ABIA", "ACCA":
			found = found && len(key) == 16 && key == strings.ToUpper(key)
		}
		b.WriteString(text[:at+len(prefix)])
		if text = text[end:]; found {
			key = "…" + masked
		}
		b.WriteString(key)
	}
}

func isKey(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// looksRandom reports whether a key is more than words: it has many different characters of several classes.
func looksRandom(key string) bool {
	different := map[rune]bool{}
	for _, r := range key {
		different[r] = true
	}
	lower, upper, digits := strings.ToUpper(key) != key, strings.ToLower(key) != key, strings.ContainsAny(key, "0123456789")
	return len(different) >= 7 && (digits && (lower || upper) || lower && upper && len(key) >= 30 || !lower && len(key) == 16)
}

// The characters that end a value in a word, in quotes or a header, and in a URL.
const (
	wordEnds = " \t\r\n\"'`\\,;&<>()[]{}|"
	lineEnds = "\r\n\"'`\\"
	urlEnds  = " \t\r\n\"'`\\/@<>"
)

// endOf returns the end of a value that begins at a place.
func endOf(text string, at int, ends string) int {
	const most = 4096 // bytes
	value := text[at:min(len(text), at+most)]
	if end := strings.IndexAny(value, ends); end >= 0 {
		return at + end
	}
	return at + len(value)
}

// passwordInURL returns the place of the password in a URL whose :// is at i.
func passwordInURL(text string, i int) (at, end int) {
	if !strings.HasPrefix(text[i:], "://") {
		return 0, 0
	}
	at = endOf(text, i+3, urlEnds+":") + 1
	if at > len(text) || text[at-1] != ':' {
		return 0, 0
	}
	if end = endOf(text, at, urlEnds); !strings.HasPrefix(text[end:], "@") || isPlaceholder(text[at:end]) {
		return 0, 0
	}
	return at, end
}

// namedValue is what follows a name and a separator.
type namedValue struct {
	text     string
	line     string // the line before the separator, in lower case
	name     string // the word before the separator, in lower case
	sep      string // with the blanks around it
	isUser   bool   // the name is a user's, in an option of curl
	isQuoted bool
	at, end  int // its first word
}

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:pass(?:word|wd|phrase|code)\d?|pwd|secret|token|credentials?|` +
		`(?:api|access|secret|private|account|signing)[_-]?key|key[_-]base|authorization|bearer|cookie)$`)
})

// valueOf returns what follows the separator at i; nothing if the name before it is not telling.
func valueOf(text string, i int) namedValue {
	const quotes = "\\\"'`"
	to := i
	for to > max(0, i-8) && strings.IndexByte(" "+quotes, text[to-1]) >= 0 {
		to--
	}
	from := to
	for from > max(0, to-64) && isKey(text[from-1]) {
		from--
	}
	v := namedValue{text: text, name: strings.ToLower(text[from:to]), at: i + 1}
	v.isUser = strings.HasSuffix(text[:from], "-u ") || strings.HasSuffix(text[:from], "--user ")
	if !v.isUser && !secretName().MatchString(v.name) || text[i] == ' ' && !strings.HasPrefix(v.name, "--") && v.name != "bearer" {
		return namedValue{}
	}
	v.line = strings.ToLower(text[max(0, i-100):i])
	v.line = v.line[strings.LastIndexByte(v.line, '\n')+1:]
	if at := strings.LastIndex(v.line, `\n`); at >= 0 { // within JSON
		v.line = v.line[at+2:]
	}
	for v.at < len(text) && v.at < i+5 && strings.IndexByte("=> ", text[v.at]) >= 0 {
		v.at++
	}
	v.sep = v.line[len(strings.TrimRight(v.line, " ")):] + text[i:v.at]
	for v.at < len(text) && strings.IndexByte(quotes, text[v.at]) >= 0 {
		v.isQuoted = text[v.at] != '\\'
		v.at++
	}
	v.end = endOf(text, v.at, wordEnds)
	return v
}

// secret returns the place of the value if it is a secret.
func (v namedValue) secret() (at, end int) {
	if v.name == "" {
		return 0, 0
	}
	header, isOption := strings.HasSuffix(v.name, "authorization"), strings.HasPrefix(v.name, "--")
	word, line := v.text[v.at:v.end], endOf(v.text, v.at, lineEnds)
	found := len(word) >= 8 && !isPlaceholder(word) && looksRandom(word)
	switch {
	case header && strings.Contains(" basic bearer token digest negotiate apikey aws4-hmac-sha256 ", " "+strings.ToLower(word)+" "):
		v.at, v.end = min(v.end+1, line), line
		found = line-v.at >= 4 && !isPlaceholder(v.text[v.at:line])
	case strings.HasSuffix(v.name, "cookie"):
		v.end, found = line, v.sep == ": " && strings.Contains(v.text[v.at:line], "=")
	case header, v.isUser, v.sep == " ":
	default:
		if v.isQuoted && !isOption {
			v.end = line
		}
		found = v.isAssigned(v.text[v.at:v.end])
	}
	if !found {
		return 0, 0
	}
	return v.at, v.end
}

// isAssigned reports whether a value that is assigned to a name such as password is a secret. Names of passwords need
// less proof than those of tokens, which are also the words of parsers.
func (v namedValue) isAssigned(value string) bool {
	isProof := strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("_.- :", r) })
	rest := v.text[v.end:min(len(v.text), v.end+1)]
	switch {
	case len(value) < 4, rest == "(", isPlaceholder(value):
		return false
	case strings.HasSuffix(v.name, "token"), strings.Contains(v.name, "key"):
		return len(value) >= 8 && looksRandom(value) && !strings.Contains(value, " ")
	case v.isQuoted:
		return isProof || !strings.Contains(value, " ")
	case v.sep == "=":
		return isProof || len(value) >= 6
	}
	isEntry := strings.Count(strings.TrimLeft(v.line, " \t-"), " ") <= 1 && strings.Contains("\r\n,\"\\", rest)
	return len(value) >= 6 && (isProof || isEntry && !strings.ContainsAny(value, "._-"))
}

// isPlaceholder reports whether a value only replaces a secret, or is code that reads one.
func isPlaceholder(value string) bool {
	return value == "" || strings.IndexByte("$%*/@-+^~<{", value[0]) >= 0 || placeholder().MatchString(value)
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\$[{(]|\{\{|<|\*\*\*|\.\.|…|xxxx|\(|\[(?:masked|hidden)\]|^[a-z]:\\|^your|^my[-_]|redacted|example|` +
		`^(?:[a-z_]+\.)+[a-z_]+$|` + // an expression
		`^[a-z_]*(?:password|passwd|passphrase|pwd|secret|token|key|value|string|env|input|field|config|credentials?|pass)[a-z_]*$|` +
		`^(?:bool|byte|bytes|int|char|text|any|object|nil|null|none|true|false|undefined|unset|required|optional|missing|invalid|valid|` +
		`empty|blank|wrong|incorrect|correct|expired|unknown|unexpected|expected|must|should|cannot|does|is|not|was|has|the|and|or|for|` +
		`from|with|default|prompt|basic|bearer|changed|updated|reset|deleted|created|found|error|failed|ok|yes|no|on|off|ident|` +
		`identifier|number|comma|colon|semicolon|eof|private|public|hidden|disabled|enabled|user|username|admin|self|this|new|old|` +
		`include|omit|same-origin)$`)
})
