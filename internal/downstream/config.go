package downstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
)

// Config is the section servers of the user's own configuration, by name.
type Config map[string]Server

// Server says how to reach one server, in the shape that hosts use, and how far to trust it. Texts may hold
// ${VARIABLE} or ${VARIABLE:-default}.
type Server struct {
	Command string                     `yaml:"command"` // a program that reads standard input and writes standard output
	Args    []string                   `yaml:"args"`
	Env     map[string]outbound.Secret `yaml:"env"` // added to the variables that every program gets
	Cwd     string                     `yaml:"cwd"` // "": the workspace

	URL     string                     `yaml:"url"` // or an HTTP address
	Headers map[string]outbound.Secret `yaml:"headers"`
	Type    string                     `yaml:"type"` // optional: http or stdio

	TrustHints    *bool         `yaml:"trust_hints"`     // whether its tool annotations count; nil is true
	ReadOnlyTools []string      `yaml:"read_only_tools"` // names of tools that only read; * matches anything
	Timeout       time.Duration `yaml:"timeout"`         // of a call without a sign of life; default 60 s
	Disabled      bool          `yaml:"disabled"`

	Fault error `yaml:"-"` // why its section is not valid; nil: it is valid
}

const (
	defaultTimeout = time.Minute
	minTimeout     = time.Second
	maxTimeout     = time.Hour
)

// Faults returns the first error of each server's configuration. It checks neither the environment nor the
// programs.
func (c Config) Faults() []error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if _, err := c[name].target(name, "", func(string) string { return "set" }); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// target says how to reach a server, with all variables filled in.
type target struct {
	command, dir string
	args, env    []string
	address      *url.URL // nil: a command
	header       http.Header
	secrets      []string // which messages must not repeat
}

func (s Server) target(name, workspace string, getenv func(string) string) (*target, error) {
	httpTypes := []string{"", "http", "streamable-http", "streamable_http", "streamableHttp"}
	fill := filler{server: name, getenv: getenv}
	invalid := fill.invalid
	switch {
	case name == "" || len(name) > 32 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return nil, &outbound.ConfigError{Section: "servers", Key: fmt.Sprintf("%q", name), Problem: "is not a name",
			Want: "use 1 to 32 lower-case letters, digits, dashes and underscores"}
	case s.Fault != nil:
		return nil, s.Fault
	case (s.Command == "") == (s.URL == ""):
		return nil, invalid("", "must have either command or url", "write command: and args:, or url:")
	case s.Type != "" && (s.URL == "") != (s.Type == "stdio") || s.URL != "" && !slices.Contains(httpTypes, s.Type):
		return nil, invalid("type", "does not fit",
			"write stdio with command, http with url, or leave it out; planloop does not speak the older sse")
	case s.Timeout != 0 && (s.Timeout < minTimeout || s.Timeout > maxTimeout):
		return nil, invalid("timeout", "is out of range", "write a time with its unit, from 1s to 1h, such as timeout: 60s")
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0 || s.Cwd != "") || s.Command != "" && len(s.Headers) > 0:
		return nil, invalid("", "mixes settings of a command and of an address",
			"write args, env and cwd with command, headers with url")
	}
	t := &target{}
	if s.URL != "" {
		s.fillAddress(t, &fill)
	} else {
		s.fillCommand(t, &fill, workspace)
	}
	t.secrets = fill.secrets
	return t, fill.err
}

func (s Server) fillCommand(t *target, fill *filler, workspace string) {
	t.command = fill.in("command", s.Command)
	if strings.ContainsAny(t.command, `/\`) && !filepath.IsAbs(t.command) {
		fill.refuse("command", "is a relative path", "write the absolute path, or a name found in PATH")
	}
	for _, arg := range s.Args {
		t.args = append(t.args, fill.in("args", arg))
	}
	t.dir = cmp.Or(fill.in("cwd", s.Cwd), workspace)
	if !filepath.IsAbs(t.dir) {
		t.dir = filepath.Join(workspace, t.dir)
	}
	t.env = []string{nestedEnv + "=1"}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !process.VariableName(name) || strings.ContainsRune(string(s.Env[name]), 0) {
			fill.refuse("env", "has an invalid variable name or value", "use letters, digits and underscores")
		}
		t.env = append(t.env, name+"="+fill.secret("env."+name, s.Env[name]))
	}
}

func (s Server) fillAddress(t *target, fill *filler) {
	address, problem := outbound.Rules{
		Example:     "url: https://example.com/mcp",
		Credentials: "take them out and write them into headers, such as Authorization: Bearer ${TOKEN}",
		Unencrypted: "write https://",
	}.Parse(fill.in("url", s.URL))
	if problem != nil {
		fill.refuse("url", problem.Problem, problem.Want)
		return
	}
	t.address, t.header = address, http.Header{}
	for _, values := range address.Query() {
		fill.secrets = append(fill.secrets, values...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value := fill.secret("headers."+name, s.Headers[name])
		if !headerName(name) || !outbound.IsHeaderValue(value) && value != "" {
			fill.refuse("headers", "has an invalid header, or one that planloop sets itself",
				"write such as Authorization: Bearer ${TOKEN}")
			continue
		}
		t.header.Set(name, value)
	}
}

// headerName reports whether the configuration may set a header. It may not set those that describe the
// message.
func headerName(name string) bool {
	const ours = " host content-type content-length accept connection transfer-encoding last-event-id "
	lower := strings.ToLower(name)
	return regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}$`).MatchString(name) &&
		!strings.Contains(ours, " "+lower+" ") && !strings.HasPrefix(lower, "mcp-")
}

// filler fills in variables and remembers their values as secrets.
type filler struct {
	server  string
	getenv  func(string) string
	secrets []string
	err     error // the first
}

func (f *filler) invalid(key, problem, want string) error {
	key = strings.TrimSuffix(f.server+"."+key, ".")
	return &outbound.ConfigError{Section: "servers", Key: key, Problem: problem, Want: want}
}

func (f *filler) refuse(key, problem, want string) {
	if f.err == nil {
		f.err = f.invalid(key, problem, want)
	}
}

func (f *filler) in(key, text string) string {
	return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`).ReplaceAllStringFunc(text, func(variable string) string {
		name, otherwise, given := strings.Cut(variable[2:len(variable)-1], ":-")
		value := f.getenv(name)
		if value == "" && !given {
			f.refuse(key, "uses the variable "+name+", which is not set", "set it where planloop is started, or write the value")
		}
		if value != "" {
			f.hide(value)
		}
		return cmp.Or(value, otherwise)
	})
}

// secret fills in a text, and hides the whole result.
func (f *filler) secret(key string, text outbound.Secret) string {
	value := f.in(key, string(text))
	f.hide(value)
	return value
}

// hide records a value as a secret, and also the part after a scheme such as Bearer.
func (f *filler) hide(value string) {
	f.secrets = append(f.secrets, value)
	if _, rest, ok := strings.Cut(value, " "); ok {
		f.secrets = append(f.secrets, rest)
	}
}

// key is a digest of a server's configuration without its secrets.
func (s Server) key(name, workspace string) string {
	text, _ := json.Marshal([]any{name, workspace, s.Command, s.Args, slices.Sorted(maps.Keys(s.Env)), s.Cwd, s.URL,
		slices.Sorted(maps.Keys(s.Headers))}) // strings and lists of strings always encode
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func (s Server) idle() time.Duration { return cmp.Or(s.Timeout, defaultTimeout) }
