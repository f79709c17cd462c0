package downstream_test

import (
	"testing"

	"github.com/planloop/planloop/internal/downstream"
)

// TestShownWithoutSecrets: Shown names the program or the address, and nothing that may be secret.
func TestShownWithoutSecrets(t *testing.T) {
	for want, s := range map[string]downstream.Server{
		"npx -y @modelcontextprotocol/server-filesystem /srv/a1b2c3d4e5f6a1b2c3d4": {Command: "npx",
			Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/srv/a1b2c3d4e5f6a1b2c3d4"}},
		"srv --api-key [hidden] --port 80 --token=[hidden] --db=x://h/ ${HOME}": {Command: "srv",
			Args: []string{"--api-key", "hunter2", "--port", "80", "--token=hunter2", "--db=x://a:hunter2@h/",
				"${HOME}"}},
		"srv [hidden]":                    {Command: "srv", Args: []string{"sk-abcdefgh12345678ABCD"}},
		"pg postgres://db.example:5432/x": {Command: "pg", Args: []string{"postgres://me:hunter2@db.example:5432/x?password=hunter2"}},
		"https://mcp.example.com/v1":      {URL: "https://mcp.example.com/v1?key=hunter2"},
		"https://mcp.example.com/${ID}":   {URL: "https://user:hunter2@mcp.example.com/${ID}#hunter2"},
	} {
		if got := s.Redacted(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
