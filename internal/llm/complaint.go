package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// complaint is what an endpoint says is wrong, in one of the shapes in use:
// OpenAI's error object, its text alone, a list of one, message or detail
// without a frame, or no JSON at all.
type complaint struct {
	text  string
	code  string
	kind  string // OpenAI's type
	param string
	page  bool // a web page; its text says nothing
}

func complaintOf(body []byte) complaint {
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("<")) {
		return complaint{page: true}
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return complaint{text: string(body)}
	}
	inner := outer
	var object map[string]json.RawMessage
	if json.Unmarshal(outer["error"], &object) == nil && object != nil {
		inner = object
	}
	return complaint{
		text:  firstText(inner["message"], outer["error"], outer["message"], outer["detail"]),
		code:  firstText(inner["code"]),
		kind:  firstText(inner["type"]),
		param: firstText(inner["param"]),
	}
}

// firstText returns the first value that is a text or a number.
func firstText(values ...json.RawMessage) string {
	for _, value := range values {
		var text string
		if json.Unmarshal(value, &text) == nil && text != "" {
			return text
		}
		var number json.Number
		if json.Unmarshal(value, &number) == nil && number != "" {
			return number.String()
		}
	}
	return ""
}

// status returns the code as the status of an answer that failed, 0 when it is
// no such number.
func (c complaint) status() int {
	if n, err := strconv.Atoi(c.code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	return 0
}

// Bounds of what is shown of an endpoint's words.
const (
	maxExcerpt   = 200     // characters
	maxExcerptOf = 4 << 10 // bytes that are looked at
)

// excerpt returns the beginning of text, fit for a line of an error: printable,
// without the key, without the quotes it is put in.
func (x *exchange) excerpt(text string) string {
	text = text[:min(len(text), maxExcerptOf)]
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '"':
			return '\''
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	clean = withoutKey(strings.Join(strings.Fields(clean), " "), x.key)
	if utf8.RuneCountInString(clean) <= maxExcerpt {
		return clean
	}
	return strings.TrimSpace(string([]rune(clean)[:maxExcerpt-1])) + "…"
}
