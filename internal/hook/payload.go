package hook

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxPayload is the limit of a payload, in bytes.
const MaxPayload = 4 << 20

// Errors of payloads. All others are about their JSON.
var (
	errEmpty = errors.New("standard input was empty")
	errLarge = fmt.Errorf("the input has more than %d MiB", MaxPayload>>20)
)

// payloadMembers are alternative names of members by meaning, with a dot before one within an object. The first one present counts.
type payloadMembers struct {
	session, subagent, version, dir, roots, use, tool, input, result, starts string
}

func membersOf(host Host) payloadMembers {
	p := payloadMembers{session: "session_id", subagent: "agent_id", dir: "cwd", use: "tool_use_id",
		tool: "tool_name", input: "tool_input", result: "tool_response"}
	switch host {
	case Claude: // or VS Code, which runs these hooks too
		p.session = "session_id sessionId"
	case Gemini:
		p.starts = "mcp_context.command"
	case Antigravity: // docs, 2.0
		return payloadMembers{session: "conversationId", roots: "workspacePaths", tool: "toolCall.name", input: "toolCall.args"}
	case Cursor:
		p.session, p.version, p.roots, p.subagent = "conversation_id session_id", "cursor_version", "workspace_roots", "subagent_id"
		p.result, p.starts = "tool_output result_json", "url command" // of the MCP server
	case VSCode: // VS Code's own agent, and Copilot's command line in both of its formats
		p.session, p.subagent = "session_id sessionId", "agent_id agentId agentName"
		p.tool, p.input, p.result = "tool_name toolName", "tool_input toolArgs", "tool_response tool_result toolResult"
	case Goose: // 1.3x
		p.dir, p.result = "working_dir", "tool_output"
	case Windsurf:
		return payloadMembers{session: "trajectory_id", dir: "tool_info.cwd", tool: "agent_action_name", input: "tool_info"}
	}
	return p
}

// continuationMembers are members that say that a turn ends before the agent is done, or that it continues because a hook asked for it.
const continuationMembers = "stop_hook_active loop_count status fullyIdle"

// Read parses a host's input to a hook. It accepts unknown members, events and tools. Even with an error the call has its host, event and
// moment, so that it can be answered in the host's form.
func Read(host Host, event string, payload []byte) (Call, error) {
	named := eventOf(host, event)
	bare := Call{Host: host, Event: event, Moment: named.Moment}
	switch {
	case len(payload) == 0:
		return bare, errEmpty
	case len(payload) > MaxPayload:
		return bare, errLarge
	}
	r := reader{}
	at := membersOf(host)
	top := r.members(payload, at.session, at.subagent, at.version, at.dir, at.roots, at.use, at.tool, at.input, at.result, at.starts,
		continuationMembers, serverMembers, nameMembers,
		"permission_mode", "invocationNum source last_assistant_message transcript_path turn_id")
	c := bare
	c.Session, c.Subagent, c.Version = r.text(top[at.session]), r.text(top[at.subagent]), r.text(top[at.version])
	c.Mode = r.text(top["permission_mode"])
	c.Dir, c.Roots = r.text(top[at.dir]), r.texts(top[at.roots])
	if c.Dir == "" && len(c.Roots) > 0 {
		c.Dir = c.Roots[0]
	}
	switch c.Moment {
	case BeforeTool, AfterTool, AskUser:
		c.Use, c.Tool, c.Input, c.Result = r.text(top[at.use]), r.text(top[at.tool]), r.unwrap(top[at.input]), top[at.result]
		if named.Native == "beforeMCPExecution" {
			c.Tool = "MCP:" + c.Tool
		} else if _, known := toolGroupOf(host, named.Native); known && c.Input == nil { // each tool has an event of its own
			c.Tool, c.Input = named.Native, payload
		}
		r.classify(&c, top)
		if start := top[at.starts]; start != nil && c.IsOwn() {
			var own bool
			if c.Program, own = ownProgram(r.text(start)); !own || top["url"] != nil {
				c.Server = ""
			}
		}
	case SessionStart:
		c.IsNew, c.IsCleared = r.text(top["source"]) == "startup", r.text(top["source"]) == "clear"
		if number := string(top["invocationNum"]); number != "" && number != "0" {
			c.Moment = OtherMoment
		}
	case Stop:
		status, loops := string(top["status"]), string(top["loop_count"])
		c.Message, c.Transcript, c.Turn = r.text(top["last_assistant_message"]), r.text(top["transcript_path"]), r.text(top["turn_id"])
		c.IsContinued = string(top["stop_hook_active"]) == "true" || string(top["fullyIdle"]) == "false" ||
			loops != "" && loops != "0" || status == `"aborted"` || status == `"error"`
	}
	if r.err != nil {
		return bare, fmt.Errorf("the host's input cannot be read: %w", r.err)
	}
	return c, nil
}

type reader struct{ err error } // keeps the first error

func (r *reader) fail(err error) { r.err = cmp.Or(r.err, err) }

// members returns an object's members for some places, each under its place: the first one that is present and not null. A member that
// differs from a wanted one only in case is an error: the host and planloop might read different members.
func (r *reader) members(value jsontext.Value, wanted ...string) map[string]jsontext.Value {
	found := map[string]jsontext.Value{}
	objects := map[string]map[string]jsontext.Value{"": r.object(value)}
	for _, place := range wanted {
		for _, name := range strings.Fields(place) {
			outer, inner, nested := strings.Cut(name, ".")
			if !nested {
				outer, inner = "", name
			} else if inside := member(r, objects[""], outer); objects[outer] == nil && inside.Kind() == jsontext.KindBeginObject {
				objects[outer] = r.object(inside)
			}
			one := member(r, objects[outer], inner)
			if one == nil || one.Kind() == jsontext.KindNull {
				continue
			}
			if found[name] = one; found[place] == nil {
				found[place] = one
			}
		}
	}
	return found
}

func member(r *reader, members map[string]jsontext.Value, want string) jsontext.Value {
	for name := range members {
		if name != want && strings.EqualFold(name, want) {
			r.fail(fmt.Errorf("the member %q must be spelled %q", name, want))
		}
	}
	return members[want]
}

func (r *reader) object(value jsontext.Value) (members map[string]jsontext.Value) {
	r.fail(json.Unmarshal(value, &members))
	return members
}

// unwrap returns a value, or the JSON in it if it is a text, since some hosts pass a tool's input that way.
func (r *reader) unwrap(value jsontext.Value) jsontext.Value {
	text := r.text(value)
	if inside := jsontext.Value(text); strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !inside.IsValid() {
			r.fail(errors.New("the tool's input is not valid JSON"))
		}
		return inside
	}
	return value
}

// text returns a value's text, "" for other values.
func (r *reader) text(value jsontext.Value) string {
	if value.Kind() != jsontext.KindString {
		return ""
	}
	return strings.Join(r.texts(value), "")
}

// texts returns the texts in a value: itself, or the elements of a list. It returns nil if the value contains anything else.
func (r *reader) texts(value jsontext.Value) (texts []string) {
	switch value.Kind() {
	case jsontext.KindString:
		var text string
		r.fail(json.Unmarshal(value, &text))
		texts = []string{text}
	case jsontext.KindBeginArray:
		if json.Unmarshal(value, &texts) != nil {
			return nil
		}
	}
	if slices.ContainsFunc(texts, func(text string) bool { return strings.ContainsRune(text, 0) }) {
		r.fail(errors.New("a text has a null character"))
	}
	return texts
}

// paths returns the paths at members of a tool's input, nil if one is unreadable. edits[].path is that member of each element.
func (r *reader) paths(input jsontext.Value, at []string) (paths []string) {
	for _, name := range at {
		list, inner, nested := strings.Cut(name, "[].")
		value := r.members(input, list)[list]
		if value == nil {
			continue
		}
		values := []jsontext.Value{value}
		if nested && json.Unmarshal(value, &values) != nil {
			return nil
		}
		for _, one := range values {
			if nested {
				if one.Kind() != jsontext.KindBeginObject {
					return nil
				}
				one = r.members(one, inner)[inner]
			}
			texts := r.texts(one)
			if len(texts) == 0 {
				return nil
			}
			paths = append(paths, texts...)
		}
	}
	return paths
}

// patchPaths returns the files that a patch adds, changes, deletes and moves to. It returns nil if an unreadable line may name a file.
func patchPaths(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		marker, ok := strings.CutPrefix(strings.TrimSpace(line), "*** ")
		if !ok {
			continue
		}
		kind, path, named := strings.Cut(marker, ": ")
		switch kind {
		case "Add File", "Update File", "Delete File", "Move to":
			if path = strings.TrimSpace(path); !named || path == "" {
				return nil
			}
			paths = append(paths, path)
		case "Begin Patch", "End Patch", "End of File":
		default:
			return nil
		}
	}
	return paths
}

// commandText returns a command as passed to a shell, from a text or a list of words, or "" for a list without a clear spelling.
func commandText(words []string) string {
	switch {
	case len(words) == 1:
		return words[0]
	case len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") && isShell(words[0]):
		return words[2]
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,="
	for _, word := range words {
		if word == "" || strings.Trim(word, plain) != "" {
			return ""
		}
	}
	return strings.Join(words, " ")
}

// isShell reports whether a program is a shell, by its name alone or in a system folder: in the workspace any program may have it.
func isShell(program string) bool {
	folder, name := path.Split(program)
	return slices.Contains([]string{"bash", "sh", "zsh"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"}, folder)
}

// PossiblePaths returns all paths that the tool might change, or its possible working directories if it names no path.
func (c Call) PossiblePaths() []string {
	places := c.workDirs()
	for _, given := range c.Paths {
		places = append(places, c.possiblePaths(given)...)
	}
	return places
}

// workDirs returns the possible working directories of a tool: the agent's own, those open in the host, and those named in its input. The
// agent's own always counts, since a host may ignore a member that it does not know.
func (c Call) workDirs() []string {
	bases := []string{c.Dir}
	for _, given := range slices.Concat(c.Roots, c.WorkDirs) {
		bases = append(bases, c.readPath(c.Dir, given)...)
	}
	slices.Sort(bases)
	return slices.Compact(bases)
}

func (c Call) possiblePaths(given string) (places []string) {
	for _, base := range c.workDirs() {
		places = append(places, c.readPath(base, given)...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

const maxNamed = 500 // places of a command; one that names more may lead anywhere

// namedPlaces returns the places to which the words of a command may lead, if they are literal, and relative to the tool's directory. A
// directory that the command enters on the way is a word of its own.
func (c Call) namedPlaces() (places []string) {
	text := cmp.Or(c.Command, string(c.Input))
	isQuote := func(r rune) bool { return r == '"' || r == '\'' }
	plain := strings.NewReplacer("${HOME}", c.Home, "$HOME", c.Home, `"`, "", "'", "", `\`, "").Replace(text)
	words := strings.FieldsFunc(plain, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>()`=:,{}$", r) })
	for _, word := range append(words, strings.FieldsFunc(text, isQuote)...) { // a quoted path may have spaces
		if pattern := strings.IndexAny(word, "*?["); pattern >= 0 {
			word = word[:strings.LastIndexByte(word[:pattern], '/')+1]
		}
		if value := strings.IndexAny(word, "/~."); value > 0 && word[0] == '-' {
			word = word[value:]
		}
		if word == "" {
			continue
		}
		for _, base := range c.workDirs() {
			places = append(places, c.readPath(base, word)...)
		}
		if len(places) > maxNamed {
			return []string{string(filepath.Separator)}
		}
	}
	return places
}

// readPath returns the possible meanings of a path relative to a directory. Some hosts expand ~ and URIs; others take them as names in the
// directory, so base represents those and unreadable paths.
func (c Call) readPath(base, given string) []string {
	const file = "file:"
	switch {
	case filepath.IsAbs(given):
		return []string{given}
	case c.Home != "" && (given == "~" || strings.HasPrefix(given, "~/")):
		return []string{base, filepath.Join(c.Home, given[1:])}
	case len(given) > len(file) && strings.EqualFold(given[:len(file)], file):
		return []string{base, pathOfURI(given[len(file):])}
	case strings.HasPrefix(given, "~"), strings.Contains(given, "://"):
		return []string{base}
	}
	return []string{filepath.Join(base, given)}
}

func pathOfURI(rest string) string {
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		rest = strings.TrimLeft(host, "/")
		if host == rest { // the URI names a host
			_, rest, _ = strings.Cut(host, "/")
		}
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	return filepath.Clean("/" + rest)
}
