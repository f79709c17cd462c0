package downstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	strictjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// Unusable is a tool that is not offered.
type Unusable struct {
	Own string `json:"own"`
	Why string `json:"why"`
}

const (
	maxName        = 40      // characters
	maxDescription = 1_024   // characters
	maxSchema      = 1 << 20 // bytes
	maxSchemaDepth = 32      // levels of a schema
)

// description is a tool as its server describes it.
type description struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations struct {
		Title       string `json:"title"`
		ReadOnly    *bool  `json:"readOnlyHint"`
		Destructive *bool  `json:"destructiveHint"`
		Idempotent  *bool  `json:"idempotentHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`
}

// checkTools converts the tools that a server lists. usable leaves out the unusable ones, and bad lists them
// with reasons.
func (s *server) checkTools(listed []json.RawMessage) (usable []json.RawMessage, tools []toolbox.RemoteTool, bad []Unusable) {
	taken := map[string]bool{}
	for _, raw := range listed {
		tool, err := s.tool(raw, taken)
		if err == nil {
			err = tool.Usable()
		}
		if err != nil {
			bad = append(bad, Unusable{Own: safetext.Line(plan.Shorten(tool.Own, 100)), Why: safetext.Line(plan.Shorten(err.Error(), 300))})
			continue
		}
		usable, tools = append(usable, raw), append(tools, tool)
	}
	return usable, tools, bad
}

func (s *server) tool(raw json.RawMessage, taken map[string]bool) (toolbox.RemoteTool, error) {
	var d description
	t := toolbox.RemoteTool{Server: s.name}
	if err := strictjson.Unmarshal(raw, &d); err != nil {
		return t, errors.New("its description cannot be read")
	}
	t.Own = d.Name
	if d.Name == "" || len(d.Name) > 256 {
		return t, errors.New("its name is empty, or longer than 256 bytes")
	}
	if t.Name = toolName(s.name, d.Name); taken[t.Name] {
		return t, errors.New("another tool has the same name")
	}
	taken[t.Name] = true // the first one counts, even if it is unusable
	input, err := printableSchema(d.Input)
	if err != nil {
		return t, err
	}
	if !isObject(input) {
		return t, errors.New("its input schema is not that of an object")
	}
	t.Schema = input
	if s.settings.URL != "" {
		if err := mcp.ValidateParamHeaderAnnotations(&mcp.Tool{RawInputSchema: input}); err != nil {
			return t, err
		}
	}
	if d.Output != nil && string(d.Output) != "null" {
		if t.Output, err = printableSchema(d.Output); err != nil || !isObject(t.Output) {
			return t, errors.Join(errors.New("its output schema is not that of an object"), err)
		}
	}
	t.Title = safetext.Line(plan.Shorten(cmp.Or(d.Title, d.Annotations.Title), 100))
	t.Description = strings.TrimSpace(safetext.Drop(plan.Shorten(d.Description, maxDescription)))
	t.Given = digestOf(d)
	s.hint(&t, d)
	t.Tool = toolbox.Foreign(t.Tool)
	definition := t.Definition()
	t.Run = func(ctx context.Context, args json.RawMessage, w toolbox.Watch) (toolbox.Outcome, error) {
		out, err := s.run(ctx, t.Own, definition, args, w)
		if problem := outputProblem(t, out); err == nil && problem != "" {
			out.OK, out.Value = false, nil
			out.Error = "the server " + s.name + " answered with a result that breaks its own output schema: " + problem
		}
		return out, err
	}
	t.Invoke = func(ctx context.Context, args json.RawMessage, h toolbox.RemoteClient) (toolbox.RemoteResult, error) {
		came, err := s.call(ctx, t.Own, definition, args, h)
		return came.printable(), err
	}
	return t, nil
}

// outputProblem says how a result breaks the tool's output schema, "" if it does not.
func outputProblem(t toolbox.RemoteTool, out toolbox.Outcome) string {
	if !out.OK || t.Output == nil {
		return ""
	}
	faults := toolbox.Tool{Spec: toolbox.Spec{Name: t.Name}, Schema: t.Output}.Check(out.Value)
	if len(faults) == 0 {
		return ""
	}
	problem := strings.TrimSpace(faults[0].Field + " " + faults[0].Problem)
	if more := len(faults) - 1; more > 0 {
		problem += fmt.Sprintf(", and %d more", more)
	}
	return safetext.Line(plan.Shorten(problem, 300))
}

// hint sets the tool's hints: from its annotations if the user trusts the server, and from the user's list of
// read-only tools.
func (s *server) hint(t *toolbox.RemoteTool, d description) {
	t.Destructive, t.OpenWorld = true, true
	is := func(hint *bool, otherwise bool) bool { return *cmp.Or(hint, &otherwise) }
	if is(s.settings.TrustHints, true) {
		t.ReadOnly, t.Idempotent = is(d.Annotations.ReadOnly, false), is(d.Annotations.Idempotent, false)
		t.Destructive, t.OpenWorld = !t.ReadOnly && is(d.Annotations.Destructive, true), is(d.Annotations.OpenWorld, true)
	}
	allowed := toolbox.Listed(s.settings.ReadOnlyTools, t.Own, t.Name)
	if allowed {
		t.ReadOnly, t.Destructive = true, false
	}
	// Some tools may pass only if the configuration lists their names, regardless of their annotations.
	name := strings.NewReplacer("-", "_", ".", "_", " ", "_", "/", "_").Replace(strings.ToLower(t.Own))
	onlyByName := strings.HasPrefix(name, "git_") || strings.HasPrefix(name, "self_edit_")
	t.ReadOnlyPhase = allowed || t.ReadOnly && !onlyByName
}

// toolName returns planloop's name for a tool: server__tool, if that is valid, short and unambiguous; else a
// valid prefix with a digest.
func toolName(server, own string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9_-]`).ReplaceAllString(server+"__"+own, "_")
	sound := name == server+"__"+own && !strings.Contains(server, "__") && !strings.HasSuffix(server, "_")
	if sound && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + own))
	digest := fmt.Sprintf("_%x", sum[:4])
	return name[:min(len(name), maxName-len(digest))] + digest
}

// digestOf is a digest of a server's description of a tool, independent of the order of its members.
func digestOf(d description) string {
	text, err := strictjson.Marshal(d)
	value := jsontext.Value(text)
	if err == nil {
		err = value.Canonicalize()
	}
	if err != nil { // decoded values always encode
		value = jsontext.Value(err.Error())
	}
	return fmt.Sprintf("%x", sha256.Sum256(value))
}

func isObject(schema json.RawMessage) bool {
	var root struct {
		Type any `json:"type"`
	}
	return strictjson.Unmarshal(schema, &root) == nil && root.Type == "object"
}

// printableSchema returns a schema with its descriptions shortened and made printable. Names must be printable
// already.
func printableSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) > maxSchema {
		return nil, errors.New("its schema is longer than 1 MB")
	}
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(schema))
	to := jsontext.NewEncoder(&out)
	for {
		token, err := in.ReadToken()
		if err != nil {
			if out.Len() == 0 || in.StackDepth() > 0 {
				return nil, errors.New("its schema is missing or not JSON")
			}
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if in.StackDepth() > maxSchemaDepth {
			return nil, fmt.Errorf("its schema is deeper than %d levels", maxSchemaDepth)
		}
		if token.Kind() == '"' {
			if token, err = printableString(in, token.String()); err != nil {
				return nil, err
			}
		}
		if err := to.WriteToken(token); err != nil {
			return nil, errors.New("its schema is not JSON")
		}
	}
}

// printableString checks the string token just read.
func printableString(in *jsontext.Decoder, text string) (jsontext.Token, error) {
	kind, n := in.StackIndex(in.StackDepth())
	isName := kind == '{' && n%2 == 1
	member := in.StackPointer().LastToken()
	switch {
	case !isName && kind == '{' && (member == "description" || member == "title" || member == "$comment"):
		text = strings.TrimSpace(safetext.Drop(plan.Shorten(text, maxDescription)))
	case !isName && member == "pattern":
	case !safetext.Printable(text) && !isName || isName && !safetext.PrintableLine(text):
		return jsontext.Token{}, fmt.Errorf("its schema has a text that is not printable: %s", plan.Quote(safetext.EscapeLine(text)))
	}
	return jsontext.String(text), nil
}
