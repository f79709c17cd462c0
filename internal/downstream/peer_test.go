package downstream_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
)

// With this argument the test binary is a server, which behaves as its second argument says.
const asServer = "-serve-mcp"

func TestMain(m *testing.M) {
	process.Keep()
	if len(os.Args) == 3 && os.Args[1] == asServer {
		var b behaviour
		if err := json.Unmarshal([]byte(os.Args[2]), &b); err != nil {
			panic(err)
		}
		serveStdio(b)
		return
	}
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

// behaviour configures our own server.
type behaviour struct {
	Modern   bool     // it supports only the stateless era
	Start    string   // how it fails: die, die at the probe, silent at the probe, silent, rubbish, deaf; "" if it does not
	Tools    []string // as listed; empty: standard
	Pages    string   // endless, circle, or one tool a page
	Told     string   // a file that gets a line for each start
	ListFile string   // file to read the list from each time
}

// standard returns tools that behave as their names say.
func standard() []string {
	var all []string
	const names = "echo fail refuse silent huge die flood progress ask rubbish text exact env cancelled garbled change wait pid vast"
	for name := range strings.FieldsSeq(names) {
		all = append(all, fmt.Sprintf(`{"name":%q,"description":"It does %s.","inputSchema":{"type":"object"}}`, name, name))
	}
	return all
}

// peer is the server's side of a conversation.
type peer struct {
	behaviour
	send func(frame string)
	*shared
	hold <-chan struct{} // closed to end a stream without an answer; nil: no such stream
}

// shared is the state shared by the requests of a conversation.
type shared struct {
	mu        sync.Mutex
	answers   map[string]chan json.RawMessage // to its questions
	cancelled chan string
}

type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

func newPeer(b behaviour, send func(string)) *peer {
	return &peer{b, send, &shared{answers: map[string]chan json.RawMessage{}, cancelled: make(chan string, 10)}, nil}
}

// ServeHTTP serves the peer over HTTP. It answers with events, or with JSON if that is enough.
func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m incoming
	switch err := json.NewDecoder(r.Body).Decode(&m); {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case m.ID == nil || m.Method == "":
		p.handle(m)
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/call" && !strings.Contains(string(m.Params), `"garbled"`):
		w.Header().Set("Content-Type", "text/event-stream")
		answered := make(chan bool, 1)
		one := &peer{p.behaviour, nil, p.shared, r.Context().Done()}
		one.send = func(frame string) {
			fmt.Fprintf(w, "data: %s\n\n", frame)
			w.(http.Flusher).Flush()
		}
		go func() {
			one.handle(m)
			answered <- true
		}()
		select {
		case <-answered:
		case <-r.Context().Done():
			<-answered
		}
	default:
		one := &peer{p.behaviour, func(frame string) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			fmt.Fprint(w, frame)
		}, p.shared, nil}
		one.handle(m)
	}
}

func serveStdio(b behaviour) {
	if b.Told != "" {
		file, err := os.OpenFile(b.Told, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(file, "started")
		_ = file.Close()
	}
	fmt.Fprintln(os.Stderr, "it is up")
	if b.Start == "die" {
		fmt.Fprintln(os.Stderr, "there is no database \x1b[31mtoday, says "+os.Getenv("PASSWORD"))
		os.Exit(3)
	}
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	p := newPeer(b, func(frame string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = out.WriteString(frame + "\n")
		_ = out.Flush()
	})
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil && b.Start == "deaf" {
			signal.Notify(make(chan os.Signal, 1))
			select {}
		}
		if err != nil {
			return
		}
		var m incoming
		if json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		go p.handle(m)
	}
}

func (p *peer) holds() {
	if p.hold != nil {
		<-p.hold
	}
}

func (p *peer) reply(id json.RawMessage, result string) {
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (p *peer) refuse(id json.RawMessage, code int, text string) {
	quoted, _ := json.Marshal(text)
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted))
}

func (p *peer) text(id json.RawMessage, text string) {
	quoted, _ := json.Marshal(text)
	p.reply(id, fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%s}]}`, quoted))
}

func (p *peer) handle(m incoming) {
	if p.Start == "silent" {
		return
	}
	switch m.Method {
	case "": // an answer
		p.mu.Lock()
		answer := p.answers[string(m.ID)]
		p.mu.Unlock()
		if answer != nil {
			answer <- m.Result
		}
	case "server/discover":
		switch {
		case p.Modern:
			p.reply(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
		case p.Start == "die at the probe":
			os.Exit(4)
		case p.Start != "silent at the probe":
			p.refuse(m.ID, -32601, "what is that")
		}
	case "initialize":
		switch {
		case p.Modern:
			p.refuse(m.ID, -32022, "unsupported protocol version")
		case p.Start == "rubbish":
			p.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":7}`)
		default:
			p.reply(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
		}
	case "notifications/cancelled":
		var c struct {
			ID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &c)
		p.cancelled <- string(c.ID)
	case "tools/list":
		p.list(m)
	case "tools/call":
		p.call(m)
	}
}

func (p *peer) list(m incoming) {
	tools := p.Tools
	if tools == nil {
		tools = standard()
	}
	if p.ListFile != "" {
		text, err := os.ReadFile(p.ListFile)
		if err != nil {
			panic(err)
		}
		tools = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	var params struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &params)
	page := len(params.Cursor)
	next := ""
	switch p.Pages {
	case "endless":
		next = params.Cursor + "x"
		tools = []string{fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, page)}
	case "circle":
		next = "again"
	case "one":
		if page+1 < len(tools) {
			next = params.Cursor + "x"
		}
		tools = tools[page : page+1]
	}
	if next != "" {
		next = fmt.Sprintf(`,"nextCursor":%q`, next)
	}
	p.reply(m.ID, `{"resultType":"complete","tools":[`+strings.Join(tools, ",")+`]`+next+`}`)
}

// called are the parameters of a call.
type called struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		Token json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
	State     string                     `json:"requestState"`
}

func (p *peer) call(m incoming) {
	var c called
	if err := json.Unmarshal(m.Params, &c); err != nil {
		panic(err)
	}
	switch c.Name {
	case "echo":
		p.reply(m.ID, `{"content":[{"type":"text","text":"echoed"}],"structuredContent":{"given":`+string(c.Arguments)+`}}`)
	case "fail":
		p.reply(m.ID, `{"isError":true,"content":[{"type":"text","text":"it did not work"}]}`)
	case "refuse":
		p.refuse(m.ID, -32602, "no \x1b[1m such \u202e thing: "+os.Getenv("PASSWORD"))
	case "silent":
		p.holds()
	case "pid":
		p.text(m.ID, fmt.Sprint(os.Getpid()))
	case "wait": // reports that it has begun, and waits
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, c.Meta.Token))
		p.holds()
	case "cancelled": // returns the calls cancelled before
		p.text(m.ID, "cancelled "+<-p.cancelled)
	case "huge", "vast":
		size := 5 << 20
		if c.Name == "vast" {
			size = 100 << 20
		}
		long := strings.Repeat("a", size)
		p.send(`{"result":{"content":[{"type":"text","text":"` + long + `"}]},"jsonrpc":"2.0","id":` + string(m.ID) + `}`)
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(9)
	case "flood":
		for {
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
	case "progress":
		for i := range 3 {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":`+
				`{"progressToken":%s,"progress":%d,"total":4,"message":"part \u001b %d"}}`, c.Meta.Token, i+1, i+1))
		}
		p.text(m.ID, "done")
	case "ask":
		const ask = `{"mode":"form","message":"Which \u001b colour?",` +
			`"requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}}`
		switch {
		case p.Modern && c.Responses == nil:
			p.reply(m.ID, `{"resultType":"input_required","requestState":"opaque","inputRequests":{"q":`+
				`{"method":"elicitation/create","params":`+ask+`}}}`)
		case p.Modern:
			p.text(m.ID, c.State+" "+string(c.Responses["q"]))
		default:
			answer := make(chan json.RawMessage, 1)
			p.mu.Lock()
			p.answers[`"q"`] = answer
			p.mu.Unlock()
			p.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + ask + `}`)
			p.text(m.ID, string(<-answer))
		}
	case "rubbish":
		p.send("this is a log line, and no message")
		p.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[}}`)
	case "garbled":
		p.reply(m.ID, `{"content":"none"}`)
	case "text":
		p.text(m.ID, "a\x1b[31mred\r\nline\u202e")
	case "exact":
		p.reply(m.ID, `{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},`+
			`{"type":"text","text":"x\u0007"},{"type":"odd","y":1.50}]}`)
	case "env":
		names := os.Environ()
		slices.Sort(names)
		p.text(m.ID, strings.Join(names, "\n"))
	case "change":
		p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.text(m.ID, "changed")
	}
}
