package transport

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestTheLibrarysNamesAreKnown fails if the library looks for a name missing from memberNames.
func TestTheLibrarysNamesAreKnown(t *testing.T) {
	for _, message := range []any{
		mcp.InitializeRequest{}, mcp.PingRequest{}, mcp.DiscoverRequest{}, mcp.SubscriptionsListenRequest{}, mcp.SetLevelRequest{},
		mcp.ListResourcesRequest{}, mcp.ListResourceTemplatesRequest{}, mcp.ReadResourceRequest{}, mcp.SubscribeRequest{},
		mcp.UnsubscribeRequest{}, mcp.ListPromptsRequest{}, mcp.GetPromptRequest{}, mcp.ListToolsRequest{}, mcp.CallToolRequest{},
		mcp.GetTaskRequest{}, mcp.ListTasksRequest{}, mcp.TaskResultRequest{}, mcp.CancelTaskRequest{}, mcp.CompleteRequest{},
		mcp.PromptReference{}, mcp.ResourceReference{}, mcp.ElicitationResult{}, mcp.ListRootsResult{}, mcp.CreateMessageResult{},
		mcp.TextContent{}, mcp.JSONRPCRequest{}, mcp.JSONRPCError{}, mcp.JSONRPCResponse{}, mcp.Implementation{},
		mcp.ClientCapabilities{},
	} {
		for _, name := range jsonNames(reflect.TypeOf(message), map[reflect.Type]bool{}) {
			if !slices.Contains(memberNames(), name) {
				t.Errorf("%T: %s", message, name)
			}
		}
	}
}

func jsonNames(of reflect.Type, seen map[reflect.Type]bool) (names []string) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return jsonNames(of.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[of] || of == reflect.TypeFor[mcp.RequestId]() {
		return nil
	}
	seen[of] = true
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || name == "" && !field.Anonymous {
			continue // read by hand, from a map
		}
		if name != "" {
			names = append(names, name)
		}
		names = append(names, jsonNames(field.Type, seen)...)
	}
	return names
}

func TestACursorHasOneSpelling(t *testing.T) {
	for cursor, ok := range map[string]bool{"": true, "dG9vbA==": true, `dG9v\nbA==`: false, `dG9vbA==\r\n`: false, "dG9vbB==": false} {
		_, refused := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"` + cursor + `"}}`))
		if ok != (refused == nil) {
			t.Errorf("%s: %v", cursor, refused)
		}
	}
}

func TestWhatAHostKeepsInMeta(t *testing.T) {
	for meta, ok := range map[string]bool{
		`{"vendor/x":{"Name":"a","URL":"b","a":1,"A":2}}`: true, `{"vendor/x":{"a":1,"a":2}}`: false,
		`{"ProgressToken":1}`: false, `{"a":1,"A":2}`: false, `{"io.modelcontextprotocol/clientInfo":{"Name":"a"}}`: false,
		`{"io.modelcontextprotocol/ClientInfo":{"name":"a"}}`: false,
	} {
		_, refused := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":` + meta + `}}`))
		if ok != (refused == nil) {
			t.Errorf("%s: %v", meta, refused)
		}
	}
}

// FuzzParse: an accepted message means the same to the library, to a reader that respects case, and to one that folds
// names and takes the first.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":1},"_meta":{"progressToken":"p"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":1},"requestState":"s","inputResponses":{}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping","Method":"tools/call"}`, `{"jsonrpc":"2.0","method":"ping","paramſ":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","tasK":{}}}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","Action":"decline"}}`, `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`,
		`{"jsonrpc":"2.0","id":1,"m\u0065thod":"a","method":"b"}`, `{"jsonrpc":"2.0","id":1,"method":"a"} {}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"a":{"b":1,"b":2}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","arguments":{"a":"1","a":"2"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, refused := Parse(raw)
		if refused != nil {
			return
		}
		var library struct {
			mcp.CallToolRequest
			ID     stdjson.RawMessage `json:"id"`
			Result stdjson.RawMessage `json:"result"`
			Error  stdjson.RawMessage `json:"error"`
		}
		if stdjson.Unmarshal(raw, &library) != nil {
			return // it refuses the parameters
		}
		version := library.Params.Meta.ProtocolVersion()
		want := fmt.Sprintf("%s %q %q %s %q %s %s %s", library.ID, library.Method, library.Params.Name, library.Params.RawArguments,
			library.Params.RequestState, library.Result, library.Error, version)
		for name, read := range map[string]func([]byte) (map[string]jsontext.Value, error){"exact": exact, "folding": folding} {
			top, err := read(raw)
			if err != nil {
				t.Fatalf("%s: %v: %s", name, err, raw)
			}
			params := map[string]jsontext.Value{}
			if len(top["params"]) > 0 && top["params"].Kind() == '{' {
				if params, err = read(top["params"]); err != nil {
					t.Fatalf("%s: params: %v: %s", name, err, raw)
				}
			}
			meta := map[string]jsontext.Value{}
			if len(params["_meta"]) > 0 && params["_meta"].Kind() == '{' {
				meta, _ = read(params["_meta"])
			}
			got := fmt.Sprintf("%s %q %q %s %q %s %s %s", string(top["id"]), text(top["method"]), text(params["name"]),
				string(params["arguments"]), text(params["requestState"]), string(top["result"]), string(top["error"]),
				text(meta[mcp.MetaKeyProtocolVersion]))
			if got != want {
				t.Fatalf("%s: read as\n%s, by the library as\n%s: %s", name, got, want, raw)
			}
		}
		if m.Method != library.Method || m.ProtocolVersion() != version {
			t.Fatalf("judged as %q of %q: %s", m.Method, m.ProtocolVersion(), raw)
		}
	})
}

func text(value jsontext.Value) string {
	var s string
	_ = stdjson.Unmarshal(value, &s)
	return s
}

// exact reads names unchanged, each once.
func exact(object []byte) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	return members, json.Unmarshal(object, &members, jsontext.AllowDuplicateNames(true))
}

// folding reads the first of all names that differ only in case.
func folding(object []byte) (map[string]jsontext.Value, error) {
	in, members := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true)), map[string]jsontext.Value{}
	_, err := in.ReadToken()
	for err == nil && in.PeekKind() != '}' {
		var name jsontext.Token
		if name, err = in.ReadToken(); err != nil {
			break
		}
		key := name.String()
		for _, known := range memberNames() {
			if strings.EqualFold(known, key) {
				key = known
			}
		}
		var value jsontext.Value
		if value, err = in.ReadValue(); members[key] == nil {
			members[key] = value.Clone()
		}
	}
	return members, err
}
