package hook

import (
	"strings"
	"testing"
)

// TestDefinitions: what a skill or a subagent may bring along.
func TestDefinitions(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"Read the code.": "",
		"---\nname: a\ndescription: b\n---\nGreat! Say `so`.":                      "",
		"---\nname: a\nargument-hint: [a] [b]\nallowed-tools: Bash(git:*)\n---\nx": "",
		"---\ndescription: Finds: hooks of git\n---\nx":                            "",
		"---\nname: a\nmetadata:\n  hooks: none\n---\nx":                           "brings hooks",
		"---\nname: a\nmode: subagent\n---\nx":                                     "",
		"\xff\xfe!\x00`\x00t\x00":                                                  "cannot read",
		"---\nname: a\nskills: [inline]\n---\nx":                                   "brings skills",
		"---\nname: a\ninitialPrompt: /inline\n---\nx":                             "brings initialPrompt",
		"name = \"a\"\nnotify = [\"touch\"]\n":                                     "brings notify",
		"Rust's `println!` and `vec!`":                                             "",
		"> !`touch x`":                                                             "runs commands",
		"Now: !`touch x`":                                                          "runs commands",
		"---\nname: a\n---\n```!\ntouch x\n```":                                    "runs commands",
		"```bash\nls\n```\n``` !\ntouch x\n```":                                    "runs commands",
		"!{touch x}":                                                               "runs commands",
		"---\nname: !`touch x`\n---\n":                                             "runs commands",
		"---\nname: a\nhooks:\n  PreToolUse: []\n---\nx":                           `brings hooks`,
		"\uFEFF\n---\nhooks: {}\n---\nx":                                           `brings hooks`,
		"---\n\"\\x68ooks\": {}\n---\nx":                                           "cannot read",
		"---\n? hooks\n: {}\n---\nx":                                               `brings hooks`,
		"---\n{name: a, hooks: {}}\n---\nx":                                        "brings hooks",
		"---\ndescription: a: b\nhooks:\n  Stop: []\n---\nx":                       `brings hooks`,
		"---\ndescription: a: b\n\"\\x68ooks\": {}\n---\nx":                        "cannot read",
		"---\nhooks: {}\n":                                                         `brings hooks`,
		"---\nmcpServers:\n  - x: {}\n---\nx":                                      `brings mcpServers`,
		"---\nmcp-servers: {}\n---\nx":                                             `brings mcp-servers`,
		"---\npermissionMode: bypassPermissions\n---\nx":                           "brings ",
		"---\nisolation: worktree\n---\nx":                                         "brings ",
		"---\nagent: writer\n---\nx":                                               "starts the subagent",
		"---\ncontext: fork\nagent: Explore\n---\nx":                               "runs in a subagent",
		"name = \"a\"\n[mcp_servers.x]\ncommand = \"touch\"\n":                     "brings ",
		"sandbox_mode = \"danger-full-access\"\n":                                  "brings ",
	} {
		if _, got := (Definition{Kind: "skill"}).Read([]byte(text)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if _, got := (Definition{Kind: "skill", MayFork: true}).Read([]byte("---\ncontext: fork\nagent: Explore\n---\nx")); got != "" {
		t.Error(got)
	}
	for text, want := range map[string]string{"---\nname: a b\n---\n": "a b", "name = \"toml\"\n": "toml", "---\nname: x: y\n---": "x: y",
		"---\nname: >-\n  x\n---": AnyName, "---\nname: x\n\"name\": y\n---": AnyName, "---\nname: 'x'\n---": "x", "x": ""} {
		if name, _ := (Definition{Kind: "subagent"}).Read([]byte(text)); name != want {
			t.Errorf("%q: %q", text, name)
		}
	}
}
