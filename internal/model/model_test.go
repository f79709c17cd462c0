package model_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
)

// shell returns a model whose program is a shell script.
func shell(t *testing.T, script string, c model.Config) *model.Model {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	c.Command = []string{"sh", "-c", script}
	m, err := model.New(c, &process.Launcher{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAsk(t *testing.T) {
	t.Setenv("MODEL_KEY", "sk-0123456789abcdef")
	t.Setenv("MODEL_HEARTS", "\u2764a\u2764b\u2764c\u2764d")
	for name, test := range map[string]struct {
		script, want, wrong string
		config              model.Config
	}{
		"an object":       {script: `cat > /dev/null; echo 'I say: {"a": 1}'`, want: `{"a": 1}`},
		"no object":       {script: `echo no`, want: "no\n"},
		"the prompt":      {script: `cat`, want: `{"prompt": true}`},
		"without reading": {script: `echo {}`, want: `{}`},
		"text that hides": {script: `printf '{"a":"\342\200\256"}'`, want: "{\"a\":\"\ufffd\"}"},
		"a key is not kept": {script: `echo "[$MODEL_KEY]"`, want: "[[hidden]]\n",
			config: model.Config{Env: []string{"MODEL_KEY"}}},
		"a key with selectors in between": {script: "echo '\u2764\ufe0fa\u2764\ufe0fb\u2764\ufe0fc\u2764\ufe0fd'", want: "[hidden]\n",
			config: model.Config{Env: []string{"MODEL_HEARTS"}}},
		"a key is not given":          {script: `echo "[$MODEL_KEY]"`, want: "[]\n"},
		"a failure":                   {script: `echo one; echo two; exit 3`, wrong: `sh failed with exit code 3: "two"`},
		"a failure's error":           {script: `echo one; echo two >&2; exit 3`, wrong: `sh failed with exit code 3: "two"`},
		"a failure that says nothing": {script: `exit 3`, wrong: `sh failed with exit code 3`},
		"a failure with a key": {script: `echo "$MODEL_KEY is wrong"; exit 1`, wrong: `"[hidden] is wrong"`,
			config: model.Config{Env: []string{"MODEL_KEY"}}},
		"too much":  {script: `head -c 600000 /dev/zero`, wrong: "printed more than 512 KiB"},
		"no answer": {script: `exec sleep 1000`, wrong: "has not answered within 1s", config: model.Config{Timeout: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := shell(t, test.script, test.config).Ask(t.Context(), `{"prompt": true}`)
			if test.wrong == "" {
				if err != nil || string(got) != test.want {
					t.Errorf("%q, %v; want %q", got, err, test.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.wrong) || strings.Contains(err.Error(), "sk-0") {
				t.Errorf("%q, %v; want %q", got, err, test.wrong)
			}
		})
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pipe := filepath.Join(t.TempDir(), "pipe")
	m := shell(t, "mkfifo "+pipe+"; echo started > "+pipe+"; exec sleep 1000", model.Config{})
	go func() {
		defer cancel()
		for { // until the program has made the pipe and writes to it
			if started, err := os.ReadFile(pipe); err == nil && len(started) > 0 {
				return
			}
		}
	}()
	if _, err := m.Ask(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestConfigThatCannotBeUsed(t *testing.T) {
	good := []string{"claude", "-p"}
	for key, c := range map[string]model.Config{
		"command names no program":         {},
		"command cannot be given":          {Command: []string{"a\x00b"}},
		"command begins with a relative":   {Command: []string{"./claude"}},
		"timeout of 1ms is out of range":   {Command: good, Timeout: time.Millisecond},
		"timeout of 31m0s is out of range": {Command: good, Timeout: 31 * time.Minute},
		"env holds":                        {Command: good, Env: []string{"A=b"}},
	} {
		_, err := model.New(c, nil)
		if !errors.Is(err, outbound.ErrConfig) || !strings.HasPrefix(err.Error(), "model."+key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	m, err := model.New(model.Config{Command: []string{"no-such-model.exe"}}, nil)
	if err != nil || m.Name() != "no-such-model" {
		t.Fatal(m.Name(), err)
	}
	if _, err := m.Program(); !errors.Is(err, outbound.ErrConfig) {
		t.Error(err)
	}
	if _, err := m.Ask(t.Context(), "x"); !errors.Is(err, outbound.ErrConfig) {
		t.Error(err)
	}
}
