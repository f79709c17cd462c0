package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// Bounds of a message's nesting. A tool's arguments may be nested deeper, so that the tool can report the fault: a
// model can correct a tool's refusal, but a client gives up over a bad message.
const (
	maxDepth          = 32
	maxArgumentsDepth = 128
)

// memberNames are the names that the library looks for outside of free maps. It accepts them in any case, so other
// readers only agree with it if each name has its exact case.
var memberNames = sync.OnceValue(func() []string {
	return append(strings.Fields(`_meta action annotations argument arguments audience call cancel capabilities
	clientInfo code content context create createMessage cursor data description elicitation error experimental extensions form
	icons id inputResponses jsonrpc lastModified level list listChanged message method mimeType model name notifications params
	priority progressToken promptsListChanged protocolVersion ref requestId requestState requests resourceSubscriptions
	resourcesListChanged result resultType role roots sampling sizes src stopReason task taskId tasks text theme title tools
	toolsListChanged ttl type uri url value version websiteUrl`),
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyLogLevel, mcp.MetaKeySubscriptionID)
})

// syntax is the result of the walk over a message.
type syntax struct {
	ambiguity string // the part of the arguments that has more than one reading
}

// walk reads a message token by token.
type walk struct {
	syntax
	raw   []byte
	in    *jsontext.Decoder
	path  []string          // names on the path to the last token, one per level
	names []map[string]bool // of the objects around it, folded
}

// checkSyntax walks over a message once and refuses everything that two readers could understand differently: texts other
// than one object in valid UTF-8, a name twice in one object in any case, a known name in another case. So the message
// that we check is the one that the library runs. The names within a tool's arguments are the tool's to check; names
// within a host's own entry in _meta are not read at all.
func checkSyntax(raw []byte) (syntax, *mcp.JSONRPCErrorDetails) {
	if !utf8.Valid(raw) {
		return syntax{}, fault(mcp.PARSE_ERROR, "parse error: the message is not valid UTF-8")
	}
	loosely := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	w := walk{raw: raw, in: jsontext.NewDecoder(bytes.NewReader(raw), loosely...)}
	switch w.in.PeekKind() {
	case '[':
		return w.syntax, fault(mcp.INVALID_REQUEST, "batches are not supported: send each message by itself")
	case '{':
	default:
		return w.syntax, fault(mcp.PARSE_ERROR, "parse error: the message is not valid JSON: send one JSON object")
	}
	for {
		before := w.in.InputOffset()
		token, err := w.in.ReadToken()
		if errors.Is(err, io.EOF) {
			return w.syntax, nil
		}
		if err != nil {
			return w.syntax, fault(mcp.PARSE_ERROR,
				fmt.Sprintf("parse error: the message is not valid JSON, near byte %d", w.in.InputOffset()))
		}
		if refused := w.check(token, before); refused != nil {
			return w.syntax, refused
		}
		if w.in.StackDepth() > 0 {
			continue
		}
		if _, err := w.in.ReadToken(); !errors.Is(err, io.EOF) {
			return w.syntax, fault(mcp.PARSE_ERROR, "parse error: text after the message: send one message at a time")
		}
		return w.syntax, nil
	}
}

func (w *walk) check(token jsontext.Token, before int64) *mcp.JSONRPCErrorDetails {
	depth, kind := w.in.StackDepth(), token.Kind()
	if kind == '{' || kind == '[' {
		w.path, w.names = append(w.path[:depth-1], ""), append(w.names[:depth-1], nil)
	}
	arguments := depth > 2 && w.path[0] == "params" && w.path[1] == "arguments"
	if depth > maxDepth && !arguments || depth > maxArgumentsDepth {
		return fault(mcp.INVALID_REQUEST, fmt.Sprintf("the message is nested deeper than %d levels", maxDepth))
	}
	if kind == '"' && !w.isUnicode(token.String(), before) {
		if !arguments {
			return fault(mcp.PARSE_ERROR, "parse error: a string contains half of a surrogate pair")
		}
		w.ambiguity = "a string contains half of a surrogate pair"
	}
	if around, places := w.in.StackIndex(depth); kind == '"' && around == '{' && places%2 == 1 {
		return w.checkName(token.String(), depth, arguments)
	}
	return nil
}

// isUnicode reports whether the last string has no half of a surrogate pair, which readers replace in different ways.
func (w *walk) isUnicode(text string, before int64) bool {
	if !strings.ContainsRune(text, utf8.RuneError) {
		return true
	}
	read := w.raw[before:w.in.InputOffset()]
	return jsontext.Value(read[bytes.IndexByte(read, '"'):]).IsValid()
}

func (w *walk) checkName(name string, depth int, arguments bool) *mcp.JSONRPCErrorDetails {
	w.path[depth-1] = name
	free := depth > 3 && w.path[0] == "params" && w.path[1] == "_meta" && !slices.Contains(memberNames(), w.path[2])
	key := fold(name)
	if arguments || free {
		key = name
	}
	if w.names[depth-1] == nil {
		w.names[depth-1] = map[string]bool{}
	}
	twice := w.names[depth-1][key]
	w.names[depth-1][key] = true
	switch {
	case arguments && twice:
		w.ambiguity = fmt.Sprintf("the name %.64q appears twice in one object", name)
		return nil
	case arguments:
		return nil
	case twice:
		return fault(mcp.INVALID_REQUEST, fmt.Sprintf("the name %.64q appears twice in one object", name))
	}
	if free || slices.Contains(memberNames(), name) {
		return nil
	}
	for _, known := range memberNames() {
		if strings.EqualFold(known, name) {
			return fault(mcp.INVALID_REQUEST, fmt.Sprintf("the name %.64q is written %q", name, known))
		}
	}
	return nil
}

// fold returns one representative of all spellings of a name that encoding/json treats as equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

func fault(code int, text string) *mcp.JSONRPCErrorDetails {
	details := mcp.NewJSONRPCErrorDetails(code, text, nil)
	return &details
}
