package toolbox_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// TestNamesOfVariables: names with a meaning to a shell or a program are refused, so that a value cannot become code or
// loosen a policy.
func TestNamesOfVariables(t *testing.T) {
	r := &runner{}
	box := open(t, nil, toolbox.Options{Runner: r})
	execute := func(name string) error {
		_, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "x", Env: toolbox.Env{name: json.RawMessage(`"v"`)}})
		return err
	}
	for name := range strings.FieldsSeq(`FILE file ITEM VALUE_1 _x S001 message TITLE COUNT url CONTENT TARGET Name`) {
		if err := execute(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Text = ""
	names := strings.Fields(`PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND SHELLOPTS BASHOPTS IFS PS4
		GIT_DIR GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_EXTERNAL_DIFF NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB RUBYOPT
		JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH EDITOR VISUAL PAGER LESSOPEN MAKEFLAGS MAKEFILES GOFLAGS GOPROXY CARGO_HOME RUSTC_WRAPPER
		npm_config_registry http_proxy HTTPS_PROXY SSH_AUTH_SOCK SSL_CERT_FILE CURL_HOME DOCKER_HOST KUBECONFIG AWS_PROFILE HOME TMPDIR
		XDG_CONFIG_HOME PLANLOOP_AGENT PLANLOOP_FAMILY LUA_INIT VIMINIT RSYNC_RSH SVN_SSH DOTNET_STARTUP_HOOKS BUNDLE_GEMFILE PIP_INDEX_URL
		BASH_FUNC_ls%% 1A A-B A=B A.B é SystemRoot appdata`)
	for _, name := range append(names, "", "A B", "A\n", "A\x00", "$(x)") {
		refused(t, execute(name), plan.InvalidInput, "/env/"+name, "cannot be the name")
	}
	if r.Text != "" {
		t.Error("it was run")
	}
}

func TestVariablesAreBounded(t *testing.T) {
	r := &runner{}
	box := open(t, nil, toolbox.Options{Runner: r})
	many := toolbox.Env{}
	for i := range 65 {
		many[strings.Repeat("x", i+1)] = json.RawMessage("1")
	}
	for name, test := range map[string]struct {
		env         toolbox.Env
		field, says string
	}{
		"many": {many, "/env", "65 variables"},
		"long": {toolbox.Env{"A": json.RawMessage(`"` + strings.Repeat("x", 97<<10) + `"`)}, "/env", "97 KB in all"},
		"NUL":  {toolbox.Env{"A": json.RawMessage(`"a\u0000b"`)}, "/env/A", "NUL"},
	} {
		_, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "x", Env: test.env})
		t.Log(name)
		refused(t, err, plan.InvalidInput, test.field, test.says)
	}
	if runtime.GOOS == "windows" {
		return // cmd.exe accepts neither a line break nor a quote
	}
	if _, err := box.BashExecute(t.Context(), toolbox.BashExecute{Command: "x", Env: toolbox.Env{"B": json.RawMessage(`"\u00e9=1\n"`),
		"A": json.RawMessage(`[1, 2]`)}}); err != nil || !slices.Equal(r.Env, []string{"A=[1,2]", "B=é=1\n"}) {
		t.Errorf("%q, %v", r.Env, err)
	}
}
